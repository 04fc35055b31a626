/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger: charges every nanosecond of every CPU to a task, to idle, to steal, to offline or to
 * the unnamed account, at the events that end it.
 *
 * The reader closes a window by publishing an instant T a little in the future. The first event of
 * a task at or after T charges the time before T, sets the cumulative figures aside as of T, and
 * charges the rest. A task that sleeps through T is not touched: the reader knows that it was in
 * its state until T.
 */
#include "on_switch.h"
#include "preempt.h"
#include "repair.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * A cgroup on a CPU gets a new quota. Not every kernel shows this: fentry needs ftrace's direct
 * calls. It comes first in the object, so that a kernel refuses it before it has verified the other
 * programs.
 */
SEC("?fentry/unthrottle_cfs_rq")
int BPF_PROG(on_unthrottle, struct cfs_rq *cfs_rq)
{
	__u64 key = (__u64)cfs_rq, now = bpf_ktime_get_ns();

	count_run(EX_EV_OTHER);
	bpf_map_update_elem(&unthrottled, &key, &now, BPF_ANY);
	return 0;
}

static __always_inline int handle_switch(bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id(), index = EX_CUR_UNNAMED, left;
	struct ex_cpu *c = cpu_of(cpu);
	struct ex_slot *out, *in = NULL;
	struct boundary b;
	__u64 now, depth;

	if (!c || is_lost(c, EX_EV_SWITCH) || is_end_lost(c, prev, prev_state))
		return 0;
	depth = enter(c);
	/*
	 * A switch never happens inside an interrupt, so an interrupt without a seen end is over.
	 * Softirqs that can lose the CPU (PREEMPT_RT) are an exception.
	 */
	if (c->irq_depth | c->irq_own) {
		if (!softirqs_lose_the_cpu())
			count_unseen_interrupt(c);
		c->irq_depth = c->irq_own = 0;
	}
	c->irq_run = READ_ONCE(irq_run);
	if (next->pid) {
		in = slot_here_of(next, &index, cpu);
		if (!in)
			in = late_slot(next, &index);
	}
	now = not_before(bpf_ktime_get_ns(), c->since);
	if (in)
		now = not_before(now, in->since);
	b = last_boundary(now);
	out = charge_occupant(c, prev, cpu, now, b, true);
	left = c->cur;
	if (!out && prev->pid) {
		left = adopt_current(c, now, b.epoch);
		out = slot_at(left);
	}
	if (out)
		switch_out(c, out, left, prev, preempt, prev_state, now, b);
	if (blame)
		end_stay(c, cpu, next->pid ? EX_BY_OTHER : EX_BY_IDLE);
	if (!next->pid) {
		c->cur = EX_CUR_IDLE;
	} else if (in) {
		switch_in(c, in, index, next, cpu, now, b, c->clock_offset, true);
		c->cur = index;
		if (blame)
			begin_stay(c, in);
	} else {
		c->cur = EX_CUR_UNNAMED;
	}
	c->cum.switches++;
	c->events[EX_EV_SWITCH]++;
	leave(c, depth);
	return 0;
}

ON_SWITCH(handle_switch)

/*
 * Runs in copy_process(), in process context and without locks, for every new task. That includes
 * io_uring and vhost workers, which sched_process_fork does not announce. Allocating here keeps the
 * allocator out of the scheduler's locks.
 */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s, *mine = c ? own_slot(c, parent) : NULL;
	struct storage *st;
	__u32 index, tree;

	if (!task->pid)
		return 0; /* a swapper for a CPU being brought up */
	if (c && is_lost(c, EX_EV_NEW))
		return 0;
	count_run(EX_EV_NEW);
	st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st) {
		count_error(EX_ERR_NO_STORAGE);
		return 0;
	}
	s = new_slot(task, EX_NEW, 0, &index);
	if (!s) {
		count_error(EX_ERR_NO_SLOT);
		return 0;
	}
	/* A child inherits the tree at birth, so orphans and daemons stay in it. */
	tree = begun_tree(parent, task);
	if (!tree)
		tree = mine ? mine->tree : inherited_tree(parent);
	s->tree = tree;
	if (!claim(task, st, s, index)) {
		/* The cache may not have it yet. */
		s = slot_at(st->slot_plus_1 - 1);
		if (s)
			s->tree = tree;
	}
	return 0;
}

static __always_inline void wake_new(struct ex_cpu *c, struct task_struct *p)
{
	struct ex_slot *s;
	__u32 index;
	__u64 now;

	c->events[EX_EV_NEW]++;
	s = slot_of(p, &index);
	if (!s || (s->state != EX_NEW && s->state != EX_SEED))
		return;
	now = bpf_ktime_get_ns();
	s->born = now;
	cross(c, s, index, last_boundary(now), p);
	follow_group(c, s, p, now);
	s->since = now;
	s->state = EX_LAT;
	note_wait(c, s, p, now);
	note_queued(s, p);
	__sync_fetch_and_add(&born_tasks, 1);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *p)
{
	__u64 depth;
	struct ex_cpu *c = enter_here(&depth);

	if (c) {
		wake_new(c, p);
		leave(c, depth);
	}
	return 0;
}

/*
 * A switch in the middle, or a flush by the reader, would find a task that is half of another party.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
	struct ex_cpu *c;
	struct ex_slot *s;
	__u64 depth;

	stay();
	c = count_run(EX_EV_OTHER);
	if (c) {
		depth = enter(c);
		s = own_slot(c, p);
		/* After another thread's exec too: the kernel has swapped the tids by now. */
		if (s)
			identify_itself(&s->id, p);
		if (s && blame)
			follow_party(s);
		leave(c, depth);
	}
	may_go();
	return 0;
}

/*
 * A thread, or the process of a leader, moves to another control group. A running task is charged
 * on its own CPU, so this only keeps the instant.
 */
SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *group, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	struct attached key = { .tid = task->pid, .whole = threadgroup };
	__u64 now = bpf_ktime_get_ns();

	count_run(EX_EV_OTHER);
	bpf_map_update_elem(&attached_at, &key, &now, BPF_ANY);
	return 0;
}

/*
 * A thread that renames itself and then sleeps has no other event that shows the name. Other
 * threads of its process may also rename it while it sleeps.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct task_struct *owner;
	struct ex_slot *s;
	__u32 index;

	count_run(EX_EV_OTHER);
	s = slot_of(task, &index);
	if (!s || s->state == EX_DEAD || s->state == EX_FREE)
		return 0;
	bpf_probe_read_kernel_str(s->id.comm, sizeof(s->id.comm), comm);
	/* It ended just now, and the name is that of the slot's next owner. */
	owner = (void *)READ_ONCE(s->task);
	if (owner && owner != task)
		bpf_probe_read_kernel_str(s->id.comm, sizeof(s->id.comm), &owner->comm);
	list_dirty(last_boundary(bpf_ktime_get_ns()).epoch, index);
	return 0;
}

/*
 * Reads what only the exiting task itself knows, before it drops its signal_struct. The task
 * continues to use CPU time: its account ends with its last switch.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s;

	if (c && (is_lost(c, EX_EV_EXIT) || is_lost(c, EX_LOSE_ENDS) ||
		  is_lost(c, EX_LOSE_ENDS_AND_RELEASES)))
		return 0;
	if (c)
		__sync_fetch_and_add(&c->events[EX_EV_EXIT], 1);
	s = c ? own_slot(c, p) : NULL;
	if (s)
		note_exit(s, p, p->group_leader);
	return 0;
}

/* A task is freed and still has a slot. `depth` counts our nested programs on this CPU. */
static __always_inline void free_slot(struct ex_cpu *c, struct storage *st, struct ex_slot *s,
				      __u32 index, struct task_struct *task, __u64 depth)
{
	if (READ_ONCE(s->state) == EX_RUN && !take_over(s, bpf_get_smp_processor_id()) &&
	    leave_it_the_slot(s)) {
		st->slot_plus_1 = EX_SLOT_GIVEN_BACK;
		return;
	}
	end_unseen(c, s, index, depth);
	release_slot(c, s, task, index);
}

/*
 * The task is reaped and no longer visible. It freed its slot at its last switch; if it still has
 * one, its end was not seen.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *p)
{
	struct storage *st = bpf_task_storage_get(&tasks, p, 0, 0);
	struct ex_cpu *c = count_run(EX_EV_OTHER);
	__u64 depth;
	__u32 index;
	struct ex_slot *s;

	if (!c || !st || is_lost(c, EX_EV_OTHER) || lose_kind == EX_LOSE_ENDS_AND_RELEASES)
		return 0;
	s = slot_of(p, &index);
	stay();
	depth = enter(c);
	if (p->pid == p->tgid && !st->process_counted && (st->slot_plus_1 || st->zombie))
		count_unshown_process(c, st, s);
	if (st->zombie)
		forget_zombie(st->zombie);
	if (s)
		free_slot(c, st, s, index, p, depth);
	leave(c, depth);
	may_go();
	return 0;
}

/*
 * A CPU is dead when this teardown step has ended. It reports nothing itself: tracepoints are
 * silent on a CPU that is no longer online, so its last switch, from the stopper to idle, is not
 * seen.
 */
SEC("tp_btf/cpuhp_exit")
int BPF_PROG(on_cpu_dead, unsigned int cpu, int state, int idx, int ret)
{
	struct ex_cpu *c, *mine = count_run(EX_EV_OTHER);
	struct ex_slot *s;
	__u64 now, depth;

	if (ret || idx != bpf_core_enum_value(enum cpuhp_state, CPUHP_TEARDOWN_CPU))
		return 0;
	c = cpu_of(cpu);
	if (!c || !mine)
		return 0;
	stay();
	depth = enter(mine);
	now = not_before(bpf_ktime_get_ns(), c->since);
	s = occupant(c);
	if (begin_to_leave(s, cpu)) {
		count_repair(c, now);
		leave_unseen(c, s, now, false, now);
	} else {
		close_segment(c, NULL, NULL, now, last_boundary(now));
	}
	c->cur = EX_CUR_OFFLINE;
	if (blame)
		end_stay(c, cpu, EX_BY_OTHER);
	c->kernel_switches = EX_UNREAD;
	leave(mine, depth);
	may_go();
	return 0;
}

/*
 * A signal is delivered when its handler or default action is about to run in the receiver's
 * context. This event crosses no boundary, nor does the count of given wake-ups. A task that runs
 * across a window's end is charged some ten microseconds after it, and counts until then belong to
 * the window before. Nothing is lost or counted twice.
 */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int sig)
{
	struct ex_slot *s = slot_here(bpf_get_current_task_btf());

	if (s)
		__sync_fetch_and_add(&s->cum.signals, 1);
	return 0;
}

/* The other programs. They stand here because the first program must come first in the object. */
#include "optional.h"
#include "reader.h"
#include "requeue.h"
#include "wake.h"
