/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which processes the programs that are attached on demand look at, and a figure per window. */
#ifndef EXACTOP_ON_DEMAND_H
#define EXACTOP_ON_DEMAND_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

const volatile bool all_processes = true;

/* Thread groups that are looked at, unless all are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} chosen SEC(".maps");

static __always_inline bool is_chosen(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return all_processes || bpf_map_lookup_elem(&chosen, &tgid);
}

/* A figure's greatest value in the present window and in the one before it, by epoch. */
struct greatest {
	__u64 ns[2];
	__u32 epoch[2];
};

/* Written by the reader: the window that is open. */
__u32 window_epoch;

/* True if it is the first value in this window. */
static __always_inline bool note_greatest(struct greatest *g, __u64 ns)
{
	__u32 epoch = *(volatile __u32 *)&window_epoch, i = epoch & 1;

	if (g->epoch[i] != epoch) {
		g->epoch[i] = epoch;
		g->ns[i] = ns;
		return true;
	}
	if (ns > g->ns[i])
		g->ns[i] = ns;
	return false;
}

#endif
