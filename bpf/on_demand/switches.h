/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys and values of the program that counts switches. */
#ifndef EXACTOP_SWITCHES_H
#define EXACTOP_SWITCHES_H

#include "on_demand.h"

/* Each has one writer: the thread itself, as it leaves its CPU. */
struct ex_switch_key {
	__u32 tgid;
	__u32 tid;
};

struct ex_switches {
	__u64 preempted;
	__u64 blocked;
	__u64 yielded;
	__u64 exited;
	struct names names;
};

#endif
