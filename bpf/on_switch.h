/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The two forms of sched_switch; the reader loads the form of this kernel. */
#ifndef EXACTOP_ON_SWITCH_H
#define EXACTOP_ON_SWITCH_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * Defines the programs that call handle(preempt, prev, next, prev_state). Before 5.18 the
 * tracepoint has no prev_state; the field of the task may have changed since (a race).
 */
#define ON_SWITCH(handle)                                                                          \
	SEC("?tp_btf/sched_switch")                                                                \
	int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,  \
		     unsigned int prev_state)                                                      \
	{                                                                                          \
		return handle(preempt, prev, next, prev_state);                                    \
	}                                                                                          \
                                                                                                   \
	SEC("?tp_btf/sched_switch")                                                                \
	int BPF_PROG(on_switch_before_5_18, bool preempt, struct task_struct *prev,                \
		     struct task_struct *next)                                                     \
	{                                                                                          \
		return handle(preempt, prev, next, prev->__state);                                 \
	}

#endif
