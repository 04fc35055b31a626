/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The blame book: who had the CPU while a task waited for it.
 *
 * Each CPU keeps its last stays: who was on it, and until when. When a task that waited comes onto
 * a CPU or moves to another one, its wait is laid over the stays of the CPU that it waited for, from
 * the last one back, and each overlap goes to a pair of the task's party and the stay's. A party is
 * what an owner under every key is made of, so that all sums of pairs agree.
 *
 * A slot counts what is booked of its waits, and keeps those under the floor. What is not booked yet
 * is in flight. So waits equal pairs, brief ones, and the change of what is in flight, if no booking
 * is missing.
 */
#ifndef EXACTOP_BLAME_H
#define EXACTOP_BLAME_H

#include "wait_sizes.h"

/* Set by the reader before loading. */
const volatile bool blame = false;
const volatile __u64 blame_floor_ns = 5000; /* shorter waits are one sum, without a culprit */
const volatile __u32 blame_places = EX_PAIRS; /* of a CPU's table of pairs, a power of two */
const volatile __u32 blame_parties = EX_PARTIES;
/* For tests: leave out one booking in this number on a CPU; 0: none. */
const volatile __u32 unbooked_one_in = 0;
/* For tests: time for which a task that becomes another party is half of both. */
const volatile __u64 half_another_ns = 0;

__u32 next_party; /* last number given out; 0 is no party's number */

/* Clang describes the value of a map only if another variable has its type. */
struct ex_book *book_layout;

/* By CPU, which is the only writer. The reader clears the pairs of a closed window. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ex_book);
} books SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, EX_PARTIES);
	__type(key, struct ex_party);
	__type(value, __u32);
} parties SEC(".maps");

/* Of parties in windows: waits that no slot has any more, and pairs without a place. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 2 * EX_PARTIES);
	__type(key, struct ex_party_key);
	__type(value, struct ex_party_sum);
} party_sums SEC(".maps");

static __always_inline struct ex_book *book_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&books, &cpu);
}

/* Not on the stack, which a chain of calls shares (512 bytes). */
const volatile struct ex_party_sum no_party_sum = {};

/* The sums made in the window of epoch e, at [e & 1]. */
__u32 new_sums_n[2];
__u64 new_sums[2][EX_NEW_LISTED]; /* party and epoch */

/* A sum of zeroes, which its list names. */
static __always_inline void make_sum(struct ex_party_key *key, __u64 party_and_epoch)
{
	__u32 at = key->epoch & 1;

	/* If it exists, another CPU was first. */
	if (!bpf_map_update_elem(&party_sums, key, (void *)&no_party_sum, BPF_NOEXIST))
		list_new(&new_sums_n[at], new_sums[at], party_and_epoch);
}

/* Adds to a party's sum in a window. Signed figures wrap. */
__noinline int add_to_party(__u64 party_and_epoch, __u64 waits, __u64 dispatches, __u64 ns,
			    __u64 times)
{
	struct ex_party_key key = {.party = party_and_epoch >> 32, .epoch = party_and_epoch};
	struct ex_party_sum *sum = bpf_map_lookup_elem(&party_sums, &key);

	if (!sum) {
		make_sum(&key, party_and_epoch);
		sum = bpf_map_lookup_elem(&party_sums, &key);
	}
	if (!sum)
		return 0; /* the residual shows it */
	__sync_fetch_and_add(&sum->waits, waits);
	__sync_fetch_and_add(&sum->dispatches, dispatches);
	__sync_fetch_and_add(&sum->ns, ns);
	__sync_fetch_and_add(&sum->times, times);
	return 0;
}

/* A pair's key; `who` is a culprit's party and an enum ex_why. */
static __always_inline __u64 pair_of(__u32 victim, __u32 who)
{
	return EX_PAIR_USED | (__u64)victim << 32 | who;
}

static __always_inline __u32 who_is(__u32 party, __u32 why)
{
	return party << 16 | why;
}

/* Places of a table that a pair may have. */
#define EX_PAIR_PROBES 8

/* True only in a book that leaves out bookings for tests. */
static __always_inline bool is_unbooked(struct ex_book *b)
{
	return unbooked_one_in && b->booked++ % unbooked_one_in == 0;
}

/* Books time to a pair of a window. */
__noinline int book_pair(__u64 pair, __u64 ns, __u64 times, __u32 e)
{
	struct ex_book *b = book_of(bpf_get_smp_processor_id());
	__u32 first = (pair * 0x9e3779b97f4a7c15ull) >> 40, at, i;
	struct ex_pair *p;

	if (!b || !ns || is_unbooked(b))
		return 0;
	for (i = 0; i < EX_PAIR_PROBES; i++) {
		at = (first + i) & (blame_places - 1) & (EX_PAIRS - 1);
		p = &b->pairs[e & 1][at];
		if (!p->pair) {
			p->pair = pair;
			b->used[e & 1][at / 64] |= 1ull << at % 64;
		}
		if (p->pair == pair) {
			p->ns += ns;
			p->times += times;
			return 0;
		}
	}
	return add_to_party((pair & 0xffff00000000) | e, 0, 0, ns, times);
}

/*
 * Books the part of the n-th stay on a CPU in which a task waited, less what steal and interrupts
 * took of it. Returns its begin, or that of the wait. The begin of the first stay is unknown. A
 * function of its own: the kernel verifies it once, not once for each stay.
 */
__noinline __u64 book_stay(__u64 cpu_and_n, __u64 victim, __u32 e, __u64 from, __u64 to)
{
	struct ex_book *b = book_of(cpu_and_n >> 32);
	struct ex_cpu *c = cpu_of(cpu_and_n >> 32);
	__u32 n = cpu_and_n;
	__u64 began, start, length, steal, irq, ns;
	struct ex_segment *stay;

	if (!b || !c)
		return from;
	if (!n) {
		book_pair(victim | EX_BY_OLDER, to - from, 1, e);
		return from;
	}
	if (n + 1 == c->stays.ended) {
		stay = &c->stays.last;
		began = c->stays.last_began;
	} else {
		stay = &b->ring[n & (EX_STAYS - 1)];
		began = b->ring[(n - 1) & (EX_STAYS - 1)].end;
	}
	if (began >= to)
		return to;
	start = began > from ? began : from;
	ns = to - start;
	length = stay->end - began;
	steal = stay->steal;
	irq = stay->irq;
	if (steal | irq) {
		if (ns < length) {
			steal = steal * ns / length;
			irq = irq * ns / length;
		}
		if (steal > ns)
			steal = ns;
		if (irq > ns - steal)
			irq = ns - steal;
		book_pair(victim | EX_BY_STEAL, steal, 1, e);
		book_pair(victim | EX_BY_INTERRUPTS, irq, 1, e);
		ns -= steal + irq;
	}
	book_pair(victim | who_is(stay->party, stay->why), ns, 1, e);
	return start;
}

/* Lays a wait over the stays on a CPU, from the last one back. `victim` is a pair without culprit. */
static __always_inline int lay_over(__u32 cpu, __u64 victim, __u32 e, __u64 from, __u64 to)
{
	struct ex_cpu *c = cpu_of(cpu);
	struct ex_segment *last;
	__u64 began, start;
	__u32 n, i;

	if (!c)
		return 0;
	n = READ_ONCE(c->stays.ended);
	last = &c->stays.last;
	/* Who is on it now, if the task leaves the queue of a CPU for another one. */
	began = n ? last->end : to;
	if (began < to) {
		start = began > from ? began : from;
		book_pair(victim | who_is(c->stays.party, c->stays.why), to - start, 1, e);
		to = start;
	}
	/* Most waits are for one stay, from which nothing was taken. */
	if (n > 1 && from >= c->stays.last_began && !(last->steal | last->irq)) {
		if (from < to)
			book_pair(victim | who_is(last->party, last->why), to - from, 1, e);
		return 0;
	}
	if (!n)
		n = 1;
	/* The kernel verifies each step, and what follows each way out of the loop. */
	for (i = 1; i < EX_STAYS; i++) {
		if (to <= from)
			return 0;
		to = book_stay((__u64)cpu << 32 | (n - i), victim, e, from, to);
	}
	book_pair(victim | EX_BY_OLDER, to - from, 1, e);
	return 0;
}

/*
 * Most waits are brief. They get no culprit of their own, so the slot keeps them, and the reader
 * takes them from there.
 */
static __always_inline void book_brief(struct ex_slot *s, __u64 ns)
{
	struct ex_book *b;

	if (unbooked_one_in) {
		b = book_of(bpf_get_smp_processor_id());
		if (!b || is_unbooked(b))
			return;
	}
	s->waits.brief += ns;
	s->waits.briefs += !!ns;
}

/*
 * Books a task's waits that are charged and not booked yet. They were for `cpu` and ended at `to`.
 * Its own quota comes first: afterwards it waited for the CPU. A wait before the present one ended
 * unseen, and nothing tells for which CPU it was.
 */
__noinline int book_wait(struct ex_slot *s, __u32 cpu, __u64 to)
{
	__u64 ns, throttled, victim, earlier;

	if (!s)
		return 0;
	ns = waited(&s->cum) - s->cum.ns[EX_BOOKED];
	if (!ns)
		return 0;
	throttled = s->cum.ns[EX_THROTTLE] - s->cum.ns[EX_BOOKED_THROTTLE];
	s->cum.ns[EX_BOOKED] += ns;
	s->cum.ns[EX_BOOKED_THROTTLE] += throttled;
	victim = pair_of(s->party, 0);
	ns -= throttled;
	if (throttled)
		book_pair(victim | EX_BY_THROTTLE, throttled, 1, s->epoch);
	if (ns < blame_floor_ns) {
		book_brief(s, ns);
		return 0;
	}
	earlier = before_this_wait(s, ns, to);
	if (earlier)
		book_pair(victim | EX_BY_OLDER, earlier, 1, s->epoch);
	lay_over(cpu, victim, s->epoch, to - (ns - earlier), to);
	return 0;
}

static __always_inline __u64 party_at(__u32 party, struct ex_slot *s)
{
	return (__u64)party << 32 | s->epoch;
}

/* What a slot's task had waited in the window goes to `party`, or from it if `sign` is -1. */
static __always_inline void post_waits(struct ex_slot *s, __u32 party, __u64 sign)
{
	__u64 waits = waited(&s->cum) - waited(&s->snap);
	__u64 dispatches = s->cum.dispatches - s->snap.dispatches;

	if (waits | dispatches)
		add_to_party(party_at(party, s), waits * sign, dispatches * sign, 0, 0);
}

/*
 * A slot's brief waits in the window go to the pair of its party, and the slot keeps those of the
 * windows before.
 */
static __always_inline void post_brief(struct ex_slot *s)
{
	__u64 ns = s->waits.brief - s->snap_waits.brief, times = s->waits.briefs - s->snap_waits.briefs;

	s->waits.brief = s->snap_waits.brief;
	s->waits.briefs = s->snap_waits.briefs;
	book_pair(pair_of(s->party, EX_BY_BRIEF), ns, times, s->epoch);
}

/* The number of a party. */
static __always_inline __u32 number_of(struct ex_party *party)
{
	__u32 *known = bpf_map_lookup_elem(&parties, party), number;

	if (known)
		return *known;
	if (READ_ONCE(next_party) >= blame_parties)
		return 0;
	number = __sync_fetch_and_add(&next_party, 1) + 1;
	if (number > blame_parties)
		return 0;
	if (!bpf_map_update_elem(&parties, party, &number, BPF_NOEXIST))
		return number;
	/* Another CPU was first. */
	known = bpf_map_lookup_elem(&parties, party);
	return known ? *known : 0;
}

/* For tests: waits for a time, or for 64 readings of the clock; true if the time has come. */
__noinline int wait_until(__u64 then)
{
	__u32 i;

	for (i = 0; i < 64; i++)
		if (bpf_ktime_get_ns() >= then)
			return 1;
	return 0;
}

/*
 * For tests: keeps the CPU for a time, or for 4,096 readings of the clock. Kernels before 6.8 verify
 * it in each program, also where nothing calls it, so the loop is one in two functions.
 */
__noinline int keep_cpu(__u64 ns)
{
	__u64 then = bpf_ktime_get_ns() + ns;
	__u32 i;

	for (i = 0; i < 64; i++)
		if (wait_until(then))
			break;
	return 0;
}

/*
 * Follows a task that became another party by exec, by a change of user or session, or by moving to
 * another group. Its waits until then stay with the old one.
 */
__noinline int follow_party(struct ex_slot *s)
{
	struct ex_party party = {};
	struct task_struct *task;
	__u32 number, cpu = bpf_get_smp_processor_id();
	struct ex_cpu *c = cpu_of(cpu);

	if (!s)
		return 0;
	task = (struct task_struct *)s->task;
	task = BPF_CORE_READ(task, group_leader);
	bpf_probe_read_kernel_str(&party.comm, sizeof(party.comm), &task->comm);
	party.cgroup = s->id.cgroup;
	party.uid = s->id.uid;
	party.session = s->id.session;
	party.kthread = !!(s->id.flags & PF_KTHREAD);
	number = number_of(&party);
	if (c && s->state == EX_RUN)
		c->stays.party = number;
	if (number == s->party)
		return 0;
	book_wait(s, cpu, s->since);
	post_brief(s);
	if (sizes_waits)
		size_wait(s, 0);
	post_waits(s, s->party, 1);
	if (half_another_ns)
		keep_cpu(half_another_ns);
	post_waits(s, number, -1);
	s->party = number;
	return 0;
}

/* A task ends. If the kernel hid its last dispatch, nothing tells for which CPU it waited. */
__noinline int end_waits(struct ex_slot *s)
{
	__u64 unbooked;

	if (!s)
		return 0;
	unbooked = waited(&s->cum) - s->cum.ns[EX_BOOKED];
	s->cum.ns[EX_BOOKED] += unbooked;
	book_pair(pair_of(s->party, EX_BY_OLDER), unbooked, 1, s->epoch);
	post_brief(s);
	if (sizes_waits)
		size_wait(s, 0);
	post_waits(s, s->party, 1);
	return 0;
}

/* A stay with more nanoseconds taken from it is not prolonged: 32 bits hold twice as many. */
#define EX_TAKEN_BITS 31

/* A CPU is charged up to the end of a stay, and `who` comes. */
__noinline int end_stay(struct ex_cpu *c, __u32 cpu, __u32 who)
{
	struct ex_segment *last;
	struct ex_book *b;
	__u64 steal, irq;

	if (!c)
		return 0;
	steal = c->cum.steal - c->stays.steal;
	irq = c->cum.irq - c->stays.irq;
	last = &c->stays.last;
	/* Stays of one party in a row are one stay, so the ring reaches further back. */
	if (!c->stays.ended || last->party != c->stays.party || last->why != c->stays.why ||
	    (steal | irq | last->steal | last->irq) >> EX_TAKEN_BITS) {
		b = c->stays.ended ? book_of(cpu) : NULL;
		if (b)
			b->ring[(c->stays.ended - 1) & (EX_STAYS - 1)] = *last;
		c->stays.ended++;
		c->stays.last_began = last->end;
		last->party = c->stays.party;
		last->why = c->stays.why;
		last->steal = 0;
		last->irq = 0;
	}
	last->steal += steal;
	last->irq += irq;
	last->end = c->since;
	c->stays.steal = c->cum.steal;
	c->stays.irq = c->cum.irq;
	c->stays.party = who >> 16;
	c->stays.why = who;
	return 0;
}

#endif
