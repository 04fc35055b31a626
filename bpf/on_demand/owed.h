/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Idle CPUs beside waiting tasks: keys, values and the algorithm. It calls nothing in the kernel, so
 * a test runs it as a program (crates/ledger/sources/tests/ledger/owed/histories.c).
 *
 * Each set of CPUs has a clock: the time in which a CPU of the set was free. A wait is the
 * differences of the clocks of four sets, each within the one before. So an event walks over the
 * sets, of which a machine has few, and over no tasks.
 */
#ifndef EXACTOP_OWED_H
#define EXACTOP_OWED_H

#include <linux/types.h>
#include <stdbool.h>

#define EX_INLINE static inline __attribute__((always_inline))

enum ex_owed_sizes {
	EX_CPU_WORDS = 16,
	EX_SETS = 64,
	EX_NO_SET = 0xffff /* a set without a free CPU: of one CPU, which runs another task */
};

/* Why a task waited. The first three are owed: an idle CPU could have run it. */
enum ex_owed_cause {
	EX_BY_WAKEUP,
	EX_BY_BALANCE,
	EX_BY_NUMA,
	EX_BY_AFFINITY,
	EX_BY_CPUSET,
	EX_BY_WAKING,
	EX_BY_BUSY,
	EX_BY_QUOTA,
	EX_OWED_CAUSES
};

/* The CPUs on which a task may run. */
enum ex_scope { EX_ANY, EX_CPUSET, EX_AFFINITY, EX_NEAR, EX_SCOPES };

struct ex_cpus {
	__u64 word[EX_CPU_WORDS];
};

struct ex_set {
	struct ex_cpus cpus;
	__u64 ns; /* the clock as of `since` if a CPU is free, else now */
	__u64 since;
	__u64 at_end;  /* the clock at the end of the last window */
	__u32 free;    /* CPUs */
	__u32 waiting; /* tasks that may run on these CPUs and no other */
};

struct ex_owed {
	__u64 now;
	__u64 ended; /* the last window */
	__u64 idle_ns;
	__u64 owed_ns;
	__u32 epoch;
	__u32 sets;
	__u32 idle;   /* CPUs */
	__u32 free;   /* of these, CPUs that no task has woken */
	__u32 usable; /* sum over the sets of the lesser of free CPUs and waiting tasks */
	__u32 pad;
	struct ex_cpus free_cpus;
	struct ex_set set[EX_SETS];
};

/* A CPU. While it wakes up for a task, it is idle and not free. */
struct ex_owed_cpu {
	__u32 is_known;
	__u32 is_idle;
	__u32 called; /* the task for which it woke up; 0: none */
	__u32 is_taken; /* by another task */
	__u32 taken_epoch;
	__u32 set[EX_SCOPES]; /* of the called task */
	__u32 pad;
	__u64 taken_at;
	__u64 clock[EX_SCOPES]; /* at that time */
};

enum ex_doing { EX_UNKNOWN, EX_RUNS, EX_SLEEPS, EX_WAITS, EX_CALLED };

struct ex_waiter {
	__u64 since;
	__u64 clock[EX_SCOPES];
	__u32 set[EX_SCOPES];
	__u32 doing;
	__u32 epoch;
	__u32 cpu;
	__u32 is_misplaced;
};

/* Sums of odd and even windows. Programs write them under the lock alone. */
struct ex_owed_sum {
	__u64 bookings;
	__u64 ns[2][EX_OWED_CAUSES];
	__u64 times[2][EX_OWED_CAUSES];
	char process[16];
};

/*
 * Linux 6.1 forgets the bounds of a number that the compiler keeps on the stack. So each use begins
 * with the bounds, and the compiler may not know that the number is within them.
 */
EX_INLINE struct ex_set *ex_set_at(struct ex_owed *o, __u32 set)
{
	asm volatile("" : "+r"(set));
	return &o->set[set & (EX_SETS - 1)];
}

EX_INLINE __u32 ex_word_at(__u32 word)
{
	asm volatile("" : "+r"(word));
	return word & (EX_CPU_WORDS - 1);
}

EX_INLINE __u64 ex_clock(struct ex_owed *o, __u32 set)
{
	struct ex_set *s = ex_set_at(o, set);

	return set >= EX_SETS ? 0 : s->ns + (s->free ? o->now - s->since : 0);
}

EX_INLINE void ex_clocks(struct ex_owed *o, const __u32 *set, __u64 *clock)
{
	for (int i = 0; i < EX_SCOPES; i++)
		clock[i] = ex_clock(o, set[i]);
}

EX_INLINE __u32 ex_lesser(__u32 one, __u32 other)
{
	return one < other ? one : other;
}

EX_INLINE bool ex_has(const struct ex_cpus *cpus, __u32 cpu)
{
	return cpu < EX_CPU_WORDS * 64 && cpus->word[ex_word_at(cpu / 64)] >> (cpu & 63) & 1;
}

/* Number of a new set; EX_NO_SET: no room. */
EX_INLINE __u32 ex_add_set(struct ex_owed *o, const struct ex_cpus *cpus)
{
	__u32 at = o->sets, free = 0;
	struct ex_set *s = ex_set_at(o, at);

	if (at >= EX_SETS)
		return EX_NO_SET;
	for (int i = 0; i < EX_CPU_WORDS; i++) {
		s->cpus.word[i] = cpus->word[i];
		free += __builtin_popcountll(cpus->word[i] & o->free_cpus.word[i]);
	}
	s->free = free;
	s->since = o->now;
	o->sets = at + 1;
	return at;
}

/* Time goes on. A clock of another CPU may be behind a little: that time is in the next step. */
EX_INLINE void ex_pass(struct ex_owed *o, __u64 now)
{
	if (!o->sets) {
		for (int i = 0; i < EX_CPU_WORDS; i++)
			o->set[EX_ANY].cpus.word[i] = ~0ULL;
		o->sets = 1;
		o->now = now;
	}
	if (now <= o->now)
		return;
	o->idle_ns += (now - o->now) * o->idle;
	o->owed_ns += (now - o->now) * ex_lesser(o->usable, o->free);
	o->now = now;
}

/* Makes a CPU free or not, by its state. Each event ends with this for its CPUs. */
EX_INLINE void ex_settle_cpu(struct ex_owed *o, struct ex_owed_cpu *c, __u32 cpu)
{
	bool is_free = c->is_idle && !c->called;
	__u64 bit = 1ULL << (cpu & 63);
	__u32 word = cpu / 64;

	if (word >= EX_CPU_WORDS || ex_has(&o->free_cpus, cpu) == is_free)
		return;
	o->free_cpus.word[ex_word_at(word)] ^= bit;
	o->free += is_free ? 1 : -1;
	for (int i = 0; i < EX_SETS; i++) {
		struct ex_set *s = ex_set_at(o, i);

		if (i >= o->sets)
			break;
		if (!(s->cpus.word[ex_word_at(word)] & bit))
			continue;
		o->usable -= ex_lesser(s->free, s->waiting);
		if (is_free && !s->free)
			s->since = o->now;
		s->free += is_free ? 1 : -1;
		if (!is_free && !s->free)
			s->ns += o->now - s->since;
		o->usable += ex_lesser(s->free, s->waiting);
	}
}

EX_INLINE void ex_count_waiting(struct ex_owed *o, __u32 set, __s32 by)
{
	struct ex_set *s = ex_set_at(o, set);

	if (set >= EX_SETS)
		return;
	o->usable -= ex_lesser(s->free, s->waiting);
	s->waiting += by;
	o->usable += ex_lesser(s->free, s->waiting);
}

/* A CPU runs another task or the idle task. */
EX_INLINE void ex_turn(struct ex_owed *o, struct ex_owed_cpu *c, bool is_idle, __u32 next)
{
	c->is_known = true;
	o->idle += is_idle - c->is_idle;
	c->is_idle = is_idle;
	if (!c->called || (is_idle && !c->is_taken))
		return;
	if (is_idle) { /* the called task is not there any more, and its end was not seen */
		ex_count_waiting(o, c->set[EX_AFFINITY], -1);
		c->called = 0;
	} else if (c->called == next && !c->is_taken) {
		c->called = 0;
	} else if (!c->is_taken) {
		c->is_taken = true;
		c->taken_at = o->now;
		c->taken_epoch = o->epoch;
		ex_clocks(o, c->set, c->clock);
		ex_count_waiting(o, c->set[EX_AFFINITY], 1);
	}
}

/* Books nanoseconds of a wait; no sum: they are lost. */
EX_INLINE void ex_add(struct ex_owed_sum *sum, __u32 bank, enum ex_owed_cause cause, __u64 ns)
{
	if (!sum || !ns)
		return;
	sum->ns[bank][cause] += ns;
	sum->times[bank][cause]++;
	sum->bookings++;
}

/* Books a wait up to a time and the clocks of then. */
EX_INLINE void ex_book(struct ex_waiter *w, struct ex_owed_sum *sum, bool by_quota, __u64 until,
		       const __u64 *clock)
{
	__u64 ns = until - w->since, free[EX_SCOPES];
	__u32 bank = w->epoch & 1;

	w->since = until;
	if (w->doing == EX_CALLED)
		return ex_add(sum, bank, EX_BY_WAKING, ns);
	for (int i = 0; i < EX_SCOPES; i++) {
		free[i] = clock[i] - w->clock[i];
		w->clock[i] = clock[i];
	}
	if (by_quota)
		return ex_add(sum, bank, EX_BY_QUOTA, ns);
	ex_add(sum, bank, EX_BY_BUSY, ns - free[EX_ANY]);
	ex_add(sum, bank, EX_BY_CPUSET, free[EX_ANY] - free[EX_CPUSET]);
	ex_add(sum, bank, EX_BY_AFFINITY, free[EX_CPUSET] - free[EX_AFFINITY]);
	ex_add(sum, bank, EX_BY_NUMA, free[EX_AFFINITY] - free[EX_NEAR]);
	ex_add(sum, bank, w->is_misplaced ? EX_BY_WAKEUP : EX_BY_BALANCE, free[EX_NEAR]);
}

EX_INLINE bool ex_is_waiting(const struct ex_waiter *w)
{
	return w->doing == EX_WAITS || w->doing == EX_CALLED;
}

/* Books a wait up to now. `c`: the CPU whose run queue has the task. */
EX_INLINE void ex_settle(struct ex_owed *o, struct ex_waiter *w, struct ex_owed_cpu *c, __u32 id,
			 struct ex_owed_sum *sum, bool by_quota)
{
	__u64 clock[EX_SCOPES];

	if (w->doing == EX_CALLED && c->called == id && c->is_taken) {
		if (w->epoch != c->taken_epoch)
			ex_book(w, sum, by_quota, o->ended, clock);
		w->epoch = c->taken_epoch;
		ex_book(w, sum, by_quota, c->taken_at, clock);
		for (int i = 0; i < EX_SCOPES; i++)
			w->clock[i] = c->clock[i];
		w->doing = EX_WAITS;
	}
	if (w->epoch != o->epoch) {
		for (int i = 0; i < EX_SCOPES; i++)
			clock[i] = w->set[i] < EX_SETS ? ex_set_at(o, w->set[i])->at_end : 0;
		ex_book(w, sum, by_quota, o->ended, clock);
		w->epoch = o->epoch;
	}
	ex_clocks(o, w->set, clock);
	ex_book(w, sum, by_quota, o->now, clock);
}

/* The caller then settles the CPU. */
EX_INLINE void ex_wait_begins(struct ex_owed *o, struct ex_waiter *w, struct ex_owed_cpu *c,
			      __u32 cpu, __u32 id, const __u32 *set, bool is_woken)
{
	w->since = o->now;
	w->epoch = o->epoch;
	w->cpu = cpu;
	w->is_misplaced = is_woken && set[EX_NEAR] < EX_SETS && ex_set_at(o, set[EX_NEAR])->free;
	for (int i = 0; i < EX_SCOPES; i++)
		w->set[i] = set[i];
	if (c->is_idle && !c->called) {
		w->doing = EX_CALLED;
		w->is_misplaced = false;
		c->called = id;
		c->is_taken = false;
		for (int i = 0; i < EX_SCOPES; i++)
			c->set[i] = set[i];
		return;
	}
	w->doing = EX_WAITS;
	ex_clocks(o, set, w->clock);
	ex_count_waiting(o, set[EX_AFFINITY], 1);
}

/* Ends a wait and books no time: its end was not seen. The caller then settles the CPU. */
EX_INLINE void ex_forget(struct ex_owed *o, struct ex_waiter *w, struct ex_owed_cpu *c, __u32 id)
{
	if (w->doing == EX_WAITS || (c->called == id && c->is_taken))
		ex_count_waiting(o, w->set[EX_AFFINITY], -1);
	if (c->called == id)
		c->called = 0;
}

/* The caller then settles the CPU. */
EX_INLINE void ex_wait_ends(struct ex_owed *o, struct ex_waiter *w, struct ex_owed_cpu *c, __u32 id,
			    struct ex_owed_sum *sum, bool by_quota)
{
	ex_settle(o, w, c, id, sum, by_quota);
	ex_forget(o, w, c, id);
}

/* Ends a window. The caller then settles every task that waits. */
EX_INLINE void ex_window_ends(struct ex_owed *o)
{
	for (int i = 0; i < EX_SETS; i++) {
		if (i >= o->sets)
			break;
		ex_set_at(o, i)->at_end = ex_clock(o, i);
	}
	o->ended = o->now;
	o->epoch++;
}

#endif
