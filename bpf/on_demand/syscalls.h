/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keys and values of the programs that count system calls. */
#ifndef EXACTOP_SYSCALLS_H
#define EXACTOP_SYSCALLS_H

#include "lock_calls.h"
#include "on_demand.h"

enum ex_by { EX_BY_CALL, EX_BY_PROCESS, EX_BY_THREAD };

/* A number that is no system call: the thread came onto a CPU. */
#define EX_NR_DISPATCH (-2)

/*
 * Each has one writer: a thread's own CPU or, where threads are summed, the CPU in the key. The
 * programs run with preemption off, and no interrupt makes a system call.
 */
struct ex_syscall_key {
	__u32 tgid;
	__u32 tid;
	__s32 nr;
	__u32 cpu;
};

struct ex_syscall_sum {
	__u64 calls;
	__u64 untimed; /* began before the attach; included in `calls` */
	__u64 errors;
	__u64 total_ns;
	struct greatest longest;
	struct names names;
};

/* Calls that returned the same error. */
struct ex_failure_key {
	struct ex_syscall_key call;
	__u32 error;
};

struct ex_failures {
	__u64 count;
};

/* The iterator's record of a call in flight. */
struct ex_open_syscall {
	__u64 now;
	__u64 since; /* 0: before the attach */
	__u32 tgid;
	__u32 tid;
	__s32 nr;
	__u32 pad;
	struct names names;
};

#endif
