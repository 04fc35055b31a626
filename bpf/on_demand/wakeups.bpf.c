/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts which task wakes which, how many tasks one system call wakes, and unproductive wake-ups.
 * Attached while a view shows it.
 *
 * A wake-up is unproductive if the woken task ran and went back to its wait without doing anything
 * that a system call shows. It may have queued at other locks meanwhile: the whole chain from the
 * wait back to the wait is one wake-up, and belongs to the task that began it.
 *
 * A thread that was running when the programs were attached may sleep at a lock in the middle of a
 * chain. It is late until it reaches a wait that can only begin a chain. Its CPU time until then is
 * counted separately, and none of its wake-ups counts as unproductive.
 */
#include "interrupt.h"
#include "lock_calls.h"
#include "on_switch.h"
#include "preempt.h"
#include "wakeups.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before loading: a chain with more CPU time than this did something in user mode. */
const volatile __u64 work_ns = 100000;

/* Calls that only report what is ready (arch/x86/entry/syscalls/syscall_64.tbl) */
#define NR_POLL 7
#define NR_SELECT 23
#define NR_EPOLL_WAIT 232
#define NR_PSELECT6 270
#define NR_PPOLL 271
#define NR_EPOLL_PWAIT 281
#define NR_EPOLL_PWAIT2 441

/* 32-bit calls that only report what is ready (syscall_32.tbl) */
#define NR_SELECT_32 82
#define NR_NEWSELECT_32 142
#define NR_POLL_32 168
#define NR_EPOLL_WAIT_32 256
#define NR_PSELECT6_32 308
#define NR_PPOLL_32 309
#define NR_EPOLL_PWAIT_32 319
#define NR_PSELECT6_TIME64_32 413
#define NR_PPOLL_TIME64_32 414

#define NO_CALL (-1)

#define EINTR 4
#define EAGAIN 11
#define ERESTARTSYS 512
#define ERESTART_RESTARTBLOCK 516

struct wait {
	__s32 nr;
	__u32 pad;
	__u64 what; /* the call's first argument; a futex's address by lock_of() */
};

struct waker {
	__u64 futex;
	__u32 tgid;
	__u32 tid;
	__s32 nr;
	__u32 pad;
};

struct thread {
	__u64 calls; /* system calls so far */
	__u64 waking_call;
	__u64 woken; /* number of tasks woken by the present call */
	__u64 futex; /* the futex of the present call */
	__u64 on_since;
	__u64 chain_ns;
	struct wait asleep_in;
	struct wait home;
	struct waker woken_by;
	struct waker began;
	__s32 nr;
	__u8 asleep;
	__u8 in_chain;
	__u8 shown; /* a wake-up was seen since it came onto a CPU */
	__u8 late;  /* the begin of its chain was not seen; no chain begins then */
	__u8 wide;  /* the present call is to wake more than one task */
	__u8 pad[7];
};

OF_EACH_TASK(threads, struct thread);
/* There may be as many pairs as threads squared: in edges_more the waker is its process. */
SUMS(edges, 65536, struct ex_edge_key, struct ex_edge);
SUMS(fans, 16384, struct ex_fan_key, struct ex_fan);

static __always_inline struct thread *thread_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

/* A condition variable of glibc has two neighbouring words that it uses in turn. */
static __always_inline __u64 lock_of(__u64 address)
{
	return address & ~7ull;
}

static __always_inline bool only_tells_32(int nr)
{
	return nr == NR_SELECT_32 || nr == NR_NEWSELECT_32 || nr == NR_POLL_32 ||
	       nr == NR_EPOLL_WAIT_32 || nr == NR_PSELECT6_32 || nr == NR_PPOLL_32 ||
	       nr == NR_EPOLL_PWAIT_32 || nr == NR_PSELECT6_TIME64_32 ||
	       nr == NR_PPOLL_TIME64_32 || nr == NR_EPOLL_PWAIT2;
}

static __always_inline bool only_tells(int nr)
{
	if (is_compat(nr))
		return only_tells_32(nr & ~EX_NR_COMPAT);
	return nr == NR_POLL || nr == NR_SELECT || nr == NR_EPOLL_WAIT || nr == NR_PSELECT6 ||
	       nr == NR_PPOLL || nr == NR_EPOLL_PWAIT || nr == NR_EPOLL_PWAIT2;
}

/* True if a call with this result did something. */
static __always_inline bool did_something(int nr, long ret)
{
	if (is_futex(nr) || only_tells(nr))
		return false;
	if (ret == -EAGAIN || ret == -EINTR)
		return false;
	return ret > -ERESTARTSYS || ret < -ERESTART_RESTARTBLOCK;
}

/* What a task that goes to sleep waits for. */
static __always_inline struct wait wait_of(struct task_struct *task)
{
	struct wait wait = {.nr = NO_CALL};
	struct pt_regs *regs;

	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return wait;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	wait.nr = numbered(task, regs->orig_ax);
	wait.what = first_argument(regs, wait.nr);
	if (is_futex(wait.nr))
		wait.what = lock_of(wait.what);
	return wait;
}

/* True if a thread went back to the wait that its chain began with. */
static __always_inline bool is_home(struct thread *t, struct wait wait)
{
	return wait.nr == t->home.nr && wait.what == t->home.what;
}

/* NULL: no room, even without the waking thread. */
static __always_inline struct ex_edge *edge_of(struct waker *by, struct task_struct *wakee)
{
	struct ex_edge_key key = {
		.waker_tgid = by->tgid,
		.waker_tid = by->tid,
		.wakee_tgid = wakee->tgid,
		.wakee_tid = wakee->pid,
	};
	struct ex_edge *edge = bpf_map_lookup_elem(&edges, &key), none = {};

	if (edge)
		return edge;
	note_names(&none.wakee, wakee);
	if (by->tid && bpf_get_current_task_btf()->pid == by->tid)
		note_names(&none.waker, bpf_get_current_task_btf());
	edge = find_or_add(&edges, &key, &none);
	if (edge)
		return edge;
	key.waker_tid = 0;
	return find_or_add(&edges_more, &key, &none);
}

static __always_inline struct ex_fan *fan_of(struct waker *by, bool make)
{
	struct ex_fan_key key = {
		.futex = by->futex, .tgid = by->tgid, .tid = by->tid, .nr = by->nr};
	struct ex_fan *fan = bpf_map_lookup_elem(&fans, &key), none = {};

	if (!fan)
		fan = bpf_map_lookup_elem(&fans_more, &key);
	if (fan || !make)
		return fan;
	note_names(&none.names, bpf_get_current_task_btf());
	return FIND_OR_ADD(fans, &key, &none);
}

/* Ends a chain. Different CPUs may end chains of one waker at the same time. */
static __always_inline void end_chain(struct thread *t, struct task_struct *task, bool unproductive)
{
	struct ex_edge *edge = edge_of(&t->began, task);
	struct ex_fan *fan = t->began.nr != NO_CALL ? fan_of(&t->began, false) : NULL;

	t->in_chain = 0;
	unproductive = unproductive && t->chain_ns <= work_ns;
	if (edge) {
		__sync_fetch_and_add(&edge->chains, 1);
		if (unproductive) {
			__sync_fetch_and_add(&edge->unproductive, 1);
			__sync_fetch_and_add(&edge->unproductive_ns, t->chain_ns);
		}
	}
	if (fan) {
		__sync_fetch_and_add(&fan->chains, 1);
		if (unproductive) {
			__sync_fetch_and_add(&fan->unproductive, 1);
			__sync_fetch_and_add(&fan->unproductive_ns, t->chain_ns);
			fan->home_nr = t->home.nr;
		}
	}
}

/* Only the waking thread itself counts here, on its own CPU, so no atomics are needed. */
static __always_inline void count_fan(struct thread *me, struct waker *by)
{
	struct ex_fan *fan = fan_of(by, true);

	if (!fan) {
		count_lost();
		return;
	}
	if (me->waking_call != me->calls) {
		me->waking_call = me->calls;
		me->woken = 0;
		fan->calls++;
	}
	me->woken++;
	fan->wakeups++;
	if (note_greatest(&fan->most, me->woken))
		note_names(&fan->names, bpf_get_current_task_btf());
}

/*
 * True if a call about the lock at which a thread sleeps is to wake more than one task. That is no
 * unlock, so the thread's sleep begins a chain.
 */
static __always_inline bool begins_a_way(struct thread *me, struct thread *t, struct waker *by)
{
	return me && me->wide && t->asleep && is_futex(t->asleep_in.nr) &&
	       by->futex == t->asleep_in.what;
}

/* Notes the waker of a thread, if a chain may begin with this wake-up. */
static __always_inline void note_waker(struct thread *me, struct thread *t, struct waker *by,
				       struct ex_edge *edge)
{
	bool begins = begins_a_way(me, t, by) && !(t->in_chain && is_home(t, t->asleep_in));

	t->shown = 1;
	if (t->late || (t->in_chain && begins)) {
		if (edge && t->chain_ns <= work_ns)
			__sync_fetch_and_add(&edge->late_ns, t->chain_ns);
		t->chain_ns = 0;
	}
	if (begins)
		t->late = t->in_chain = 0;
	if (!t->in_chain)
		t->woken_by = *by;
}

/* sched_waking and not sched_wakeup: only the former is always in the waker's context. */
SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct waker by = {.nr = NO_CALL};
	struct thread *me = NULL, *t;
	struct ex_edge *edge;

	if (p == task || !(is_chosen(task) || is_chosen(p)) || is_hidden())
		return 0;
	if (task->pid && !in_interrupt()) {
		by.tgid = task->tgid;
		by.tid = task->pid;
		me = thread_of(task);
		if (me) {
			by.nr = me->nr;
			by.futex = me->futex;
		}
	}
	edge = edge_of(&by, p);
	if (edge)
		__sync_fetch_and_add(&edge->wakeups, 1);
	else
		count_lost();
	if (me && by.nr != NO_CALL)
		count_fan(me, &by);
	t = thread_of(p);
	if (t)
		note_waker(me, t, &by, edge);
	return 0;
}

static __always_inline void not_late(struct thread *t)
{
	t->late = 0;
	t->chain_ns = 0;
}

static __always_inline void come_to_cpu(struct thread *t, __u64 now)
{
	t->on_since = now;
	if (t->asleep && !t->shown) {
		/* The waker is unknown, so no chain begins with this wake-up. */
		__sync_fetch_and_add(&unseen, 1);
		t->asleep = 0;
		t->late |= !t->in_chain;
	}
	t->shown = 0;
	if (t->asleep && !t->in_chain && !t->late && t->asleep_in.nr != NO_CALL) {
		t->in_chain = 1;
		t->chain_ns = 0;
		t->home = t->asleep_in;
		t->began = t->woken_by;
	}
	t->asleep = 0;
}

/* A thread leaves its CPU: a chain may end here, and a wait may begin. */
static __always_inline void leave_cpu(struct thread *t, struct task_struct *prev, bool sleeps,
				      __u64 now)
{
	struct wait wait;

	/* A kernel may hide the switch that brought the thread here. Its wait ends now at last. */
	if (t->asleep)
		come_to_cpu(t, now);
	if ((t->in_chain || t->late) && t->on_since)
		t->chain_ns += now - t->on_since;
	t->on_since = 0;
	t->asleep = 0;
	if (!sleeps)
		return;
	wait = wait_of(prev);
	t->asleep = 1;
	t->asleep_in = wait;
	/* A wait for something else than a lock never stands in the middle of a chain. */
	if (t->late && wait.nr != NO_CALL && !is_futex(wait.nr))
		not_late(t);
	if (!t->in_chain || wait.nr == NO_CALL)
		return; /* a page fault is part of the chain */
	if (is_home(t, wait))
		end_chain(t, prev, true);
	else if (!is_futex(wait.nr))
		end_chain(t, prev, false);
}

static __always_inline int handle_switch(bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int state)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *t;

	no_interrupt();
	if (prev->pid && is_chosen(prev)) {
		t = thread_of(prev);
		if (t && !(state & TASK_DEAD))
			leave_cpu(t, prev, !preempt && state, now);
		else if (t && t->in_chain)
			end_chain(t, prev, false);
	}
	if (next->pid && is_chosen(next) && !is_hidden()) {
		t = thread_of(next);
		if (t)
			come_to_cpu(t, now);
	}
	return 0;
}

ON_SWITCH(handle_switch)

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *me;

	stay();
	me = thread_of(task);
	if (me) {
		me->calls++;
		me->nr = numbered(task, id);
		me->futex = is_futex(me->nr) ? lock_of(first_argument(regs, me->nr)) : 0;
		/* The number of tasks to wake is the third argument of each waking call. */
		me->wide = is_futex(me->nr) && (int)regs->dx > 1;
	}
	may_go();
	return 0;
}

static __always_inline void returns(struct task_struct *task, long ret)
{
	struct thread *me = thread_of(task);
	__u64 now;

	if (!me)
		return;
	if (me->late && did_something(me->nr, ret))
		not_late(me);
	if (me->in_chain && did_something(me->nr, ret)) {
		now = bpf_ktime_get_ns();
		if (me->on_since)
			me->chain_ns += now - me->on_since;
		me->on_since = now;
		end_chain(me, task, false);
	}
	me->nr = NO_CALL;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs *regs, long ret)
{
	stay();
	returns(bpf_get_current_task_btf(), ret);
	may_go();
	return 0;
}

static __always_inline struct thread *remember(struct task_struct *task)
{
	struct thread *t = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (t)
		t->nr = NO_CALL;
	else if (is_chosen(task))
		count_lost();
	return t;
}

/* A birth: in process context, where allocating is allowed. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_newtask, struct task_struct *task)
{
	if (task->pid)
		remember(task);
	return 0;
}

/*
 * Sets up the existing threads; sleeping ones keep their wait. A sleep at a lock may be in the
 * middle of a chain, and a running thread may be too.
 */
SEC("iter/task")
int seed(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread *t;
	unsigned int state;

	if (!task || !task->pid || task->exit_state)
		return 0;
	if (thread_of(task))
		return 0;
	t = remember(task);
	state = task->__state;
	if (!t)
		return 0;
	t->late = 1;
	if (!state)
		return 0;
	t->asleep_in = wait_of(task);
	t->asleep = t->asleep_in.nr != NO_CALL;
	t->late = !t->asleep || is_futex(t->asleep_in.nr);
	t->nr = t->asleep_in.nr;
	t->futex = is_futex(t->nr) ? t->asleep_in.what : 0;
	return 0;
}
