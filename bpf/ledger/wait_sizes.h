/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histograms of waits, by party: each dispatch counts the whole wait that it ended, by its size,
 * also if the task changed its CPU meanwhile. A wait that ends without a dispatch adds its time
 * alone: the task ended, was found on a CPU, left one unseen, or became another party, whose wait
 * begins then.
 *
 * A slot counts what is in the histograms of its waits. So waits equal the histograms and the
 * change of what is in flight, if nothing is missing.
 */
#ifndef EXACTOP_WAIT_SIZES_H
#define EXACTOP_WAIT_SIZES_H

#include "maps.h"

/* Set by the reader before loading. Needs the blame book, which numbers the parties. */
const volatile bool sizes_waits = false;
const volatile __u32 wait_places = EX_WAIT_PLACES; /* of a CPU and a window, a power of two */
/* For tests: leave out one wait in this number; 0: none. */
const volatile __u32 unsized_one_in = 0;

__u32 sized; /* waits so far, if some are left out for tests */
/* Entries of `unplaced` of the window of epoch e, at [e & 1]. The reader clears a closed window's. */
__u32 unplaced_n[2];

/* Clang describes the value of a map only if another variable has its type. */
struct ex_wait_size *wait_size_layout;

/* Kinds of waits: woken and preempted. */
#define EX_WAIT_KINDS 2
/* After the places of a CPU and a window come those of nobody, which are always there. */
#define EX_WAITS_OF_NOBODY (EX_WAIT_KINDS * EX_WAIT_BUCKETS)
/* Places that a size may have. */
#define EX_WAIT_PROBES 8

/* By CPU, which is the only writer, and window. The reader clears those of a closed window. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ex_wait_size);
} wait_sizes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2 * EX_PARTIES);
	__type(key, struct ex_party_key);
	__type(value, struct ex_unplaced);
} unplaced SEC(".maps");

/* The task's waits for a CPU in our account. */
static __always_inline __u64 waited(struct ex_cum *cum)
{
	return cum->ns[EX_LAT] + cum->ns[EX_LAT_PREEMPT] + cum->ns[EX_THROTTLE];
}

/* 0: below 256 ns. Each further bucket reaches twice as far; the last one has no end. */
__noinline int bucket_of(__u64 ns)
{
	__u32 n = ns >> 8, bits = 0;

	if (ns >> (8 + EX_WAIT_BUCKETS - 2))
		return EX_WAIT_BUCKETS - 1;
	if (n >> 16) {
		bits += 16;
		n >>= 16;
	}
	if (n >> 8) {
		bits += 8;
		n >>= 8;
	}
	if (n >> 4) {
		bits += 4;
		n >>= 4;
	}
	if (n >> 2) {
		bits += 2;
		n >>= 2;
	}
	return bits + (n >> 1 ? 2 : n);
}

static __always_inline void add_waits(struct ex_wait_size *place, __u64 ns, __u64 times)
{
	place->ns += ns;
	place->times += times;
	if (times && ns > place->max)
		place->max = ns;
}

/* No place is left: the wait is nobody's, and its party's waits are less by it. */
__noinline int add_to_nobody(__u64 size, __u32 place, __u64 ns, __u64 times, __u32 e)
{
	struct ex_party_key key = {.party = (size >> 16) & 0xffff, .epoch = e};
	struct ex_unplaced *sum, first = {.ns = ns, .dispatches = times};
	struct ex_wait_size *p;

	place += ((size >> 8) & 1) * EX_WAIT_BUCKETS + (size & 0xff);
	p = bpf_map_lookup_elem(&wait_sizes, &place);
	if (!p)
		return 0;
	p->size = size & ~0xffff0000ull;
	add_waits(p, ns, times);
	if (!key.party)
		return 0;
	if (!bpf_map_update_elem(&unplaced, &key, &first, BPF_NOEXIST)) {
		__sync_fetch_and_add(&unplaced_n[e & 1], 1);
		return 0;
	}
	sum = bpf_map_lookup_elem(&unplaced, &key);
	if (!sum)
		return 0; /* the residual shows it */
	__sync_fetch_and_add(&sum->ns, ns);
	__sync_fetch_and_add(&sum->dispatches, times);
	return 0;
}

/* Adds to the waits of a party and size in a window. */
__noinline int add_size(__u64 size, __u64 ns, __u64 times, __u32 e)
{
	__u32 at = (size * 0x9e3779b97f4a7c15ull) >> 40, first, place, i;
	struct ex_wait_size *p;

	if (unsized_one_in && __sync_fetch_and_add(&sized, 1) % unsized_one_in == 0)
		return 0;
	first = (2 * bpf_get_smp_processor_id() + (e & 1)) * (wait_places + EX_WAITS_OF_NOBODY);
	for (i = 0; i < EX_WAIT_PROBES && size & 0xffff0000; i++) {
		place = first + ((at + i) & (wait_places - 1));
		p = bpf_map_lookup_elem(&wait_sizes, &place);
		if (!p)
			return 0;
		if (!p->size)
			p->size = size;
		if (p->size == size) {
			add_waits(p, ns, times);
			return 0;
		}
	}
	return add_to_nobody(size, first + wait_places, ns, times, e);
}

/* The part of `ns` of waits up to `to` that a task waited before its present wait began. */
static __always_inline __u64 before_this_wait(struct ex_slot *s, __u64 ns, __u64 to)
{
	__u64 present = to - s->wait_began;

	return present < ns ? ns - present : 0;
}

/*
 * Puts a task's wait into the histogram of its party. `ended`: when a dispatch ended it; 0: none did.
 * A wait in which the group was throttled counts as preempted. A wait before the present one ended
 * without a dispatch.
 */
__noinline int size_wait(struct ex_slot *s, __u64 ended)
{
	__u64 ns, size, earlier;

	if (!s)
		return 0;
	ns = waited(&s->cum) - s->waits.sized;
	if (!ns && !ended)
		return 0;
	s->waits.sized += ns;
	size = EX_PAIR_USED | (__u64)s->party << 16;
	if (s->state == EX_LAT_PREEMPT || s->state == EX_THROTTLE)
		size |= 1 << 8;
	if (ended) {
		earlier = before_this_wait(s, ns, ended);
		if (earlier)
			add_size(size | bucket_of(earlier), earlier, 0, s->epoch);
		ns -= earlier;
	}
	return add_size(size | bucket_of(ns), ns, !!ended, s->epoch);
}

#endif
