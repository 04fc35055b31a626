/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs share with each other and with the reader: globals, maps, and the way to them. */
#ifndef EXACTOP_MAPS_H
#define EXACTOP_MAPS_H

#include "kernel.h"
#include "wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Set by the reader before load. */
const volatile __u32 max_slots = 32768;
const volatile __u32 max_listed = 65536; /* entries of a list of changed slots */
const volatile __u32 max_groups = 8192;
const volatile __u32 possible_cpus = 1;
const volatile bool cgroup_of_cpu_controller = false; /* v1's cpu hierarchy instead of v2 */
const volatile bool sees_unthrottle = false;	      /* on_unthrottle is loaded */
const volatile __u32 drop_charge_every = 0;	      /* lose charges, to see the books notice */

/* Written by the reader while running. */
__u64 boundary_t[2]; /* T of epoch e at [e & 1] */
__u32 epoch;
__u32 read_epoch; /* the reader is done with the slots of this epoch */
__u32 seeded;	  /* everyone who lives has a slot: from now on a missing one is an error */
__u32 watch_tgid;
__u32 mark_children_of; /* children of this process begin the tree that is followed */
__u32 split_run;  /* which run of measuring user and system time; 0: not measured */
__u64 lead_ns;	  /* how far ahead publish() sets T */
__u32 dirty_n[2]; /* slots first touched in epoch e, at [e & 1] */

/* Written by the programs. */
__u32 next_slot;
__u32 next_group;
__u64 serials;
__u64 born_tasks;
__u32 late; /* how often T had passed before it was published */
__u64 errors[EX_ERRORS];

struct storage {
	__u32 slot_plus_1;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct storage);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct ex_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ex_cpu);
} cpus SEC(".maps");

/* Two lists of max_listed entries each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 131072);
	__type(key, __u32);
	__type(value, __u64);
} dirty SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 32768);
	__type(value, __u32);
} free_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct ex_group_key);
	__type(value, __u32);
} group_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct ex_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 8192);
	__type(value, __u32);
} free_groups SEC(".maps");

/* When a cgroup's quota on a CPU was refilled last, by the address of its cfs_rq. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} unthrottled SEC(".maps");

#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))

/*
 * Orders the stores of a boundary crossing (snap, epoch, cum). x86 keeps stores in order;
 * elsewhere an atomic that returns a value is a full barrier (Documentation/atomic_t.txt).
 */
#ifdef __TARGET_ARCH_x86
#define store_barrier(c) barrier()
#else
#define store_barrier(c) __sync_fetch_and_add(&(c)->line0[0], 1)
#endif

static __always_inline void count_error(enum ex_error what)
{
	__sync_fetch_and_add(&errors[what], 1);
}

static __always_inline struct ex_cpu *cpu_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/*
 * From here to leave() the reader can see that this CPU may hold a clock reading from before T.
 * The atomic is a full barrier: the clock is read after the reader can see us.
 */
static __always_inline __u64 enter(struct ex_cpu *c)
{
	return __sync_fetch_and_add(&c->busy, 1);
}

static __always_inline void leave(struct ex_cpu *c, __u64 depth)
{
	store_barrier(c);
	*(volatile __u64 *)&c->busy = depth;
}

static __always_inline struct ex_slot *slot_at(__u32 index)
{
	return bpf_map_lookup_elem(&slots, &index);
}

static __always_inline struct ex_slot *slot_of(struct task_struct *task, __u32 *index)
{
	struct storage *st = bpf_task_storage_get(&tasks, task, 0, 0);

	if (!st || !st->slot_plus_1)
		return NULL;
	*index = st->slot_plus_1 - 1;
	return slot_at(*index);
}

#endif
