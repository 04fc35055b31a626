/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a task: its figures of the window go to an exited group. */
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

	if (g->key.parent.tgid == 0)
		return;
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
	    !take_index(EX_TABLE_GROUPS, &index))
		return NULL;
	g = group_at(index);
	if (!g)
		return NULL;
	/* The reader zeroes a group before it frees it; a new one is zero. */
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

/*
 * If no task waits for an exiting task, its parent may be gone by its last switch and the parent's
 * memory reused. The group then has a parent that does not live, and is shown under its nearest
 * living ancestor, or none. Its figures are right. With EX_EXIT_ALONE, only `id` describes the
 * task.
 */
static __always_inline struct ex_group *group_for(struct ex_ident *id, __u32 tree, __u32 exit_flags,
						  struct task_struct *task, __u32 cpu, __u32 e)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct ex_group_key key = {};
	__u32 *index;

	if (!(exit_flags & EX_EXIT_WHOLE)) {
		key.of_tgid = BPF_CORE_READ(task, tgid);
		key.of_start = BPF_CORE_READ(task, group_leader, start_boottime);
	}
	if (exit_flags & EX_EXIT_ALONE) {
		__builtin_memcpy(key.comm, id->comm, sizeof(key.comm));
	} else {
		process_of(&key.parent, BPF_CORE_READ(task, real_parent));
		BPF_CORE_READ_INTO(&key.comm, leader, comm);
	}
	key.cgroup = id->cgroup;
	key.uid = id->uid;
	key.session = id->session;
	key.cpu = cpu;
	key.tree = tree;
	index = bpf_map_lookup_elem(&group_index, &key);
	if (index)
		return group_at(*index);
	return new_group(&key, task, e);
}

/* Calls `add` with each figure of a task that sums have. */
#define EACH_FIGURE(add)                                                                           \
	_Pragma("unroll") for (int i = 0; i < EX_NS; i++) add(ns[i]);                              \
	add(utime);                                                                                \
	add(stime);                                                                                \
	add(dispatches);                                                                           \
	add(vcx);                                                                                  \
	add(icx);                                                                                  \
	add(wakeups);                                                                              \
	add(migrations);                                                                           \
	add(signals);                                                                              \
	add(syscalls);                                                                             \
	add(given);                                                                                \
	add(min_flt);                                                                              \
	add(maj_flt);                                                                              \
	add(missed)

/* Adds a dead task's figures in the window of its exit. */
static __always_inline void add_window(struct ex_cum *sum, struct ex_slot *s)
{
#define ADD(figure) sum->figure += s->cum.figure - s->snap.figure
	EACH_FIGURE(ADD);
#undef ADD
	sum->repairs += s->cum.repairs != s->snap.repairs;
}

/* Adds a living task's figures in the present window to a sum that other CPUs add to as well. */
static __always_inline void add_shared(struct ex_cum *sum, struct ex_slot *s)
{
#define ADD(figure) __sync_fetch_and_add(&sum->figure, s->cum.figure - s->snap.figure)
	EACH_FIGURE(ADD);
#undef ADD
}

static __always_inline __u64 without_sign(__s64 n)
{
	return n < 0 ? -n : n;
}

/* Adds the audit of the same window. */
static __always_inline void add_audit(struct ex_group_cum *g, struct ex_slot *s)
{
	__u64 run = without_sign(s->cum.run_error - s->snap.run_error);
	__u64 lat = without_sign(s->cum.lat_error - s->snap.lat_error);

	g->sum.run_error += run;
	g->sum.lat_error += lat;
	g->sum.run_bias += without_sign(s->cum.run_bias - s->snap.run_bias);
	g->sum.lat_bias += without_sign(s->cum.lat_bias - s->snap.lat_bias);
	if (run > g->run_worst)
		g->run_worst = run;
	if (lat > g->lat_worst)
		g->lat_worst = lat;
}

/* Run time in the present window, with user and system time if they are measured. */
static __always_inline __u64 executed(struct ex_slot *s)
{
	return s->cum.ns[EX_RUN] - s->snap.ns[EX_RUN] + s->cum.ns[EX_USR] - s->snap.ns[EX_USR] +
	       s->cum.ns[EX_SYS] - s->snap.ns[EX_SYS];
}

/*
 * True if the task's process has no other thread left. Its signal_struct lasts as long as the task.
 */
static __always_inline bool is_last(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, live.counter) == 0;
}

/* Notes if the whole process ends with this task, and its user at the end. */
static __always_inline void note_end(struct ex_slot *s, struct task_struct *task, __u32 flags)
{
	flags |= EX_EXIT_NOTED;
	s->id.uid = BPF_CORE_READ(task, cred, euid.val);
	if (is_last(task) || (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT))
		flags |= EX_EXIT_WHOLE;
	__sync_fetch_and_or(&s->exit_flags, flags);
}

/* Tells the slot of a leader, if it still has one, that another task stands for the process. */
static __always_inline void note_counted(struct storage *st, struct task_struct *leader)
{
	struct ex_slot *s = st->slot_plus_1 ? slot_at(st->slot_plus_1 - 1) : NULL;

	if (s && s->task == (__u64)leader)
		__sync_fetch_and_or(&s->exit_flags, EX_EXIT_COUNTED);
}

/* As note_end(), and notes if this task stands for its process. */
static __always_inline void note_exit(struct ex_slot *s, struct task_struct *task,
				      struct task_struct *leader)
{
	__u32 flags = 0;
	struct storage *st;

	/*
	 * Two threads can both find no other thread left. The leader's storage, which lasts until
	 * the leader is reaped, decides which one counts.
	 */
	if (is_last(task)) {
		st = bpf_task_storage_get(&tasks, leader, 0, 0);
		if (st && !__sync_val_compare_and_swap(&st->process_counted, 0, 1)) {
			flags |= EX_EXIT_LAST;
			if (task != leader)
				note_counted(st, leader);
		}
	}
	/* After an exit that was not shown, the session is the last one that was. */
	follow_session(s);
	note_end(s, task, flags);
}

/* Keeps the CPU time without its name; the waits are lost. */
static __always_inline void fold_no_name(struct ex_cpu *c, struct ex_slot *s)
{
	c->cum.no_name += executed(s);
	c->cum.no_name_steal += s->cum.ns[EX_STEAL] - s->snap.ns[EX_STEAL];
	c->cum.no_name_irq += s->cum.ns[EX_IRQ] - s->snap.ns[EX_IRQ];
	c->cum.no_name_tasks++;
	if (s->exit_flags & EX_EXIT_LAST)
		c->cum.no_name_processes++;
}

/* Adds a zombie to the list, in which `serial` is its key. */
static __always_inline void add_zombie(struct storage *st, __u64 serial, struct ex_zombie *z)
{
	if (bpf_map_update_elem(&zombies, &serial, z, BPF_NOEXIST)) {
		count_error(EX_ERR_NO_LINE);
		return;
	}
	st->zombie = serial;
	__sync_fetch_and_add(&zombies_now, 1);
	list_new(&new_zombies_n, new_zombies, serial);
}

/*
 * Lists a process that is not reaped yet. sched_process_free cannot come before this: the kernel
 * keeps the task until its last switch is over (rcu_users of task_struct).
 */
static __always_inline void list_zombie(struct ex_slot *s, struct task_struct *task, __u64 now)
{
	struct storage *st = bpf_task_storage_get(&tasks, task, 0, 0);
	struct ex_zombie z = {};

	z.task = (__u64)task;
	z.since = now;
	z.id = s->id;
	z.cpu = s->cpu;
	z.tree = s->tree;
	if (st)
		add_zombie(st, s->serial, &z);
	else
		count_error(EX_ERR_NO_LINE);
}

/* Removes a zombie from the list. A second call for the same one finds nothing. */
static __always_inline void forget_zombie(__u64 serial)
{
	if (!bpf_map_delete_elem(&zombies, &serial))
		__sync_fetch_and_sub(&zombies_now, 1);
}

/* Sets aside a group's figures of earlier windows before the first exit of this one. */
static __always_inline void cross_group(struct ex_cpu *c, struct ex_group *g, struct boundary b)
{
	if ((__s32)(g->epoch - b.epoch) >= 0)
		return;
	g->snap = g->cum;
	store_barrier(c);
	*(volatile __u32 *)&g->epoch = b.epoch;
	store_barrier(c);
	g->cum.run_worst = g->cum.lat_worst = 0;
}

/* Folds the figures of a slot's owner into its exited group, under the CPU that it ran on last. */
__noinline int fold(struct ex_cpu *c, struct ex_slot *s, __u32 cpu, __u64 now, __u32 e)
{
	struct boundary b = boundary_of(e);
	struct ex_group *g;

	if (!c || !s)
		return 0;
	g = group_for(&s->id, s->tree, s->exit_flags, (void *)s->task, cpu, e);
	if (!g) {
		fold_no_name(c, s);
		count_error(EX_ERR_NO_GROUP);
		return 0;
	}
	cross_group(c, g, b);
	add_window(&g->cum.sum, s);
	add_audit(&g->cum, s);
	g->cum.tasks++;
	if (s->exit_flags & EX_EXIT_LAST)
		g->cum.processes++;
	g->cum.life_ns += now - (s->born > b.t ? s->born : b.t);
	return 0;
}

/*
 * True if an ended task has a parent that may name its group: after the task is reaped, the parent
 * may be freed.
 */
static __always_inline bool has_parent(struct ex_ident *id, struct task_struct *task)
{
	return BPF_CORE_READ(task, real_parent, tgid) == id->ppid;
}

/*
 * Folds a task some time after its end. If the kernel hid its exit too, the task does not stand for
 * its process, which is counted when its leader is freed (count_process()).
 */
static __always_inline void fold_late(struct ex_cpu *c, struct ex_slot *s, __u32 cpu, __u64 now,
				      struct boundary b)
{
	struct task_struct *task = (void *)s->task;

	if (!(s->exit_flags & EX_EXIT_NOTED)) {
		count_error(EX_ERR_UNSEEN_EXIT);
		note_end(s, task, 0);
	}
	if (blame)
		end_waits(s);
	if (!has_parent(&s->id, task))
		__sync_fetch_and_or(&s->exit_flags, EX_EXIT_ALONE);
	fold(c, s, cpu, now, b.epoch);
}

/*
 * Counts a process as exited whose leader has no other figures left. `id` is NULL if nothing
 * describes it.
 */
__noinline int count_process(struct ex_cpu *c, struct ex_ident *id, __u32 tree, __u64 leader,
			     __u64 now)
{
	struct boundary b = last_boundary(now);
	struct task_struct *task = (void *)leader;
	__u32 flags = EX_EXIT_WHOLE;
	struct ex_group *g = NULL;

	if (!c)
		return 0;
	if (id) {
		if (!has_parent(id, task))
			flags |= EX_EXIT_ALONE;
		g = group_for(id, tree, flags, task, bpf_get_smp_processor_id(), b.epoch);
	}
	if (!g) {
		c->cum.no_name_processes++;
		return 0;
	}
	cross_group(c, g, b);
	/* A release may interrupt the reader's program here. */
	__sync_fetch_and_add(&g->cum.processes, 1);
	return 0;
}

/*
 * A leader is freed after all threads of its process. If the process is not counted by then, the
 * kernel hid an exit, and no other task will stand for it. The leader's slot or its line among the
 * zombies describes the process. Neither is copied, because the stacks of nested calls share 512
 * bytes.
 */
static __always_inline void count_unshown_process(struct ex_cpu *c, struct storage *st,
						  struct ex_slot *s)
{
	__u64 serial = st->zombie, now = bpf_ktime_get_ns();
	struct ex_zombie *line;

	st->process_counted = 1;
	if (s) {
		count_process(c, &s->id, s->tree, s->task, now);
		return;
	}
	line = bpf_map_lookup_elem(&zombies, &serial);
	if (line)
		count_process(c, &line->id, line->tree, line->task, now);
	else
		count_process(c, NULL, 0, 0, now);
}

#endif
