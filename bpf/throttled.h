/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks that could run but whose quota is used up. */
#ifndef EXACTOP_THROTTLED_H
#define EXACTOP_THROTTLED_H

#include "fields.h"

/*
 * True if a runnable task may not run because its group has used up its quota, or the task its own
 * budget (SCHED_DEADLINE). A group's quota does not bind real-time tasks.
 */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct sched_dl_entity *dl = &task->dl;

	if (task->policy == SCHED_DEADLINE)
		return field_by_size(dl, dl_throttled);
	if ((__s32)field_by_size(task, prio) < MAX_RT_PRIO)
		return false;
	if (bpf_core_field_exists(task->throttled)) /* 6.18 */
		return task->throttled;
	if (bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count) &&
	    bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		return to_read(task)->se.cfs_rq->throttle_count > 0;
	return false;
}

#endif
