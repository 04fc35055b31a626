/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fields of the kernel that are not the same in all kernels.
 *
 * Where a field lies is set right when a program is loaded. Its size is too, but only between
 * unsigned integers: a signed one that got narrower makes the kernel refuse the program. So
 * kernel.h declares integers unsigned where the sign does not matter, and what may be negative, or
 * has changed its type before, is read by its size here. What the programs do without a field, and
 * what is lost then, is in one table: crates/ledger/sources/src/probe/fields.rs.
 */
#ifndef EXACTOP_FIELDS_H
#define EXACTOP_FIELDS_H

#include "kernel.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* A field of a structure that may be read directly, whatever its size and sign in this kernel. */
#define field_by_size(structure, field) BPF_CORE_READ_BITFIELD(structure, field)

/* The same, or `otherwise` where the kernel has no such field. */
#define field_or(structure, field, otherwise)                                                      \
	(bpf_core_field_exists((structure)->field) ? field_by_size(structure, field) : (otherwise))

extern void *bpf_rdonly_cast(const void *of, __u32 type) __ksym __weak; /* 6.2 */

/*
 * A task to follow pointers from. Of each pointer that is read from a task that it trusts the verifier
 * asks whether it may trust that one too, and looks for the answer by name among all types of the
 * kernel, several times for each way that leads there: more than half of what loading costs. Nobody
 * needs that answer where figures are only read. The call is gone when the program runs.
 */
static __always_inline struct task_struct *to_read(struct task_struct *task)
{
	if (bpf_ksym_exists(bpf_rdonly_cast))
		return bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
	return task;
}

/* The run queue of the CPU that a task is on, or was last: one must have asked has_run_queues(). */
static __always_inline struct rq *run_queue_of(struct task_struct *task)
{
	return to_read(task)->se.cfs_rq->rq;
}

/* An int in 6.x, a byte in 7.3. Without it nobody seems to be on a CPU. */
static __always_inline bool is_on_cpu(struct task_struct *task)
{
	return field_or(task, on_cpu, 0) != 0;
}

/* Whether it is on no CPU and in no run queue. Without the fields nobody seems to be. */
static __always_inline bool is_off(struct task_struct *task)
{
	return !field_or(task, on_rq, 1) && !field_or(task, on_cpu, 1);
}

#endif
