/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks that move to another control group within a window. The segment is split at the instant of
 * the move, and the task's figures in the window before it go to the old group.
 */
#ifndef EXACTOP_MOVE_H
#define EXACTOP_MOVE_H

#include "exits.h"

static __always_inline __u64 when_attached(__u32 tid, __u32 whole)
{
	struct attached key = { .tid = tid, .whole = whole };
	__u64 *at = bpf_map_lookup_elem(&attached_at, &key);

	return at ? *at : 0;
}

/*
 * The instant of a task's move, after `since`. The kernel reports a move only after it is done:
 * until then it is `now`.
 */
static __always_inline __u64 moved_at(__u64 pid_tgid, __u64 since, __u64 now)
{
	__u64 alone = when_attached(pid_tgid >> 32, 0), whole = when_attached(pid_tgid, 1);
	__u64 at = alone > whole ? alone : whole;

	return at > since && at < now ? at : now;
}

/* Begin of a sum; too large for the stack. */
const struct ex_cum nothing_moved = {};

/* Posts the figures so far in the present window to the old group. */
static __always_inline void post_move(struct ex_slot *s, __u64 to)
{
	struct ex_move_key key = { .from = s->id.cgroup, .to = to, .epoch = s->epoch };
	struct ex_cum *sum;

	s->id.cgroup = to;
	sum = bpf_map_lookup_elem(&moves, &key);
	if (!sum) {
		bpf_map_update_elem(&moves, &key, &nothing_moved, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&moves, &key);
	}
	if (!sum) {
		count_error(EX_ERR_NO_MOVE);
		return;
	}
	add_shared(sum, s);
	__sync_fetch_and_add(&moves_posted, 1);
}

/*
 * Charges a slot up to the instant of the move: with its CPU while it is on one, else it has
 * crossed the last boundary already. A function that the verifier checks once, not at each call.
 */
__noinline int change_group(struct ex_cpu *c, struct ex_slot *s, __u64 pid_tgid, __u64 now, __u64 to)
{
	__u64 at;

	if (!c || !s)
		return 0;
	if (s->state == EX_RUN) {
		at = moved_at(pid_tgid, c->since, now);
		close_segment(c, s, NULL, at, last_boundary(at));
	} else if (is_timed(s->state)) {
		at = moved_at(pid_tgid, s->since, now);
		if (at < now) {
			charge_off_cpu(c, s, at, s->state);
			s->since = at;
		}
	}
	post_move(s, to);
	return 0;
}

/* Checks if a task has changed its control group, and follows it. */
static __always_inline void follow_group(struct ex_cpu *c, struct ex_slot *s,
					 struct task_struct *task, __u64 now)
{
	__u64 set = (__u64)to_read(task)->cgroups, to;

	if (s->set == set)
		return;
	s->set = set;
	to = cgroup_id(task);
	/* If equal, another hierarchy's group or another set of controllers changed. */
	if (s->id.cgroup == to)
		return;
	change_group(c, s, (__u64)task->pid << 32 | task->tgid, now, to);
	if (blame)
		follow_party(s);
}

#endif
