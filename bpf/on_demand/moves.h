/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys and values of the programs that count moves. */
#ifndef EXACTOP_MOVES_H
#define EXACTOP_MOVES_H

#include "on_demand.h"

/*
 * Return addresses of the kernel's stack, innermost first; the first ones belong to the program
 * itself.
 */
#define EX_FRAMES 14

struct ex_stack {
	__u64 at[EX_FRAMES];
};

/* Facts about a move besides its stack, as bits. */
enum ex_move_facts {
	EX_WAKING = 1,      /* a wake-up chose the CPU */
	EX_BORN = 2,        /* a fork did; the kernel does not count it */
	EX_WAS_OFFLINE = 4, /* the CPU that the task left is going offline */
	EX_NOT_ALLOWED = 8, /* the task may no longer run there */
	EX_NO_STACK = 16,   /* no room for another stack */
	EX_STACK_REFUSED = 32, /* the kernel gave no stack */
};

/* Each has one writer: the CPU with the thread, ordered by the scheduler's locks. */
struct ex_migration_key {
	__u32 tgid;
	__u32 tid;
	__u32 from;
	__u32 to;
	__u32 stack; /* its number; 0: none was taken */
	__u32 own;   /* number of the moved task's own stack; 0: not taken */
	enum ex_move_facts facts;
};

struct ex_migration {
	__u64 moves;
	__u64 queued;    /* of these, from a run queue after a known wait */
	__u64 before_ns; /* that wait */
	__u64 ran;       /* moves whose wait ended because the task ran */
	__u64 after_ns;  /* wait until then */
	__u64 paid;      /* ran before any other task came onto the old CPU */
	__u64 unpaid;    /* ran after the old CPU had been idle */
	struct names names;
};

#endif
