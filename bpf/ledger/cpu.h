/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPUs: segments from one event to the next, charged to the CPU's occupant. */
#ifndef EXACTOP_CPU_H
#define EXACTOP_CPU_H

#include "window.h"

struct segment {
	__u64 ns;
	__u64 steal;
	__u64 irq;
};

/* True for the watched process, or for a task of a followed tree if no process is watched. */
static __always_inline bool is_watched(struct ex_slot *s)
{
	return watch_tgid ? s->id.tgid == watch_tgid : s->tree;
}

static __always_inline void post_cpu(struct ex_cpu_cum *cum, __u32 cur, struct segment seg,
				     bool watched)
{
	__u64 left = seg.ns - seg.steal - seg.irq;

	cum->steal += seg.steal;
	cum->irq += seg.irq;
	if (cur == EX_CUR_IDLE) {
		cum->idle += left;
		cum->steal_idle += seg.steal;
		cum->irq_idle += seg.irq;
	} else if (cur == EX_CUR_OFFLINE) {
		cum->offline += left;
	} else if (cur == EX_CUR_UNNAMED) {
		cum->unnamed += left;
		cum->steal_idle += seg.steal;
		cum->irq_idle += seg.irq;
	} else {
		cum->task += left;
		if (watched)
			cum->watched += left;
	}
}

/*
 * Reads how far the hypervisor's steal count moved since this CPU's last look. `fresh`: the run
 * queue's clock was updated just now. If a wake-up took the CPU out of idle, the update came with
 * that wake-up (rq_clock_skip_update() of kernel/sched/core.c). clock_offset is then too large by
 * the microseconds in between, and so is a repair's time from the run queue's clock until the next
 * switch.
 */
static __always_inline void read_run_queue(struct ex_cpu *c, struct task_struct *on_cpu,
					   __u64 now, bool fresh)
{
	__u64 raw;

	if (fresh && bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		c->clock_offset = now - run_queue_of(on_cpu)->clock;
	if (!bpf_core_field_exists(((struct rq *)0)->prev_steal_time_rq))
		return;
	if (!bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		return;
	raw = run_queue_of(on_cpu)->prev_steal_time_rq;
	if (c->steal_raw != EX_UNREAD && raw > c->steal_raw)
		c->steal_carry += raw - c->steal_raw;
	c->steal_raw = raw;
}

/*
 * Compares the switches shown since the last look with the kernel's own count, which __schedule()
 * raises before it calls the tracepoint. Returns the number of switches that were not shown.
 */
static __always_inline __u64 count_missed(struct ex_cpu *c, struct task_struct *on_cpu, __u64 shown)
{
	__u64 count, missed = 0;
	struct rq *rq;

	if (!bpf_core_field_exists(((struct rq *)0)->nr_switches) ||
	    !bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		return 0;
	rq = run_queue_of(on_cpu);
	count = rq->nr_switches;
	if (c->kernel_switches != EX_UNREAD)
		missed = count - c->kernel_switches - shown;
	c->rq = (__u64)rq;
	c->kernel_switches = count;
	c->cum.missed += missed;
	return missed;
}

/* PREEMPT_RT: a switch inside a softirq is no missed end. */
static __always_inline bool softirqs_lose_the_cpu(void)
{
	return bpf_core_field_exists(((struct task_struct *)0)->softirq_disable_cnt);
}

/*
 * Counts an interrupt with an unseen begin or end. Only a CPU that has had a switch since measuring
 * began counts it: no interrupt was underway at the switch, so both ends must be seen after it.
 */
static __always_inline void count_unseen_interrupt(struct ex_cpu *c)
{
	__u32 run = READ_ONCE(irq_run);

	if (run && c->irq_run == run)
		count_error(EX_ERR_UNSEEN_IRQ);
}

static __always_inline __u64 take_steal(struct ex_cpu *c, __u64 at_most)
{
	__u64 steal = c->steal_carry < at_most ? c->steal_carry : at_most;

	c->steal_carry -= steal;
	return steal;
}

/*
 * Takes the time of interrupts that ended and are not charged yet. Each side may only write its own
 * counter.
 */
static __always_inline __u64 take_irq(struct ex_cpu *c, __u64 at_most)
{
	__u64 irq = *(volatile __u64 *)&c->irq_total - c->irq_taken;

	if (irq > at_most)
		irq = at_most;
	c->irq_taken += irq;
	return irq;
}

static __always_inline void take(struct ex_cpu *c, struct segment *seg)
{
	seg->steal = take_steal(c, seg->ns);
	seg->irq = take_irq(c, seg->ns - seg->steal);
}

/*
 * A CPU crosses a boundary, with the task on it if that has a slot. Idle and offline time before
 * the boundary takes neither steal nor interrupts: the reader, which knows only the state, may have
 * charged it already.
 */
__noinline int end_window(struct ex_cpu *c, struct ex_slot *s, __u32 e)
{
	struct boundary b = boundary_of(e);
	bool watched = s && is_watched(s);
	struct segment seg = {};

	if (!c)
		return 0;
	if ((__s32)(c->epoch - e) < 0) {
		seg.ns = b.t > c->since ? b.t - c->since : 0;
		if (c->cur != EX_CUR_IDLE && c->cur != EX_CUR_OFFLINE)
			take(c, &seg);
		c->snap = c->cum;
		post_cpu(&c->snap, c->cur, seg, watched);
		store_barrier(c);
		*(volatile __u32 *)&c->epoch = e;
		store_barrier(c);
		post_cpu(&c->cum, c->cur, seg, watched);
		c->since += seg.ns;
	}
	if (s && is_before(s, b))
		set_aside(c, s, slot_and_epoch(c->cur, e), seg.steal, seg.irq);
	return 0;
}

/*
 * Ends the present occupant's segment at `now`: charges the CPU and, if a slot is on it, the slot.
 */
static __always_inline void close_segment(struct ex_cpu *c, struct ex_slot *s,
					  struct task_struct *task, __u64 now, struct boundary b)
{
	bool watched = s && is_watched(s), first = s && is_before(s, b);
	struct segment seg = {};

	if (first || (__s32)(c->epoch - b.epoch) < 0)
		end_window(c, s, b.epoch);
	if (first && task)
		identify_again(s, task);
	seg.ns = now - c->since;
	if (c->cur != EX_CUR_OFFLINE)
		take(c, &seg);
	post_cpu(&c->cum, c->cur, seg, watched);
	c->since = now;
	if (!s)
		return;
	if (now - s->since >= seg.steal + seg.irq) {
		*time_in(&s->cum, account_of(s)) += now - s->since - seg.steal - seg.irq;
		s->cum.ns[EX_STEAL] += seg.steal;
		s->cum.ns[EX_IRQ] += seg.irq;
	}
	s->since = now;
	if (!task)
		return;
	s->cum.utime = task->utime;
	s->cum.stime = task->stime;
	s->cum.min_flt = task->min_flt;
	s->cum.maj_flt = task->maj_flt;
}

/* True if the CPU does what its account says: it runs the owner of that slot, or idles. */
static __always_inline bool in_step(struct ex_cpu *c, struct task_struct *task)
{
	struct ex_slot *s;

	if (c->cur >= max_slots)
		return c->cur != EX_CUR_IDLE || !task->pid;
	s = slot_at(c->cur);
	return s && s->task == (__u64)task;
}

/* The slot on a CPU whose account is right. */
static __always_inline struct ex_slot *occupant(struct ex_cpu *c)
{
	return c->cur < max_slots ? slot_at(c->cur) : NULL;
}

/*
 * The slot of the task that runs this program, without touching its storage. In process context an
 * interrupt may need the storage at the same time, and before 6.2 one of the two gets nothing.
 */
static __always_inline struct ex_slot *own_slot(struct ex_cpu *c, struct task_struct *task)
{
	struct ex_slot *s = slot_at(c->cur);

	return s && s->task == (__u64)task ? s : NULL;
}

/* For tests: true for the last switch of a task whose exit was hidden, if both are to be hidden. */
static __always_inline bool is_end_lost(struct ex_cpu *c, struct task_struct *prev,
					unsigned int prev_state)
{
	struct ex_slot *s;

	if (lose_kind < EX_LOSE_ENDS || !(prev_state & TASK_DEAD))
		return false;
	s = own_slot(c, prev);
	return s && !(s->exit_flags & EX_EXIT_NOTED);
}

/*
 * Counts a run of a program, whatever it does: the cost of measuring is computed from this number.
 * An interrupt in the middle may lose one count.
 */
static __always_inline struct ex_cpu *count_run(__u32 kind)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());

	if (c)
		c->events[kind]++;
	return c;
}

/* The slot of the task that runs this program, if the program needs nothing else of this CPU. */
static __always_inline struct ex_slot *slot_here(struct task_struct *task)
{
	struct ex_cpu *c = count_run(EX_EV_OTHER);

	return c ? own_slot(c, task) : NULL;
}

#endif
