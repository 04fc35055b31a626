/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wake-ups: a task changes from sleep to waiting for a CPU at the waking call. The steps until it
 * is queued (an interrupt to another CPU, that CPU's exit from idle) are wait, not sleep.
 */
#ifndef EXACTOP_WAKE_H
#define EXACTOP_WAKE_H

#include "switch.h"

/* ex_slot.woken_at of a wake-up that is lost on purpose */
#define EX_LOST 0xffffffffffffffffull

/* True if the task is asleep, or was found by the iterator and has had no event since. */
static __always_inline bool may_wake(__u32 state)
{
	return state == EX_SEED || (is_timed(state) && state != EX_RUN && !is_waiting(state));
}

/*
 * From `at` on the task waits for a CPU; `now` is the clock. If a boundary lies in between, the
 * reader may have charged the time before it as sleep: the wait then begins at the boundary.
 */
static __always_inline void wake(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				 struct task_struct *p, __u64 at, __u64 now)
{
	cross(c, s, index, last_boundary(now), p);
	follow_group(c, s, p, now);
	if (waited_and_left(s, p, 0))
		end_wait_unseen(s, now);
	if (at < s->since)
		at = s->since;
	charge_off_cpu(c, s, at, s->state);
	if (s->state == EX_SEED)
		begin_account(s, at);
	s->cum.wakeups++;
	s->since = at;
	s->kstate = 0;
	s->state = EX_LAT;
	note_wait(c, s, p, at);
}

/*
 * A task is being woken, under its pi_lock. Once it is on no CPU and in no run queue, no other CPU
 * writes its slot until it is queued. Before that its last CPU may write the slot: the task is
 * still leaving, or, since 6.12, its run queue keeps it for a while. The instant is then stored in
 * a word that only holders of the lock write, and sched_wakeup, which has the run queue's lock,
 * uses it.
 */
static __always_inline void call(struct ex_cpu *c, struct task_struct *p, bool off)
{
	__u32 index, state;
	struct ex_slot *s = slot_of(p, &index);
	__u64 now;

	if (!s)
		return;
	state = READ_ONCE(s->state);
	if (off ? !may_wake(state) && !waited_and_left(s, p, 0) :
		  !is_timed(state) && state != EX_SEED)
		return;
	if (may_wake(state) && is_lost(c, EX_EV_WAKEUP)) {
		s->woken_at = EX_LOST;
		return;
	}
	now = bpf_ktime_get_ns();
	if (!off) {
		s->woken_at = now;
		return;
	}
	now = not_before(now, s->since);
	wake(c, s, index, p, now, now);
}

/*
 * Also counts the waker: only sched_waking is always in the waker's context. An interrupt runs in
 * the context of the task that it interrupted; while interrupts are measured, those are left out.
 */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ex_cpu *c = count_run(EX_EV_WAKEUP);
	struct ex_slot *s = c && task->pid && !c->irq_depth ? own_slot(c, task) : NULL;
	__u64 depth;
	bool off;

	if (s)
		__sync_fetch_and_add(&s->cum.given, 1);
	/*
	 * A task that wakes itself was only about to sleep. Interrupts are on there: see
	 * own_slot().
	 */
	if (!c || p == task)
		return 0;
	/* Before the slot is read: enter() keeps the order. */
	off = is_off(p);
	depth = enter(c);
	call(c, p, off);
	leave(c, depth);
	return 0;
}

/* Handles the slot of a task whose wake-up is complete. */
static __always_inline void queue(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				  struct task_struct *p)
{
	bool left = waited_and_left(s, p, 0);
	__u64 at = s->woken_at, now;

	if (at)
		s->woken_at = 0;
	if (at == EX_LOST)
		return;
	if (s->state == EX_LAT && !left) {
		note_queued(s, p);
		if (!is_throttled(p) || is_on_cpu(p))
			return;
		now = not_before(bpf_ktime_get_ns(), s->since);
		cross(c, s, index, last_boundary(now), p);
		charge_off_cpu(c, s, now, EX_LAT);
		s->since = now;
		s->state = EX_THROTTLE;
		return;
	}
	/* A task on a CPU came there unseen, and its slot belongs to that CPU. */
	if ((!may_wake(s->state) && !left) || is_on_cpu(p))
		return;
	now = not_before(bpf_ktime_get_ns(), s->since);
	/* 0: the call was not shown. */
	wake(c, s, index, p, at && at < now ? at : now, now);
	note_queued(s, p);
	if (is_throttled(p))
		s->state = EX_THROTTLE;
}

/*
 * Only sched_wakeup is ordered with the task's own switch-out (under its run queue's lock, or after
 * on_cpu fell), and knows if its group is throttled there. So this program is needed, although
 * on_waking has done everything for most of its runs.
 */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	struct ex_slot *s;
	__u64 depth;
	__u32 index;
	struct ex_cpu *c;

	c = count_run(EX_EV_WAKEUP);
	if (!c || p == bpf_get_current_task_btf())
		return 0;
	depth = enter(c);
	s = slot_of(p, &index);
	if (s)
		queue(c, s, index, p);
	leave(c, depth);
	return 0;
}

#endif
