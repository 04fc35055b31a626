/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The audit compares each task's run time and waits with the kernel's counts, sum_exec_runtime and
 * sched_info.run_delay. It does so whenever the task leaves a CPU, and at a window's end while it
 * is on one.
 *
 * Both sides count from event to event. The kernel stamps its events with the run queue's clock as
 * of its last update: earlier than our clock. It is much earlier if the kernel skips the update
 * (rq_clock_skip_update): the time between a wake-up and the switch is then charged to the woken
 * task. The programs read the kernel's stamps at the same instant as their own, so the difference
 * is known for each event: the bias. The rest is the error, which is 0 if both sides saw the same
 * events.
 */
#ifndef EXACTOP_AUDIT_H
#define EXACTOP_AUDIT_H

#include "cpu.h"

/* Without run queues the clock of the stamps is unknown (clock_offset). */
static __always_inline bool counts_waits(void)
{
	return has_run_queues() &&
	       bpf_core_field_exists(((struct task_struct *)0)->sched_info.run_delay) &&
	       bpf_core_field_exists(((struct task_struct *)0)->sched_info.last_queued);
}

/*
 * All bits, or no bit if n is 0. There is no branch, and the compiler may not see the value, or it
 * would make a branch: each one would double the paths that the verifier checks from there on.
 */
static __always_inline __u64 if_any(__u64 n)
{
	__u64 negative = -n;

	asm volatile("" : "+r"(negative));
	return (__s64)(n | negative) >> 63;
}

/*
 * All bits once the task's audit has begun: the task was seen leaving a CPU, or on it at a window's
 * end.
 */
static __always_inline __u64 if_begun(struct ex_slot *s)
{
	return if_any(s->counted ^ EX_UNCOUNTED);
}

/* The task's time on CPUs in our account, with the parts taken by interrupts and steal. */
static __always_inline __u64 on_cpus(struct ex_slot *s)
{
	__u64 *ns = s->cum.ns;

	return ns[EX_RUN] + ns[EX_USR] + ns[EX_SYS] + ns[EX_STEAL] + ns[EX_IRQ];
}

/* The kernel's count of a task's arrivals on a CPU: at a switch, without the one that it makes. */
static __always_inline __u32 arrivals_of(struct task_struct *task)
{
	return counts_waits() ? task->sched_info.pcount : 0;
}

/* Notes that a wait begins. A later event may tell when the task enters its run queue. */
static __always_inline void note_wait(struct ex_cpu *c, struct ex_slot *s, struct task_struct *task,
				      __u64 at)
{
	s->arrivals = arrivals_of(task);
	s->wait_began = at;
	s->queue_offset = c->clock_offset;
}

/*
 * Notes that the task is in its run queue now. A task without the kernel's note came onto a CPU by
 * an unseen switch, and the kernel has counted its wait already. The clocks' difference at the
 * wait's begin then stays.
 */
static __always_inline void note_queued(struct ex_slot *s, struct task_struct *task)
{
	if (counts_waits() && task->sched_info.last_queued)
		s->queue_offset = s->wait_began - task->sched_info.last_queued;
}

/*
 * Notes that a task comes onto this CPU. `offset` is the instant on our clock less the same one on
 * the run queue's clock. `shown`: the switch was shown, so that the kernel counts the wait only
 * now.
 */
static __always_inline void note_arrival(struct ex_cpu *c, struct ex_slot *s,
					 struct task_struct *task, __s64 offset, bool shown)
{
	__u64 bias, uncounted;

	c->came_offset = offset;
	if (has_run_queues()) {
		struct rq *rq = run_queue_of(task);

		c->came_ahead = offset + rq->clock - rq->clock_task;
	}
	if (!counts_waits())
		return;
	bias = offset - s->queue_offset;
	/*
	 * The task was preempted between announcing its sleep and going to sleep. The kernel counts
	 * no wait of such a task (sched_info_depart).
	 */
	if (shown) {
		uncounted = s->delay_offset - (task->sched_info.run_delay - waited(&s->cum)) - bias;
		bias += uncounted & ~if_any(task->sched_info.last_queued);
	}
	bias &= if_begun(s);
	s->delay_offset -= bias;
	s->cum.lat_bias += bias;
}

/* Longest search of a CPU for other work: 1 ms, twice sched_migration_cost, rounded up. */
#define EX_SEARCH_BITS 20

/*
 * All bits if the task leaves its CPU to sleep and the kernel may move its exec_start. That happens
 * if the CPU finds another task meanwhile, without charging any time (dl_server_update_idle_time,
 * 6.12 and later). exec_start is then not the time of the kernel's last count. After a repair it
 * may have any value.
 */
static __always_inline __u64 if_searching(struct ex_slot *s, struct task_struct *task)
{
	if (!bpf_core_field_exists(((struct rq *)0)->fair_server))
		return 0;
	return ~if_any(task->on_rq) & ~if_any(s->cum.repairs - s->snap.repairs);
}

/*
 * Adds the difference since the last comparison. `ahead`: our clock less the kernel's task clock at
 * its last count. If `leaves` is set and the CPU may be searching, a missing time of at most one
 * search counts as bias instead of error.
 */
static __always_inline void hold_run_time(struct ex_cpu *c, struct ex_slot *s,
					  struct task_struct *task, __u64 sum_exec, __s64 ahead,
					  __u64 begun, bool leaves)
{
	__u64 offset = sum_exec - on_cpus(s), error, search = 0;

	error = (s->exec_offset - offset - (ahead - c->came_ahead)) & begun;
	s->exec_offset = offset;
	/* Nearly always; else it needs a cache line of the slot that nothing else here needs. */
	if (!error)
		return;
	if (leaves)
		search = error & if_searching(s, task) & ~if_any(error >> EX_SEARCH_BITS);
	s->cum.run_error += error - search;
	s->cum.run_bias += search;
}

static __always_inline void hold_waits(struct ex_slot *s, struct task_struct *task, __u64 begun)
{
	__u64 offset;

	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return;
	offset = task->sched_info.run_delay - waited(&s->cum);
	if (counts_waits())
		s->cum.lat_error += (s->delay_offset - offset) & begun;
	s->delay_offset = offset;
}

/* Compares a task that leaves its CPU. The first time begins its audit. */
static __always_inline void audit_leaving(struct ex_cpu *c, struct ex_slot *s,
					  struct task_struct *task, __u64 now)
{
	__u64 begun = if_begun(s);

	hold_waits(s, task, begun);
	if (has_run_queues()) {
		struct rq *rq = run_queue_of(task);
		__u64 counted_at = task->se.exec_start;

		hold_run_time(c, s, task, task->se.sum_exec_runtime, now - counted_at, begun, true);
		/* The CPU's search for another task is charged to no task. */
		s->cum.run_bias += (c->clock_offset + rq->clock_task - counted_at - c->came_offset) &
				   begun;
	}
	if (counts_waits())
		s->queue_offset = c->clock_offset;
}

/*
 * Compares a task that stays on its CPU at a window's end. Another CPU may be counting its time
 * just now: two equal readings are one count.
 */
static __always_inline void audit_staying(struct ex_cpu *c, struct ex_slot *s,
					  struct task_struct *task, __u64 now, struct boundary b)
{
	struct sched_entity *se = &task->se;
	__u64 counted_at, sum_exec, begun = if_begun(s);

	hold_waits(s, task, begun);
	if (has_run_queues()) {
		sum_exec = READ_ONCE(se->sum_exec_runtime);
		counted_at = READ_ONCE(se->exec_start);
		if (sum_exec == READ_ONCE(se->sum_exec_runtime) &&
		    counted_at == READ_ONCE(se->exec_start)) {
			hold_run_time(c, s, task, sum_exec, now - counted_at, begun, false);
			c->came_ahead = now - counted_at;
		}
	}
	/* The task does not leave meanwhile, so its next switch is one more. */
	if (!begun)
		s->counted = task->nvcsw + task->nivcsw;
	/* The task was on its CPU at the boundary too, and this comparison belongs to it. */
	if (c->arrived <= b.t && s->epoch == b.epoch) {
		s->snap.run_error = s->cum.run_error;
		s->snap.lat_error = s->cum.lat_error;
	}
}

#endif
