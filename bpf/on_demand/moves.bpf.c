/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts every migration with its CPUs, its cause (by the kernel's own stack) and the task's wait
 * for a CPU before and after. Also tells if the task would have had to wait on its old CPU.
 * Attached while a view shows it.
 *
 * The reader derives the cause from a stack (crates/ledger/model/src/on_demand/moves).
 */
#include "fields.h"
#include "moves.h"
#include "on_switch.h"
#include "state.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Migrations that the kernel counted and no program saw. */
__u64 missed;

enum { UNKNOWN, RUNS, SLEEPS, QUEUES };

/* No count of switches: only the idle times of the old CPU are known. */
#define NO_SWITCH (~0ULL)

struct thread {
	__u64 since;    /* start of its wait for a CPU; 0: unknown */
	__u64 expected; /* the kernel's count of its migrations before the next one */
	/* Its last move, until it runs: */
	__u64 moved_at; /* 0: it has run since */
	__u64 switches; /* of the CPU it left, at that time; or NO_SWITCH */
	__u64 idles;    /* how often that CPU had become idle */
	struct ex_migration_key key;
	__u32 doing;
	bool has_count;
	bool left_idle; /* that CPU was idle then */
	bool asleep;    /* moved while asleep, not for a wake-up */
	bool pad;
};

/* Written at each switch there, so each CPU has a cache line of its own. */
struct cpu {
	__u64 switches;
	__u64 idles;
	__u64 pad[6];
};

struct scratch {
	struct ex_stack stack;
};

OF_EACH_TASK(threads, struct thread);
SUMS(moves, 16384, struct ex_migration_key, struct ex_migration);

/* Stacks by number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct ex_stack);
	__type(value, __u32);
} stacks SEC(".maps");

__u32 numbers;

/* Written by the reader: it has the names of the stacks up to this number. */
__u32 named;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

static __always_inline bool has_run_queue(void)
{
	return bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq);
}

/* True if a task may run on a CPU, as far as that can be read. */
static __always_inline bool is_allowed(struct task_struct *task, __u32 cpu)
{
	unsigned long mask = (unsigned long)BPF_CORE_READ(task, cpus_ptr);
	__u64 word = 0;

	if (bpf_probe_read_kernel(&word, sizeof(word), (void *)(mask + cpu / 64 * sizeof(word))))
		return true;
	return word >> (cpu & 63) & 1;
}

/* True for the migration thread of a CPU, which interrupts any other task there for a move. */
static __always_inline bool is_stopper(struct task_struct *task)
{
	return (task->flags & PF_KTHREAD) && !field_by_size(task, prio);
}

static __always_inline struct ex_stack *blank_stack(void)
{
	__u32 zero = 0;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);

	if (!scratch)
		return NULL;
	__builtin_memset(&scratch->stack, 0, sizeof(scratch->stack));
	return &scratch->stack;
}

/* Number of a stack; 0: no room. */
static __always_inline __u32 number_of(struct ex_stack *stack)
{
	__u32 *number = bpf_map_lookup_elem(&stacks, stack), fresh;

	if (number)
		return *number;
	fresh = __sync_fetch_and_add(&numbers, 1) + 1;
	number = find_or_add(&stacks, stack, &fresh);
	return number ? *number : 0;
}

/* The stack that moves a task now; 0: the facts have the reason why it is missing. */
static __always_inline __u32 stack_now(void *ctx, struct ex_migration_key *key)
{
	struct ex_stack *stack = blank_stack();
	__u32 number;

	if (!stack || bpf_get_stack(ctx, stack, sizeof(*stack), 0) <= 0) {
		key->facts |= EX_STACK_REFUSED;
		return 0;
	}
	number = number_of(stack);
	if (!number)
		key->facts |= EX_NO_STACK;
	return number;
}

/* The stack of the moved task itself. */
static __always_inline __u32 stack_of(struct task_struct *task)
{
	struct ex_stack *stack = blank_stack();

	if (!stack || bpf_get_task_stack(task, stack, sizeof(*stack), 0) <= 0)
		return 0;
	return number_of(stack);
}

static __always_inline __u32 facts_of(struct task_struct *task, __u32 from)
{
	__u32 facts = state_of(task) == TASK_WAKING ? EX_WAKING : 0;

	if (has_run_queue()) {
		struct rq *rq = run_queue_of(task);

		if (!field_or(rq, online, 1))
			facts |= EX_WAS_OFFLINE;
	}
	if (!is_allowed(task, from))
		facts |= EX_NOT_ALLOWED;
	return facts;
}

/* Stores the stacks that show the cause, as far as they are needed. */
static __always_inline void tell_why(struct ex_migration_key *key, void *ctx,
				     struct task_struct *task)
{
	if (key->facts & EX_WAKING)
		return;
	key->stack = stack_now(ctx, key);
	if (!key->facts && is_stopper(bpf_get_current_task_btf()))
		key->own = stack_of(task);
}

/* Counts a move; NULL: no room. */
static __always_inline struct ex_migration *count_move(struct ex_migration_key *key, struct task_struct *task)
{
	struct ex_migration *move, fresh = {};

	note_names(&fresh.names, task);
	move = FIND_OR_ADD(moves, key, &fresh);
	if (move)
		move->moves++;
	return move;
}

/* The wait continues on another CPU. `left_idle`: the old CPU ran no other task. */
static __always_inline void wait_goes_on(struct thread *t, struct ex_migration_key *key, bool left_idle)
{
	struct cpu *left = bpf_map_lookup_elem(&cpus, &key->from);
	bool by_stopper = is_stopper(bpf_get_current_task_btf()) &&
			  bpf_get_smp_processor_id() == key->from;

	t->key = *key;
	t->left_idle = left_idle;
	t->asleep = t->doing == SLEEPS && !(key->facts & EX_WAKING);
	t->switches = left && !by_stopper ? left->switches : NO_SWITCH;
	t->idles = left ? left->idles : NO_SWITCH;
	t->moved_at = bpf_ktime_get_ns();
}

/* The wait ends: the task ran or was moved again. */
static __always_inline void wait_ends(struct thread *t, __u64 now, bool ran)
{
	struct ex_migration_key key = t->key;
	struct cpu *left = bpf_map_lookup_elem(&cpus, &key.from);
	struct ex_migration *move = bpf_map_lookup_elem(&moves, &key);
	__u64 since = t->moved_at;

	if (!move)
		move = bpf_map_lookup_elem(&moves_more, &key);
	t->moved_at = 0;
	if (!move || now < since)
		return;
	move->after_ns += now - since;
	move->ran++;
	if (!ran || t->asleep || !left)
		return;
	if (t->left_idle || left->idles != t->idles)
		move->unpaid++;
	else if (left->switches == t->switches)
		move->paid++;
}

/*
 * Compares the kernel's count before this migration, or between two: each one beyond the expected
 * number was missed.
 */
static __always_inline void compare(struct thread *t, __u64 count)
{
	if (t->has_count && count > t->expected)
		__sync_fetch_and_add(&missed, count - t->expected);
	if (!t->has_count || count > t->expected)
		t->expected = count;
	t->has_count = true;
}

/* A task that wakes has slept. If it did not go to sleep here, a kernel hid that switch. */
static __always_inline void was_asleep(struct thread *t)
{
	if (t->doing != QUEUES && t->doing != RUNS)
		return;
	__sync_fetch_and_add(&unseen, 1);
	t->doing = SLEEPS;
	t->since = 0;
	t->moved_at = 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *p, int to)
{
	struct ex_migration_key key = {.tgid = p->tgid, .tid = p->pid, .from = cpu_of_task(p), .to = to};
	__u64 now = bpf_ktime_get_ns();
	bool left_idle = false, is_known = false;
	struct ex_migration *move;
	struct thread *t;
	struct rq *rq;

	if (key.from == key.to || !is_chosen(p) || is_hidden())
		return 0;
	/* A move that is not counted here counts as missed at the next comparison. */
	t = bpf_task_storage_get(&threads, p, 0, 0);
	if (!t) {
		__sync_fetch_and_add(&unseen, 1);
		return 0;
	}
	compare(t, p->se.nr_migrations);
	t->expected++;
	key.facts = facts_of(p, key.from);
	if (key.facts & EX_WAKING)
		was_asleep(t);
	tell_why(&key, ctx, p);
	move = count_move(&key, p);
	/* A task that has slept since its last move has not waited. */
	if (t->moved_at && t->asleep && t->doing == SLEEPS)
		t->moved_at = 0;
	else if (t->moved_at)
		wait_ends(t, now, false);
	if (!move) {
		count_lost();
		return 0;
	}
	if (t->doing == QUEUES && t->since && now >= t->since) {
		move->queued++;
		move->before_ns += now - t->since;
	}
	if (has_run_queue() && bpf_core_field_exists(((struct rq *)0)->curr)) {
		rq = run_queue_of(p);
		left_idle = BPF_CORE_READ(rq, curr) == BPF_CORE_READ(rq, idle);
		is_known = true;
	}
	wait_goes_on(t, &key, left_idle);
	/* Unknown if the old CPU was idle: its switches say nothing then. */
	if (!is_known)
		t->switches = NO_SWITCH;
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(on_wakeup_new, struct task_struct *p)
{
	struct ex_migration_key key = {.tgid = p->tgid,
				  .tid = p->pid,
				  .from = bpf_get_smp_processor_id(),
				  .to = cpu_of_task(p),
				  .facts = EX_BORN};
	struct thread *t;

	if (!is_chosen(p))
		return 0;
	t = bpf_task_storage_get(&threads, p, 0, 0);
	if (t) {
		t->doing = QUEUES;
		t->since = bpf_ktime_get_ns();
	}
	if (key.from == key.to)
		return 0;
	/* The kernel does not count births, so one without room is no lost migration. */
	if (!count_move(&key, p))
		__sync_fetch_and_add(&unseen, 1);
	else if (t)
		wait_goes_on(t, &key, false);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	struct thread *t;

	if (!is_chosen(p))
		return 0;
	t = bpf_task_storage_get(&threads, p, 0, 0);
	if (!t || t->doing == RUNS || t->doing == QUEUES)
		return 0;
	t->doing = QUEUES;
	t->since = bpf_ktime_get_ns();
	if (t->moved_at && t->asleep)
		t->moved_at = t->since;
	return 0;
}

static __always_inline void goes(struct task_struct *prev, __u64 now, bool runnable,
				 unsigned int state)
{
	struct thread *t = bpf_task_storage_get(&threads, prev, 0, 0);

	if (!t)
		return;
	/* It ran, and its arrival was not seen. */
	if (t->moved_at) {
		t->moved_at = 0;
		__sync_fetch_and_add(&unseen, 1);
	}
	t->doing = runnable ? QUEUES : SLEEPS;
	t->since = runnable ? now : 0;
	if (state & TASK_DEAD)
		compare(t, prev->se.nr_migrations);
}

static __always_inline void comes(struct task_struct *next, __u64 now)
{
	struct thread *t = bpf_task_storage_get(&threads, next, 0, 0);

	if (!t)
		return;
	if (t->moved_at)
		wait_ends(t, now, true);
	t->doing = RUNS;
	t->since = 0;
}

static __always_inline int handle_switch(bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int state)
{
	__u32 at = bpf_get_smp_processor_id();
	struct cpu *cpu = bpf_map_lookup_elem(&cpus, &at);
	__u64 now = bpf_ktime_get_ns();

	if (cpu) {
		cpu->switches++;
		cpu->idles += !next->pid;
	}
	if (prev->pid && is_chosen(prev) && !is_hidden())
		goes(prev, now, preempt || !state, state);
	if (next->pid && is_chosen(next) && !is_hidden())
		comes(next, now);
	return 0;
}

ON_SWITCH(handle_switch)

SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task)
{
	struct thread *t;

	if (!task->pid || !is_chosen(task))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (t)
		compare(t, task->se.nr_migrations);
	return 0;
}

/* Sets up the existing tasks; later, at each window's end, counts their unseen migrations. */
SEC("iter/task")
int count_migrations(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *t;

	if (!task || !task->pid || task->exit_state || !is_chosen(task))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t)
		return 0;
	compare(t, task->se.nr_migrations);
	if (t->doing == UNKNOWN)
		t->doing = is_on_cpu(task) ? RUNS : state_of(task) ? SLEEPS : QUEUES;
	return 0;
}

/*
 * Prints the stacks without names: `#7`, then a line for each function. The kernel resolves names
 * here whatever it shows in /proc/kallsyms.
 */
SEC("iter/bpf_map_elem")
int name_stacks(struct bpf_iter__bpf_map_elem *ctx)
{
	struct ex_stack *stack = ctx->key;
	__u32 *number = ctx->value;
	struct seq_file *seq = ctx->meta->seq;

	if (!stack || !number || *number <= *(volatile __u32 *)&named)
		return 0;
	BPF_SEQ_PRINTF(seq, "#%u\n", *number);
#pragma unroll
	for (int i = 0; i < EX_FRAMES; i++)
		BPF_SEQ_PRINTF(seq, "%pB\n", stack->at[i]);
	return 0;
}
