/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Context switches: the task that leaves and its state, and the task that comes. */
#ifndef EXACTOP_SWITCH_H
#define EXACTOP_SWITCH_H

#include "audit.h"
#include "exits.h"
#include "lock_calls.h"
#include "move.h"
#include "slots.h"
#include "state.h"
#include "throttled.h"

/*
 * The registers of a task's system call. pt_regs at the top of its kernel stack have the call's
 * number in orig_ax, or -1 after a fault or an interrupt (arch/x86/entry/entry_64.S).
 */
static __always_inline struct pt_regs *entry_regs(struct task_struct *task)
{
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return NULL;
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

/*
 * True if the task may sleep in a page fault. A task that entered the kernel by a fault or an
 * interrupt may also sleep on its way out: because it was killed, or to write a core. An
 * interruptible fault (userfaultfd) sleeps in handle_mm_fault(), which the kernel notes. The wait
 * for the lock of the address space comes before that and is uninterruptible; other uninterruptible
 * sleeps there look the same.
 */
static __always_inline bool may_fault(struct task_struct *task, __u32 state)
{
	if (task->flags & PF_EXITING)
		return false;
	return state != EX_SLEEP || field_or(task, in_user_fault, 1);
}

/* The kind of a sleep. */
static __always_inline __u32 sleep_state(struct ex_slot *s, struct task_struct *task, __u32 state)
{
	struct pt_regs *regs = entry_regs(task);
	int nr;

	s->wait_nr = -1;
	if (!regs)
		return state;
	/* Its group is frozen, whatever it slept for; until it stops it may wait for I/O. */
	if (state == EX_SLEEP && (task->jobctl & JOBCTL_TRAP_FREEZE))
		return EX_STOP;
	nr = numbered(task, regs->orig_ax);
	s->wait_nr = nr;
	if (nr == -1 && may_fault(task, state))
		return s->fault_text ? EX_TEXT_FAULT : EX_DATA_FAULT;
	return state == EX_SLEEP && waits_for_lock(regs, nr) ? EX_LOCK : state;
}

/*
 * Sets user or system mode for a task that is about to run. A task whose mode was measured
 * continues with the mode in which it left: it may have lost its CPU at the end of a system call,
 * after sys_exit, and then its pt_regs still show the call. After a fault or an interrupt it was in
 * user mode, whatever was missed.
 */
static __always_inline void set_mode(struct ex_slot *s, struct task_struct *task)
{
	__u32 run = READ_ONCE(split_run);
	struct pt_regs *regs;

	if (!run)
		return;
	regs = entry_regs(task);
	if (regs && (int)regs->orig_ax == -1)
		s->mode = EX_USR;
	else if (s->split_run != run)
		s->mode = EX_SYS;
	s->split_run = run;
}

static __always_inline __u64 not_before(__u64 now, __u64 limit)
{
	if (now >= limit)
		return now;
	count_error(EX_ERR_CLOCK_STEP);
	return limit;
}

/* The kernel's count of a task's switches so far. It counts a switch before it shows it. */
static __always_inline __u32 switches_of(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Waits that the kernel counted since the last look and we did not see. */
static __always_inline __s64 unseen_wait(struct ex_slot *s)
{
	struct task_struct *task = (void *)s->task;

	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	return BPF_CORE_READ(task, sched_info.run_delay) - s->delay_offset - waited(&s->cum);
}

/*
 * Notes the kernel's counts when a task leaves its CPU. If they show one switch since the last
 * look, none was missed. Later counts are compared with these.
 */
static __always_inline void note_kernel_counts(struct ex_cpu *c, struct ex_slot *s,
					       struct task_struct *task, __u64 now)
{
	__u32 count = switches_of(task);

	s->cum.missed += (__u32)(count - s->counted - 1) & if_begun(s);
	audit_leaving(c, s, task, now);
	s->counted = count;
}

/*
 * The last switch of the current task: folds its figures into its exited group and frees its slot.
 */
__noinline int end_current(struct ex_cpu *c, struct ex_slot *s, __u32 index, __u64 now, __u32 e)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!c || !s)
		return 0;
	/*
	 * The kernel did not show its exit. A leader is its own leader and still there. For another
	 * thread, whose leader may be freed, count_unshown_process() counts the process.
	 */
	if (!(s->exit_flags & EX_EXIT_NOTED)) {
		count_error(EX_ERR_UNSEEN_EXIT);
		if (task->pid == task->tgid)
			note_exit(s, task, task);
		else
			note_end(s, task, 0);
	}
	if (blame)
		end_waits(s);
	fold(c, s, bpf_get_smp_processor_id(), now, e);
	if (task->exit_state & EXIT_ZOMBIE)
		list_zombie(s, task, now);
	release_slot(c, s, task, index);
	return 0;
}

/* The current task leaves its CPU. */
static __always_inline void switch_out(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				       struct task_struct *prev, bool preempt,
				       unsigned int prev_state, __u64 now, struct boundary b)
{
	__u32 state = off_cpu_state(preempt, prev_state);

	note_kernel_counts(c, s, prev, now);
	if (state == EX_LAT_PREEMPT)
		s->cum.icx++;
	else
		s->cum.vcx++;
	if (state == EX_SLEEP || state == EX_BLOCK)
		state = sleep_state(s, prev, state);
	else if (state == EX_LAT_PREEMPT && is_throttled(prev))
		state = EX_THROTTLE;
	s->kstate = preempt ? 0 : prev_state;
	s->arrivals = arrivals_of(prev);
	s->state = state;
	if (state == EX_DEAD)
		end_current(c, s, index, now, b.epoch);
}

/*
 * The first event of a slot that was seeded while its owner ran: the account begins here. If a CPU
 * with a clock a little ahead has charged it beyond `now`, its next event does this.
 */
static __always_inline bool take_in(struct ex_cpu *c, struct ex_slot *s, __u64 now)
{
	if (now < s->since)
		return false;
	if (!is_timed(s->state))
		begin_account(s, now);
	else
		charge_off_cpu(c, s, now, s->state);
	s->since = now;
	if (blame)
		book_wait(s, bpf_get_smp_processor_id(), now);
	if (sizes_waits)
		size_wait(s, 0);
	return true;
}

/*
 * Gives the current task a slot; it had none at its switch-in, so its running time was not counted.
 */
__noinline __u32 adopt_current(struct ex_cpu *c, __u64 now, __u32 e)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 index;
	struct ex_slot *s = slot_here_of(task, &index, bpf_get_smp_processor_id());

	if (!c || !s)
		return EX_CUR_UNNAMED;
	cross(c, s, index, boundary_of(e), task);
	follow_group(c, s, task, now);
	return take_in(c, s, now) ? index : EX_CUR_UNNAMED;
}

/*
 * True if a waiting task came onto a CPU and left it again, and neither was shown: the kernel
 * counts more arrivals than it has shown. `seen`: the number of those that are known.
 */
static __always_inline bool waited_and_left(struct ex_slot *s, struct task_struct *task, __u32 seen)
{
	return is_waiting(s->state) && (__s32)(arrivals_of(task) - s->arrivals) > (__s32)seen;
}

/* Ends that wait: the kernel counts its length, and since then the task slept. */
__noinline int end_wait_unseen(struct ex_slot *s, __u64 now)
{
	__s64 wait;

	if (!s)
		return 0;
	wait = unseen_wait(s);
	if (wait > (__s64)(now - s->since))
		wait = now - s->since;
	if (wait > 0) {
		*time_in(&s->cum, s->state) += wait;
		s->since += wait;
		__sync_fetch_and_add(&repaired_wait_ns, wait);
	}
	s->state = EX_SLEEP;
	s->wait_nr = -1;
	s->cum.repairs++;
	count_error(EX_ERR_UNSEEN_SWITCH);
	return 0;
}

/* Instants of the run queue's clock and of ours that differ by no more than this are the same. */
#define EX_CLOCKS_AGREE_NS 2000

/*
 * A task comes onto a CPU without a seen wake-up. Its sleep ended when the kernel noted its
 * queueing, or earlier by the waits that the kernel counted on other run queues. If it was queued
 * ever since it left, it was runnable throughout: signal_pending_state() had cancelled the block
 * (fixed upstream in 6.16, 8feb053d5319). A throttled task has no such note and counts as throttled
 * until it runs.
 */
__noinline int until_queued(struct ex_cpu *c, struct ex_slot *s, __u64 now)
{
	struct task_struct *next;
	__u64 queued = 0;
	__s64 wait;

	if (!c || !s)
		return 0;
	next = (void *)s->task;
	/* Its wait begins where the kernel's does. */
	s->queue_offset = c->clock_offset;
	if (bpf_core_field_exists(next->sched_info.last_queued))
		queued = BPF_CORE_READ(next, sched_info.last_queued);
	if (queued) {
		queued += c->clock_offset;
		if (queued <= s->since + EX_CLOCKS_AGREE_NS)
			return 0;
	}
	count_error(EX_ERR_LOST_WAKEUP);
	s->cum.repairs++;
	if (!queued || queued > now) {
		/* As far as is known, it was asleep until now. */
		wait = 0;
	} else {
		wait = unseen_wait(s);
		wait = now - queued + (wait > 0 ? wait : 0);
		if (wait > (__s64)(now - s->since))
			wait = now - s->since;
	}
	charge_off_cpu(c, s, now - wait, s->state);
	s->since = s->wait_began = now - wait;
	__sync_fetch_and_add(&repaired_wait_ns, wait);
	return 0;
}

/* Cgroups are nested; tasks in deeper groups than this count as throttled until they run. */
#define EX_QUOTA_LEVELS 6

/*
 * A throttled task that comes onto a CPU was throttled until the last of its groups got a new
 * quota; then it waited for the CPU. If the kernel does not show that instant, it counts as
 * throttled until it runs.
 */
__noinline int until_unthrottled(struct ex_cpu *c, struct ex_slot *s, __u64 now)
{
	struct sched_entity *se;
	__u64 last = 0, *at, key;
	int i;

	if (!c || !s)
		return 0;
	se = &((struct task_struct *)s->task)->se;
	for (i = 0; i < EX_QUOTA_LEVELS && se; i++) {
		key = (__u64)BPF_CORE_READ(se, cfs_rq);
		at = bpf_map_lookup_elem(&unthrottled, &key);
		if (at && *at > last)
			last = *at;
		se = BPF_CORE_READ(se, parent);
	}
	if (last <= s->since || last > now)
		return 0;
	charge_off_cpu(c, s, last, EX_THROTTLE);
	s->since = last;
	s->state = EX_LAT_PREEMPT;
	return 0;
}

/* A slot's task has come onto a CPU. */
static __always_inline void begin_stay(struct ex_cpu *c, struct ex_slot *s)
{
	c->stays.party = s->party;
	c->stays.why = EX_BY_TASK;
}

static __always_inline void switch_in(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				      struct task_struct *next, __u32 cpu, __u64 now,
				      struct boundary b, __s64 offset, bool shown)
{
	cross(c, s, index, b, next);
	/* In a repair the stack has no room for this (6.1): the task's next event does it. */
	if (shown)
		follow_group(c, s, next, now);
	/* The kernel counts a repaired arrival by now, and not yet one that it shows. */
	if (waited_and_left(s, next, !shown))
		end_wait_unseen(s, now);
	if (is_timed(s->state)) {
		if (!is_waiting(s->state))
			until_queued(c, s, now);
		else if (sees_unthrottle && s->state == EX_THROTTLE &&
			 next->policy != SCHED_DEADLINE)
			until_unthrottled(c, s, now);
		charge_off_cpu(c, s, now, is_waiting(s->state) ? s->state : EX_LAT);
		if (blame)
			book_wait(s, cpu, now);
	} else {
		if (s->state == EX_SEED || !s->born)
			begin_account(s, now);
	}
	if (sizes_waits)
		size_wait(s, now);
	if (s->cum.dispatches && s->cpu != cpu)
		s->cum.migrations++;
	s->cum.dispatches++;
	s->cpu = cpu;
	s->since = now;
	s->state = EX_RUN;
	set_mode(s, next);
	s->sum_exec = next->se.sum_exec_runtime;
	c->arrived = now;
	note_arrival(c, s, next, offset, shown);
	if (is_watched(s))
		c->cum.watched_dispatches++;
}

#endif
