/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records of the source snapshot. */
#ifndef EXACTOP_SNAPSHOT_H
#define EXACTOP_SNAPSHOT_H

#include "identity.h"

/* An unknown CPU. */
#define EX_NO_CPU 0xffffffffu

/* A task that changed. */
struct ex_shot {
	struct ex_ident id;
	__u64 serial;
	__u64 run;
	__u64 utime; /* sampled or measured by the kernel */
	__u64 stime;
	__u64 run_delay; /* includes the present wait */
	__u64 dispatches;
	__u64 vcx;
	__u64 icx;
	__u64 min_flt;
	__u64 maj_flt;
	__u64 migrations;
	__u64 cutime; /* of the process; stands at its leader */
	__u64 cstime;
	__u32 state; /* enum ex_state */
	__u32 kstate; /* bits of __state; exit_state of the dead */
	__u32 cpu;
	__u32 spare;
};

/* An existing task. */
struct ex_there {
	__u64 serial;
};

#endif
