/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts context switches of each thread by the reason for leaving its CPU. The kernel counts a
 * task's switch just before it shows it, so the sum over all reasons equals the kernel's count.
 * Attached while a view shows it.
 */
#include "lock_calls.h"
#include "on_switch.h"
#include "switches.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ENOSYS 38
#define NR_SCHED_YIELD 24
#define NR_SCHED_YIELD_32 (158 | EX_NR_COMPAT)

struct pt_regs___result {
	unsigned long ax;
} __attribute__((preserve_access_index));

SUMS(switches, 16384, struct ex_switch_key, struct ex_switches);

/*
 * True if the task is in sched_yield(2). The kernel keeps -ENOSYS in place of the result until the
 * call has one: a task that is preempted on its way back to user mode already has a result.
 */
static __always_inline bool is_yielding(struct task_struct *task)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	int nr;

	if (!regs)
		return false;
	nr = numbered(task, regs->orig_ax);
	if (nr != NR_SCHED_YIELD && nr != NR_SCHED_YIELD_32)
		return false;
	return (long)((struct pt_regs___result *)regs)->ax == -ENOSYS;
}

static __always_inline int handle_switch(bool preempt, struct task_struct *prev,
					 struct task_struct *next, unsigned int state)
{
	struct ex_switch_key key = {.tgid = prev->tgid, .tid = prev->pid};
	struct ex_switches none = {}, *sum;

	if (!prev->pid || !is_chosen(prev) || is_hidden())
		return 0;
	sum = FIND_OR_LOSE(switches, &key, &none);
	if (!sum)
		return 0;
	note_names(&sum->names, prev);
	if (preempt)
		sum->preempted++;
	else if (state & TASK_DEAD)
		sum->exited++;
	else if (state)
		sum->blocked++;
	else if (is_yielding(prev))
		sum->yielded++;
	else
		sum->preempted++;
	return 0;
}

ON_SWITCH(handle_switch)
