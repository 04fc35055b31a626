/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A record of the log of switches and wake-ups. */
#ifndef EXACTOP_SWITCHLOG_H
#define EXACTOP_SWITCHLOG_H

#include "kernel.h"

enum ex_logged_kind { EX_LOG_SWITCH, EX_LOG_WAKING };

/* A switch: from `prev` to `next`. A wake-up: of `next`, by `prev`. */
struct ex_logged {
	__u64 at; /* CLOCK_BOOTTIME */
	enum ex_logged_kind kind;
	__u32 cpu;
	__u32 prev_tid;
	__u32 next_tid;
	__u32 next_tgid;
	__u32 prev_state; /* bits of __state and exit_state */
	__s32 prev_prio;
	__s32 next_prio;
	__u32 preempt;
	__u32 target_cpu; /* of a wake-up: the CPU it ran on last */
	__u32 next_ppid;
	__u32 pad;
	char next_comm[16];
};

#endif
