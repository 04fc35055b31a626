/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs that count wake-ups keep for their reader. */
#ifndef EXACTOP_WAKEUPS_H
#define EXACTOP_WAKEUPS_H

#include "on_demand.h"

/* An edge. Waker 0, 0: an interrupt; without a thread: some thread of that process. */
struct ex_edge_key {
	__u32 waker_tgid;
	__u32 waker_tid;
	__u32 wakee_tgid;
	__u32 wakee_tid;
};

struct ex_edge {
	__u64 wakeups;
	__u64 chains;	   /* that began with this waker and are over */
	__u64 unproductive; /* of these */
	__u64 unproductive_ns;
	__u64 late_ns; /* CPU time of the wakee before, on a way whose beginning was not seen */
	struct names waker;
	struct names wakee;
};

/* What one thread's calls of one kind wake; those of a futex by which. */
struct ex_fan_key {
	__u64 futex;
	__u32 tgid;
	__u32 tid;
	__s32 nr;
	__u32 pad;
};

struct ex_fan {
	__u64 calls; /* that woke someone */
	__u64 wakeups;
	__u64 chains;
	__u64 unproductive;
	__u64 unproductive_ns;
	struct greatest most; /* woken by one call; not a time */
	__s32 home_nr;	      /* where the last unproductive one went back to */
	__u32 pad;
	struct names names;
};

#endif
