/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Repairs after an unseen switch. They are rare, and in functions that the verifier checks once,
 * not for each path that leads there.
 */
#ifndef EXACTOP_REPAIR_H
#define EXACTOP_REPAIR_H

#include "switch.h"

/*
 * A task is on a CPU and its wake-up was not seen. The kernel's count of its waits less ours is its
 * time in the queue before it arrived. Before that it slept.
 */
static __always_inline void until_arrived(struct ex_cpu *c, struct ex_slot *s,
					  __u64 arrived)
{
	__s64 wait = unseen_wait(s);

	count_error(EX_ERR_LOST_WAKEUP);
	/* The kernel's clock and ours differ by some hundred ns. */
	if (wait < 0)
		wait = 0;
	if (arrived > s->since && wait < (__s64)(arrived - s->since)) {
		charge_off_cpu(c, s, arrived - wait, s->state);
		s->since = arrived - wait;
		__sync_fetch_and_add(&repaired_wait_ns, wait);
	}
	s->state = EX_LAT;
	s->queue_offset = c->clock_offset;
}

/*
 * Latest time at which the occupant can have left a CPU whose account is wrong. `again`: time since
 * it came back.
 */
static __always_inline __u64 left_by(struct ex_cpu *c, struct ex_slot *s, __u64 at_most,
				     __u64 again)
{
	struct task_struct *task = (void *)s->task;
	__u64 ran = BPF_CORE_READ(task, se.sum_exec_runtime) - s->sum_exec;
	__u64 left = c->arrived + (ran > again ? ran - again : 0);

	if (left < c->since)
		return c->since;
	return left < at_most ? left : at_most;
}

/*
 * The state of a task that left its CPU unseen at `at` and is runnable by now: it lost its CPU
 * then, or it slept and was woken. The kernel's note of its queueing decides. The result never lies
 * after `now`, the earliest start of its next charge.
 */
static __always_inline __u32 runnable_since(struct ex_cpu *c, struct ex_slot *s, __u64 at, __u64 now)
{
	struct task_struct *task = (void *)s->task;
	__u64 queued = 0;

	if (bpf_core_field_exists(task->sched_info.last_queued))
		queued = BPF_CORE_READ(task, sched_info.last_queued);
	if (!queued) /* It runs on a CPU; the queueing is known when it arrives. */
		return EX_SLEEP;
	queued += c->clock_offset;
	if (queued <= at + EX_CLOCKS_AGREE_NS || queued > now)
		return EX_LAT_PREEMPT;
	/* Across a window's end it also sleeps until it arrives. */
	if (is_before(s, last_boundary(queued)))
		return EX_SLEEP;
	s->cum.ns[EX_SLEEP] += queued - at;
	s->since = queued;
	return EX_LAT;
}

/*
 * Takes a task off its CPU whose switch-out was not seen; runs after begin_to_leave(). Until
 * end_leaving() its state stays EX_RUN, so that no other CPU touches it. `back`: the task is on
 * this CPU again, so its present state says nothing about that time.
 */
__noinline int leave_unseen(struct ex_cpu *c, struct ex_slot *s, __u64 at, bool back, __u64 now)
{
	struct task_struct *task;
	struct boundary b = last_boundary(at);
	__u32 state;

	if (!c || !s)
		return 0;
	task = (void *)s->task;
	state = back ? TASK_INTERRUPTIBLE : state_of(task);
	close_segment(c, s, NULL, at, b);
	s->cum.repairs++;
	s->queue_offset = c->clock_offset;
	s->kstate = state;
	state = off_cpu_state(false, state);
	/* Its slot is freed when the kernel frees the task. */
	if (state == EX_DEAD) {
		if (s->counted != EX_UNCOUNTED)
			s->cum.missed += (__u32)(BPF_CORE_READ(task, nvcsw) +
						 BPF_CORE_READ(task, nivcsw) - s->counted);
		fold_late(c, s, s->cpu & EX_CPU_NUMBER, at, b);
	} else if (state == EX_LAT_PREEMPT) {
		if (counts_waits())
			s->arrivals = BPF_CORE_READ(task, sched_info.pcount);
		state = runnable_since(c, s, at, now);
	}
	end_leaving(c, s, state);
	return 0;
}

static __always_inline void count_repair(struct ex_cpu *c, __u64 now)
{
	__u32 e = last_boundary(now).epoch;
	__u64 begin = READ_ONCE(boundary_t[(e - 1) & 1]), from = c->since;

	/* The last event of an idle CPU may lie far before the window. */
	if (from < begin && begin < now)
		from = begin;
	count_error(EX_ERR_UNSEEN_SWITCH);
	__sync_fetch_and_add(&repaired_ns, now - from);
}

/*
 * The CPU runs another task than its account says, so at least one switch was not shown. A kernel
 * may hide events in the context of a task that it protects, or skip a program. The kernel's own
 * figures give the times: the CPU time of the old task, and the arrival of the new one.
 */
__noinline int resync(struct ex_cpu *c, __u64 now, __u32 cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ex_slot *s = NULL;
	__u64 arrived = 0, came_by = 0;
	__u32 index;

	if (!c)
		return 0;
	if (c->cur == EX_CUR_IDLE && !task->pid) {
		/* A task ran while the CPU seemed idle, for an unknown time. */
		count_error(EX_ERR_MISSED_SWITCH);
		return 0;
	}
	count_repair(c, now);
	if (task->pid && bpf_core_field_exists(task->sched_info.last_arrival)) {
		came_by = task->sched_info.last_arrival;
		arrived = came_by + c->clock_offset;
	}
	if (!arrived || arrived > now)
		arrived = now;
	else if (arrived < c->since)
		arrived = c->since; /* it was here before our last event */
	if (c->cur < max_slots)
		s = slot_at(c->cur);
	if (begin_to_leave(s, cpu)) {
		bool back = s->task == (__u64)task;

		leave_unseen(c, s, left_by(c, s, arrived, back ? now - arrived : 0), back, now);
		c->cur = EX_CUR_UNNAMED;
		if (blame)
			end_stay(c, cpu, EX_BY_OTHER);
	} else if (c->cur < max_slots) {
		/* The task left at an unknown time and was seen elsewhere. */
		c->cur = EX_CUR_UNNAMED;
		if (blame)
			end_stay(c, cpu, EX_BY_OTHER);
		close_segment(c, NULL, NULL, arrived, last_boundary(arrived));
	}
	if (!task->pid) {
		c->cur = EX_CUR_IDLE;
		if (blame)
			end_stay(c, cpu, EX_BY_IDLE);
		return 0;
	}
	s = slot_here_of(task, &index, cpu);
	if (!s)
		s = late_slot(task, &index);
	/* The two clocks agree to a fraction of a microsecond; ours has the time of the wake-up. */
	if (s && s->since > arrived)
		arrived = s->since < now ? s->since : now;
	close_segment(c, NULL, NULL, arrived, last_boundary(arrived));
	c->cur = EX_CUR_UNNAMED;
	if (blame)
		end_stay(c, cpu, EX_BY_OTHER);
	if (s && s->since <= arrived) {
		/* Its time in user and system mode meanwhile was not seen either. */
		s->split_run = 0;
		if (is_timed(s->state) && !is_waiting(s->state)) {
			cross(c, s, index, last_boundary(arrived), task);
			until_arrived(c, s, arrived);
		}
		switch_in(c, s, index, task, cpu, arrived, last_boundary(arrived),
			  came_by ? arrived - came_by : c->clock_offset, false);
		/* Not before it crossed the boundary: the repair belongs to this window. */
		s->cum.repairs++;
		c->cur = index;
		if (blame)
			begin_stay(c, s);
	}
	return 0;
}

/* Charges a CPU up to now, with the task on it if that has a slot. */
static __always_inline struct ex_slot *charge_occupant(struct ex_cpu *c, struct task_struct *task,
						       __u32 cpu, __u64 now, struct boundary b,
						       bool at_switch)
{
	struct ex_slot *s;

	read_run_queue(c, task, now, at_switch);
	if (count_missed(c, task, at_switch) || !in_step(c, task))
		resync(c, now, cpu);
	s = occupant(c);
	if (s)
		follow_group(c, s, task, now);
	close_segment(c, s, task, now, b);
	return s;
}

/*
 * A task is freed and still has a slot. Its last switch was not seen, or only by resync(). Its use
 * in the present window is folded now. If this happens inside another of our programs, its time
 * shows as a residual instead.
 */
__noinline int end_unseen(struct ex_cpu *c, struct ex_slot *s, __u32 index, bool nested)
{
	struct task_struct *current = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct boundary b;
	bool began;
	__u64 now;

	if (!c || !s)
		return 0;
	began = s->state != EX_NEW && s->state != EX_SEED;
	now = not_before(bpf_ktime_get_ns(), c->since);
	b = last_boundary(now);

	if (began && s->state != EX_DEAD) {
		count_error(EX_ERR_UNSEEN_SWITCH);
		cross(c, s, index, b, NULL);
		charge_off_cpu(c, s, now, s->state);
		s->since = now;
		if (!nested) {
			charge_occupant(c, current, cpu, now, b, false);
			fold_late(c, s, cpu, now, b);
		}
	}
	return 0;
}

#endif
