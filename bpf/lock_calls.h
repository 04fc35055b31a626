/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which system calls wait for a lock of user space. */
#ifndef EXACTOP_LOCK_CALLS_H
#define EXACTOP_LOCK_CALLS_H

#include "kernel.h"

static __always_inline bool waits_for_lock(int nr, unsigned long op)
{
	if (nr == NR_FUTEX_WAIT || nr == NR_FUTEX_WAITV)
		return true;
	if (nr != NR_FUTEX)
		return false;
	op &= FUTEX_CMD_MASK;
	return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
	       op == FUTEX_LOCK_PI2 || op == FUTEX_WAIT_REQUEUE_PI;
}

#endif
