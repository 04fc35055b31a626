/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types that the programs use. Offsets are relocated at load time against the running
 * kernel's BTF (CO-RE), so only names and types matter here, not layout. Integers whose sign does
 * not matter are unsigned, because only those adapt to another size; fields.h reads the others.
 */
#ifndef EXACTOP_KERNEL_H
#define EXACTOP_KERNEL_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	atomic_t refs;
} refcount_t;

typedef struct {
	unsigned int val;
} kuid_t;

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	unsigned int hierarchy_id;
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

/* A set of CPUs is a pointer with CONFIG_CPUMASK_OFFSTACK, else an array. */
struct cpumask {
	unsigned long bits[1];
};

struct cpuset___pointer {
	struct cpumask *effective_cpus;
};

struct cpuset___array {
	struct cpumask effective_cpus[1];
};

struct cred {
	kuid_t euid;
};

enum pid_type { PIDTYPE_SID = 3, PIDTYPE_MAX };

struct upid {
	unsigned int nr;
};

struct pid {
	struct upid numbers[1]; /* [0]: in the first PID namespace */
};

struct signal_struct {
	atomic_t live;
	struct pid *pids[PIDTYPE_MAX];
	unsigned int flags;
	__u64 cutime;
	__u64 cstime;
};

struct sched_dl_entity {
	unsigned int dl_throttled : 1;
};

struct rq {
	__u64 clock;
	__u64 clock_task;
	unsigned int cpu;
	__u64 nr_switches;
	__u64 prev_steal_time_rq;
	int online;
	struct sched_dl_entity fair_server;
	struct task_struct *curr, *idle;
};

struct cfs_rq {
	struct rq *rq;
	unsigned int throttle_count;
	__u64 throttled_clock_pelt_time;
};

struct pt_regs {
	unsigned long orig_ax;
	unsigned long di;
	unsigned long si;
	unsigned long dx; /* also of a 32-bit call */
	/* The first two arguments of a 32-bit call. */
	unsigned long bx;
	unsigned long cx;
};

struct thread_info {
	__u32 status;
	__u32 cpu;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 exec_start;
	__u64 nr_migrations;
	unsigned char sched_delayed; /* asleep, and still in its run queue (6.12) */
	struct sched_entity *parent;
	struct cfs_rq *cfs_rq;
};

struct list_head {
	struct list_head *next, *prev;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	__u64 last_arrival;
	__u64 last_queued;
};

struct task_struct {
	struct thread_info thread_info;
	refcount_t usage;
	unsigned int __state;
	unsigned int cpu; /* before 5.16, when thread_info did not have it */
	unsigned int on_cpu;
	unsigned int on_rq;
	unsigned int exit_state;
	unsigned int flags;
	int prio;
	int static_prio;
	unsigned int policy;
	unsigned int pid;
	unsigned int tgid;
	__u64 utime;
	__u64 stime;
	__u64 start_boottime;
	char comm[16];
	bool throttled;
	unsigned int in_user_fault : 1;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
	unsigned long jobctl;
	struct sched_entity se;
	struct sched_dl_entity dl;
	struct sched_info sched_info;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	const struct cred *cred;
	const void *cpus_ptr;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct list_head thread_node;
	int softirq_disable_cnt; /* PREEMPT_RT */
};

struct bpf_mem_alloc {
};

/*
 * With one of these, task storage comes from an allocator that is safe in any context: BPF's own
 * (6.4 to 6.18), or kmalloc_nolock(), which is optional in 6.19 and the only one in 7.x.
 */
struct bpf_local_storage_map {
	struct bpf_mem_alloc storage_ma;
	bool use_kmalloc_nolock;
};

struct bpf_local_storage {
	__u32 mem_charge;
};

#pragma clang attribute pop

/*
 * Contexts of iterators: the same in every kernel, so loading adapts nothing. It searches each type
 * that it adapts among all types of the kernel.
 */
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	void *key;
	void *value;
};

enum cgroup_subsys_id { cpuset_cgrp_id = 0, cpu_cgrp_id = 1 };

enum cpuhp_state { CPUHP_TEARDOWN_CPU = 1 };

/* include/linux/sched.h: bits of task_struct.__state, as the raw tracepoint gives them. */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED_BIT 0x4
#define TASK_TRACED_BIT 0x8
#define TASK_DEAD 0x80
#define TASK_WAKING 0x200
#define TASK_NOLOAD 0x400
#define TASK_NEW 0x800
#define TASK_RTLOCK_WAIT 0x1000
#define TASK_FROZEN 0x8000

/* task_struct.exit_state */
#define EXIT_DEAD 0x10
#define EXIT_ZOMBIE 0x20

/* include/linux/sched/signal.h */
#define SIGNAL_GROUP_EXIT 0x4

/* task_struct.flags */
#define PF_EXITING 0x4
#define PF_IO_WORKER 0x10
#define PF_KTHREAD 0x200000

/* include/linux/sched/jobctl.h: the task's group is frozen (cgroup.freeze) */
#define JOBCTL_TRAP_FREEZE (1UL << 23)

/* include/uapi/linux/sched.h, include/linux/sched/prio.h */
#define SCHED_DEADLINE 6
#define MAX_RT_PRIO 100

/* x86-64 system calls that wait for a lock (arch/x86/entry/syscalls/syscall_64.tbl) */
#define NR_FUTEX 202
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAIT 455

/* System calls that do something else with a lock */
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_REQUEUE 456

/* 32-bit calls whose numbers differ (arch/x86/entry/syscalls/syscall_32.tbl) */
#define NR_FUTEX_32 240
#define NR_FUTEX_TIME64_32 422

/* thread_info.status: in a 32-bit system call (arch/x86/include/asm/thread_info.h) */
#define TS_COMPAT 2

/* include/uapi/linux/futex.h */
#define FUTEX_CMD_MASK 0x7f
#define FUTEX_WAIT 0
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_LOCK_PI2 13

#endif
