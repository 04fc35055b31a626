/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Windows: the boundaries that an event has passed, and setting a slot's figures aside at one. */
#ifndef EXACTOP_WINDOW_H
#define EXACTOP_WINDOW_H

#include "blame.h"

/* The last boundary at or before now: its epoch and instant. */
struct boundary {
	__u64 t;
	__u32 epoch;
};

static __always_inline struct boundary last_boundary(__u64 now)
{
	struct boundary b;

	b.epoch = READ_ONCE(epoch);
	b.t = READ_ONCE(boundary_t[b.epoch & 1]);
	if (now < b.t) {
		b.epoch--;
		b.t = READ_ONCE(boundary_t[b.epoch & 1]);
	}
	return b;
}

/* The boundary of an epoch, which a clock reading of this program has passed. */
static __always_inline struct boundary boundary_of(__u32 e)
{
	struct boundary b = { .t = READ_ONCE(boundary_t[e & 1]), .epoch = e };

	return b;
}

/* True only in a ledger that loses events for tests. */
static __always_inline bool is_lost(struct ex_cpu *c, __u32 kind)
{
	if (!lose_one_in || kind != lose_kind || c->met++ % lose_one_in >= lose_in_a_row)
		return false;
	__sync_fetch_and_add(&events_lost, 1);
	return true;
}

static __always_inline bool is_timed(__u32 state)
{
	return state == EX_RUN || (state >= EX_LAT && state <= EX_THROTTLE);
}

/* The time of a timed state. In assembly, so that the verifier sees the bound too. */
static __always_inline __u64 *time_in(struct ex_cum *cum, __u64 state)
{
	asm volatile("%0 &= 15" : "+r"(state));
	return &cum->ns[state];
}

/* Runnable without a CPU. */
static __always_inline bool is_waiting(__u32 state)
{
	return state == EX_LAT || state == EX_LAT_PREEMPT || state == EX_THROTTLE;
}

/* The account that a slot's time goes to at the moment. */
static __always_inline __u32 account_of(struct ex_slot *s)
{
	__u32 run = READ_ONCE(split_run);

	if (s->state != EX_RUN || !run || s->split_run != run)
		return s->state;
	return s->mode;
}

static __always_inline void list_dirty(__u32 e, __u32 index)
{
	__u32 n = __sync_fetch_and_add(&dirty_n[e & 1], 1);
	__u32 at = n + (e & 1) * max_listed;
	__u64 *entry;

	if (n >= max_listed)
		return; /* the reader sees the count and reads all slots */
	entry = bpf_map_lookup_elem(&dirty, &at);
	if (entry)
		*entry = index;
}

/*
 * True if a slot has not crossed a boundary yet. Never goes back: another CPU's clock may be a
 * little ahead.
 */
static __always_inline bool is_before(struct ex_slot *s, struct boundary b)
{
	return (__s32)(s->epoch - b.epoch) < 0;
}

/* Two numbers as one argument, because a function can have five. */
static __always_inline __u64 slot_and_epoch(__u32 index, __u32 e)
{
	return (__u64)index << 32 | e;
}

/* Reads the session of a slot's task again. A function, because callers have no stack left for it on Linux 6.1. */
__noinline int follow_session(struct ex_slot *s)
{
	if (s)
		identify_session(&s->id, (void *)s->task);
	return 0;
}

/* Reads the identity of a slot's task again, at its first event in a window. */
static __always_inline void identify_again(struct ex_slot *s, struct task_struct *task)
{
	identify_itself(&s->id, task);
	follow_session(s);
	if (blame)
		follow_party(s);
}

/*
 * Sets a slot's figures aside at the boundary. The time up to it is charged to the slot's state,
 * less the time taken from it.
 */
__noinline int set_aside(struct ex_cpu *c, struct ex_slot *s, __u64 slot_and_epoch, __u64 steal,
			 __u64 irq)
{
	struct boundary b = boundary_of(slot_and_epoch);
	__u32 state, account;
	__u64 d = 0;

	if (!c || !s)
		return 0;
	state = s->state;
	account = account_of(s);
	if (is_timed(state) && b.t > s->since)
		d = b.t - s->since;
	if (steal > d)
		steal = d;
	if (irq > d - steal)
		irq = d - steal;
	s->snap = s->cum;
	s->snap_waits = s->waits;
	if (d) {
		*time_in(&s->snap, account) += d - steal - irq;
		s->snap.ns[EX_STEAL] += steal;
		s->snap.ns[EX_IRQ] += irq;
	}
	s->snap_state = state;
	s->snap_cpu = s->cpu;
	s->snap_kstate = s->kstate;
	s->snap_cgroup = s->id.cgroup;
	s->snap_party = s->party;
	store_barrier(c);
	*(volatile __u32 *)&s->epoch = b.epoch;
	store_barrier(c);
	if (d) {
		*time_in(&s->cum, account) += d - steal - irq;
		s->cum.ns[EX_STEAL] += steal;
		s->cum.ns[EX_IRQ] += irq;
		s->since = b.t;
	}
	list_dirty(b.epoch, slot_and_epoch >> 32);
	return 0;
}

/*
 * The same for a task on no CPU, from which no time was taken. If the task seems to run, it has
 * left another CPU unseen; that CPU charges the stretch to the task that it finds there.
 */
static __always_inline void cross(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				  struct boundary b, struct task_struct *task)
{
	if (s->state == EX_RUN)
		s->state = EX_SLEEP;
	if (!is_before(s, b))
		return;
	set_aside(c, s, slot_and_epoch(index, b.epoch), 0, 0);
	if (task)
		identify_again(s, task);
}

/* Charges an off-CPU task up to now, to its state or to another one (see caller). */
static __always_inline void charge_off_cpu(struct ex_cpu *c, struct ex_slot *s, __u64 now,
					   __u32 state)
{
	if (is_timed(s->state) && now > s->since)
		*time_in(&s->cum, state) += now - s->since;
}

#endif
