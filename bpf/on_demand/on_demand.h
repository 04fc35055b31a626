/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What all programs that are attached on demand have: which processes they look at, maps of sums,
 * a figure per window, and what was lost. The reader is crates/sources/src/on_demand/attached.rs.
 */
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

/* What is kept of each task. */
#define OF_EACH_TASK(name, of_one)                                                                 \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                           \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, int);                                                                  \
		__type(value, of_one);                                                             \
	} name SEC(".maps")

/* Tells the reader of a task, from an iterator. */
#define TELL_OF(task, told, ctx)                                                                   \
	({                                                                                         \
		(told)->tgid = (task)->tgid;                                                       \
		(told)->tid = (task)->pid;                                                         \
		bpf_probe_read_kernel_str((told)->comm, sizeof((told)->comm), (task)->comm);       \
		bpf_seq_write((ctx)->meta->seq, told, sizeof(*(told)));                            \
	})

/* Sums that only grow; the reader deletes those of tasks that are gone. */
#define SUMS(name, most, key_of_one, of_one)                                                       \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(max_entries, most);                                                         \
		__type(key, key_of_one);                                                           \
		__type(value, of_one);                                                             \
	} name SEC(".maps")

__u64 lost; /* no room in the maps, or no memory to remember a beginning */

static __always_inline void count_lost(void)
{
	__sync_fetch_and_add(&lost, 1);
}

/* The sum of this key, which begins as `fresh`; NULL: there is no room. */
static __always_inline void *find_or_add(void *map, const void *key, const void *fresh)
{
	void *value = bpf_map_lookup_elem(map, key);

	if (value)
		return value;
	bpf_map_update_elem(map, key, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* The same where each that finds no room is one that is lost. */
static __always_inline void *find_or_lose(void *map, const void *key, const void *fresh)
{
	void *value = find_or_add(map, key, fresh);

	if (!value)
		count_lost();
	return value;
}

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
