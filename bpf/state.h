/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The meaning of the kernel's state of a task that is not on a CPU. */
#ifndef EXACTOP_STATE_H
#define EXACTOP_STATE_H

#include "wire.h"

static __always_inline __u32 off_cpu_state(bool preempt, unsigned int prev_state)
{
	if (preempt || !prev_state)
		return EX_LAT_PREEMPT;
	if (prev_state & TASK_DEAD)
		return EX_DEAD;
	if (prev_state & (TASK_STOPPED_BIT | TASK_TRACED_BIT | TASK_FROZEN))
		return EX_STOP;
	if (prev_state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT))
		return prev_state & TASK_NOLOAD ? EX_SLEEP : EX_BLOCK;
	return EX_SLEEP;
}

static __always_inline unsigned int state_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, __state);
}

#endif
