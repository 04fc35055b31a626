/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A waiting task changes its CPU. What it waited for the old one is booked from the stays there.
 * They stand still: the CPU that moves the task holds the lock of the old run queue.
 */
#ifndef EXACTOP_REQUEUE_H
#define EXACTOP_REQUEUE_H

#include "switch.h"

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_requeue, struct task_struct *task, int to)
{
	struct ex_cpu *c;
	struct ex_slot *s;
	__u64 now, depth;
	__u32 index;

	/* A task that is being woken has not waited yet. */
	if (!blame || !field_or(task, on_rq, 1))
		return 0;
	c = count_run(EX_EV_OTHER);
	if (!c)
		return 0;
	depth = enter(c);
	s = slot_of(task, &index);
	if (s && is_waiting(READ_ONCE(s->state))) {
		now = not_before(bpf_ktime_get_ns(), s->since);
		cross(c, s, index, last_boundary(now), task);
		charge_off_cpu(c, s, now, s->state);
		s->since = now;
		book_wait(s, cpu_of_task(task), now);
	}
	leave(c, depth);
	return 0;
}

#endif
