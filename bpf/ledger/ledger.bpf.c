/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger: charges every nanosecond of every CPU to a task, to idle, to steal, to offline or
 * to the unnamed account, at the events that end it.
 *
 * A window is closed by the reader publishing an instant T a little in the future. Whoever has an
 * event at or after T charges what came before T first, sets the cumulative figures aside as they
 * were at T, and charges the rest. Nothing that sleeps through T is touched: the reader knows that
 * it was in its state until T.
 */
#include "on_switch.h"
#include "preempt.h"
#include "repair.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * A cgroup on a CPU gets a new quota. Not everywhere: fentry needs ftrace's direct calls.
 * First in the object, so that a kernel that refuses it does so before it has checked the others.
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
	 * No switch happens in an interrupt: whatever end was not seen is past. Softirqs that can lose
	 * the CPU (PREEMPT_RT) have not ended.
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
	if (!next->pid) {
		c->cur = EX_CUR_IDLE;
	} else if (in) {
		switch_in(c, in, index, next, cpu, now, b, c->clock_offset, true);
		c->cur = index;
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
 * In copy_process(), in process context and without locks, for everyone that is ever born: also
 * for io_uring and vhost workers, which sched_process_fork does not announce. Allocating here
 * keeps the allocator out of the scheduler's locks.
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
	/* Inherited at birth, so no one gets lost by becoming an orphan or a daemon. */
	tree = begun_tree(parent, task);
	if (!tree)
		tree = mine ? mine->tree : inherited_tree(parent);
	s->tree = tree;
	if (!claim(st, s, index)) {
		s = slot_of(task, &index);
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
	note_wait(c, s, now);
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

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
	struct ex_slot *s = slot_here(p);

	/* Also after another thread's exec: the kernel has swapped the tids by now. */
	if (s)
		identify_itself(&s->id, p);
	return 0;
}

/*
 * A thread, or the process of a leader, is in another control group. Whoever runs is charged on its
 * own CPU, so only the instant is kept here.
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
 * A thread that names itself and then sleeps has no event that would tell. A task's name may also
 * be set by others of its process while it sleeps.
 */
SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	struct ex_slot *s;
	__u32 index;

	count_run(EX_EV_OTHER);
	s = slot_of(task, &index);
	if (!s || s->state == EX_DEAD || s->state == EX_FREE)
		return 0;
	bpf_probe_read_kernel_str(s->id.comm, sizeof(s->id.comm), comm);
	list_dirty(last_boundary(bpf_ktime_get_ns()).epoch, index);
	return 0;
}

/*
 * What only the task itself can still tell, before it lets go of its signal_struct. The task goes
 * on using CPU time: its account ends with its last switch.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s;

	if (c && (is_lost(c, EX_EV_EXIT) || is_lost(c, EX_LOSE_ENDS)))
		return 0;
	if (c)
		__sync_fetch_and_add(&c->events[EX_EV_EXIT], 1);
	s = c ? own_slot(c, p) : NULL;
	if (s)
		note_exit(s, p, p->group_leader);
	return 0;
}

/* A task that is freed and still has a slot. `depth`: of our programs on this CPU. */
static __always_inline void free_slot(struct ex_cpu *c, struct storage *st, struct ex_slot *s,
				      __u32 index, struct task_struct *task, __u64 depth)
{
	if (READ_ONCE(s->state) == EX_RUN && !take_over(s, bpf_get_smp_processor_id()) &&
	    leave_it_the_slot(s)) {
		st->slot_plus_1 = EX_SLOT_GIVEN_BACK;
		return;
	}
	end_unseen(c, s, index, depth);
	release_slot(s, task, index);
}

/*
 * Reaped, and nobody can see it any more. It gave its slot back at its last switch; whoever still
 * has one ended without being seen.
 */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *p)
{
	struct storage *st = bpf_task_storage_get(&tasks, p, 0, 0);
	struct ex_cpu *c = count_run(EX_EV_OTHER);
	__u64 depth;
	__u32 index;
	struct ex_slot *s;

	if (!c || !st || is_lost(c, EX_EV_OTHER))
		return 0;
	s = slot_of(p, &index);
	if (s && s->task != (__u64)p)
		s = NULL;
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
 * The CPU is dead when its teardown step has ended. It says nothing itself: tracepoints are silent
 * on a CPU that is no longer online, so its last switch, from the stopper to idle, is not seen.
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
	c->kernel_switches = EX_UNREAD;
	leave(mine, depth);
	may_go();
	return 0;
}

/*
 * Delivered means: about to run a handler or the default action, in the receiver's context. This crosses
 * no boundary, nor does the count of wake-ups given: who runs across a window's end is charged some
 * ten microseconds after it, and what is counted until then is told in the window before. Nothing is
 * lost or told twice.
 */
SEC("tp_btf/signal_deliver")
int BPF_PROG(on_signal, int sig)
{
	struct ex_slot *s = slot_here(bpf_get_current_task_btf());

	if (s)
		__sync_fetch_and_add(&s->cum.signals, 1);
	return 0;
}

/* The other programs. Not above: they would come before the first one in the object. */
#include "optional.h"
#include "reader.h"
#include "wake.h"
