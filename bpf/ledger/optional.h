/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that are attached on request: user and system time, interrupt time. */
#ifndef EXACTOP_OPTIONAL_H
#define EXACTOP_OPTIONAL_H

#include "preempt.h"
#include "repair.h"
#include "vectors.h"

/* ---- user and system time ---- */

/* The running task changes between user and system mode. */
static __always_inline void change_mode(__u32 mode, bool syscall)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct ex_slot *s;
	__u64 now, depth;
	struct ex_cpu *c = enter_here(&depth);

	if (!c)
		return;
	c->events[EX_EV_MODE]++;
	s = own_slot(c, task);
	if (s && s->state == EX_RUN && !depth) {
		now = not_before(bpf_ktime_get_ns(), c->since);
		s = charge_occupant(c, task, bpf_get_smp_processor_id(), now, last_boundary(now),
				    false);
		if (!s)
			goto out;
		s->mode = mode;
		s->split_run = READ_ONCE(split_run);
		if (syscall)
			s->cum.syscalls++;
	}
out:
	leave(c, depth);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long id)
{
	stay();
	change_mode(EX_SYS, true);
	may_go();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long ret)
{
	stay();
	change_mode(EX_USR, false);
	may_go();
	return 0;
}

/* ---- interrupt time ---- */

static __always_inline bool is_ksoftirqd(struct task_struct *task)
{
	char name[8] = {};

	/* "ksoftirqd/N": no other kernel thread has a name that begins so (kernel/softirq.c). */
	if (!(task->flags & PF_KTHREAD))
		return false;
	bpf_probe_read_kernel(name, sizeof(name), task->comm);
	return name[0] == 'k' && name[1] == 's' && name[2] == 'o' && name[3] == 'f' &&
	       name[4] == 't' && name[5] == 'i' && name[6] == 'r' && name[7] == 'q';
}

/*
 * Only the outermost interrupt counts: a hard interrupt in a softirq is part of it. A softirq in
 * ksoftirqd is the time of that task, as in the kernel's own accounting.
 */
static __always_inline void interrupt_begins(bool soft)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());

	if (!c || is_lost(c, EX_EV_IRQ))
		return;
	c->events[EX_EV_IRQ]++;
	if (soft && !c->irq_depth && is_ksoftirqd(bpf_get_current_task_btf())) {
		/* Softirqs do not nest: the end of the last one was not seen. */
		if (c->irq_own)
			count_unseen_interrupt(c);
		c->irq_own = 1;
		return;
	}
	if (!c->irq_depth++)
		c->irq_since = bpf_ktime_get_ns();
}

static __always_inline void interrupt_ends(bool soft)
{
	struct ex_cpu *c = cpu_of(bpf_get_smp_processor_id());
	__u64 now, since;

	if (!c || is_lost(c, EX_EV_IRQ))
		return;
	c->events[EX_EV_IRQ]++;
	if (soft && !c->irq_depth && c->irq_own) {
		c->irq_own = 0;
		return;
	}
	if (!c->irq_depth) {
		/* The first seen event may be an end, also that of a softirq that lost the CPU. */
		if (!soft || !softirqs_lose_the_cpu())
			count_unseen_interrupt(c);
		return;
	}
	if (c->irq_depth > 1) {
		c->irq_depth--;
		return;
	}
	/*
	 * While the depth is not 0, a hard interrupt here is part of this one and leaves irq_since
	 * alone. After that it counts for itself, so this one's time ends before.
	 */
	since = READ_ONCE(c->irq_since);
	now = bpf_ktime_get_ns();
	barrier();
	*(volatile __u32 *)&c->irq_depth = 0;
	if (now > since)
		__sync_fetch_and_add(&c->irq_total, now - since);
}

#define MEASURE(vector)                                                        \
	SEC("?tp_btf/" #vector "_entry")                                       \
	int vector##_begins(void *ctx)                                         \
	{                                                                      \
		interrupt_begins(!__builtin_strcmp(#vector, "softirq"));       \
		return 0;                                                      \
	}                                                                      \
	SEC("?tp_btf/" #vector "_exit")                                        \
	int vector##_ends(void *ctx)                                           \
	{                                                                      \
		interrupt_ends(!__builtin_strcmp(#vector, "softirq"));         \
		return 0;                                                      \
	}

EX_VECTORS(MEASURE)

/* Bit 4 of x86's error code: an instruction fetch (arch/x86/include/asm/trap_pf.h). */
SEC("?tp_btf/page_fault_user")
int BPF_PROG(on_page_fault, unsigned long address, struct pt_regs *regs, unsigned long code)
{
	struct ex_slot *s = slot_here(bpf_get_current_task_btf());

	if (s)
		s->fault_text = !!(code & 16);
	return 0;
}

#endif
