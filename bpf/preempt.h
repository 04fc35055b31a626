/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeping the CPU. Linux 7.x may preempt a program at a tracepoint, as if its task had been
 * preempted; older kernels do not. A clock reading from before another task ran may not end a
 * segment that begins after it.
 */
#ifndef EXACTOP_PREEMPT_H
#define EXACTOP_PREEMPT_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

/* 6.10; older kernels do not preempt programs at tracepoints. */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

extern int LINUX_KERNEL_VERSION __kconfig;

/*
 * From 6.10 to 6.14 the functions exist, but the verifier refuses calls of global functions after
 * them (change_group() in ledger/move.h); no program is preempted there.
 */
static __always_inline bool must_stay(void)
{
	return LINUX_KERNEL_VERSION >= ((6 << 16) + (15 << 8)) &&
	       bpf_ksym_exists(bpf_preempt_disable);
}

static __always_inline void stay(void)
{
	if (must_stay())
		bpf_preempt_disable();
}

static __always_inline void may_go(void)
{
	if (must_stay())
		bpf_preempt_enable();
}

#endif
