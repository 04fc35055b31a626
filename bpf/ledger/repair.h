/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What to do when a switch was not seen. All of it is rare, and in functions that the verifier looks
 * at once, not for each way that leads there.
 */
#ifndef EXACTOP_REPAIR_H
#define EXACTOP_REPAIR_H

#include "switch.h"

/*
 * A task that is on a CPU already and whose wake-up was not seen: what the kernel counted of its
 * waits and we did not is how long it was queued before it arrived. Before that it slept.
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
 * When the occupant of a CPU that is out of step can have left it, at the latest. `again`: for how
 * long it has been back.
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
 * What a task that left its CPU unseen at `at` and is runnable by now is told as: it lost its CPU then,
 * or slept and was woken. The kernel's note of when it was queued tells which. Nothing that lies after
 * `now`, which is what its next event may be charged from.
 */
static __always_inline __u32 runnable_since(struct ex_cpu *c, struct ex_slot *s, __u64 at, __u64 now)
{
	struct task_struct *task = (void *)s->task;
	__u64 queued = 0;

	if (bpf_core_field_exists(task->sched_info.last_queued))
		queued = BPF_CORE_READ(task, sched_info.last_queued);
	if (!queued) /* It runs somewhere: when it was queued is known where it arrives. */
		return EX_SLEEP;
	queued += c->clock_offset;
	if (queued <= at + EX_CLOCKS_AGREE_NS || queued > now)
		return EX_LAT_PREEMPT;
	/* Across a window's end it sleeps until it arrives, too. */
	if (is_before(s, last_boundary(queued)))
		return EX_SLEEP;
	s->cum.ns[EX_SLEEP] += queued - at;
	s->since = queued;
	return EX_LAT;
}

/*
 * Takes a task off its CPU whose switch-out was not seen, after begin_to_leave(). Until end_leaving()
 * its state stays EX_RUN, so that nobody else touches it. `back`: it is on this CPU again, so nothing of
 * what it looks like now is from then.
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
	/* Its slot goes when the kernel frees the task. */
	if (state == EX_DEAD) {
		if (s->counted != EX_UNCOUNTED)
			s->cum.missed += (__u32)(BPF_CORE_READ(task, nvcsw) +
						 BPF_CORE_READ(task, nivcsw) - s->counted);
		fold_late(c, s, s->cpu & EX_CPU_NUMBER, at, b);
	} else if (state == EX_LAT_PREEMPT) {
		state = runnable_since(c, s, at, now);
	}
	end_leaving(c, s, state);
	return 0;
}

static __always_inline void count_repair(struct ex_cpu *c, __u64 now)
{
	__u32 e = last_boundary(now).epoch;
	__u64 begin = READ_ONCE(boundary_t[(e - 1) & 1]), from = c->since;

	/* An idle CPU's last event may lie far before the window. */
	if (from < begin && begin < now)
		from = begin;
	count_error(EX_ERR_UNSEEN_SWITCH);
	__sync_fetch_and_add(&repaired_ns, now - from);
}

/*
 * The CPU is running something else than we think: at least one switch was not shown to us. A
 * kernel may hide what happens in the context of a task it protects, or skip a program. What it
 * kept itself says when: how much CPU time the one had, and when the other arrived.
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
		/* Somebody ran while we thought it idle, and nobody knows for how long. */
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
	} else if (c->cur < max_slots) {
		/* It left and was seen elsewhere: nobody knows when. */
		c->cur = EX_CUR_UNNAMED;
		close_segment(c, NULL, NULL, arrived, last_boundary(arrived));
	}
	if (!task->pid) {
		c->cur = EX_CUR_IDLE;
		return 0;
	}
	s = slot_here_of(task, &index, cpu);
	if (!s)
		s = late_slot(task, &index);
	/* The two clocks agree to a fraction of a microsecond; ours says when it was woken. */
	if (s && s->since > arrived)
		arrived = s->since < now ? s->since : now;
	close_segment(c, NULL, NULL, arrived, last_boundary(arrived));
	c->cur = EX_CUR_UNNAMED;
	if (s && s->since <= arrived) {
		/* What it did meanwhile was not seen either. */
		s->split_run = 0;
		if (is_timed(s->state) && !is_waiting(s->state)) {
			cross(c, s, index, last_boundary(arrived), task);
			until_arrived(c, s, arrived);
		}
		switch_in(c, s, index, task, cpu, arrived, last_boundary(arrived),
			  came_by ? arrived - came_by : c->clock_offset, false);
		/* Not before it crossed the boundary: it is of this window. */
		s->cum.repairs++;
		c->cur = index;
	}
	return 0;
}

/* Charges a CPU up to now, with whoever runs there, if that has a slot. */
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
 * A task that is freed and still has a slot: its last switch was not seen, or only as what
 * resync() made of it. What it executed in the present window is folded now. Where this
 * comes in the middle of another of our programs, its time shows as a residual instead.
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
