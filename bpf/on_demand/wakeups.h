/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys and values of the programs that count wake-ups. */
#ifndef EXACTOP_WAKEUPS_H
#define EXACTOP_WAKEUPS_H

#include "on_demand.h"

/* An edge. Waker 0, 0: an interrupt. Without a thread: any thread of that process. */
struct ex_edge_key {
	__u32 waker_tgid;
	__u32 waker_tid;
	__u32 wakee_tgid;
	__u32 wakee_tid;
};

struct ex_edge {
	__u64 wakeups;
	__u64 chains;	   /* began with this waker and are over */
	__u64 unproductive; /* of these */
	__u64 unproductive_ns;
	__u64 late_ns; /* CPU time of the wakee before, in a chain with an unseen begin */
	struct names waker;
	struct names wakee;
};

/* Wake-ups by one thread's calls of one kind; for futex calls by futex. */
struct ex_fan_key {
	__u64 futex;
	__u32 tgid;
	__u32 tid;
	__s32 nr;
	__u32 pad;
};

struct ex_fan {
	__u64 calls; /* calls that woke at least one task */
	__u64 wakeups;
	__u64 chains;
	__u64 unproductive;
	__u64 unproductive_ns;
	struct greatest most; /* tasks woken by one call; not a time */
	__s32 home_nr;	      /* the call that the last unproductive one went back to */
	__u32 pad;
	struct names names;
};

#endif
