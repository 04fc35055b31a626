/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Times what threads wait for: the system calls they sleep in, their waits for a CPU, the tasks
 * that have the CPU meanwhile, and the tasks that wake them. Attached while a view shows it.
 *
 * A wait counts when it is over. An iterator reports the open waits at a window's end.
 */
#include "fields.h"
#include "interrupt.h"
#include "on_switch.h"
#include "throttled.h"
#include "waits.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The state of a thread, as far as it matters here. A throttled thread counts as sleeping until it
 * runs again: no other task runs instead of it.
 */
enum { UNKNOWN, RUNS, SLEEPS, WAITS_WOKEN, WAITS_PREEMPTED };

struct thread {
	__u64 since;
	__u32 doing;
	__s32 nr;   /* asleep: the call; -1: none */
	enum ex_wait_kind kind; /* asleep */
	__u32 pad;
};

OF_EACH_TASK(threads, struct thread);
SUMS(sleeps, 32768, struct ex_sleep_key, struct ex_sleep);
SUMS(queues, 16384, struct ex_queue_key, struct ex_queue);
/* There may be as many pairs as threads squared: in others_more the other task is its process. */
SUMS(others, 65536, struct ex_other_key, struct ex_other);

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct past);
} pasts SEC(".maps");

struct ex_open_wait open_wait_layout; /* for the reader's type */

static __always_inline void count_sleep(struct thread *t, struct task_struct *task, __u64 ns)
{
	struct ex_sleep_key key = {
		.tgid = task->tgid, .tid = task->pid, .nr = t->nr, .kind = t->kind};
	struct ex_sleep *sleep, fresh = {};

	sleep = FIND_OR_LOSE(sleeps, &key, &fresh);
	if (!sleep)
		return;
	sleep->count++;
	sleep->ns += ns;
	if (note_greatest(&sleep->longest, ns))
		note_names(&sleep->names, task);
}

/* Adds the part of another task in a thread's waits: a number or ns. */
static __always_inline void blame(struct task_struct *task, enum ex_part part, __u32 tgid, __u32 tid,
				  const struct names *names, __u64 amount)
{
	struct ex_other_key key = {
		.tgid = task->tgid, .tid = task->pid, .other_tgid = tgid, .other_tid = tid, .part = part};
	struct ex_other *other, fresh = {};

	other = find_or_add(&others, &key, &fresh);
	if (!other) {
		key.other_tid = 0;
		other = find_or_add(&others_more, &key, &fresh);
	}
	if (!other) {
		count_lost();
		return;
	}
	__sync_fetch_and_add(&other->amount, amount);
	if (names)
		other->names = *names;
}

static __always_inline void count_queue(struct thread *t, struct task_struct *task, __u64 now,
					struct past *past)
{
	struct ex_queue_key key = {
		.tgid = task->tgid,
		.tid = task->pid,
		.after = t->doing == WAITS_WOKEN ? EX_AFTER_WAKEUP : EX_AFTER_PREEMPTION};
	__u64 ns = now - t->since, from = t->since, until = now;
	struct ex_queue *queue, *fresh;
	__u32 zero = 0, bucket;

	fresh = bpf_map_lookup_elem(&blank_queue, &zero);
	if (!fresh)
		return;
	queue = FIND_OR_LOSE(queues, &key, fresh);
	if (queue) {
		bucket = bucket_of(ns);
		if (bucket < EX_BUCKETS)
			queue->buckets[bucket]++;
		queue->count++;
		queue->ns += ns;
		if (note_greatest(&queue->longest, ns))
			note_names(&queue->names, task);
	}
	for (int i = 0; i < EX_STINTS && until > from; i++) {
		struct stint *stint;
		__u64 start;

		if (past->n <= i)
			break;
		stint = &past->stints[(past->n - 1 - i) & (EX_STINTS - 1)];
		if (stint->since >= until)
			continue;
		start = stint->since > from ? stint->since : from;
		blame(task, EX_RAN_INSTEAD, stint->tgid, 0, &stint->names, until - start);
		until = start;
	}
	if (until > from)
		blame(task, EX_RAN_BEFORE, 0, 0, NULL, until - from);
}

static __always_inline void sleep_begins(struct thread *t, struct task_struct *prev,
					 unsigned int state)
{
	struct pt_regs *regs;

	t->doing = SLEEPS;
	t->nr = -1;
	t->kind = EX_SLEEPS;
	if (state & (TASK_STOPPED_BIT | TASK_TRACED_BIT | TASK_FROZEN)) {
		t->doing = UNKNOWN;
		return;
	}
	if ((state & (TASK_UNINTERRUPTIBLE | TASK_RTLOCK_WAIT)) && !(state & TASK_NOLOAD))
		t->kind = EX_BLOCKS;
	if (prev->flags & (PF_KTHREAD | PF_IO_WORKER))
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(prev);
	t->nr = numbered(prev, regs->orig_ax);
	if (t->kind == EX_SLEEPS && waits_for_lock(regs, t->nr))
		t->kind = EX_LOCKS;
}

/* The thread is runnable, and waits for a CPU or for a new quota. */
static __always_inline void queue_begins(struct thread *t, struct task_struct *task, __u32 waits)
{
	t->doing = waits;
	if (!is_throttled(task))
		return;
	t->doing = SLEEPS;
	t->kind = EX_THROTTLED;
	t->nr = -1;
}

static __always_inline void remember_stint(struct past *past, struct task_struct *next, __u64 now)
{
	struct stint *stint = &past->stints[past->n & (EX_STINTS - 1)];

	stint->since = now;
	stint->tgid = next->tgid;
	stint->pad = 0;
	note_names(&stint->names, next);
	past->n++;
}

/*
 * The end of a wait was hidden, so its time is unknown. A sleep counts up to this event, a wait for
 * a CPU without its time.
 */
static __always_inline void end_unseen(struct thread *t, struct task_struct *task, __u64 now)
{
	__sync_fetch_and_add(&unseen, 1);
	if (t->doing == SLEEPS)
		count_sleep(t, task, now - t->since);
}

/* A thread comes onto a CPU: its sleep or wait is over. */
static __always_inline void count_wait(struct thread *t, struct task_struct *task, __u64 now,
				       struct past *past)
{
	if (t->doing == WAITS_WOKEN || t->doing == WAITS_PREEMPTED)
		count_queue(t, task, now, past);
	/* The switch that took it off its CPU was hidden, and with it the begin of its wait. */
	if (t->doing == RUNS)
		__sync_fetch_and_add(&unseen, 1);
	if (t->doing != SLEEPS)
		return;
	/* A new quota is no wake-up. Of any other sleep the wake-up was hidden. */
	if (t->kind == EX_THROTTLED)
		count_sleep(t, task, now - t->since);
	else
		end_unseen(t, task, now);
}

static __always_inline void leave_cpu(struct thread *t, struct task_struct *prev, bool preempt,
				      unsigned int state, __u64 now)
{
	/* A kernel may hide the switch that brought the thread here. */
	if (t->doing != UNKNOWN && t->doing != RUNS)
		end_unseen(t, prev, now);
	t->since = now;
	if (preempt || !state)
		queue_begins(t, prev, WAITS_PREEMPTED);
	else
		sleep_begins(t, prev, state);
}

static __always_inline int handle_switch(bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int state)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct past *past = bpf_map_lookup_elem(&pasts, &cpu);
	__u64 now = bpf_ktime_get_ns();
	struct thread *t;

	no_interrupt();
	if (!past)
		return 0;
	if (prev->pid && is_chosen(prev) && !is_hidden()) {
		t = bpf_task_storage_get(&threads, prev, 0, 0);
		if (t)
			leave_cpu(t, prev, preempt, state, now);
	}
	if (next->pid && is_chosen(next) && is_hidden())
		return 0;
	if (next->pid && is_chosen(next)) {
		t = bpf_task_storage_get(&threads, next, 0, 0);
		if (t && t->since && now > t->since)
			count_wait(t, next, now, past);
		if (t) {
			t->doing = RUNS;
			t->since = now;
		}
	}
	remember_stint(past, next, now);
	return 0;
}

ON_SWITCH(handle_switch)

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *t;

	if (!is_chosen(p) || is_hidden())
		return 0;
	t = bpf_task_storage_get(&threads, p, 0, 0);
	if (!t || t->doing == RUNS || t->doing == WAITS_PREEMPTED)
		return 0;
	/* A task that waits is not woken. It ran and slept, and both switches were hidden. */
	if (t->doing == WAITS_WOKEN)
		__sync_fetch_and_add(&unseen, 1);
	if (t->doing == SLEEPS && t->kind == EX_THROTTLED)
		return 0;
	if (t->doing == SLEEPS && t->since && now > t->since)
		count_sleep(t, p, now - t->since);
	queue_begins(t, p, WAITS_WOKEN);
	t->since = now;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct names names = {};

	if (p == task || !is_chosen(p))
		return 0;
	if (!task->pid || in_interrupt()) {
		blame(p, EX_WOKEN_BY, 0, 0, NULL, 1);
		return 0;
	}
	note_names(&names, task);
	blame(p, EX_WOKEN_BY, task->tgid, task->pid, &names, 1);
	return 0;
}

SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task)
{
	if (task->pid &&
	    !bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) &&
	    is_chosen(task))
		count_lost();
	return 0;
}

/*
 * Sets up the existing threads; later, at each window's end, reports the open waits, and the names of
 * threads without one.
 */
SEC("iter/task")
int open_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ex_open_wait open = {};
	unsigned int state;
	struct thread *t;

	if (!task || !task->pid || task->exit_state || !is_chosen(task))
		return 0;
	t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!t) {
		count_lost();
		return 0;
	}
	state = task->__state;
	if (!t->since) {
		t->since = bpf_ktime_get_ns();
		if (state && !is_on_cpu(task))
			sleep_begins(t, task, state);
	}
	open.now = bpf_ktime_get_ns();
	open.since = t->since;
	open.nr = t->nr;
	open.kind = t->kind;
	if (t->doing == WAITS_WOKEN || t->doing == WAITS_PREEMPTED)
		open.kind = EX_QUEUES;
	else if (t->doing != SLEEPS)
		open.kind = EX_NO_WAIT;
	TELL_OF(task, &open, ctx);
	return 0;
}
