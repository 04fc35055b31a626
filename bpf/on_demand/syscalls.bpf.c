/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts system calls: number, time and failures, by call, process or thread. Attached while a view
 * shows it.
 *
 * A call counts when it returns, or when its thread exits inside it. An iterator reports the calls
 * in flight at a window's end, so nothing is kept for the many sleeping threads.
 */
#include "preempt.h"
#include "syscalls.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before loading. */
const volatile enum ex_by by = EX_BY_CALL;
const volatile bool some_calls = false; /* only those in call_bits */
const volatile __u64 call_bits[16];

struct in_syscall {
	__u64 since;
	__s32 nr;
	__u32 in;
};

struct ex_open_syscall open_syscall_layout; /* for the reader's type */

OF_EACH_TASK(in_syscalls, struct in_syscall);
SUMS(syscalls, 65536, struct ex_syscall_key, struct ex_syscall_sum);
SUMS(failures, 16384, struct ex_failure_key, struct ex_failures);

static __always_inline bool is_asked_for(int nr)
{
	if (!some_calls)
		return true;
	return nr >= 0 && nr < 1024 && (call_bits[nr >> 6] >> (nr & 63)) & 1;
}

static __always_inline void key_of(struct ex_syscall_key *key, struct task_struct *task, int nr)
{
	key->nr = nr;
	if (by != EX_BY_CALL)
		key->tgid = task->tgid;
	if (by == EX_BY_THREAD)
		key->tid = task->pid;
	else
		key->cpu = bpf_get_smp_processor_id();
}

static __always_inline struct ex_syscall_sum *sum_of(struct task_struct *task, int nr)
{
	struct ex_syscall_key key = {};
	struct ex_syscall_sum none = {};

	key_of(&key, task, nr);
	return FIND_OR_LOSE(syscalls, &key, &none);
}

/* Counts a failure by its error number. */
static __always_inline void count_failure(struct task_struct *task, int nr, __u32 error)
{
	struct ex_failure_key key = {.error = error};
	struct ex_failures none = {}, *sum;

	key_of(&key.call, task, nr);
	sum = FIND_OR_LOSE(failures, &key, &none);
	if (sum)
		sum->count++;
}

static __always_inline void name(struct ex_syscall_sum *sum, struct task_struct *task)
{
	if (by != EX_BY_CALL)
		note_names(&sum->names, task);
}

/* Counts a call; `error` is its errno, 0: none. */
static __always_inline void count(struct task_struct *task, int nr, __u32 error, __u64 since)
{
	struct ex_syscall_sum *sum = sum_of(task, nr);
	__u64 ns = since ? bpf_ktime_get_ns() - since : 0;

	if (!sum)
		return;
	sum->calls++;
	if (error) {
		sum->errors++;
		count_failure(task, nr, error);
	}
	if (!since)
		sum->untimed++;
	sum->total_ns += ns;
	if (note_greatest(&sum->longest, ns))
		name(sum, task);
}

/* Counts a call whose return was not shown: its time and result are unknown. */
static __always_inline void never_returned(struct task_struct *task, struct in_syscall *in)
{
	__sync_fetch_and_add(&unseen, 1);
	count(task, in->nr, 0, 0);
}

static __always_inline void enters(struct task_struct *task, int nr)
{
	struct in_syscall *in;

	if (!is_asked_for(nr) || !is_chosen(task))
		return;
	in = bpf_task_storage_get(&in_syscalls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!in)
		return; /* its return counts as untimed */
	if (in->in)
		never_returned(task, in);
	in->nr = nr;
	in->in = 1;
	in->since = bpf_ktime_get_ns();
}

static __always_inline void returns(struct task_struct *task, struct pt_regs *regs, long ret)
{
	struct in_syscall *in = bpf_task_storage_get(&in_syscalls, task, 0, 0);
	__u32 error = ret < 0 && ret >= -4095 ? -ret : 0;
	int nr = numbered(task, regs->orig_ax);

	if (in && in->in) {
		in->in = 0;
		/*
		 * rt_sigreturn() has set orig_ax to -1; a 64-bit program may have started a 32-bit
		 * one.
		 */
		if (nr < 0 || !((nr ^ in->nr) & ~EX_NR_COMPAT)) {
			count(task, in->nr, error, in->since);
			return;
		}
		never_returned(task, in);
	}
	if (nr >= 0 && is_asked_for(nr) && is_chosen(task))
		count(task, nr, error, 0);
}

/*
 * Stands before the program at the entry and so is attached first: no return of a seen call is
 * missed.
 */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs *regs, long ret)
{
	if (is_hidden())
		return 0;
	stay();
	returns(bpf_get_current_task_btf(), regs, ret);
	may_go();
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (is_hidden())
		return 0;
	stay();
	enters(task, numbered(task, id));
	may_go();
	return 0;
}

/* exit() and exit_group() do not return. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	struct in_syscall *in = bpf_task_storage_get(&in_syscalls, task, 0, 0);

	if (in && in->in) {
		in->in = 0;
		count(task, in->nr, 0, in->since);
	}
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(on_dispatch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct ex_syscall_sum *sum;

	if (!next->pid || !is_chosen(next))
		return 0;
	sum = sum_of(next, EX_NR_DISPATCH);
	if (sum && note_greatest(&sum->longest, 0))
		name(sum, next);
	if (sum)
		sum->calls++;
	return 0;
}

/* Reports the calls in flight. */
SEC("iter/task")
int open_syscalls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ex_open_syscall open = {};
	struct pt_regs *regs;
	struct in_syscall *in;
	unsigned int state;

	if (!task || (task->flags & (PF_KTHREAD | PF_IO_WORKER)) || task->exit_state)
		return 0;
	if (!is_chosen(task))
		return 0;
	in = bpf_task_storage_get(&in_syscalls, task, 0, 0);
	if (in && in->in) {
		open.since = in->since;
		open.nr = in->nr;
	} else if (in) {
		return 0;
	} else {
		/* Asleep since before the attach: only the registers of a sleeper do not change. */
		state = task->__state;
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		if (!state || !regs)
			return 0;
		open.nr = numbered(task, regs->orig_ax);
		if (open.nr < 0 || !is_asked_for(open.nr))
			return 0;
	}
	open.now = bpf_ktime_get_ns();
	TELL_OF(task, &open, ctx);
	return 0;
}
