/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums the time in which tasks waited for a CPU while another CPU was idle, by the group that
 * waited and by the reason (owed.h). Attached while a view shows it.
 *
 * One lock orders the events of all CPUs.
 */
#include "owed.h"
#include "fields.h"
#include "on_demand.h"
#include "on_switch.h"
#include "state.h"
#include "throttled.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile bool cgroup_of_cpu_controller = false;

/* Words of the kernel's sets of CPUs. */
const volatile __u32 cpu_words = 1;

/* As of the end of the last window. */
__u64 ended_at, idle_until_end, owed_until_end;

struct all {
	struct bpf_spin_lock lock;
	__u32 pad;
	struct ex_owed owed;
};

struct thread {
	struct ex_waiter waiter;
	__u64 group;
	__u64 quota; /* the time without quota of its run queue as it began to wait */
};

struct scratch {
	struct ex_cpus affinity;
	struct ex_cpus cpuset;
	struct ex_cpus near;
};

/* Its one writer holds the lock. */
struct ex_owed_key {
	__u64 group;
	__u32 tgid;
	__u32 pad;
};

/* Copied for new sums, because a stack has no room for one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ex_owed_sum);
} blank_sum SEC(".maps");

OF_EACH_TASK(threads, struct thread);
SUMS(waits, 8192, struct ex_owed_key, struct ex_owed_sum);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct all);
} everything SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ex_owed_cpu);
} cpus SEC(".maps");

/* For each CPU the CPUs of its NUMA node. The reader writes it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ex_cpus);
} nodes SEC(".maps");

/* Numbers of the sets of CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, EX_SETS);
	__type(key, struct ex_cpus);
	__type(value, __u32);
} numbers SEC(".maps");

/* [1]: of the iterator, which an event may interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline struct all *all_of_it(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&everything, &zero);
}

static __noinline __u32 number_of(struct ex_cpus *cpus)
{
	__u32 *number = bpf_map_lookup_elem(&numbers, cpus), fresh;
	struct all *all = all_of_it();

	if (number || !all)
		return number ? *number : EX_NO_SET;
	bpf_spin_lock(&all->lock);
	fresh = ex_add_set(&all->owed, cpus);
	bpf_spin_unlock(&all->lock);
	if (fresh == EX_NO_SET)
		count_lost();
	else
		bpf_map_update_elem(&numbers, cpus, &fresh, BPF_NOEXIST);
	number = bpf_map_lookup_elem(&numbers, cpus);
	return number ? *number : EX_NO_SET;
}

static __always_inline void read_cpus(struct ex_cpus *into, const void *from)
{
	__u32 words = cpu_words;

	if (words <= EX_CPU_WORDS)
		bpf_probe_read_kernel(into, words * sizeof(__u64), from);
}

/* False: this kernel has no cpusets. */
static __always_inline bool read_cpuset(struct ex_cpus *into, struct task_struct *task)
{
	struct cpuset___pointer *cpuset = NULL;
	struct css_set *set = to_read(task)->cgroups;
	unsigned long at = (unsigned long)__builtin_preserve_access_index(&set->subsys);
	void *mask;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, cpuset_cgrp_id))
		return false;
	at += bpf_core_enum_value(enum cgroup_subsys_id, cpuset_cgrp_id) * sizeof(cpuset);
	/* Its first member is its cgroup_subsys_state. */
	bpf_probe_read_kernel(&cpuset, sizeof(cpuset), (void *)at);
	if (bpf_core_field_exists(((struct cpuset___pointer *)0)->effective_cpus))
		mask = BPF_CORE_READ(cpuset, effective_cpus);
	else if (bpf_core_field_exists(((struct cpuset___array *)0)->effective_cpus))
		mask = __builtin_preserve_access_index(
			&((struct cpuset___array *)cpuset)->effective_cpus);
	else
		return false;
	read_cpus(into, mask);
	return true;
}

/* The sets of a task that waits on a CPU, each within the one before. */
static __noinline int find_sets(struct task_struct *task, __u32 cpu, __u32 scratch, __u32 *set)
{
	struct ex_cpus *node = bpf_map_lookup_elem(&nodes, &cpu);
	struct scratch *s = bpf_map_lookup_elem(&scratches, &scratch);
	__u32 count = 0;

	set[EX_ANY] = set[EX_CPUSET] = EX_ANY;
	set[EX_AFFINITY] = set[EX_NEAR] = EX_NO_SET;
	if (!node || !s)
		return 0;
	read_cpus(&s->affinity, task->cpus_ptr);
	if (read_cpuset(&s->cpuset, task)) {
		for (int i = 0; i < EX_CPU_WORDS; i++)
			s->cpuset.word[i] |= s->affinity.word[i];
		set[EX_CPUSET] = number_of(&s->cpuset);
		if (set[EX_CPUSET] == EX_NO_SET)
			set[EX_CPUSET] = EX_ANY;
	}
	for (int i = 0; i < EX_CPU_WORDS; i++) {
		s->near.word[i] = s->affinity.word[i] & node->word[i];
		count += __builtin_popcountll(s->affinity.word[i]);
	}
	if (count <= 1)
		return 0;
	set[EX_AFFINITY] = number_of(&s->affinity);
	set[EX_NEAR] = set[EX_AFFINITY] == EX_NO_SET ? EX_NO_SET : number_of(&s->near);
	return 0;
}

/* Time in which a task's group had no quota there. Linux 6.18 lets no such task wait in a queue. */
static __always_inline __u64 time_without_quota(struct task_struct *task)
{
	if (bpf_core_field_exists(task->throttled) ||
	    !bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->throttled_clock_pelt_time))
		return 0;
	return to_read(task)->se.cfs_rq->throttled_clock_pelt_time;
}

static __always_inline bool waits_for_quota(struct thread *t, struct task_struct *task)
{
	return is_throttled(task) || t->quota != time_without_quota(task);
}

static __always_inline struct thread *thread_of(struct task_struct *task)
{
	return task->pid && is_chosen(task) ? bpf_task_storage_get(&threads, task, 0, 0) : NULL;
}

/* What a wait needs besides the lock. */
static __always_inline void prepare(struct thread *t, struct task_struct *task, __u32 cpu,
				    __u32 scratch, __u32 *set)
{
	find_sets(task, cpu, scratch, set);
	t->group = cgroup_id(task);
	t->quota = time_without_quota(task);
}

static __always_inline struct ex_owed_sum *sum_of(struct thread *t, struct task_struct *task)
{
	struct ex_owed_key key = {.group = t->group, .tgid = task->tgid};
	struct task_struct *leader = task->group_leader;
	struct ex_owed_sum *sum = bpf_map_lookup_elem(&waits, &key);
	struct ex_owed_sum *blank;
	__u32 zero = 0;

	if (sum)
		return sum;
	blank = bpf_map_lookup_elem(&blank_sum, &zero);
	if (!blank)
		return NULL;
	sum = FIND_OR_LOSE(waits, &key, blank);
	if (sum)
		bpf_probe_read_kernel_str(sum->process, sizeof(sum->process), leader->comm);
	return sum;
}

static __always_inline bool goes_idle(struct task_struct *prev, struct task_struct *next)
{
	struct rq *rq;

	if (next->pid)
		return false;
	if (!bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		return true;
	rq = run_queue_of(prev);
	return field_or(rq, online, 1);
}

static __always_inline int handle_switch(bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int state)
{
	__u32 cpu = bpf_get_smp_processor_id(), out = prev->pid, in = next->pid;
	struct ex_owed_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct thread *p = thread_of(prev), *n = is_hidden() ? NULL : thread_of(next);
	bool is_idle = goes_idle(prev, next), by_quota = false, queues = false, was_unseen = false;
	__u32 set[EX_SCOPES] = {};
	struct ex_owed_sum *sum = NULL;
	struct all *all = all_of_it();
	__u64 now;

	if (!c || !all)
		return 0;
	if (p && (preempt || !state) && !is_throttled(prev)) {
		queues = true;
		prepare(p, prev, cpu, 0, set);
	}
	if (n) {
		sum = sum_of(n, next);
		by_quota = waits_for_quota(n, next);
	}
	now = bpf_ktime_get_ns();
	bpf_spin_lock(&all->lock);
	ex_pass(&all->owed, now);
	ex_turn(&all->owed, c, is_idle, in);
	if (n) {
		if (ex_is_waiting(&n->waiter))
			ex_wait_ends(&all->owed, &n->waiter, c, in, sum, by_quota);
		else
			was_unseen = n->waiter.doing == EX_RUNS;
		n->waiter.doing = EX_RUNS;
	}
	if (p) {
		if (ex_is_waiting(&p->waiter)) {
			ex_forget(&all->owed, &p->waiter, c, out);
			was_unseen = true;
		}
		p->waiter.doing = EX_SLEEPS;
		if (queues)
			ex_wait_begins(&all->owed, &p->waiter, c, cpu, out, set, false);
	}
	ex_settle_cpu(&all->owed, c, cpu);
	bpf_spin_unlock(&all->lock);
	if (was_unseen)
		__sync_fetch_and_add(&unseen, 1);
	return 0;
}

ON_SWITCH(handle_switch)

static __always_inline int wakes(struct task_struct *task)
{
	__u32 cpu = cpu_of_task(task), id = task->pid, set[EX_SCOPES] = {};
	struct ex_owed_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct thread *t = thread_of(task);
	struct all *all = all_of_it();
	__u64 now;

	if (!t || !c || !all || is_throttled(task) || t->waiter.doing == EX_RUNS ||
	    ex_is_waiting(&t->waiter))
		return 0;
	prepare(t, task, cpu, 0, set);
	now = bpf_ktime_get_ns();
	bpf_spin_lock(&all->lock);
	ex_pass(&all->owed, now);
	ex_wait_begins(&all->owed, &t->waiter, c, cpu, id, set, true);
	ex_settle_cpu(&all->owed, c, cpu);
	bpf_spin_unlock(&all->lock);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	return wakes(p);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *p)
{
	return wakes(p);
}

/* A task that waits goes on waiting on another CPU. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int dest)
{
	__u32 from, to = dest, id = task->pid, set[EX_SCOPES] = {};
	struct ex_owed_cpu *c, *d = bpf_map_lookup_elem(&cpus, &to);
	struct thread *t = thread_of(task);
	struct all *all = all_of_it();
	struct ex_owed_sum *sum;
	bool by_quota;
	__u64 now;

	if (!t || !d || !all || !ex_is_waiting(&t->waiter))
		return 0;
	from = t->waiter.cpu;
	c = bpf_map_lookup_elem(&cpus, &from);
	if (!c)
		return 0;
	sum = sum_of(t, task);
	by_quota = waits_for_quota(t, task);
	prepare(t, task, to, 0, set);
	now = bpf_ktime_get_ns();
	bpf_spin_lock(&all->lock);
	ex_pass(&all->owed, now);
	ex_wait_ends(&all->owed, &t->waiter, c, id, sum, by_quota);
	ex_settle_cpu(&all->owed, c, from);
	ex_wait_begins(&all->owed, &t->waiter, d, to, id, set, false);
	ex_settle_cpu(&all->owed, d, to);
	bpf_spin_unlock(&all->lock);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task)
{
	if (task->pid && is_chosen(task) &&
	    !bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		__sync_fetch_and_add(&unseen, 1);
	return 0;
}

static __always_inline void end_window(struct all *all)
{
	__u64 now = bpf_ktime_get_ns();

	bpf_spin_lock(&all->lock);
	ex_pass(&all->owed, now);
	ex_window_ends(&all->owed);
	ended_at = all->owed.ended;
	idle_until_end = all->owed.idle_ns;
	owed_until_end = all->owed.owed_ns;
	bpf_spin_unlock(&all->lock);
}

/* Learns what a CPU does that had no switch yet: one task at least belongs to it. */
static __always_inline void learn_cpu(struct all *all, struct task_struct *task)
{
	bool is_idle = false;
	struct ex_owed_cpu *c;
	struct rq *rq;
	__u32 cpu;
	__u64 now;

	if (!bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq) ||
	    !bpf_core_field_exists(((struct rq *)0)->curr))
		return;
	rq = run_queue_of(task);
	cpu = BPF_CORE_READ(rq, cpu);
	c = bpf_map_lookup_elem(&cpus, &cpu);
	if (!c || c->is_known)
		return;
	is_idle = BPF_CORE_READ(rq, curr) == BPF_CORE_READ(rq, idle) && field_or(rq, online, 1);
	now = bpf_ktime_get_ns();
	bpf_spin_lock(&all->lock);
	if (!c->is_known) {
		ex_pass(&all->owed, now);
		ex_turn(&all->owed, c, is_idle, 0);
		ex_settle_cpu(&all->owed, c, cpu);
	}
	bpf_spin_unlock(&all->lock);
}

/* Ends a window: books all waits up to then. The first time: begins the waits of now. */
SEC("iter/task")
int settle_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 cpu, id, set[EX_SCOPES] = {};
	struct all *all = all_of_it();
	struct ex_owed_sum *sum;
	struct ex_owed_cpu *c;
	bool by_quota, runs, queues;
	struct thread *t;
	__u64 now;

	if (!task || !all)
		return 0;
	if (!ctx->meta->seq_num)
		end_window(all);
	learn_cpu(all, task);
	if (!task->pid || task->exit_state || !is_chosen(task))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		return 0;
	id = task->pid;
	cpu = cpu_of_task(task);
	if (t->waiter.doing != EX_UNKNOWN)
		cpu = t->waiter.cpu;
	c = bpf_map_lookup_elem(&cpus, &cpu);
	if (!c)
		return 0;
	runs = is_on_cpu(task);
	queues = !runs && !state_of(task) && !is_throttled(task);
	if (t->waiter.doing == EX_UNKNOWN && queues)
		prepare(t, task, cpu, 1, set);
	else if (!ex_is_waiting(&t->waiter) && t->waiter.doing != EX_UNKNOWN)
		return 0;
	sum = ex_is_waiting(&t->waiter) ? sum_of(t, task) : NULL;
	by_quota = waits_for_quota(t, task);
	now = bpf_ktime_get_ns();
	bpf_spin_lock(&all->lock);
	ex_pass(&all->owed, now);
	if (t->waiter.doing == EX_UNKNOWN && queues)
		ex_wait_begins(&all->owed, &t->waiter, c, cpu, id, set, false);
	else if (t->waiter.doing == EX_UNKNOWN)
		t->waiter.doing = runs ? EX_RUNS : EX_SLEEPS;
	else if (ex_is_waiting(&t->waiter) && t->waiter.cpu == cpu)
		ex_settle(&all->owed, &t->waiter, c, id, sum, by_quota);
	ex_settle_cpu(&all->owed, c, cpu);
	bpf_spin_unlock(&all->lock);
	return 0;
}
