/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common parts of all on-demand programs: the chosen processes, maps of sums, values for each
 * window, and losses. The reader is crates/ledger/sources/src/on_demand/attached.rs.
 */
#ifndef EXACTOP_ON_DEMAND_H
#define EXACTOP_ON_DEMAND_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

const volatile bool all_processes = true;

/*
 * Set before loading, for tests: hide one in this number of events, as some kernels hide events in
 * the context of a task that they protect.
 */
const volatile __u32 hide_one_in = 0;

static __always_inline bool is_hidden(void)
{
	return hide_one_in && bpf_get_prandom_u32() % hide_one_in == 0;
}

/* Chosen thread groups, unless all are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} chosen SEC(".maps");

/* Names of a thread and of its process; the latter is that of the main thread. */
struct names {
	char thread[16];
	char process[16];
};

static __always_inline void note_names(struct names *names, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	bpf_probe_read_kernel_str(names->thread, sizeof(names->thread), task->comm);
	bpf_probe_read_kernel_str(names->process, sizeof(names->process), leader->comm);
}

/* Declares the storage that a program keeps for each task. */
#define OF_EACH_TASK(name, of_one)                                                                 \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);                                           \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                              \
		__type(key, int);                                                                  \
		__type(value, of_one);                                                             \
	} name SEC(".maps")

/* Writes a record of a task for the reader, in an iterator. */
#define TELL_OF(task, told, ctx)                                                                   \
	({                                                                                         \
		(told)->tgid = (task)->tgid;                                                       \
		(told)->tid = (task)->pid;                                                         \
		note_names(&(told)->names, task);                                                  \
		bpf_seq_write((ctx)->meta->seq, told, sizeof(*(told)));                            \
	})

#define MAP_OF_SUMS(name, flags, most, key_of_one, of_one)                                         \
	struct {                                                                                   \
		__uint(type, BPF_MAP_TYPE_HASH);                                                   \
		__uint(map_flags, flags);                                                          \
		__uint(max_entries, most);                                                         \
		__type(key, key_of_one);                                                           \
		__type(value, of_one);                                                             \
	} name SEC(".maps")

/*
 * Declares maps of sums that only grow; the reader deletes sums of exited tasks. The first map has
 * a fixed number of entries. NAME_more, which the reader sizes by the number of threads, allocates
 * while the kernel finds memory.
 */
#define SUMS(name, most, key_of_one, of_one)                                                       \
	MAP_OF_SUMS(name, 0, most, key_of_one, of_one);                                            \
	MAP_OF_SUMS(name##_more, BPF_F_NO_PREALLOC, 65536, key_of_one, of_one)

__u64 lost;   /* no room in the maps, or no memory to keep a begin */
__u64 unseen; /* waits without a seen begin, wake-up or end, calls without a seen return */

static __always_inline void count_lost(void)
{
	__sync_fetch_and_add(&lost, 1);
}

/* The sum of this key, made as a copy of `fresh` if new; NULL: no room. */
static __always_inline void *find_or_add(void *map, const void *key, const void *fresh)
{
	void *value = bpf_map_lookup_elem(map, key);

	if (value)
		return value;
	bpf_map_update_elem(map, key, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(map, key);
}

/* The same for SUMS: a key that is in one map is not added to the other. */
static __always_inline void *find_or_add_in(void *map, void *more, const void *key,
					    const void *fresh)
{
	void *value = bpf_map_lookup_elem(map, key);

	if (!value)
		value = bpf_map_lookup_elem(more, key);
	if (!value)
		value = find_or_add(map, key, fresh);
	if (!value)
		value = find_or_add(more, key, fresh);
	return value;
}

#define FIND_OR_ADD(name, key, fresh) find_or_add_in(&name, &name##_more, key, fresh)

/* The same; counts a loss if there is no room. */
#define FIND_OR_LOSE(name, key, fresh)                                                             \
	({                                                                                         \
		void *value_or_none = FIND_OR_ADD(name, key, fresh);                               \
                                                                                                   \
		if (!value_or_none)                                                                \
			count_lost();                                                              \
		value_or_none;                                                                     \
	})

static __always_inline bool is_chosen(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return all_processes || bpf_map_lookup_elem(&chosen, &tgid);
}

/* A figure's greatest value in the present window and in the one before, by epoch. */
struct greatest {
	__u64 ns[2];
	__u32 epoch[2];
};

/* Written by the reader: the epoch of the open window. Epoch 0 is no window: new sums have it. */
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
