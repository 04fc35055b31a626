/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the source snapshot tells of tasks. */
#ifndef EXACTOP_SNAPSHOT_H
#define EXACTOP_SNAPSHOT_H

#include "identity.h"

/* A CPU that is not known. */
#define EX_NO_CPU 0xffffffffu

/* A task that did something. */
struct ex_shot {
	struct ex_ident id;
	__u64 serial;
	__u64 run;
	__u64 utime; /* as the kernel samples or measures it */
	__u64 stime;
	__u64 run_delay; /* the present wait included */
	__u64 dispatches;
	__u64 vcx;
	__u64 icx;
	__u64 min_flt;
	__u64 maj_flt;
	__u64 migrations;
	__u64 cutime; /* of the process, told by its leader */
	__u64 cstime;
	__u32 state; /* enum ex_state */
	__u32 kstate; /* its bits; exit_state of the dead */
	__u32 cpu;
	__u32 spare;
};

/* A task that is there. */
struct ex_there {
	__u64 serial;
};

#endif
