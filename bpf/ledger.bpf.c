/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ledger: charges every nanosecond of every CPU to a task, to idle, to steal, to offline or
 * to the unnamed account, at the events that end it.
 *
 * A window is closed by the reader publishing an instant T a little in the future. Whoever has an
 * event at or after T charges what came before T first, sets the cumulative figures aside as they
 * were at T, and charges the rest. Nothing that sleeps through T is touched: the reader knows that
 * it was in its state until T.
 */
#include "kernel.h"
#include "wire.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the reader before load. */
const volatile __u32 max_slots = 32768;
const volatile __u32 max_groups = 8192;
const volatile __u32 possible_cpus = 1;
const volatile bool cgroup_of_cpu_controller = false; /* v1's cpu hierarchy instead of v2 */
const volatile __u32 drop_charge_every = 0;	      /* lose charges, to see the books notice */

/* Written by the reader while running. */
__u64 boundary_t[2]; /* T of epoch e at [e & 1] */
__u32 epoch;
__u32 read_epoch; /* the reader is done with the slots of this epoch */
__u32 seeded;	  /* everyone who lives has a slot: from now on a missing one is an error */
__u32 watch_tgid;
__u64 lead_ns;	  /* how far ahead publish() sets T */
__u32 dirty_n[2]; /* slots first touched in epoch e, at [e & 1] */

/* Written by the programs. */
__u32 next_slot;
__u32 next_group;
__u64 serials;
__u64 born_tasks;
__u32 late; /* how often T had passed before it was published */
__u64 errors[EX_ERRORS];

struct storage {
	__u32 slot_plus_1;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct storage);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct ex_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ex_cpu);
} cpus SEC(".maps");

/* Two lists of max_slots entries each. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u64);
} dirty SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 32768);
	__type(value, __u32);
} free_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct ex_group_key);
	__type(value, __u32);
} group_index SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct ex_group);
} groups SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 8192);
	__type(value, __u32);
} free_groups SEC(".maps");

#define barrier() asm volatile("" ::: "memory")
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))

/*
 * Orders the stores of a boundary crossing (snap, epoch, cum). x86 keeps stores in order;
 * elsewhere an atomic that returns a value is a full barrier (Documentation/atomic_t.txt).
 */
#ifdef __TARGET_ARCH_x86
#define store_barrier(c) barrier()
#else
#define store_barrier(c) __sync_fetch_and_add(&(c)->line0[0], 1)
#endif

static __always_inline void count_error(enum ex_error what)
{
	__sync_fetch_and_add(&errors[what], 1);
}

static __always_inline struct ex_cpu *cpu_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&cpus, &cpu);
}

/*
 * From here to leave() the reader can see that this CPU may hold a clock reading from before T.
 * The atomic is a full barrier: the clock is read after the reader can see us.
 */
static __always_inline __u64 enter(struct ex_cpu *c)
{
	return __sync_fetch_and_add(&c->busy, 1);
}

static __always_inline void leave(struct ex_cpu *c, __u64 depth)
{
	store_barrier(c);
	*(volatile __u64 *)&c->busy = depth;
}

static __always_inline struct ex_slot *slot_at(__u32 index)
{
	return bpf_map_lookup_elem(&slots, &index);
}

static __always_inline struct ex_slot *slot_of(struct task_struct *task, __u32 *index)
{
	struct storage *st = bpf_task_storage_get(&tasks, task, 0, 0);

	if (!st || !st->slot_plus_1)
		return NULL;
	*index = st->slot_plus_1 - 1;
	return slot_at(*index);
}

/* The last boundary at or before now: its epoch and instant. */
struct boundary {
	__u64 t;
	__u32 epoch;
};

static __always_inline struct boundary last_boundary(__u64 now)
{
	struct boundary b;

	b.epoch = READ_ONCE(epoch);
	b.t = READ_ONCE(boundary_t[b.epoch & 1]);
	if (now < b.t) {
		b.epoch--;
		b.t = READ_ONCE(boundary_t[b.epoch & 1]);
	}
	return b;
}

/* Only ever true in a ledger that was told to lose charges. */
static __always_inline bool dropped(struct ex_cpu *c)
{
	if (!drop_charge_every)
		return false;
	c->charges++;
	return c->charges % drop_charge_every == 0;
}

static __always_inline bool is_timed(__u32 state)
{
	return state == EX_RUN || (state >= EX_LAT && state <= EX_STOP);
}

/* The time kept for a timed state. In assembly, so that the verifier sees the bound too. */
static __always_inline __u64 *time_in(struct ex_cum *cum, __u64 state)
{
	asm volatile("%0 &= 7" : "+r"(state));
	return &cum->ns[state];
}

static __always_inline __u64 cgroup_id(struct task_struct *task)
{
	if (cgroup_of_cpu_controller)
		return task->sched_task_group->css.cgroup->kn->id;
	return task->cgroups->dfl_cgrp->kn->id;
}

static __always_inline void identify(struct ex_ident *id, struct task_struct *task)
{
	id->tgid = task->tgid;
	id->tid = task->pid;
	id->ppid = task->real_parent->tgid;
	id->uid = task->cred->euid.val;
	id->start = task->start_boottime;
	id->cgroup = cgroup_id(task);
	bpf_probe_read_kernel(id->comm, sizeof(id->comm), task->comm);
	id->nice = task->static_prio - 120;
	id->prio = task->prio;
	id->policy = task->policy;
	id->flags = task->flags;
}

static __always_inline void list_dirty(__u32 e, __u32 index)
{
	__u32 n = __sync_fetch_and_add(&dirty_n[e & 1], 1);
	__u32 at = n + (e & 1) * max_slots;
	__u64 *entry;

	if (n >= max_slots)
		return; /* the reader sees the count and looks at everyone */
	entry = bpf_map_lookup_elem(&dirty, &at);
	if (entry)
		*entry = index;
}

/* Sets aside how a slot stood at the boundary, the time up to it charged to its state. */
static __always_inline void cross(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				  struct boundary b, __u64 steal, struct task_struct *task)
{
	__u64 d = 0;
	__u32 state = s->state;

	if (s->epoch == b.epoch)
		return;
	if (is_timed(state) && b.t > s->since)
		d = b.t - s->since;
	if (steal > d)
		steal = d;
	s->snap = s->cum;
	if (d) {
		*time_in(&s->snap, state) += d - steal;
		s->snap.ns[EX_STEAL] += steal;
	}
	s->snap_state = state;
	s->snap_cpu = s->cpu;
	s->snap_kstate = s->kstate;
	store_barrier(c);
	*(volatile __u32 *)&s->epoch = b.epoch;
	store_barrier(c);
	if (d) {
		*time_in(&s->cum, state) += d - steal;
		s->cum.ns[EX_STEAL] += steal;
		s->since = b.t;
	}
	if (task)
		identify(&s->id, task);
	list_dirty(b.epoch, index);
}

/* Charges an off-CPU task up to now, to the state it was in or to another (see caller). */
static __always_inline void charge_off_cpu(struct ex_cpu *c, struct ex_slot *s, __u64 now,
					   __u32 state)
{
	if (is_timed(s->state) && now > s->since && !dropped(c))
		*time_in(&s->cum, state) += now - s->since;
}

/* ---- CPUs ---- */

struct segment {
	__u64 ns;
	__u64 steal;
};

static __always_inline void post_cpu(struct ex_cpu_cum *cum, __u32 cur, struct segment seg,
				     bool watched)
{
	cum->steal += seg.steal;
	if (cur == EX_CUR_IDLE) {
		cum->idle += seg.ns - seg.steal;
		cum->steal_idle += seg.steal;
	} else if (cur == EX_CUR_OFFLINE) {
		cum->offline += seg.ns;
	} else if (cur == EX_CUR_UNNAMED) {
		cum->unnamed += seg.ns - seg.steal;
		cum->steal_idle += seg.steal;
	} else {
		cum->task += seg.ns - seg.steal;
		if (watched)
			cum->watched += seg.ns - seg.steal;
	}
}

/*
 * How far the hypervisor's count moved since this CPU looked last. `fresh`: the run queue's clock
 * was updated just now.
 */
static __always_inline void read_run_queue(struct ex_cpu *c, struct task_struct *on_cpu,
					   __u64 now, bool fresh)
{
	__u64 raw;

	if (fresh && bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		c->clock_offset = now - on_cpu->se.cfs_rq->rq->clock;
	if (!bpf_core_field_exists(((struct rq *)0)->prev_steal_time_rq))
		return;
	if (!bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		return;
	raw = on_cpu->se.cfs_rq->rq->prev_steal_time_rq;
	if (c->steal_raw != EX_STEAL_UNREAD && raw > c->steal_raw)
		c->steal_carry += raw - c->steal_raw;
	c->steal_raw = raw;
}

static __always_inline __u64 take_steal(struct ex_cpu *c, __u64 at_most)
{
	__u64 steal = c->steal_carry < at_most ? c->steal_carry : at_most;

	c->steal_carry -= steal;
	return steal;
}

/*
 * Ends the present occupant's segment at now: charges the CPU and, if a slot is on it, the slot.
 * Before a boundary, idle and offline take no steal: the reader may have charged that stretch
 * already, knowing only the state.
 */
static __always_inline void close_segment(struct ex_cpu *c, struct ex_slot *s,
					  struct task_struct *task, __u64 now, struct boundary b)
{
	bool watched = s && watch_tgid && s->id.tgid == watch_tgid;
	struct segment seg = {};

	if (c->epoch != b.epoch) {
		seg.ns = b.t > c->since ? b.t - c->since : 0;
		if (c->cur != EX_CUR_IDLE && c->cur != EX_CUR_OFFLINE)
			seg.steal = take_steal(c, seg.ns);
		c->snap = c->cum;
		post_cpu(&c->snap, c->cur, seg, watched);
		store_barrier(c);
		*(volatile __u32 *)&c->epoch = b.epoch;
		store_barrier(c);
		post_cpu(&c->cum, c->cur, seg, watched);
		c->since += seg.ns;
	}
	if (s)
		cross(c, s, c->cur, b, seg.steal, task);
	seg.ns = now - c->since;
	seg.steal = c->cur == EX_CUR_OFFLINE ? 0 : take_steal(c, seg.ns);
	if (!dropped(c))
		post_cpu(&c->cum, c->cur, seg, watched);
	c->since = now;
	if (!s)
		return;
	if (now - s->since >= seg.steal && !dropped(c)) {
		s->cum.ns[EX_RUN] += now - s->since - seg.steal;
		s->cum.ns[EX_STEAL] += seg.steal;
	}
	s->since = now;
	if (!task)
		return;
	s->cum.utime = task->utime;
	s->cum.stime = task->stime;
}

/* Whether the CPU is doing what we think: running the owner of that slot, or idling. */
static __always_inline bool in_step(struct ex_cpu *c, struct task_struct *task)
{
	struct ex_slot *s;

	if (c->cur >= max_slots)
		return c->cur != EX_CUR_IDLE || !task->pid;
	s = slot_at(c->cur);
	return s && s->task == (__u64)task;
}

/* The slot on a CPU that is in step. */
static __always_inline struct ex_slot *occupant(struct ex_cpu *c)
{
	return c->cur < max_slots ? slot_at(c->cur) : NULL;
}

/*
 * The slot of the task that runs this program, without touching its storage: in process context
 * an interrupt may need the storage at the same time, and before 6.2 one of both gets nothing.
 */
static __always_inline struct ex_slot *own_slot(struct ex_cpu *c, struct task_struct *task)
{
	struct ex_slot *s = slot_at(c->cur);

	return s && s->task == (__u64)task ? s : NULL;
}

/* ---- exit ---- */

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

static __always_inline struct ex_group *new_group(struct ex_group_key *key,
						  struct task_struct *task, __u32 e)
{
	struct ex_group *g;
	__u32 index;

	if (bpf_map_pop_elem(&free_groups, &index)) {
		if (READ_ONCE(next_group) >= max_groups)
			return NULL;
		index = __sync_fetch_and_add(&next_group, 1);
		if (index >= max_groups)
			return NULL;
	}
	g = bpf_map_lookup_elem(&groups, &index);
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
	index = bpf_map_lookup_elem(&group_index, &key);
	if (index)
		return bpf_map_lookup_elem(&groups, index);
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
}

static __always_inline void fold(struct ex_cpu *c, struct ex_slot *s, struct task_struct *task,
				 __u32 cpu, __u64 now, struct boundary b)
{
	struct ex_group *g = group_for(s, task, cpu, b.epoch);

	if (!g) {
		/* Time is never dropped; only the name is. */
		c->cum.nameless += s->cum.ns[EX_RUN] - s->snap.ns[EX_RUN];
		c->cum.nameless_steal += s->cum.ns[EX_STEAL] - s->snap.ns[EX_STEAL];
		count_error(EX_ERR_NO_GROUP);
		return;
	}
	if (g->epoch != b.epoch) {
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

/* ---- slots ---- */

static __always_inline bool take_free(__u32 *index)
{
	struct ex_slot *s;

	if (bpf_map_pop_elem(&free_slots, index))
		return false;
	s = slot_at(*index);
	if (!s)
		return false;
	/* The reader may still want to see who died in here after the last boundary. */
	if ((__s32)(s->epoch - READ_ONCE(read_epoch)) <= 0)
		return true;
	if (bpf_map_push_elem(&free_slots, index, 0))
		count_error(EX_ERR_FREE_LIST);
	return false;
}

static __always_inline struct ex_slot *new_slot(struct task_struct *task, __u32 state,
						__u64 since, __u32 *index)
{
	struct ex_slot *s;

	if (!take_free(index)) {
		if (READ_ONCE(next_slot) >= max_slots)
			return NULL;
		*index = __sync_fetch_and_add(&next_slot, 1);
		if (*index >= max_slots)
			return NULL;
	}
	s = slot_at(*index);
	if (!s)
		return NULL;
	/* The reader takes a slot without a serial for nobody's. */
	*(volatile __u64 *)&s->serial = 0;
	barrier();
	__builtin_memset(s, 0, sizeof(*s));
	s->task = (__u64)task;
	s->state = state;
	s->snap_state = EX_NEW;
	s->since = since;
	s->born = since;
	s->cpu = bpf_get_smp_processor_id();
	s->cum.utime = s->snap.utime = task->utime;
	s->cum.stime = s->snap.stime = task->stime;
	identify(&s->id, task);
	barrier();
	s->serial = __sync_fetch_and_add(&serials, 1) + 1;
	return s;
}

/*
 * A task that comes onto a CPU without a slot: the iterator was not shown it, or there was none
 * to be had when it was born. Its account begins now. Only where storage can be made under the
 * run queue's lock; elsewhere it stays unnamed.
 */
static __always_inline struct ex_slot *late_slot(struct task_struct *task, __u32 *index)
{
	struct storage *st;
	struct ex_slot *s;

	if (!READ_ONCE(seeded) ||
	    !bpf_core_field_exists(((struct bpf_local_storage_map *)0)->storage_ma))
		return NULL;
	st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st || st->slot_plus_1)
		return NULL;
	s = new_slot(task, EX_SEED, 0, index);
	if (s)
		st->slot_plus_1 = *index + 1;
	return s;
}

/* ---- the always-on programs ---- */

static __always_inline __u32 off_cpu_state(bool preempt, unsigned int prev_state)
{
	if (preempt || !prev_state)
		return EX_LAT;
	if (prev_state & TASK_DEAD)
		return EX_DEAD;
	if (prev_state & (TASK_STOPPED_BIT | TASK_TRACED_BIT | TASK_FROZEN))
		return EX_STOP;
	if (prev_state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT))
		return prev_state & TASK_NOLOAD ? EX_SLEEP : EX_BLOCK;
	return EX_SLEEP;
}

static __always_inline void switch_out(struct ex_cpu *c, struct ex_slot *s,
				       struct task_struct *prev, bool preempt,
				       unsigned int prev_state, __u32 cpu, __u64 now,
				       struct boundary b)
{
	__u32 state = off_cpu_state(preempt, prev_state);

	if (state == EX_LAT)
		s->cum.icx++;
	else
		s->cum.vcx++;
	if (state == EX_DEAD) {
		fold(c, s, prev, cpu, now, b);
		s->kstate = prev->exit_state;
	} else {
		s->kstate = preempt ? 0 : prev_state;
	}
	s->state = state;
}

/* The first event of a slot that was seeded while its owner ran: the account begins here. */
static __always_inline void take_in(struct ex_cpu *c, struct ex_slot *s, __u64 now)
{
	if (!is_timed(s->state))
		s->born = now;
	else if (s->state != EX_RUN)
		charge_off_cpu(c, s, now, s->state);
	s->since = now;
}

/* A task whose running time we did not hold (it had no slot at its switch-in). */
static __always_inline void adopt_out(struct ex_cpu *c, struct task_struct *prev, bool preempt,
				      unsigned int prev_state, __u32 cpu, __u64 now,
				      struct boundary b)
{
	__u32 index;
	struct ex_slot *s = slot_of(prev, &index);

	if (!s)
		return;
	cross(c, s, index, b, 0, prev);
	take_in(c, s, now);
	switch_out(c, s, prev, preempt, prev_state, cpu, now, b);
}

/*
 * A task that comes onto a CPU without having been woken. The kernel's own note of when it was
 * queued ends its sleep; without one it was runnable all along: signal_pending_state() had
 * cancelled the block (fixed upstream in 6.16, 8feb053d5319).
 */
static __always_inline void sleep_to_queue(struct ex_cpu *c, struct ex_slot *s,
					   struct task_struct *next, __u64 now)
{
	__u64 queued = 0;

	count_error(EX_ERR_LOST_WAKEUP);
	if (s->state == EX_RUN)
		return; /* left another CPU unseen, which charges that to the unnamed account */
	if (bpf_core_field_exists(next->sched_info.last_queued))
		queued = next->sched_info.last_queued;
	if (!queued)
		return;
	queued += c->clock_offset;
	if (queued <= s->since || queued > now)
		return;
	charge_off_cpu(c, s, queued, s->state);
	s->since = queued;
}

static __always_inline void switch_in(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				      struct task_struct *next, __u32 cpu, __u64 now,
				      struct boundary b)
{
	cross(c, s, index, b, 0, next);
	if (is_timed(s->state)) {
		if (s->state != EX_LAT)
			sleep_to_queue(c, s, next, now);
		charge_off_cpu(c, s, now, EX_LAT);
	} else {
		s->born = s->state == EX_SEED || !s->born ? now : s->born;
	}
	if (s->cum.dispatches && s->cpu != cpu)
		s->cum.migrations++;
	s->cum.dispatches++;
	s->cpu = cpu;
	s->since = now;
	s->state = EX_RUN;
	if (s->left_unseen)
		s->sum_exec = next->se.sum_exec_runtime;
	if (watch_tgid && s->id.tgid == watch_tgid)
		c->cum.watched_dispatches++;
}

/* How long the occupant of a CPU that is out of step can have been on it. */
static __always_inline __u64 ran_for(struct ex_slot *s, __u64 at_most)
{
	struct task_struct *task = (void *)s->task;
	__u64 ran;

	if (!s->sum_exec)
		return at_most;
	ran = BPF_CORE_READ(task, se.sum_exec_runtime) - s->sum_exec;
	return ran < at_most ? ran : at_most;
}

/* Takes a task off its CPU whose switch-out was not seen. */
static __always_inline void leave_unseen(struct ex_cpu *c, struct ex_slot *s, __u64 at)
{
	struct task_struct *task = (void *)s->task;
	struct boundary b = last_boundary(at);
	unsigned int state;

	if (bpf_core_field_exists(task->__state))
		state = BPF_CORE_READ(task, __state);
	else
		state = BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
	close_segment(c, s, NULL, at, b);
	s->left_unseen = 1;
	s->kstate = state;
	s->state = off_cpu_state(false, state);
	if (s->state == EX_DEAD) {
		c->cum.nameless += s->cum.ns[EX_RUN] - s->snap.ns[EX_RUN];
		c->cum.nameless_steal += s->cum.ns[EX_STEAL] - s->snap.ns[EX_STEAL];
	}
}

/*
 * The CPU is running something else than we think: at least one switch was not shown to us. A
 * kernel may hide what happens in the context of a task it protects, or skip a program. What it
 * kept itself says when: how much CPU time the one had, and when the other arrived.
 */
static __noinline int resync(struct ex_cpu *c, struct task_struct *task, __u64 now, __u32 cpu)
{
	struct ex_slot *s = NULL;
	__u64 left = c->since, arrived = 0;
	__u32 index;

	count_error(EX_ERR_UNSEEN_SWITCH);
	if (task->pid && bpf_core_field_exists(task->sched_info.last_arrival))
		arrived = task->sched_info.last_arrival + c->clock_offset;
	if (arrived < c->since || arrived > now)
		arrived = now;
	if (c->cur < max_slots)
		s = slot_at(c->cur);
	if (s && s->task && s->state == EX_RUN && s->cpu == cpu) {
		left = c->since + ran_for(s, arrived - c->since);
		leave_unseen(c, s, left);
	}
	if (c->cur < max_slots)
		c->cur = EX_CUR_UNNAMED;
	if (!task->pid) {
		c->cur = EX_CUR_IDLE;
		return 0;
	}
	s = slot_of(task, &index);
	if (!s)
		s = late_slot(task, &index);
	/* The two clocks agree to a fraction of a microsecond; ours says when it was woken. */
	if (s && s->since > arrived)
		arrived = s->since < now ? s->since : now;
	close_segment(c, NULL, NULL, arrived, last_boundary(arrived));
	c->cur = EX_CUR_UNNAMED;
	if (s && s->since <= arrived) {
		switch_in(c, s, index, task, cpu, arrived, last_boundary(arrived));
		c->cur = index;
	}
	return 0;
}

static __always_inline __u64 not_before(__u64 now, __u64 limit)
{
	if (now >= limit)
		return now;
	count_error(EX_ERR_CLOCK_STEP);
	return limit;
}

static __always_inline int handle_switch(bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int prev_state)
{
	__u32 cpu = bpf_get_smp_processor_id(), index = EX_CUR_UNNAMED;
	struct ex_cpu *c = cpu_of(cpu);
	struct ex_slot *out, *in = NULL;
	struct boundary b;
	__u64 now, depth;

	if (!c)
		return 0;
	depth = enter(c);
	if (next->pid) {
		in = slot_of(next, &index);
		if (!in)
			in = late_slot(next, &index);
	}
	now = not_before(bpf_ktime_get_ns(), c->since);
	if (in)
		now = not_before(now, in->since);
	b = last_boundary(now);
	read_run_queue(c, prev, now, true);
	if (!in_step(c, prev))
		resync(c, prev, now, cpu);
	out = occupant(c);
	close_segment(c, out, prev, now, b);
	if (out)
		switch_out(c, out, prev, preempt, prev_state, cpu, now, b);
	else if (prev->pid)
		adopt_out(c, prev, preempt, prev_state, cpu, now, b);
	if (!next->pid) {
		c->cur = EX_CUR_IDLE;
	} else if (in) {
		switch_in(c, in, index, next, cpu, now, b);
		c->cur = index;
	} else {
		c->cur = EX_CUR_UNNAMED;
	}
	c->cum.switches++;
	c->events[EX_EV_SWITCH]++;
	leave(c, depth);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return handle_switch(preempt, prev, next, prev_state);
}

/* Before 5.18 the tracepoint has no prev_state; the field may have changed since (a race). */
SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch_before_5_18, bool preempt, struct task_struct *prev,
	     struct task_struct *next)
{
	struct task_struct___before_5_14 *old = (void *)prev;
	unsigned int state;

	if (bpf_core_field_exists(prev->__state))
		state = prev->__state;
	else
		state = BPF_CORE_READ(old, state);
	return handle_switch(preempt, prev, next, state);
}

/*
 * sched_wakeup and not sched_waking: only the former is ordered with the task's own switch-out
 * (under its run queue's lock, or after on_cpu fell).
 */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s;
	__u64 now, depth;
	__u32 index;

	if (!c)
		return 0;
	depth = enter(c);
	s = slot_of(p, &index);
	c->events[EX_EV_WAKEUP]++;
	/* Woken while on CPU or waiting for one: nothing changes. */
	if (!s || s->state == EX_RUN || s->state == EX_LAT || s->state == EX_DEAD)
		goto out;
	now = not_before(bpf_ktime_get_ns(), s->since);
	cross(c, s, index, last_boundary(now), 0, p);
	charge_off_cpu(c, s, now, s->state);
	if (s->state == EX_SEED)
		s->born = now;
	s->cum.wakeups++;
	s->since = now;
	s->kstate = 0;
	s->state = EX_LAT;
out:
	leave(c, depth);
	return 0;
}

/*
 * In copy_process(), in process context and without locks, for everyone that is ever born: also
 * for io_uring and vhost workers, which sched_process_fork does not announce. Allocating here
 * keeps the allocator out of the scheduler's locks.
 */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task)
{
	struct storage *st;
	__u32 index;

	if (!task->pid)
		return 0; /* a swapper for a CPU being brought up */
	st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st) {
		count_error(EX_ERR_NO_STORAGE);
		return 0;
	}
	if (!new_slot(task, EX_NEW, 0, &index)) {
		count_error(EX_ERR_NO_SLOT);
		return 0;
	}
	st->slot_plus_1 = index + 1;
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *p)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s;
	__u64 now, depth;
	__u32 index;

	if (!c)
		return 0;
	depth = enter(c);
	c->events[EX_EV_NEW]++;
	s = slot_of(p, &index);
	if (s && (s->state == EX_NEW || s->state == EX_SEED)) {
		now = bpf_ktime_get_ns();
		s->born = now;
		cross(c, s, index, last_boundary(now), 0, p);
		s->since = now;
		s->state = EX_LAT;
		__sync_fetch_and_add(&born_tasks, 1);
	}
	leave(c, depth);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s = c ? own_slot(c, p) : NULL;

	/* Also after another thread's exec: the kernel has swapped the tids by now. */
	if (s)
		identify(&s->id, p);
	return 0;
}

/*
 * What only the task itself can still tell, before it lets go of its signal_struct. The task goes
 * on using CPU time: its account ends with its last switch.
 */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *p)
{
	struct task_struct *leader = p->group_leader;
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s, *ls;
	__u32 index, flags;
	bool last;

	if (c)
		__sync_fetch_and_add(&c->events[EX_EV_EXIT], 1);
	s = c ? own_slot(c, p) : NULL;
	if (!s)
		return 0;
	last = BPF_CORE_READ(p, signal, live.counter) == 0;
	flags = BPF_CORE_READ(p, signal, flags);
	if (last || (flags & SIGNAL_GROUP_EXIT))
		__sync_fetch_and_or(&s->exit_flags, EX_EXIT_WHOLE);
	if (!last)
		return 0;
	/* Two threads can both find nobody left: the leader's slot says who counts. */
	ls = s;
	if (leader && leader != p)
		ls = slot_of(leader, &index);
	if (ls && !(__sync_fetch_and_or(&ls->exit_flags, EX_EXIT_COUNTED) & EX_EXIT_COUNTED))
		__sync_fetch_and_or(&s->exit_flags, EX_EXIT_LAST);
	return 0;
}

/* Reaped, and nobody can see it any more: the slot may have a new owner. */
SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *p)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	struct ex_slot *s;
	__u64 now, depth;
	__u32 index;

	s = slot_of(p, &index);
	if (!c || !s || s->task != (__u64)p)
		return 0;
	depth = enter(c);
	now = bpf_ktime_get_ns();
	cross(c, s, index, last_boundary(now), 0, p);
	s->state = EX_FREE;
	s->task = 0;
	if (bpf_map_push_elem(&free_slots, &index, 0))
		count_error(EX_ERR_FREE_LIST);
	leave(c, depth);
	return 0;
}

/* The CPU is dead when its teardown step has ended; it says nothing itself. */
SEC("tp_btf/cpuhp_exit")
int BPF_PROG(on_cpu_dead, unsigned int cpu, int state, int idx, int ret)
{
	struct ex_cpu *c, *mine = cpu_of(bpf_get_smp_processor_id());
	struct boundary b;
	__u64 now, depth;

	if (ret || idx != bpf_core_enum_value(enum cpuhp_state, CPUHP_TEARDOWN_CPU))
		return 0;
	c = cpu_of(cpu);
	if (!c || !mine)
		return 0;
	depth = enter(mine);
	now = not_before(bpf_ktime_get_ns(), c->since);
	b = last_boundary(now);
	close_segment(c, NULL, NULL, now, b);
	c->cur = EX_CUR_OFFLINE;
	leave(mine, depth);
	return 0;
}

/* ---- the reader's own programs ---- */

/*
 * Publishes the end of the open window. In here and not in user space, because nothing can take
 * the CPU between the clock and the store but an interrupt or the hypervisor.
 */
SEC("raw_tp")
int publish(void *ctx)
{
	__u32 next = epoch + 1;
	__u64 t = bpf_ktime_get_ns() + lead_ns;

	*(volatile __u64 *)&boundary_t[next & 1] = t;
	__sync_fetch_and_add(&epoch, 1);
	if (bpf_ktime_get_ns() >= t)
		late++;
	return 0;
}

/*
 * Run on one CPU through BPF_PROG_TEST_RUN just after T: charges the running task up to T, so that
 * steal and the tick-sampled times are as of T too. Also takes in a CPU seen for the first time.
 */
SEC("raw_tp")
int flush(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id(), index = 0;
	struct ex_cpu *c = cpu_of(cpu);
	struct ex_slot *s, *mine;
	struct boundary b;
	__u64 now, depth;

	if (!c)
		return 0;
	depth = enter(c);
	now = not_before(bpf_ktime_get_ns(), c->since);
	b = last_boundary(now);
	read_run_queue(c, task, now, false);
	if (!in_step(c, task))
		resync(c, task, now, cpu);
	s = occupant(c);
	close_segment(c, s, task, now, b);
	c->events[EX_EV_FLUSH]++;
	if (s)
		goto out;
	if (!task->pid) {
		c->cur = EX_CUR_IDLE;
		goto out;
	}
	c->cur = EX_CUR_UNNAMED;
	mine = slot_of(task, &index);
	if (mine) {
		cross(c, mine, index, b, 0, task);
		take_in(c, mine, now);
		mine->cpu = cpu;
		mine->state = EX_RUN;
		c->cur = index;
	}
out:
	leave(c, depth);
	return 0;
}

/* Gives everyone who already lives a slot. Who has an event at the same time is told by it. */
SEC("iter/task")
int seed(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct storage *st;
	struct ex_slot *s;
	__u32 index, state;

	if (!task || !task->pid)
		return 0;
	st = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st) {
		count_error(EX_ERR_NO_STORAGE);
		return 0;
	}
	if (st->slot_plus_1)
		return 0;
	s = new_slot(task, EX_SEED, bpf_ktime_get_ns(), &index);
	if (!s) {
		count_error(EX_ERR_NO_SLOT);
		return 0;
	}
	list_dirty(READ_ONCE(epoch), index);
	*(volatile __u32 *)&st->slot_plus_1 = index + 1;
	/* From here events see the slot; only if none came, what the task looks like counts. */
	if (bpf_core_field_exists(task->__state))
		state = task->__state;
	else
		state = BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
	s->kstate = state;
	if (task->exit_state) {
		s->kstate = task->exit_state;
		state = EX_DEAD;
	} else if (state & TASK_NEW) {
		return 0;
	} else {
		state = off_cpu_state(false, state);
		if (state == EX_LAT && task->on_cpu)
			return 0; /* the flush of its CPU tells */
	}
	__sync_val_compare_and_swap(&s->state, EX_SEED, state);
	return 0;
}
