/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls, 32-bit ones included: number, arguments, and the calls that wait for a user-space
 * lock.
 */
#ifndef EXACTOP_LOCK_CALLS_H
#define EXACTOP_LOCK_CALLS_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Flag in the number of a 32-bit call, which has numbers of its own. */
#define EX_NR_COMPAT 0x20000000

static __always_inline bool is_compat(int nr)
{
	return nr >= 0 && (nr & EX_NR_COMPAT);
}

/* Number of the task's call, from the kernel's `id`; -1 outside of calls. */
static __always_inline int numbered(struct task_struct *task, long id)
{
	int nr = id;

	if (bpf_core_field_exists(task->thread_info.status) &&
	    (task->thread_info.status & TS_COMPAT) && nr >= 0)
		nr |= EX_NR_COMPAT;
	return nr;
}

static __always_inline unsigned long first_argument(struct pt_regs *regs, int nr)
{
	return is_compat(nr) ? (__u32)regs->bx : regs->di;
}

static __always_inline unsigned long second_argument(struct pt_regs *regs, int nr)
{
	return is_compat(nr) ? (__u32)regs->cx : regs->si;
}

/* futex(2) itself, which has many operations. */
static __always_inline bool is_futex_of_old(int nr)
{
	return nr == NR_FUTEX || nr == (NR_FUTEX_32 | EX_NR_COMPAT) ||
	       nr == (NR_FUTEX_TIME64_32 | EX_NR_COMPAT);
}

/* The newer calls have one number in both tables. */
static __always_inline bool is_futex(int nr)
{
	int newer = nr & ~EX_NR_COMPAT;

	if (nr < 0)
		return false;
	return is_futex_of_old(nr) || newer == NR_FUTEX_WAIT || newer == NR_FUTEX_WAITV ||
	       newer == NR_FUTEX_WAKE || newer == NR_FUTEX_REQUEUE;
}

static __always_inline bool waits_for_lock(struct pt_regs *regs, int nr)
{
	int newer = nr & ~EX_NR_COMPAT;
	unsigned long op;

	if (nr < 0)
		return false;
	if (newer == NR_FUTEX_WAIT || newer == NR_FUTEX_WAITV)
		return true;
	if (!is_futex_of_old(nr))
		return false;
	op = second_argument(regs, nr) & FUTEX_CMD_MASK;
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
	       op == FUTEX_LOCK_PI2 || op == FUTEX_WAIT_REQUEUE_PI;
}

#endif
