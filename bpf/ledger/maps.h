/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Data shared by the programs and the reader: globals, maps, and access to them. */
#ifndef EXACTOP_MAPS_H
#define EXACTOP_MAPS_H

#include "kernel.h"
#include "wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Set by the reader before loading. */
const volatile __u32 max_slots = EX_SLOT_CHUNK * EX_SLOT_CHUNKS;
const volatile __u32 max_listed = 65536; /* entries of a list of changed slots */
const volatile __u32 max_groups = EX_GROUP_CHUNK * EX_GROUP_CHUNKS;
const volatile __u32 possible_cpus = 1;
const volatile bool cgroup_of_cpu_controller = false; /* v1's cpu hierarchy instead of v2 */
const volatile bool sees_unthrottle = false;	      /* on_unthrottle is loaded */
/* For tests: events to lose, as if the kernel did not show them. */
const volatile __u32 lose_kind = 0;   /* an enum ex_event, or an EX_LOSE_ */
const volatile __u32 lose_one_in = 0; /* length of a cycle of events on a CPU; 0: lose none */
const volatile __u32 lose_in_a_row = 1;
/* For tests: the delay with which the end of the window before this epoch is published. */
const volatile __u32 late_epoch = 0;
const volatile __u64 late_by_ns = 0;

/* Written by the reader while running; `dirty_n` and `asked` also by the programs. */
__u64 boundary_t[2]; /* T of epoch e at [e & 1] */
__u32 epoch;
__u32 read_epoch; /* the reader has read the slots of this epoch */
__u32 seeded;	  /* every living task has a slot: from now on a missing one is an error */
__u32 watch_tgid;
__u32 followed_n; /* number of places of `followed` in use; 0: none */
__u32 split_run;  /* number of this measurement of user and system time; 0: off */
__u32 irq_run;	  /* number of this measurement of interrupts; 0: off */
__u64 lead_ns;	  /* lead of T over the present, for publish() */
struct ex_followed followed[EX_FOLLOWED_MOST];
__u32 dirty_n[2]; /* slots first changed in epoch e, at [e & 1] */
__u32 ready[EX_TABLES]; /* number of slots and groups; grows */
__u32 asked[EX_TABLES]; /* more are requested and not there yet */

/* Written by the programs. */
__u32 barrier_word; /* written only to order other loads and stores */
__u32 next_slot;
__u32 next_group;
__u64 serials;
__u64 born_tasks;
__s64 zombies_now; /* number of entries in `zombies` */
__u32 new_zombies_n;
__u64 new_zombies[EX_NEW_LISTED]; /* serials */
__u64 moves_posted; /* number of posts to `moves` so far */
__u64 repaired_ns; /* repaired time of CPUs, from the last seen event on */
__u64 repaired_wait_ns; /* waits from the kernel's own count, for unseen wake-ups */
__u32 audited; /* bits of enum ex_audited: the counts that this kernel has of a task */
__u32 late; /* how often T had passed before it was published */
__u64 errors[EX_ERRORS];
__u64 events_lost; /* lost on purpose, for tests */

/*
 * Adds to a list of what is new in a map. The reader empties the list, and need not walk a map of
 * 65,536 buckets. If the number exceeds the places, it walks the map.
 */
static __always_inline void list_new(__u32 *count, __u64 *places, __u64 what)
{
	__u32 n = __sync_fetch_and_add(count, 1);

	if (n < EX_NEW_LISTED)
		places[n] = what;
}

/*
 * The bits that a number of a slot, plus 1, needs. No slot has the last one: a task with it had its
 * last switch and gets no other slot.
 */
#define EX_SLOT_BITS 0x3fffff
#define EX_SLOT_GIVEN_BACK EX_SLOT_BITS

struct storage {
	__u32 slot_plus_1;
	__u32 process_counted; /* of a leader: its process counts as exited, or ended before the start */
	__u64 zombie;	       /* its key in `zombies`; 0: not in the list */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct storage);
} tasks SEC(".maps");

/* Clang describes the values of maps in maps only if another variable has their types. */
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

/* By the serial of the ended account. Not preallocated, because most machines have no zombies. */
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

/* Wakes the reader when a table runs out of room. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wanted SEC(".maps");

/* Figures of tasks before they moved to another control group, by window. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct ex_move_key);
	__type(value, struct ex_cum);
} moves SEC(".maps");

/* A task that moved to another control group: a thread, or a process by its leader. */
struct attached {
	__u32 tid;
	__u32 whole;
};

/* The instant of the move. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct attached);
	__type(value, __u64);
} attached_at SEC(".maps");

/* Last refill of a cgroup's quota on a CPU, by the address of its cfs_rq. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u64);
} unthrottled SEC(".maps");

#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))

/*
 * Orders what the reader sees of two stores, or what a program sees of the reader's. x86 keeps both
 * orders; elsewhere an atomic that returns a value is a full barrier (Documentation/atomic_t.txt).
 * barrier_var() uses the value: otherwise clang emits an atomic without one, which orders nothing.
 */
#ifdef __TARGET_ARCH_x86
#define full_barrier(word) barrier()
#else
#define full_barrier(word)                                                     \
	({                                                                     \
		__u32 before = __sync_fetch_and_add(word, 1);                  \
		barrier_var(before);                                           \
	})
#endif

/* Orders this CPU's stores for others. */
#define store_barrier(c) full_barrier(&(c)->barrier)

static __always_inline void count_error(enum ex_error what)
{
	__sync_fetch_and_add(&errors[what], 1);
}

static __always_inline struct ex_cpu *cpu_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/*
 * From here to leave() the reader sees that this CPU may hold a clock reading from before T. The
 * atomic is a full barrier: the clock is read after the reader can see this.
 */
static __always_inline __u64 enter(struct ex_cpu *c)
{
	return __sync_fetch_and_add(&c->busy, 1);
}

/* This CPU, after enter(). */
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

/* Room that is left when the reader is asked for more, for the tasks born until it has answered. */
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
 * The next index of a table that was never used; negative if there is none at the moment. A
 * function that the verifier checks once, not at each call.
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

/* The same; returns true if there was one. */
static __always_inline bool take_index(enum ex_table table, __u32 *index)
{
	__s64 at = take_fresh(table);

	*index = at;
	return at >= 0;
}

/*
 * A cache of the slots of tasks. The way through a task's storage takes some seven cache lines more,
 * each of which is a miss on a quiet machine. An entry is the slot plus 1, below the task's address
 * less that of this array: the kernel allows no other arithmetic with an address.
 */
#define EX_FOUND_BITS 12
__u64 found[1 << EX_FOUND_BITS] __attribute__((aligned(64)));

static __always_inline __u64 distance_of(struct task_struct *task)
{
	return (void *)task - (void *)found;
}

static __always_inline __u64 *place_found(__u64 distance)
{
	return &found[(distance * 0x9e3779b97f4a7c15ull) >> (64 - EX_FOUND_BITS)];
}

/*
 * Each task that gets a slot does this, so no entry of an earlier task at the same address is left.
 * A task has one slot at most in its life.
 */
static __always_inline void note_found(struct task_struct *task, __u32 slot_plus_1)
{
	__u64 distance = distance_of(task);

	*(volatile __u64 *)place_found(distance) = distance << 16 | slot_plus_1;
}

static __always_inline __u32 stored_slot_plus_1_of(struct task_struct *task)
{
	struct storage *st = bpf_task_storage_get(&tasks, task, 0, 0);

	return st ? READ_ONCE(st->slot_plus_1) : 0;
}

static __always_inline __u32 slot_plus_1_of(struct task_struct *task)
{
	__u64 distance = distance_of(task), entry = READ_ONCE(*place_found(distance)) ^ distance << 16;

	if (entry > EX_SLOT_BITS) {
		entry = stored_slot_plus_1_of(task);
		/* A task without a slot may get one just now. */
		if (entry)
			note_found(task, entry);
	}
	return entry;
}

/* The slot of a task; none: it has none yet, or none any more. */
static __always_inline struct ex_slot *slot_of(struct task_struct *task, __u32 *index)
{
	__u32 slot_plus_1 = slot_plus_1_of(task);
	struct ex_slot *s;

	*index = slot_plus_1 - 1;
	if (!slot_plus_1)
		return NULL;
	s = slot_at(*index);
	return s && s->task == (__u64)task ? s : NULL;
}

#endif
