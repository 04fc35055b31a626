/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls: how often, how long, how many failed, by call, process or thread. Attached while
 * someone looks.
 *
 * A call counts when it returns, or when its thread exits in it. Who is in a call when a window
 * ends is told by an iterator, so nothing is kept for the many that sleep.
 */
#include "preempt.h"
#include "syscalls.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before load. */
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

static __always_inline bool is_asked_for(int nr)
{
	if (!some_calls)
		return true;
	return nr >= 0 && nr < 1024 && (call_bits[nr >> 6] >> (nr & 63)) & 1;
}

static __always_inline int numbered(struct task_struct *task, long id)
{
	int nr = id;

	if (bpf_core_field_exists(task->thread_info.status) &&
	    (task->thread_info.status & TS_COMPAT) && nr >= 0)
		nr |= EX_NR_COMPAT;
	return nr;
}

static __always_inline struct ex_syscall_sum *sum_of(struct task_struct *task, int nr)
{
	struct ex_syscall_key key = {.nr = nr};
	struct ex_syscall_sum none = {};

	if (by != EX_BY_CALL)
		key.tgid = task->tgid;
	if (by == EX_BY_THREAD)
		key.tid = task->pid;
	else
		key.cpu = bpf_get_smp_processor_id();
	return find_or_lose(&syscalls, &key, &none);
}

static __always_inline void name(struct ex_syscall_sum *sum, struct task_struct *task)
{
	struct task_struct *named = by == EX_BY_PROCESS ? task->group_leader : task;

	if (by != EX_BY_CALL)
		bpf_probe_read_kernel_str(sum->comm, sizeof(sum->comm), named->comm);
}

static __always_inline void count(struct task_struct *task, int nr, bool failed, __u64 since)
{
	struct ex_syscall_sum *sum = sum_of(task, nr);
	__u64 ns = since ? bpf_ktime_get_ns() - since : 0;

	if (!sum)
		return;
	sum->calls++;
	if (failed)
		sum->errors++;
	if (!since)
		sum->untimed++;
	sum->total_ns += ns;
	if (note_greatest(&sum->longest, ns) || !sum->comm[0])
		name(sum, task);
}

static __always_inline void enters(struct task_struct *task, int nr)
{
	struct in_syscall *in;

	if (!is_asked_for(nr) || !is_chosen(task))
		return;
	in = bpf_task_storage_get(&in_syscalls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!in)
		return; /* its return counts as untimed */
	in->nr = nr;
	in->in = 1;
	in->since = bpf_ktime_get_ns();
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task = bpf_get_current_task_btf();

	stay();
	enters(task, numbered(task, id));
	may_go();
	return 0;
}

static __always_inline void returns(struct task_struct *task, struct pt_regs *regs, long ret)
{
	struct in_syscall *in = bpf_task_storage_get(&in_syscalls, task, 0, 0);
	bool failed = ret < 0 && ret >= -4095;
	int nr;

	if (in && in->in) {
		/* Not regs->orig_ax: rt_sigreturn() has set that to -1. */
		in->in = 0;
		count(task, in->nr, failed, in->since);
		return;
	}
	nr = numbered(task, regs->orig_ax);
	if (nr >= 0 && is_asked_for(nr) && is_chosen(task))
		count(task, nr, failed, 0);
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_return, struct pt_regs *regs, long ret)
{
	stay();
	returns(bpf_get_current_task_btf(), regs, ret);
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
		count(task, in->nr, false, in->since);
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
	if (sum && (note_greatest(&sum->longest, 0) || !sum->comm[0]))
		name(sum, next);
	if (sum)
		sum->calls++;
	return 0;
}

/* Who is in a call now. */
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
		/* Asleep since before we looked: only a sleeper's registers are at rest. */
		state = bpf_core_field_exists(task->__state) ? task->__state : 0;
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
		if (!state || !regs)
			return 0;
		open.nr = numbered(task, regs->orig_ax);
		if (open.nr < 0 || !is_asked_for(open.nr))
			return 0;
	}
	TELL_OF(task, &open, ctx);
	return 0;
}
