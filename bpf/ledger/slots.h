/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slots: taking one for a task. */
#ifndef EXACTOP_SLOTS_H
#define EXACTOP_SLOTS_H

#include "audit.h"
#include "writer.h"

static __always_inline bool take_free(__u32 *index)
{
	struct ex_slot *s;

	if (bpf_map_pop_elem(&free_slots, index))
		return false;
	s = slot_at(*index);
	if (!s)
		return false;
	/* The reader may still need the task that ended here after the last boundary. */
	if ((__s32)(s->epoch - READ_ONCE(read_epoch)) <= 0)
		return true;
	put_free(*index);
	return false;
}

/*
 * A CPU keeps some slots for the next births on it: their memory is in its caches. The reader needs
 * none of them: the task of each was born and ended between two boundaries. An interrupt may free or
 * take one too, so each step is one atomic.
 */
static __always_inline bool take_spare(struct ex_cpu *c, __u32 *index)
{
	__u32 spare;

	_Pragma("unroll") for (int i = 0; i < EX_SPARES; i++) {
		spare = READ_ONCE(c->spares[i]);
		if (spare && __sync_val_compare_and_swap(&c->spares[i], spare, 0) == spare) {
			*index = spare - 1;
			return true;
		}
	}
	return false;
}

/* Keeps a slot that no task has any more; false if it is not for this, or if there are enough. */
static __always_inline bool keep_spare(struct ex_cpu *c, struct ex_slot *s, __u32 index)
{
	/* Set before the task's first event, and at a boundary by its next one. */
	if (s->snap_state != EX_NEW)
		return false;
	_Pragma("unroll") for (int i = 0; i < EX_SPARES; i++) {
		if (!READ_ONCE(c->spares[i]) &&
		    !__sync_val_compare_and_swap(&c->spares[i], 0, index + 1))
			return true;
	}
	return false;
}

static __always_inline struct ex_slot *new_slot(struct task_struct *task, __u32 state,
						__u64 since, __u32 *index)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s;

	if (!(c && take_spare(c, index)) && !take_free(index) && !take_index(EX_TABLE_SLOTS, index))
		return NULL;
	s = slot_at(*index);
	if (!s)
		return NULL;
	/* To the reader, a slot without a serial has no owner. */
	*(volatile __u64 *)&s->serial = 0;
	full_barrier(&barrier_word);
	__builtin_memset(s, 0, sizeof(*s));
	s->task = (__u64)task;
	s->state = state;
	s->snap_state = EX_NEW;
	s->since = since;
	s->born = since;
	s->cpu = bpf_get_smp_processor_id();
	s->counted = state == EX_NEW ? 0 : EX_UNCOUNTED;
	s->arrivals = arrivals_of(task);
	if (bpf_core_field_exists(task->sched_info.run_delay))
		s->delay_offset = task->sched_info.run_delay;
	s->cum.utime = s->snap.utime = task->utime;
	s->cum.stime = s->snap.stime = task->stime;
	s->cum.min_flt = s->snap.min_flt = task->min_flt;
	s->cum.maj_flt = s->snap.maj_flt = task->maj_flt;
	identify(&s->id, task);
	s->snap_cgroup = s->id.cgroup;
	s->set = (__u64)to_read(task)->cgroups;
	barrier();
	s->serial = __sync_fetch_and_add(&serials, 1) + 1;
	return s;
}

/* The account of a task begins that lived before. What the kernel counted until then is not in it. */
static __always_inline void begin_account(struct ex_slot *s, __u64 now)
{
	s->born = now;
	s->before.utime = s->cum.utime;
	s->before.stime = s->cum.stime;
	s->before.min_flt = s->cum.min_flt;
	s->before.maj_flt = s->cum.maj_flt;
}

/*
 * Gives a slot to a task. At a birth the iterator may run at the same time: one of the two is
 * first, and the other frees its slot.
 */
static __always_inline bool claim(struct task_struct *task, struct storage *st, struct ex_slot *s,
				  __u32 index)
{
	if (!__sync_val_compare_and_swap(&st->slot_plus_1, 0, index + 1)) {
		note_found(task, index + 1);
		return true;
	}
	give_back(s, index);
	return false;
}

/*
 * Takes the slot of a dead task, whose figures are folded. take_free() waits for a reader of a
 * boundary that the task lived through. A program may have found the slot just before; only a
 * rename by another thread looks at tasks that are not its own and not protected by the scheduler's
 * locks. It sees that the slot has changed its owner.
 */
static __always_inline void release_slot(struct ex_cpu *c, struct ex_slot *s,
					 struct task_struct *task, __u32 index)
{
	struct storage *st = bpf_task_storage_get(&tasks, task, 0, 0);

	if (st)
		*(volatile __u32 *)&st->slot_plus_1 = EX_SLOT_GIVEN_BACK;
	empty(s);
	store_barrier(c);
	if (!keep_spare(c, s, index))
		put_free(index);
}

/* By its storage: the kernel verifies the way through the cache with each way from here on. */
static __always_inline __u32 tree_of(struct task_struct *task)
{
	struct ex_slot *s = slot_at(stored_slot_plus_1_of(task) - 1);

	return s ? s->tree : 0;
}

static __noinline __u32 tree_of_children(__u32 tgid, __u64 start)
{
	__u32 tree;
	int i;

	for (i = 0; i < EX_FOLLOWED_MOST; i++) {
		tree = READ_ONCE(followed[i].tree);
		if (!tree)
			continue;
		full_barrier(&barrier_word);
		if (READ_ONCE(followed[i].tgid) != tgid)
			continue;
		if (followed[i].start && followed[i].start != start)
			continue;
		full_barrier(&barrier_word);
		/* If not equal, the entry has changed meanwhile and belongs to another process. */
		if (READ_ONCE(followed[i].tree) == tree)
			return tree;
	}
	return 0;
}

/*
 * The tree that a child of this parent begins; 0: none. Threads of the parent are not its children.
 */
static __always_inline __u32 begun_tree(struct task_struct *parent, struct task_struct *task)
{
	__u32 tgid = to_read(parent)->tgid;

	if (!READ_ONCE(followed_n) || to_read(task)->tgid == tgid)
		return 0;
	return tree_of_children(tgid, BPF_CORE_READ(parent, group_leader, start_boottime));
}

/* The tree of a task with an unseen birth: that of its process, or of its present parent. */
static __always_inline __u32 inherited_tree(struct task_struct *task)
{
	struct task_struct *leader = task->group_leader, *parent = task->real_parent;
	__u32 tree;

	/* Read here, once: to_read() says what it costs to load each read of each path. */
	barrier_var(leader);
	barrier_var(parent);
	tree = tree_of(leader);
	if (!tree)
		tree = begun_tree(parent, task);
	if (!tree)
		tree = tree_of(parent);
	return tree;
}

static __always_inline bool storage_in_any_context(void)
{
	struct bpf_local_storage_map *map = NULL;
	struct bpf_local_storage *of_task = NULL;

	return bpf_core_field_exists(map->storage_ma) ||
	       bpf_core_field_exists(map->use_kmalloc_nolock) ||
	       bpf_core_field_exists(of_task->mem_charge);
}

/*
 * A slot for a task that comes onto a CPU without one: the iterator did not see it, or no slot was
 * free at its birth. Its account begins now. This works only where storage can be allocated under
 * the run queue's lock; on other kernels the task stays unnamed.
 */
static __always_inline struct ex_slot *late_slot(struct task_struct *task, __u32 *index)
{
	struct storage *st;
	struct ex_slot *s;

	if (!READ_ONCE(seeded))
		return NULL;
	if (storage_in_any_context()) {
		if (!bpf_task_storage_get(&tasks, task, 0, 0))
			count_error(EX_ERR_UNSEEN_BIRTH);
		st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	} else {
		st = NULL;
	}
	if (!st) {
		count_error(EX_ERR_NO_STORAGE);
		return NULL;
	}
	if (st->slot_plus_1)
		return NULL;
	s = new_slot(task, EX_SEED, 0, index);
	if (!s)
		return NULL;
	s->tree = inherited_tree(task);
	return claim(task, st, s, *index) ? s : NULL;
}

#endif
