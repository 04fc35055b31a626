/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that only the reader runs. */
#ifndef EXACTOP_READER_H
#define EXACTOP_READER_H

#include "preempt.h"
#include "repair.h"

/*
 * Publishes the end of the open window. This is done in the kernel, because only an interrupt or
 * the hypervisor can take the CPU between the clock reading and the store.
 */
SEC("raw_tp")
int publish(void *ctx)
{
	__u32 next = epoch + 1;
	__u64 t = 0;

	stay();
	/*
	 * If it was delayed between the clock reading and here, it takes a later T, because no
	 * program has seen this one.
	 */
	for (int i = 0; i < 8; i++) {
		t = bpf_ktime_get_ns() + lead_ns;
		if (late_by_ns && next == late_epoch)
			t -= late_by_ns;
		*(volatile __u64 *)&boundary_t[next & 1] = t;
		if (bpf_ktime_get_ns() + lead_ns / 2 < t)
			break;
	}
	__sync_fetch_and_add(&epoch, 1);
	if (bpf_ktime_get_ns() >= t)
		late++;
	may_go();
	return 0;
}

/*
 * True if the kernel counted a switch of a CPU that was not shown. The reader runs this for each
 * CPU that seems idle; it leaves the CPU alone if there was none.
 */
SEC("raw_tp")
int peek(struct bpf_raw_tracepoint_args *args)
{
	struct ex_cpu *c = cpu_of(args->args[0]);
	struct rq *rq;

	if (!c || !c->rq || c->kernel_switches == EX_UNREAD)
		return 0;
	rq = (void *)c->rq;
	return BPF_CORE_READ(rq, nr_switches) != c->kernel_switches;
}

static __always_inline bool is_dequeue_delayed(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.sched_delayed) &&
	       BPF_CORE_READ(task, se.sched_delayed);
}

/* True if a task is neither on a CPU nor wants one. Read while it may change. */
static __always_inline bool wants_no_cpu(struct task_struct *task)
{
	return !BPF_CORE_READ(task, sched_info.last_queued) &&
	       !BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu) &&
	       (!BPF_CORE_READ_BITFIELD_PROBED(task, on_rq) || is_dequeue_delayed(task));
}

/*
 * Ends the wait of a task that came onto a CPU and left it unseen in the window that ended, and
 * sleeps now: else it would seem to wait until its next event. Windows before have said that it
 * waits, so the wait lasts until this window's begin at least.
 *
 * The reader runs this just after T, when the task's waker may write the slot. The atomic on
 * `since` decides who is first. A waker that comes between two of the steps after it may find the
 * wait once more: the row, which says that it is repaired, then has a part of the sleep as wait.
 */
SEC("raw_tp")
int end_wait(struct bpf_raw_tracepoint_args *args)
{
	struct boundary end = boundary_of(READ_ONCE(epoch)), begin = boundary_of(end.epoch - 1);
	struct ex_slot *s = slot_at(args->args[0]);
	struct task_struct *task;
	__u64 since, from;
	__u32 state;
	__s64 wait;

	if (!s || !counts_waits() || !is_before(s, end))
		return 0;
	task = (void *)s->task;
	state = READ_ONCE(s->state);
	since = READ_ONCE(s->since);
	if (!is_waiting(state) || since >= end.t || !task)
		return 0;
	if ((__s32)((__u32)BPF_CORE_READ(task, sched_info.pcount) - s->arrivals) <= 0 ||
	    !wants_no_cpu(task))
		return 0;
	from = since > begin.t ? since : begin.t;
	wait = unseen_wait(s) - (from - since);
	if (wait < 0)
		wait = 0;
	if (wait > (__s64)(end.t - from))
		wait = end.t - from;
	if (__sync_val_compare_and_swap(&s->since, since, from + wait) != since)
		return 0;
	__sync_fetch_and_add(time_in(&s->cum, state), from + wait - since);
	__sync_val_compare_and_swap(&s->state, state, EX_SLEEP);
	s->wait_nr = -1;
	__sync_fetch_and_add(&s->cum.repairs, 1);
	__sync_fetch_and_add(&repaired_wait_ns, wait);
	count_error(EX_ERR_UNSEEN_SWITCH);
	return 1;
}

/*
 * Charges the running task of one CPU up to T. The reader runs this by BPF_PROG_TEST_RUN just after
 * T, so that steal and the tick-sampled times are as of T too. It also begins the account of a CPU
 * that is seen for the first time.
 */
static __always_inline int flush_this_cpu(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id(), index = 0;
	struct ex_cpu *c = cpu_of(cpu);
	struct ex_slot *s, *mine;
	struct boundary b;
	__u64 now, depth;

	if (!c)
		return 0;
	depth = enter(c);
	if (depth) {
		/*
		 * The CPU is inside a program that runs with interrupts on: the reader tries again.
		 */
		leave(c, depth);
		return 1;
	}
	now = not_before(bpf_ktime_get_ns(), c->since);
	b = last_boundary(now);
	s = charge_occupant(c, task, cpu, now, b, false);
	c->events[EX_EV_FLUSH]++;
	audited = (has_run_queues() ? EX_AUDIT_RUN : 0) | (counts_waits() ? EX_AUDIT_LAT : 0);
	if (s) {
		if (split_run && s->split_run != split_run)
			set_mode(s, task);
		audit_staying(c, s, task, now, b);
		goto out;
	}
	if (blame)
		end_stay(c, cpu, task->pid ? EX_BY_OTHER : EX_BY_IDLE);
	if (!task->pid) {
		c->cur = EX_CUR_IDLE;
		goto out;
	}
	c->cur = EX_CUR_UNNAMED;
	mine = slot_here_of(task, &index, cpu);
	if (!mine)
		goto out;
	cross(c, mine, index, b, task);
	follow_group(c, mine, task, now);
	if (take_in(c, mine, now)) {
		mine->cpu = cpu;
		mine->sum_exec = task->se.sum_exec_runtime;
		c->arrived = now;
		mine->state = EX_RUN;
		c->cur = index;
		if (blame)
			begin_stay(c, mine);
		c->came_offset = c->clock_offset;
		/* Our account continues from here, the kernel's from its last count. */
		if (has_run_queues())
			c->came_ahead = now - task->se.exec_start;
		audit_staying(c, mine, task, now, b);
	}
out:
	leave(c, depth);
	return 0;
}

SEC("raw_tp")
int flush(void *ctx)
{
	int again;

	stay();
	again = flush_this_cpu();
	may_go();
	return again;
}

/* A task that ended before the start needs no slot, only an entry in the list of zombies. */
static __always_inline int seed_zombie(struct storage *st, struct task_struct *task)
{
	struct ex_zombie z = {};

	if (!(task->exit_state & EXIT_ZOMBIE) || st->zombie)
		return 0;
	if (is_last(task))
		st->process_counted = 1;
	z.task = (__u64)task;
	z.since = bpf_ktime_get_ns();
	identify(&z.id, task);
	z.cpu = bpf_get_smp_processor_id();
	add_zombie(st, __sync_fetch_and_add(&serials, 1) + 1, &z);
	return 0;
}

/*
 * True if a listed process was reaped. The kernel reports this when it frees the task, but may hide
 * it if that happens in the context of a protected task. So the entry is compared with the task
 * itself. The task's memory may be reused: the new task then has another number or start time.
 */
static __always_inline bool is_reaped(struct ex_zombie *z)
{
	struct task_struct *task = (void *)z->task;

	return !(BPF_CORE_READ(task, exit_state) & EXIT_ZOMBIE) ||
	       BPF_CORE_READ(task, pid) != z->id.tid ||
	       BPF_CORE_READ(task, start_boottime) != z->id.start;
}

/*
 * True if the process of this account is still a zombie; if not, it is removed from the list. The
 * lookup uses the serial, which is never reused, so the checked entry is the removed one.
 */
static __always_inline bool is_zombie(__u64 serial)
{
	struct ex_zombie *z = bpf_map_lookup_elem(&zombies, &serial);

	if (!z)
		return false;
	if (!is_reaped(z))
		return true;
	forget_zombie(serial);
	return false;
}

SEC("raw_tp")
int check_zombie(struct bpf_raw_tracepoint_args *args)
{
	return is_zombie(args->args[0]);
}

SEC("iter/bpf_map_elem")
int check_zombies(struct bpf_iter__bpf_map_elem *ctx)
{
	__u64 *serial = ctx->key;

	if (serial)
		is_zombie(*serial);
	return 0;
}

/*
 * True if a task that ended is freed. Its memory then has no user, or belongs to another task.
 * sched_process_free comes before that.
 */
static __always_inline bool is_freed(struct ex_slot *s)
{
	struct task_struct *task = (void *)s->task;

	return !BPF_CORE_READ(task, usage.refs.counter) ||
	       BPF_CORE_READ(task, pid) != s->id.tid ||
	       BPF_CORE_READ(task, start_boottime) != s->id.start;
}

/*
 * The owner of a slot has ended, and its last switch was not shown. Its release frees the slot. A
 * kernel may hide that too; then this program does it. True if the release may still come.
 */
SEC("raw_tp")
int check_ended(struct bpf_raw_tracepoint_args *args)
{
	__u32 index = args->args[0];
	struct ex_slot *s = slot_at(index);
	struct ex_cpu *c;
	__u64 depth;

	if (!s || READ_ONCE(s->state) != EX_DEAD || !s->task)
		return 0;
	if ((READ_ONCE(s->cpu) & (EX_CPU_LEAVING | EX_CPU_FREED)) || !is_freed(s))
		return 1;
	stay();
	c = cpu_of(bpf_get_smp_processor_id());
	if (c) {
		depth = enter(c);
		if (s->id.tid == s->id.tgid &&
		    !(s->exit_flags & (EX_EXIT_LAST | EX_EXIT_COUNTED)))
			count_process(c, &s->id, s->tree, s->task, bpf_ktime_get_ns());
		leave(c, depth);
	}
	give_back(s, index);
	may_go();
	return 0;
}

/*
 * Gives every living task a slot. A task with an event at the same time keeps what the event says.
 */
SEC("iter/task")
int seed(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct storage *st;
	struct ex_slot *s;
	__u32 index, state;

	if (!task || !task->pid)
		return 0;
	st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st) {
		count_error(EX_ERR_NO_STORAGE);
		return 0;
	}
	if (st->slot_plus_1)
		return 0;
	if (state_of(task) & TASK_DEAD)
		return seed_zombie(st, task);
	s = new_slot(task, EX_SEED, bpf_ktime_get_ns(), &index);
	if (!s) {
		count_error(EX_ERR_NO_SLOT);
		return 0;
	}
	/* The birth of this task was not shown, or it found no room. */
	if (READ_ONCE(seeded)) {
		s->tree = inherited_tree(task);
		begin_account(s, s->born);
	}
	if (blame)
		follow_party(s);
	list_dirty(READ_ONCE(epoch), index);
	if (!claim(task, st, s, index))
		return 0;
	/* From here on events find the slot. Only if none came, the task's present state counts. */
	state = state_of(task);
	s->kstate = state;
	if (state & TASK_NEW) {
		return 0;
	} else {
		state = off_cpu_state(false, state);
		if (state == EX_LAT_PREEMPT && is_on_cpu(task))
			return 0; /* the flush of its CPU reports it */
		if (state == EX_SLEEP || state == EX_BLOCK)
			state = sleep_state(s, task, state);
	}
	__sync_val_compare_and_swap(&s->state, EX_SEED, state);
	return 0;
}

#endif
