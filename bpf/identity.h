/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The identity of a task, shared by all programs that report one. */
#ifndef EXACTOP_IDENTITY_H
#define EXACTOP_IDENTITY_H

#include "fields.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Set before loading: the cpu controller belongs to cgroup v1. */
extern const volatile bool cgroup_of_cpu_controller;

/* Identity as of the first event in the present window. */
struct ex_ident {
	__u32 tgid;
	__u32 tid;
	__u32 ppid;
	__u32 uid;
	__u64 start; /* start_boottime */
	__u64 cgroup;
	char comm[16];
	__s32 nice;
	__s32 prio;
	__u32 policy;
	__u32 flags; /* PF_* */
	__u32 session; /* id in the first PID namespace */
	__u32 pad;
};

/* Not sched_task_group: autogroup puts a group there that is no cgroup. */
static __always_inline __u64 cgroup_id(struct task_struct *task)
{
	struct css_set *set = to_read(task)->cgroups;
	struct cgroup_subsys_state *css = NULL;
	unsigned long at = (unsigned long)__builtin_preserve_access_index(&set->subsys);

	if (!cgroup_of_cpu_controller)
		return set->dfl_cgrp->kn->id;
	at += bpf_core_enum_value(enum cgroup_subsys_id, cpu_cgrp_id) * sizeof(css);
	bpf_probe_read_kernel(&css, sizeof(css), (void *)at);
	return BPF_CORE_READ(css, cgroup, kn, id);
}

/*
 * Kernel threads have session 0. A reaped process has left its session: its id stays. One pointer alone is on the
 * stack, where BPF_CORE_READ would put three: Linux 6.1 allows 512 bytes for a chain of calls.
 */
static __always_inline void identify_session(struct ex_ident *id, struct task_struct *task)
{
	void *at = __builtin_preserve_access_index(&task->signal);

	bpf_probe_read_kernel(&at, sizeof(at), at);
	at = __builtin_preserve_access_index(&((struct signal_struct *)at)->pids[PIDTYPE_SID]);
	bpf_probe_read_kernel(&at, sizeof(at), at);
	if (!at)
		return;
	at = __builtin_preserve_access_index(&((struct pid *)at)->numbers[0].nr);
	bpf_probe_read_kernel(&id->session, sizeof(id->session), at);
}

/* Fills in all but the control group and the session. */
static __always_inline void identify_itself(struct ex_ident *id, struct task_struct *task)
{
	id->tgid = task->tgid;
	id->tid = task->pid;
	id->ppid = to_read(task)->real_parent->tgid;
	id->uid = to_read(task)->cred->euid.val;
	id->start = task->start_boottime;
	bpf_probe_read_kernel(id->comm, sizeof(id->comm), task->comm);
	id->nice = (__s32)field_by_size(task, static_prio) - 120;
	id->prio = field_by_size(task, prio);
	id->policy = task->policy;
	id->flags = task->flags;
}

static __always_inline void identify(struct ex_ident *id, struct task_struct *task)
{
	id->session = 0;
	identify_itself(id, task);
	identify_session(id, task);
	id->cgroup = cgroup_id(task);
}

#endif
