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
const volatile __u32 max_slots = EX_SLOT_CHUNK * EX_SLOT_CHUNKS;
const volatile __u32 max_listed = 65536; /* entries of a list of changed slots */
const volatile __u32 max_groups = EX_GROUP_CHUNK * EX_GROUP_CHUNKS;
const volatile __u32 possible_cpus = 1;
const volatile bool cgroup_of_cpu_controller = false; /* v1's cpu hierarchy instead of v2 */
const volatile bool sees_unthrottle = false;	      /* on_unthrottle is loaded */
/* For tests: events that are lost, as by a kernel that does not show them. */
const volatile __u32 lose_kind = 0;   /* an enum ex_event, or EX_LOSE_ENDS */
const volatile __u32 lose_one_in = 0; /* of so many on a CPU; 0: none */
const volatile __u32 lose_in_a_row = 1;
/* For tests: the end of the window before this epoch is published so much too late. */
const volatile __u32 late_epoch = 0;
const volatile __u64 late_by_ns = 0;

/* Written by the reader while running. */
__u64 boundary_t[2]; /* T of epoch e at [e & 1] */
__u32 epoch;
__u32 read_epoch; /* the reader is done with the slots of this epoch */
__u32 seeded;	  /* everyone who lives has a slot: from now on a missing one is an error */
__u32 watch_tgid;
__u32 followed_n; /* 0: none of these is in use */
struct ex_followed followed[EX_FOLLOWED_MOST];
__u32 split_run;  /* which run of measuring user and system time; 0: not measured */
__u32 irq_run;	  /* which run of measuring interrupts; 0: not both ends of all are seen */
__u64 lead_ns;	  /* how far ahead publish() sets T */
__u32 dirty_n[2]; /* slots first touched in epoch e, at [e & 1] */
__u32 ready[EX_TABLES]; /* how many slots and groups there are; grows */
__u32 asked[EX_TABLES]; /* more were asked for, and are not there yet */

/* Written by the programs. */
__u32 next_slot;
__u32 next_group;
__u64 serials;
__u64 born_tasks;
__s64 zombies_now; /* how many are listed in `zombies` */
__u64 moves_posted; /* to `moves`, so far */
__u64 repaired_ns; /* stretches of CPUs that were set right, from the last event before */
__u64 repaired_wait_ns; /* waits taken from the kernel's own count, as nobody was shown them */
__u32 audited; /* bits of enum ex_audited: what this kernel counts of a task */
__u32 late; /* how often T had passed before it was published */
__u64 errors[EX_ERRORS];
__u64 events_lost; /* on purpose */

/* No slot has this number, and no other is given to a task that had its last switch. */
#define EX_SLOT_GIVEN_BACK 0xffffffffu

struct storage {
	__u32 slot_plus_1;
	__u32 process_counted; /* on a leader: its process is counted as exited, or ended before we looked */
	__u64 zombie;	       /* its key in `zombies`; 0: it is not listed there */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct storage);
} tasks SEC(".maps");

/* Clang describes the values of maps in maps only where something else names their types. */
struct ex_slot *slot_layout;
struct ex_group *group_layout;

struct slot_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EX_SLOT_CHUNK);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct ex_slot));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EX_SLOT_CHUNKS);
	__type(key, __u32);
	__array(values, struct slot_chunk);
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
	__uint(max_entries, EX_SLOT_CHUNK * EX_SLOT_CHUNKS);
	__type(value, __u32);
} free_slots SEC(".maps");

/* By the serial of the account that ended. Not allocated beforehand: most machines have none. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct ex_zombie);
} zombies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EX_GROUP_CHUNK * EX_GROUP_CHUNKS);
	__type(key, struct ex_group_key);
	__type(value, __u32);
} group_index SEC(".maps");

struct group_chunk {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EX_GROUP_CHUNK);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct ex_group));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, EX_GROUP_CHUNKS);
	__type(key, __u32);
	__array(values, struct group_chunk);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, EX_GROUP_CHUNK * EX_GROUP_CHUNKS);
	__type(value, __u32);
} free_groups SEC(".maps");

/* Wakes the reader when a table is running out. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wanted SEC(".maps");

/* What goes from one control group's account to another's, window by window. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct ex_move_key);
	__type(value, struct ex_move);
} moves SEC(".maps");

/* Who was put into another control group: a thread, or a process by its leader. */
struct attached {
	__u32 tid;
	__u32 whole;
};

/* When. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct attached);
	__type(value, __u64);
} attached_at SEC(".maps");

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

/* This CPU, entered. */
static __always_inline struct ex_cpu *enter_here(__u64 *depth)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());

	if (c)
		*depth = enter(c);
	return c;
}

static __always_inline void leave(struct ex_cpu *c, __u64 depth)
{
	store_barrier(c);
	*(volatile __u64 *)&c->busy = depth;
}

static __always_inline struct ex_slot *slot_at(__u32 index)
{
	__u32 chunk = index >> EX_SLOT_CHUNK_BITS, at = index & (EX_SLOT_CHUNK - 1);
	void *slots_of = bpf_map_lookup_elem(&slots, &chunk);

	return slots_of ? bpf_map_lookup_elem(slots_of, &at) : NULL;
}

/* So many are left when the reader is asked for more: what is born until it has answered. */
#define EX_LOW_WATER(table) ((table) == EX_TABLE_SLOTS ? EX_SLOT_CHUNK / 2 : EX_GROUP_CHUNK / 2)

static __always_inline void ask_for_more(enum ex_table table)
{
	__u32 what = table;

	if (__sync_val_compare_and_swap(&asked[table], 0, 1))
		return;
	if (bpf_ringbuf_output(&wanted, &what, sizeof(what), BPF_RB_FORCE_WAKEUP))
		asked[table] = 0;
}

/*
 * The next index of a table that nobody had yet; negative: there is none at the moment. A function
 * that the verifier looks at once, not at each call.
 */
__noinline __s64 take_fresh(__u32 table)
{
	__u32 *next = table == EX_TABLE_SLOTS ? &next_slot : &next_group;
	__u32 max = table == EX_TABLE_SLOTS ? max_slots : max_groups;
	__u32 at = 0, there = 0;
	__s64 taken = -1;
	int i;

	if (table >= EX_TABLES)
		return -1;
	for (i = 0; i < 16; i++) {
		at = READ_ONCE(*next);
		there = READ_ONCE(ready[table]);
		if (at >= there)
			break;
		if (__sync_val_compare_and_swap(next, at, at + 1) == at) {
			taken = at;
			break;
		}
	}
	if (at + EX_LOW_WATER(table) >= there && there < max)
		ask_for_more(table);
	return taken;
}

/* The same: whether there was one. */
static __always_inline bool take_index(enum ex_table table, __u32 *index)
{
	__s64 at = take_fresh(table);

	*index = at;
	return at >= 0;
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
