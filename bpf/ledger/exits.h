/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a task: its window's figures go to an exited group. */
#ifndef EXACTOP_EXITS_H
#define EXACTOP_EXITS_H

#include "cpu.h"

static __always_inline void process_of(struct ex_process *p, struct task_struct *task)
{
	p->tgid = BPF_CORE_READ(task, tgid);
	p->start = BPF_CORE_READ(task, group_leader, start_boottime);
}

static __always_inline void line_of_ancestors(struct ex_group *g, struct task_struct *task)
{
	struct task_struct *p = task;
	int i;

#pragma unroll
	for (i = 0; i < EX_ANCESTORS; i++) {
		p = BPF_CORE_READ(p, real_parent);
		process_of(&g->ancestors[i], p);
		if (g->ancestors[i].tgid <= 1)
			break;
	}
}

static __always_inline struct ex_group *group_at(__u32 index)
{
	__u32 chunk = index >> EX_GROUP_CHUNK_BITS, at = index & (EX_GROUP_CHUNK - 1);
	void *groups_of = bpf_map_lookup_elem(&groups, &chunk);

	return groups_of ? bpf_map_lookup_elem(groups_of, &at) : NULL;
}

static __always_inline struct ex_group *new_group(struct ex_group_key *key,
						  struct task_struct *task, __u32 e)
{
	struct ex_group *g;
	__u32 index;

	if (bpf_map_pop_elem(&free_groups, &index) &&
	    !take_fresh(&next_group, EX_TABLE_GROUPS, max_groups, &index))
		return NULL;
	g = group_at(index);
	if (!g)
		return NULL;
	/* The reader zeroed it before it gave it back; a fresh one is zero. */
	g->key = *key;
	g->serial = __sync_fetch_and_add(&serials, 1) + 1;
	g->epoch = e;
	line_of_ancestors(g, task);
	if (bpf_map_update_elem(&group_index, key, &index, BPF_NOEXIST)) {
		bpf_map_push_elem(&free_groups, &index, 0);
		return NULL;
	}
	*(volatile __u32 *)&g->used = 1;
	return g;
}

static __always_inline struct ex_group *group_for(struct ex_slot *s, struct task_struct *task,
						  __u32 cpu, __u32 e)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct ex_group_key key = {};
	__u32 *index;

	if (!(s->exit_flags & EX_EXIT_WHOLE))
		process_of(&key.of, task);
	process_of(&key.parent, BPF_CORE_READ(task, real_parent));
	key.cgroup = s->id.cgroup;
	BPF_CORE_READ_INTO(&key.comm, leader, comm);
	key.cpu = cpu;
	key.marked = s->marked;
	index = bpf_map_lookup_elem(&group_index, &key);
	if (index)
		return group_at(*index);
	return new_group(&key, task, e);
}

/* Adds the part of a dead task's figures that lies in the window it died in. */
static __always_inline void add_window(struct ex_cum *sum, struct ex_slot *s)
{
	int i;

#pragma unroll
	for (i = 0; i < EX_NS; i++)
		sum->ns[i] += s->cum.ns[i] - s->snap.ns[i];
	sum->utime += s->cum.utime - s->snap.utime;
	sum->stime += s->cum.stime - s->snap.stime;
	sum->dispatches += s->cum.dispatches - s->snap.dispatches;
	sum->vcx += s->cum.vcx - s->snap.vcx;
	sum->icx += s->cum.icx - s->snap.icx;
	sum->wakeups += s->cum.wakeups - s->snap.wakeups;
	sum->migrations += s->cum.migrations - s->snap.migrations;
	sum->signals += s->cum.signals - s->snap.signals;
	sum->syscalls += s->cum.syscalls - s->snap.syscalls;
	sum->given += s->cum.given - s->snap.given;
	sum->min_flt += s->cum.min_flt - s->snap.min_flt;
	sum->maj_flt += s->cum.maj_flt - s->snap.maj_flt;
	sum->missed += s->cum.missed - s->snap.missed;
}

/* On-CPU time in the present window, however it is split. */
static __always_inline __u64 executed(struct ex_slot *s)
{
	return s->cum.ns[EX_RUN] - s->snap.ns[EX_RUN] + s->cum.ns[EX_USR] - s->snap.ns[EX_USR] +
	       s->cum.ns[EX_SYS] - s->snap.ns[EX_SYS];
}

/* Whether all of its process goes with a task, and whether it stands for the process. */
static __always_inline void note_exit(struct ex_slot *s, struct task_struct *task,
				      struct task_struct *leader)
{
	bool last = BPF_CORE_READ(task, signal, live.counter) == 0;
	__u32 flags = EX_EXIT_NOTED;
	struct storage *st;

	if (last || (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT))
		flags |= EX_EXIT_WHOLE;
	/*
	 * Two threads can both find nobody left: the leader's storage, which lasts until the leader
	 * is reaped, says who counts.
	 */
	if (last) {
		st = bpf_task_storage_get(&tasks, leader, 0, 0);
		if (st && !__sync_val_compare_and_swap(&st->process_counted, 0, 1))
			flags |= EX_EXIT_LAST;
	}
	__sync_fetch_and_or(&s->exit_flags, flags);
}

/* Time is never dropped; only the name is. */
static __always_inline void fold_nameless(struct ex_cpu *c, struct ex_slot *s)
{
	c->cum.nameless += executed(s);
	c->cum.nameless_steal += s->cum.ns[EX_STEAL] - s->snap.ns[EX_STEAL];
	c->cum.nameless_irq += s->cum.ns[EX_IRQ] - s->snap.ns[EX_IRQ];
	c->cum.nameless_tasks++;
	if (s->exit_flags & EX_EXIT_LAST)
		c->cum.nameless_processes++;
}

/*
 * A process that is not reaped yet stays visible. sched_process_free cannot come before this: the
 * kernel keeps the task until its last switch is over (rcu_users of task_struct).
 */
static __always_inline void list_zombie(struct ex_slot *s, struct task_struct *task, __u64 now)
{
	struct storage *st = bpf_task_storage_get(&tasks, task, 0, 0);
	struct ex_zombie z = {};
	__u64 key = (__u64)task;

	z.serial = s->serial;
	z.since = now;
	z.id = s->id;
	z.cpu = s->cpu;
	z.marked = s->marked;
	if (!st || bpf_map_update_elem(&zombies, &key, &z, BPF_ANY)) {
		count_error(EX_ERR_NO_LINE);
		return;
	}
	st->zombie = 1;
	__sync_fetch_and_add(&zombies_now, 1);
}

static __always_inline void fold(struct ex_cpu *c, struct ex_slot *s, struct task_struct *task,
				 __u32 cpu, __u64 now, struct boundary b)
{
	struct ex_group *g = group_for(s, task, cpu, b.epoch);

	if (!g) {
		fold_nameless(c, s);
		count_error(EX_ERR_NO_GROUP);
		return;
	}
	if ((__s32)(g->epoch - b.epoch) < 0) {
		g->snap = g->cum;
		store_barrier(c);
		*(volatile __u32 *)&g->epoch = b.epoch;
		store_barrier(c);
	}
	add_window(&g->cum.sum, s);
	g->cum.tasks++;
	if (s->exit_flags & EX_EXIT_LAST)
		g->cum.processes++;
	g->cum.life_ns += now - (s->born > b.t ? s->born : b.t);
}

/*
 * The same some time after the task's end. It may have been reaped, and its parent freed: only
 * one that still is who it was gives its name.
 */
static __always_inline void fold_late(struct ex_cpu *c, struct ex_slot *s, struct task_struct *task,
				      __u32 cpu, __u64 now, struct boundary b)
{
	if (BPF_CORE_READ(task, real_parent, tgid) == s->id.ppid)
		fold(c, s, task, cpu, now, b);
	else
		fold_nameless(c, s);
}

#endif
