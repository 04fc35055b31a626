/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs that look at migrations keep, and tell their reader. */
#ifndef EXACTOP_MOVES_H
#define EXACTOP_MOVES_H

#include "on_demand.h"

/* Return addresses of the kernel's stack, innermost first; the first are those of the program itself. */
#define EX_FRAMES 14

struct ex_stack {
	__u64 at[EX_FRAMES];
};

/* What is known of a move beside its stack, as bits. */
enum ex_move_facts {
	EX_WAKING = 1,      /* a wake-up chose the CPU */
	EX_BORN = 2,        /* a fork did: the kernel does not count it */
	EX_WAS_OFFLINE = 4, /* the CPU that was left is being switched off */
	EX_NOT_ALLOWED = 8, /* the task may not run there any more */
	EX_NO_STACK = 16,   /* there was no room for another stack */
	EX_STACK_REFUSED = 32, /* the kernel gave none */
};

/* One writer each: whoever has the thread, ordered by the scheduler's locks. */
struct ex_migration_key {
	__u32 tgid;
	__u32 tid;
	__u32 from;
	__u32 to;
	__u32 stack; /* its number; 0: none was looked at */
	__u32 own;   /* that of the moved task's own; 0: it is not looked at */
	enum ex_move_facts facts;
};

struct ex_migration {
	__u64 moves;
	__u64 queued;    /* of these, out of a run queue in which it waited for a known time */
	__u64 before_ns; /* so long */
	__u64 ran;       /* those that ended: it ran */
	__u64 after_ns;  /* waited until then */
	__u64 paid;      /* of those that ran: before anything else came onto the CPU it had left */
	__u64 unpaid;    /* after the CPU it had left had nothing to do */
	struct names names;
};

#endif
