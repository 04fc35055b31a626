/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fields of the kernel that differ between kernels.
 *
 * Loading a program adapts a field's offset. It also adapts its size, but only between unsigned
 * integers: if a signed field gets narrower, the kernel refuses the program. So kernel.h declares
 * integers unsigned where the sign does not matter. Fields that may be negative, or whose type has
 * changed before, are read by their size here. The table in
 * crates/ledger/sources/src/probe/fields.rs says what the programs do without a field, and what is
 * lost.
 */
#ifndef EXACTOP_FIELDS_H
#define EXACTOP_FIELDS_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* A field that may be read directly, with any size and sign in this kernel. */
#define field_by_size(structure, field) BPF_CORE_READ_BITFIELD(structure, field)

/* The same; `otherwise` if the kernel does not have the field. */
#define field_or(structure, field, otherwise)                                                      \
	(bpf_core_field_exists((structure)->field) ? field_by_size(structure, field) : (otherwise))

extern void *bpf_rdonly_cast(const void *of, __u32 type) __ksym __weak; /* 6.2 */

/*
 * The task as a plain pointer for reading. For each pointer read from a trusted task, the verifier
 * checks if it may trust that one too. It searches the answer by name among all types of the
 * kernel, several times for each path: more than half of the cost of loading. Programs that only
 * read figures do not need the answer. The call is gone when the program runs.
 */
static __always_inline struct task_struct *to_read(struct task_struct *task)
{
	if (bpf_ksym_exists(bpf_rdonly_cast))
		return bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
	return task;
}

static __always_inline bool has_run_queues(void)
{
	return bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq);
}

/* The run queue of a task's present or last CPU. Callers must check has_run_queues() first. */
static __always_inline struct rq *run_queue_of(struct task_struct *task)
{
	return to_read(task)->se.cfs_rq->rq;
}

/* The CPU that a task is on, or whose run queue it is in, or that it was on last. */
static __always_inline __u32 cpu_of_task(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return BPF_CORE_READ(task, cpu);
}

/* An int in 6.x, a byte in 7.3. Without the field no task counts as being on a CPU. */
static __always_inline bool is_on_cpu(struct task_struct *task)
{
	return field_or(task, on_cpu, 0) != 0;
}

/* True if the task is on no CPU and in no run queue. Without the fields always false. */
static __always_inline bool is_off(struct task_struct *task)
{
	return !field_or(task, on_rq, 1) && !field_or(task, on_cpu, 1);
}

#endif
