/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys and values of the programs that time waits. */
#ifndef EXACTOP_WAITS_H
#define EXACTOP_WAITS_H

#include "on_demand.h"
#include "lock_calls.h"

/*
 * The kind of a wait. EX_QUEUES and EX_THROTTLED are no sleeps: other tasks or a quota keep the
 * task from a CPU.
 */
enum ex_wait_kind { EX_SLEEPS, EX_LOCKS, EX_BLOCKS, EX_QUEUES, EX_THROTTLED, EX_NO_WAIT };

enum ex_queued_after { EX_AFTER_WAKEUP, EX_AFTER_PREEMPTION };

/* EX_RAN_BEFORE: of waits longer than the kept stints, the part before them. */
enum ex_part { EX_RAN_INSTEAD, EX_WOKEN_BY, EX_RAN_BEFORE };

/*
 * A log-linear histogram of ns with four buckets for each power of two, so that a bucket's width is
 * at most a quarter of its lower end. Below 4, bucket i is i ns; the last bucket holds all longer
 * values.
 */
#define EX_BUCKETS 144

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 log = 0;
	__u64 rest = ns;

	if (ns < 4)
		return ns;
	if (ns >> 37)
		return EX_BUCKETS - 1;
	if (rest >> 32) { log += 32; rest >>= 32; }
	if (rest >> 16) { log += 16; rest >>= 16; }
	if (rest >> 8) { log += 8; rest >>= 8; }
	if (rest >> 4) { log += 4; rest >>= 4; }
	if (rest >> 2) { log += 2; rest >>= 2; }
	if (rest >> 1) log += 1;
	return 4 * (log - 1) + ((ns >> (log - 2)) & 3);
}

/* Each has one writer: the CPU with the thread, ordered by the scheduler's locks. */
struct ex_sleep_key {
	__u32 tgid;
	__u32 tid;
	__s32 nr;
	enum ex_wait_kind kind;
};

struct ex_sleep {
	__u64 count;
	__u64 ns;
	struct greatest longest;
	struct names names;
};

struct ex_queue_key {
	__u32 tgid;
	__u32 tid;
	enum ex_queued_after after;
	__u32 pad;
};

struct ex_queue {
	__u64 count;
	__u64 ns;
	struct greatest longest;
	struct names names;
	__u32 buckets[EX_BUCKETS];
};

/* A queue is too large for a program's stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ex_queue);
} blank_queue SEC(".maps");

/* Other 0, 0: an interrupt or idle. Without a thread: any thread of that process. */
struct ex_other_key {
	__u32 tgid;
	__u32 tid;
	__u32 other_tgid;
	__u32 other_tid;
	enum ex_part part;
};

struct ex_other {
	__u64 amount; /* ns or times */
	struct names names;
};

struct ex_open_wait {
	__u64 since;
	__u64 now;
	__u32 tgid;
	__u32 tid;
	__s32 nr;
	enum ex_wait_kind kind;
	struct names names;
};

/* The last tasks on a CPU: enough for most waits. */
#define EX_STINTS 32

struct stint {
	__u64 since;
	__u32 tgid;
	__u32 pad;
	struct names names;
};

struct past {
	__u64 n;
	struct stint stints[EX_STINTS];
};

#endif
