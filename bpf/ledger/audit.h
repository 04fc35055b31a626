/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The audit: each task's run time and waits held against what the kernel counted of them,
 * sum_exec_runtime and sched_info.run_delay, whenever it leaves a CPU and when a window ends while
 * it is on one.
 *
 * Both sides count from event to event, but the kernel stamps its events with the clock of the run
 * queue, as of the last time that was set: earlier than ours, and much earlier where it leaves the
 * setting out (rq_clock_skip_update: what lies between a wake-up and the switch to the woken task
 * is charged to that task). The stamps can be had at the same instant as ours, so what lies between
 * them is known for each event: the bias. What is left is the error, and that is 0 if both saw
 * the same events.
 */
#ifndef EXACTOP_AUDIT_H
#define EXACTOP_AUDIT_H

#include "cpu.h"

static __always_inline bool has_run_queues(void)
{
	return bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq);
}

/* Without run queues the clock that stamps them is not known (clock_offset). */
static __always_inline bool counts_waits(void)
{
	return has_run_queues() &&
	       bpf_core_field_exists(((struct task_struct *)0)->sched_info.run_delay) &&
	       bpf_core_field_exists(((struct task_struct *)0)->sched_info.last_queued);
}

/*
 * All bits, or none if n is 0. No branch, and hidden from the compiler, which would make one of it:
 * each would double what the verifier has to look at from there on.
 */
static __always_inline __u64 if_any(__u64 n)
{
	__u64 negative = -n;

	asm volatile("" : "+r"(negative));
	return (__s64)(n | negative) >> 63;
}

/* All bits once the audit of a task has begun: it was seen on a CPU to its end, or a window's. */
static __always_inline __u64 if_begun(struct ex_slot *s)
{
	return if_any(s->counted ^ EX_UNCOUNTED);
}

/* Its time on CPUs by our own account, whoever took a part of it. */
static __always_inline __u64 on_cpus(struct ex_slot *s)
{
	__u64 *ns = s->cum.ns;

	return ns[EX_RUN] + ns[EX_USR] + ns[EX_SYS] + ns[EX_STEAL] + ns[EX_IRQ];
}

/* How long a task has waited for a CPU by our own account. */
static __always_inline __u64 waited(struct ex_slot *s)
{
	return s->cum.ns[EX_LAT] + s->cum.ns[EX_LAT_PREEMPT] + s->cum.ns[EX_THROTTLE];
}

/* A wait begins. When the task is put into its run queue is told later, or never. */
static __always_inline void note_wait(struct ex_cpu *c, struct ex_slot *s, __u64 at)
{
	s->wait_began = at;
	s->queue_offset = c->clock_offset;
}

/*
 * It is in its run queue now. A task without that note came onto a CPU by a switch that was not
 * shown, and the kernel has counted its wait already: the clocks' difference as the wait began stays.
 */
static __always_inline void note_queued(struct ex_slot *s, struct task_struct *task)
{
	if (counts_waits() && task->sched_info.last_queued)
		s->queue_offset = s->wait_began - task->sched_info.last_queued;
}

/*
 * A task comes onto this CPU at an instant that lies `offset` after the same one by the run queue's
 * clock. `shown`: by a switch that was shown to us, so that the kernel counts its wait only now.
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
	 * Preempted when it had said that it would sleep and before it did: the kernel counts no wait
	 * of such a task (sched_info_depart).
	 */
	if (shown) {
		uncounted = s->delay_offset - (task->sched_info.run_delay - waited(s)) - bias;
		bias += uncounted & ~if_any(task->sched_info.last_queued);
	}
	bias &= if_begun(s);
	s->delay_offset -= bias;
	s->cum.lat_bias += bias;
}

/* A CPU that looks for other work gives up before (1 ms: twice sched_migration_cost, rounded up). */
#define EX_SEARCH_BITS 20

/*
 * All bits if a task leaves its CPU to sleep, where a task that the CPU finds meanwhile moves
 * exec_start of the one that leaves without charging anything (dl_server_update_idle_time, 6.12 and
 * later): then it is not when the kernel last counted. After a repair it may be anything else.
 */
static __always_inline __u64 if_searching(struct ex_slot *s, struct task_struct *task)
{
	if (!bpf_core_field_exists(((struct rq *)0)->fair_server))
		return 0;
	return ~if_any(task->on_rq) & ~if_any(s->cum.repairs - s->snap.repairs);
}

/*
 * What was not the same since the last look. `ahead`: of the kernel's clock for tasks, at its last
 * count. Of a task for which `searching` is set, what it lacks by no more than a search is that.
 */
static __always_inline void hold_run_time(struct ex_cpu *c, struct ex_slot *s, __u64 sum_exec,
					  __s64 ahead, __u64 begun, __u64 searching)
{
	__u64 offset = sum_exec - on_cpus(s);
	__u64 error = (s->exec_offset - offset - (ahead - c->came_ahead)) & begun;
	__u64 search = error & searching & ~if_any(error >> EX_SEARCH_BITS);

	s->cum.run_error += error - search;
	s->cum.run_bias += search;
	s->exec_offset = offset;
}

static __always_inline void hold_waits(struct ex_slot *s, struct task_struct *task, __u64 begun)
{
	__u64 offset;

	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return;
	offset = task->sched_info.run_delay - waited(s);
	if (counts_waits())
		s->cum.lat_error += (s->delay_offset - offset) & begun;
	s->delay_offset = offset;
}

/* A task leaves its CPU; the first time that it is seen to, the audit of it begins. */
static __always_inline void audit_leaving(struct ex_cpu *c, struct ex_slot *s,
					  struct task_struct *task, __u64 now)
{
	__u64 begun = if_begun(s);

	hold_waits(s, task, begun);
	if (has_run_queues()) {
		struct rq *rq = run_queue_of(task);
		__u64 counted_at = task->se.exec_start;

		hold_run_time(c, s, task->se.sum_exec_runtime, now - counted_at, begun,
			      if_searching(s, task));
		/* What it looked for other work is charged to nobody. */
		s->cum.run_bias += (c->clock_offset + rq->clock_task - counted_at - c->came_offset) &
				   begun;
	}
	if (counts_waits())
		s->queue_offset = c->clock_offset;
}

/*
 * The same of a task that stays on its CPU when a window ends. Another CPU may be counting its
 * time just now: two looks that agree are one count.
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
			hold_run_time(c, s, sum_exec, now - counted_at, begun, 0);
			c->came_ahead = now - counted_at;
		}
	}
	/* It does not leave meanwhile, so the next time that it does is one more. */
	if (!begun)
		s->counted = task->nvcsw + task->nivcsw;
	/* It was on its CPU at the boundary, too, and nothing of this came after. */
	if (c->arrived <= b.t && s->epoch == b.epoch) {
		s->snap.run_error = s->cum.run_error;
		s->snap.lat_error = s->cum.lat_error;
	}
}

#endif
