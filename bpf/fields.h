/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fields of the kernel that are not the same in all kernels.
 *
 * Where a field lies is set right when a program is loaded. Its size is too, but only between
 * unsigned integers: a signed one that got narrower makes the kernel refuse the program. So
 * kernel.h declares integers unsigned where the sign does not matter, and what may be negative, or
 * has changed its type before, is read by its size here. What the programs do without a field, and
 * what is lost then, is in one table: crates/sources/src/probe/fields.rs.
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

/* An int in 6.x, a byte in 7.3. Without it nobody seems to be on a CPU. */
static __always_inline bool is_on_cpu(struct task_struct *task)
{
	return field_or(task, on_cpu, 0) != 0;
}

#endif
