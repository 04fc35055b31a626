/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tells if an interrupt runs in the context of the current task, by the tracepoints at both ends of
 * each kind. A BPF program cannot read the kernel's own counter on every kernel.
 */
#ifndef EXACTOP_INTERRUPT_H
#define EXACTOP_INTERRUPT_H

#include "kernel.h"
#include "vectors.h"

#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} interrupt_depth SEC(".maps");

static __always_inline void change_depth(int by)
{
	__u32 zero = 0, *depth = bpf_map_lookup_elem(&interrupt_depth, &zero);

	/* If the program was attached inside an interrupt, the first seen event is its end. */
	if (depth && (by > 0 || *depth))
		*depth += by;
}

/* A context switch never happens inside an interrupt: this corrects missed events. */
static __always_inline void no_interrupt(void)
{
	__u32 zero = 0, *depth = bpf_map_lookup_elem(&interrupt_depth, &zero);

	if (depth)
		*depth = 0;
}

static __always_inline bool in_interrupt(void)
{
	__u32 zero = 0, *depth = bpf_map_lookup_elem(&interrupt_depth, &zero);

	return depth && *depth;
}

#define ON_INTERRUPT(vector)                          \
	SEC("?tp_btf/" #vector "_entry")              \
	int vector##_begins(void *ctx)                \
	{                                             \
		change_depth(1);                      \
		return 0;                             \
	}                                             \
	SEC("?tp_btf/" #vector "_exit")               \
	int vector##_ends(void *ctx)                  \
	{                                             \
		change_depth(-1);                     \
		return 0;                             \
	}

EX_VECTORS(ON_INTERRUPT)

#endif
