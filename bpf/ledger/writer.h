/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Each slot has one writer. The scheduler's own locks nearly always ensure this: the writer is the
 * owner's CPU, the waking CPU, or the CPU that picks the owner. They do not order one case: a CPU
 * notices that the owner has left it unseen (leave_unseen() in repair.h) while another CPU takes
 * the owner in. So:
 *
 * - EX_RUN with the number of a CPU means that only this CPU may take the owner off. It first adds
 *   EX_CPU_LEAVING to the number in one step, and keeps EX_RUN until its last store.
 * - A CPU that finds EX_RUN and another CPU's number first sets its own number in one step, before
 *   it writes anything else. One of the two steps comes first and the other one fails, so no CPU
 *   waits.
 * - In any other state no CPU is taking the owner off, and none will begin: that needs EX_RUN and
 *   the CPU's own number, which only a switch-in on that CPU sets. So the usual case needs no
 *   atomic.
 *
 * A CPU that wakes a task writes nothing while the slot has EX_RUN or the task is on a CPU
 * (wake.h).
 */
#ifndef EXACTOP_WRITER_H
#define EXACTOP_WRITER_H

#include "window.h"

/*
 * Takes over a task that seems to run on another CPU, as if it slept. Returns 0 if that CPU is just
 * taking it off. Its time here is then unnamed until its next event, and its account continues as
 * that CPU leaves it.
 */
__noinline int take_over(struct ex_slot *s, __u32 cpu)
{
	__u32 was;

	if (!s)
		return 0;
	was = READ_ONCE(s->cpu);
	if (was & EX_CPU_LEAVING || __sync_val_compare_and_swap(&s->cpu, was, cpu) != was) {
		count_error(EX_ERR_MISSED_SWITCH);
		return 0;
	}
	if (s->cum.dispatches && was != cpu)
		s->cum.migrations++;
	s->state = EX_SLEEP;
	return 1;
}

/* The slot of a task that is on this CPU or comes onto it, if this CPU may write the slot. */
static __always_inline struct ex_slot *slot_here_of(struct task_struct *task, __u32 *index, __u32 cpu)
{
	struct ex_slot *s = slot_of(task, index);

	/* Reads the state before any other field. */
	if (!s || READ_ONCE(s->state) != EX_RUN || READ_ONCE(s->cpu) == cpu)
		return s;
	return take_over(s, cpu) ? s : NULL;
}

/*
 * True if this CPU may take off a slot's owner: the owner has not been seen elsewhere, nor is it
 * just now.
 */
static __always_inline bool begin_to_leave(struct ex_slot *s, __u32 cpu)
{
	if (!s || !s->task || READ_ONCE(s->state) != EX_RUN)
		return false;
	return __sync_val_compare_and_swap(&s->cpu, cpu, cpu | EX_CPU_LEAVING) == cpu;
}

static __always_inline void empty(struct ex_slot *s)
{
	s->state = EX_FREE;
	s->task = 0;
}

static __always_inline void put_free(__u32 index)
{
	if (bpf_map_push_elem(&free_slots, &index, 0))
		count_error(EX_ERR_FREE_LIST);
}

static __always_inline void give_back(struct ex_slot *s, __u32 index)
{
	empty(s);
	put_free(index);
}

/* The owner is off: after the store of the state other CPUs write the slot. */
static __always_inline void end_leaving(struct ex_cpu *c, struct ex_slot *s, __u32 state)
{
	__u32 leaving = READ_ONCE(s->cpu), index = c->cur;

	store_barrier(c);
	*(volatile __u32 *)&s->state = state;
	store_barrier(c);
	if (!(leaving & EX_CPU_FREED)) {
		__u32 was = __sync_val_compare_and_swap(&s->cpu, leaving, leaving & EX_CPU_NUMBER);

		/*
		 * Another CPU has it already, or the CPU that freed the owner has left the slot to
		 * this one.
		 */
		if (was == leaving || was != (leaving | EX_CPU_FREED))
			return;
	}
	give_back(s, index);
}

/*
 * The owner is freed while a CPU is taking it off: that CPU frees the slot when it is done. False
 * if it is done by now.
 */
static __always_inline bool leave_it_the_slot(struct ex_slot *s)
{
	__u32 was = READ_ONCE(s->cpu);

	return (was & EX_CPU_LEAVING) &&
	       __sync_val_compare_and_swap(&s->cpu, was, was | EX_CPU_FREED) == was;
}

#endif
