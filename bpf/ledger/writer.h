/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One writer for each slot. Nearly always the scheduler's own locks see to it: the CPU its owner is on,
 * who wakes it, the CPU that picks it. What they do not order is a CPU that finds out that the owner has
 * left it unseen (leave_unseen() in repair.h), while another one is taking it in. So:
 *
 * - EX_RUN with the number of a CPU says that this CPU, and nobody else, may take the owner off. It makes
 *   the number EX_CPU_LEAVING first, in one step, and keeps EX_RUN until its last store.
 * - Whoever finds EX_RUN and another CPU's number makes it its own first, in one step, before it touches
 *   anything. One of both steps comes first and the other one fails, so nobody waits.
 * - Any other state means that nobody is taking the owner off, and none will: that begins with EX_RUN and
 *   the CPU's own number, which only a switch-in on that CPU brings. So what is usual needs no atomic.
 *
 * Who wakes a task writes nothing while its slot says EX_RUN, or while it is on a CPU (wake.h).
 */
#ifndef EXACTOP_WRITER_H
#define EXACTOP_WRITER_H

#include "window.h"

/*
 * A task that seems to run on another CPU is taken over from it, as one that sleeps. 0: that CPU is just
 * taking it off. Then its time here has no name until its next event, and its own account goes on as
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

/* The slot of a task that is on this CPU or comes onto it, if it may be written here. */
static __always_inline struct ex_slot *slot_here_of(struct task_struct *task, __u32 *index, __u32 cpu)
{
	struct ex_slot *s = slot_of(task, index);

	/* Its state before anything else of it. */
	if (!s || READ_ONCE(s->state) != EX_RUN || READ_ONCE(s->cpu) == cpu)
		return s;
	return take_over(s, cpu) ? s : NULL;
}

/* Whether this CPU may take off the owner of a slot: not if that was seen elsewhere, or is just now. */
static __always_inline bool begin_to_leave(struct ex_slot *s, __u32 cpu)
{
	if (!s || !s->task || READ_ONCE(s->state) != EX_RUN)
		return false;
	return __sync_val_compare_and_swap(&s->cpu, cpu, cpu | EX_CPU_LEAVING) == cpu;
}

static __always_inline void give_back(struct ex_slot *s, __u32 index)
{
	s->state = EX_FREE;
	s->task = 0;
	if (bpf_map_push_elem(&free_slots, &index, 0))
		count_error(EX_ERR_FREE_LIST);
}

/* The owner is off: from the state on, others write. */
static __always_inline void end_leaving(struct ex_cpu *c, struct ex_slot *s, __u32 state)
{
	__u32 leaving = READ_ONCE(s->cpu), index = c->cur;

	store_barrier(c);
	*(volatile __u32 *)&s->state = state;
	store_barrier(c);
	if (!(leaving & EX_CPU_FREED)) {
		__u32 was = __sync_val_compare_and_swap(&s->cpu, leaving, leaving & EX_CPU_NUMBER);

		/* Somebody has it already, or whoever freed its owner has left the slot to us. */
		if (was == leaving || was != (leaving | EX_CPU_FREED))
			return;
	}
	give_back(s, index);
}

/*
 * The owner is freed while a CPU is taking it off: that one gives the slot back when it is done. False:
 * it is done by now.
 */
static __always_inline bool leave_it_the_slot(struct ex_slot *s)
{
	__u32 was = READ_ONCE(s->cpu);

	return (was & EX_CPU_LEAVING) &&
	       __sync_val_compare_and_swap(&s->cpu, was, was | EX_CPU_FREED) == was;
}

#endif
