/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Context switches: who leaves and in which state, who comes, and what to do when one was not seen. */
#ifndef EXACTOP_SWITCH_H
#define EXACTOP_SWITCH_H

#include "exits.h"
#include "lock_calls.h"
#include "slots.h"
#include "state.h"

/*
 * The system call a task is in: pt_regs at the top of its kernel stack hold its number in orig_ax,
 * or -1 if it entered by a fault or an interrupt (arch/x86/entry/entry_64.S).
 */
static __always_inline struct pt_regs *entry_regs(struct task_struct *task)
{
	if (task->flags & (PF_KTHREAD | PF_IO_WORKER))
		return NULL;
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

/* What a sleep is for. */
static __always_inline __u32 sleep_state(struct ex_slot *s, struct task_struct *task, __u32 state)
{
	struct pt_regs *regs = entry_regs(task);
	int nr;

	s->wait_nr = -1;
	if (!regs)
		return state;
	/* Wherever it was when its group was frozen; until it gets there it may wait for I/O. */
	if (state == EX_SLEEP && (task->jobctl & JOBCTL_TRAP_FREEZE))
		return EX_STOP;
	nr = regs->orig_ax;
	s->wait_nr = nr;
	if (nr == -1)
		return s->fault_text ? EX_TEXT_FAULT : EX_DATA_FAULT;
	return state == EX_SLEEP && waits_for_lock(nr, regs->si) ? EX_LOCK : state;
}

/*
 * Whether a runnable task may not run because its group has used up its quota, or itself its budget
 * (SCHED_DEADLINE). A group's quota does not bind real-time tasks.
 */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct sched_dl_entity *dl = &task->dl;

	if (task->policy == SCHED_DEADLINE)
		return field_by_size(dl, dl_throttled);
	if (task->prio < MAX_RT_PRIO)
		return false;
	if (bpf_core_field_exists(task->throttled)) /* 6.18 */
		return task->throttled;
	if (bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count) &&
	    bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		return task->se.cfs_rq->throttle_count > 0;
	return false;
}

/*
 * User or system from now on, for a task that is about to run. A task that was followed goes on as
 * it left: it may have lost its CPU on the way out of a system call, after sys_exit, and then its
 * pt_regs still tell of the call. Fault or interrupt: it was in user mode before, whatever was missed.
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

/* What the kernel counted of a task's switches so far. It counts before it tells. */
static __always_inline __u32 switches_of(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* How long a task has waited for a CPU by our own account. */
static __always_inline __u64 waited(struct ex_slot *s)
{
	return s->cum.ns[EX_LAT] + s->cum.ns[EX_LAT_PREEMPT] + s->cum.ns[EX_THROTTLE];
}

/* What the kernel counted of its waits since its last switch-out, and we did not. */
static __always_inline __s64 unseen_wait(struct ex_slot *s, struct task_struct *task)
{
	if (!bpf_core_field_exists(task->sched_info.run_delay))
		return 0;
	return task->sched_info.run_delay - s->delay_offset - waited(s);
}

/*
 * A task leaves its CPU, as it was seen to do each time since the last look, if the kernel counted
 * just one. What it says of the task from here on is held against what it says now.
 */
static __always_inline void note_kernel_counts(struct ex_slot *s, struct task_struct *task)
{
	__u32 count = switches_of(task);

	if (s->counted != EX_UNCOUNTED)
		s->cum.missed += (__u32)(count - s->counted - 1);
	s->counted = count;
	if (bpf_core_field_exists(task->sched_info.run_delay))
		s->delay_offset = task->sched_info.run_delay - waited(s);
}

static __always_inline void switch_out(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				       struct task_struct *prev, bool preempt,
				       unsigned int prev_state, __u32 cpu, __u64 now,
				       struct boundary b)
{
	__u32 state = off_cpu_state(preempt, prev_state);

	note_kernel_counts(s, prev);
	if (state == EX_LAT_PREEMPT)
		s->cum.icx++;
	else
		s->cum.vcx++;
	if (state == EX_SLEEP || state == EX_BLOCK)
		state = sleep_state(s, prev, state);
	else if (state == EX_LAT_PREEMPT && is_throttled(prev))
		state = EX_THROTTLE;
	s->kstate = preempt ? 0 : prev_state;
	s->state = state;
	if (state == EX_DEAD) {
		/* The kernel did not show us its exit. A leader is its own, and still there. */
		if (!(s->exit_flags & EX_EXIT_NOTED)) {
			count_error(EX_ERR_UNSEEN_EXIT);
			if (prev->pid == prev->tgid)
				note_exit(s, prev, prev);
		}
		fold(c, s, prev, cpu, now, b);
		if (prev->exit_state & EXIT_ZOMBIE)
			list_zombie(s, prev, now);
		release_slot(s, prev, index);
	}
}

/* The first event of a slot that was seeded while its owner ran: the account begins here. */
static __always_inline void take_in(struct ex_cpu *c, struct ex_slot *s, __u64 now)
{
	if (!is_timed(s->state))
		s->born = now;
	else
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
	cross(c, s, index, b, prev);
	take_in(c, s, now);
	switch_out(c, s, index, prev, preempt, prev_state, cpu, now, b);
}

/* Instants of the run queue's clock and of ours that are no further apart are the same. */
#define EX_CLOCKS_AGREE_NS 2000

/*
 * A task that comes onto a CPU without having been woken. The kernel's own note of when it was
 * queued ends its sleep, and what it counted of waits on other run queues before it was moved;
 * queued ever since it left, it was runnable all along: signal_pending_state() had cancelled the
 * block (fixed upstream in 6.16, 8feb053d5319). (For a throttled task there is no such note: it
 * counts as throttled until it runs.)
 */
static __always_inline void until_queued(struct ex_cpu *c, struct ex_slot *s,
					 struct task_struct *next, __u64 now)
{
	__u64 queued = 0;
	__s64 wait;

	if (bpf_core_field_exists(next->sched_info.last_queued))
		queued = next->sched_info.last_queued;
	if (queued) {
		queued += c->clock_offset;
		if (queued <= s->since + EX_CLOCKS_AGREE_NS)
			return;
	}
	count_error(EX_ERR_LOST_WAKEUP);
	if (!queued || queued > now)
		return;
	wait = unseen_wait(s, next);
	wait = now - queued + (wait > 0 ? wait : 0);
	if (wait >= (__s64)(now - s->since))
		return;
	charge_off_cpu(c, s, now - wait, s->state);
	s->since = now - wait;
}

/*
 * A task that is on a CPU already and whose wake-up was not seen: what the kernel counted of its
 * waits and we did not is how long it was queued before it arrived. Before that it slept.
 */
static __always_inline void until_arrived(struct ex_cpu *c, struct ex_slot *s,
					  struct task_struct *task, __u64 arrived)
{
	__s64 wait = unseen_wait(s, task);

	count_error(EX_ERR_LOST_WAKEUP);
	/* The kernel's clock and ours differ by some hundred ns. */
	if (wait < 0)
		wait = 0;
	if (arrived > s->since && wait < (__s64)(arrived - s->since)) {
		charge_off_cpu(c, s, arrived - wait, s->state);
		s->since = arrived - wait;
	}
	s->state = EX_LAT;
}

/* Cgroups are nested; deeper ones than this count as throttled until they run. */
#define EX_QUOTA_LEVELS 6

/*
 * A throttled task that comes onto a CPU was so until the last of its groups got a new quota; from
 * then on it waited for the CPU. Where the kernel does not let us see that instant, it counts as
 * throttled until it runs.
 */
static __always_inline void until_unthrottled(struct ex_cpu *c, struct ex_slot *s,
					      struct task_struct *next, __u64 now)
{
	struct sched_entity *se = &next->se;
	__u64 last = 0, *at, key;
	int i;

	for (i = 0; i < EX_QUOTA_LEVELS && se; i++) {
		key = (__u64)BPF_CORE_READ(se, cfs_rq);
		at = bpf_map_lookup_elem(&unthrottled, &key);
		if (at && *at > last)
			last = *at;
		se = BPF_CORE_READ(se, parent);
	}
	if (last <= s->since || last > now)
		return;
	charge_off_cpu(c, s, last, EX_THROTTLE);
	s->since = last;
	s->state = EX_LAT_PREEMPT;
}

static __always_inline void switch_in(struct ex_cpu *c, struct ex_slot *s, __u32 index,
				      struct task_struct *next, __u32 cpu, __u64 now,
				      struct boundary b)
{
	cross(c, s, index, b, next);
	if (is_timed(s->state)) {
		if (!is_waiting(s->state))
			until_queued(c, s, next, now);
		else if (sees_unthrottle && s->state == EX_THROTTLE &&
			 next->policy != SCHED_DEADLINE)
			until_unthrottled(c, s, next, now);
		charge_off_cpu(c, s, now, is_waiting(s->state) ? s->state : EX_LAT);
	} else {
		s->born = s->state == EX_SEED || !s->born ? now : s->born;
	}
	if (s->cum.dispatches && s->cpu != cpu)
		s->cum.migrations++;
	s->cum.dispatches++;
	s->cpu = cpu;
	s->since = now;
	s->state = EX_RUN;
	set_mode(s, next);
	s->sum_exec = next->se.sum_exec_runtime;
	c->arrived = now;
	if (is_watched(s))
		c->cum.watched_dispatches++;
}

/*
 * When the occupant of a CPU that is out of step can have left it, at the latest. `again`: for how
 * long it has been back.
 */
static __always_inline __u64 left_by(struct ex_cpu *c, struct ex_slot *s, __u64 at_most,
				     __u64 again)
{
	struct task_struct *task = (void *)s->task;
	__u64 ran = BPF_CORE_READ(task, se.sum_exec_runtime) - s->sum_exec;
	__u64 left = c->arrived + (ran > again ? ran - again : 0);

	if (left < c->since)
		return c->since;
	return left < at_most ? left : at_most;
}

/*
 * Takes a task off its CPU whose switch-out was not seen. Who is runnable by now either lost its
 * CPU then or slept and was woken: the kernel's note of when it was queued tells which. `back`: it
 * is on this CPU again, so nothing of what it looks like now is from then.
 */
static __always_inline void leave_unseen(struct ex_cpu *c, struct ex_slot *s, __u64 at, bool back)
{
	struct task_struct *task = (void *)s->task;
	struct boundary b = last_boundary(at);
	unsigned int state = back ? TASK_INTERRUPTIBLE : state_of(task);
	__u64 queued = 0;

	close_segment(c, s, NULL, at, b);
	s->kstate = state;
	s->state = off_cpu_state(false, state);
	/* Its slot goes when the kernel frees the task. */
	if (s->state == EX_DEAD) {
		if (s->counted != EX_UNCOUNTED)
			s->cum.missed += (__u32)(BPF_CORE_READ(task, nvcsw) +
						 BPF_CORE_READ(task, nivcsw) - s->counted);
		fold_late(c, s, task, s->cpu, at, b);
	}
	if (s->state != EX_LAT_PREEMPT)
		return;
	if (bpf_core_field_exists(task->sched_info.last_queued))
		queued = BPF_CORE_READ(task, sched_info.last_queued);
	if (!queued) {
		/* It runs somewhere: when it was queued is known where it arrives. */
		s->state = EX_SLEEP;
		return;
	}
	queued += c->clock_offset;
	if (queued <= at + EX_CLOCKS_AGREE_NS || queued > bpf_ktime_get_ns())
		return;
	s->state = EX_SLEEP;
	cross(c, s, c->cur, last_boundary(queued), NULL);
	charge_off_cpu(c, s, queued, EX_SLEEP);
	s->since = queued;
	s->state = EX_LAT;
}

static __always_inline void count_repair(struct ex_cpu *c, __u64 now)
{
	__u32 e = last_boundary(now).epoch;
	__u64 begin = READ_ONCE(boundary_t[(e - 1) & 1]), from = c->since;

	/* An idle CPU's last event may lie far before the window. */
	if (from < begin && begin < now)
		from = begin;
	count_error(EX_ERR_UNSEEN_SWITCH);
	__sync_fetch_and_add(&repaired_ns, now - from);
}

/*
 * The CPU is running something else than we think: at least one switch was not shown to us. A
 * kernel may hide what happens in the context of a task it protects, or skip a program. What it
 * kept itself says when: how much CPU time the one had, and when the other arrived.
 */
static __noinline int resync(struct ex_cpu *c, struct task_struct *task, __u64 now, __u32 cpu)
{
	struct ex_slot *s = NULL;
	__u64 arrived = 0;
	__u32 index;

	if (c->cur == EX_CUR_IDLE && !task->pid) {
		/* Somebody ran while we thought it idle, and nobody knows for how long. */
		count_error(EX_ERR_MISSED_SWITCH);
		return 0;
	}
	count_repair(c, now);
	if (task->pid && bpf_core_field_exists(task->sched_info.last_arrival))
		arrived = task->sched_info.last_arrival + c->clock_offset;
	if (!arrived || arrived > now)
		arrived = now;
	else if (arrived < c->since)
		arrived = c->since; /* it was here before our last event */
	if (c->cur < max_slots)
		s = slot_at(c->cur);
	if (s && s->task && s->state == EX_RUN && s->cpu == cpu) {
		bool back = s->task == (__u64)task;

		leave_unseen(c, s, left_by(c, s, arrived, back ? now - arrived : 0), back);
		c->cur = EX_CUR_UNNAMED;
	} else if (c->cur < max_slots) {
		/* It left and was seen elsewhere: nobody knows when. */
		c->cur = EX_CUR_UNNAMED;
		close_segment(c, NULL, NULL, arrived, last_boundary(arrived));
	}
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
		/* What it did meanwhile was not seen either. */
		s->split_run = 0;
		if (is_timed(s->state) && !is_waiting(s->state)) {
			cross(c, s, index, last_boundary(arrived), task);
			until_arrived(c, s, task, arrived);
		}
		switch_in(c, s, index, task, cpu, arrived, last_boundary(arrived));
		c->cur = index;
	}
	return 0;
}

/* Charges a CPU up to now, with whoever runs there, if that has a slot. */
static __always_inline struct ex_slot *charge_occupant(struct ex_cpu *c, struct task_struct *task,
						       __u32 cpu, __u64 now, struct boundary b,
						       bool at_switch)
{
	struct ex_slot *s;

	read_run_queue(c, task, now, at_switch);
	if (count_missed(c, task, at_switch) || !in_step(c, task))
		resync(c, task, now, cpu);
	s = occupant(c);
	close_segment(c, s, task, now, b);
	return s;
}

/*
 * A task that is freed and still has a slot: its last switch was not seen, or only as what
 * resync() made of it. What it executed in the present window is folded now. Where this
 * comes in the middle of another of our programs, its time shows as a residual instead.
 */
static __noinline int end_unseen(struct ex_cpu *c, struct ex_slot *s, struct task_struct *task,
				 __u32 index, bool nested)
{
	struct task_struct *current = bpf_get_current_task_btf();
	bool began = s->state != EX_NEW && s->state != EX_SEED;
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 now = not_before(bpf_ktime_get_ns(), c->since);
	struct boundary b = last_boundary(now);

	if (began && s->state != EX_DEAD) {
		count_error(EX_ERR_UNSEEN_SWITCH);
		cross(c, s, index, b, NULL);
		charge_off_cpu(c, s, now, s->state);
		s->since = now;
		if (!nested) {
			charge_occupant(c, current, cpu, now, b, false);
			fold_late(c, s, task, cpu, now, b);
		}
	}
	return 0;
}

#endif
