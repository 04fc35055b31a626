/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Logs every switch and every wake-up, for drawing. Attached during a recording; events without
 * room are counted for each CPU.
 */
#include "on_demand.h"
#include "fields.h"
#include "on_switch.h"
#include "state.h"
#include "switchlog.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct ex_logged *unused_logged __attribute__((unused));

/* The reader sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* A record with the fields that both kinds have. */
static __always_inline struct ex_logged *begin(enum ex_logged_kind kind, struct task_struct *prev,
					       struct task_struct *next)
{
	struct ex_logged *record = bpf_ringbuf_reserve(&events, sizeof(struct ex_logged), 0);

	if (!record) {
		count_lost();
		return NULL;
	}
	record->at = bpf_ktime_get_boot_ns();
	record->kind = kind;
	record->cpu = bpf_get_smp_processor_id();
	record->prev_tid = prev->pid;
	record->prev_prio = field_by_size(prev, prio);
	record->prev_state = 0;
	record->preempt = 0;
	record->target_cpu = 0;
	record->next_tid = next->pid;
	record->next_tgid = next->tgid;
	record->next_ppid = next->real_parent->tgid;
	record->pad = 0;
	record->next_prio = field_by_size(next, prio);
	bpf_probe_read_kernel(record->next_comm, sizeof(record->next_comm), next->comm);
	return record;
}

static __always_inline int switched(bool preempt, struct task_struct *prev,
				    struct task_struct *next, unsigned int prev_state)
{
	struct ex_logged *record = begin(EX_LOG_SWITCH, prev, next);

	if (!record)
		return 0;
	record->prev_state = prev_state | prev->exit_state;
	record->preempt = preempt;
	/* The reader polls: waking it for each record would be a switch of its own. */
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

ON_SWITCH(switched)

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct ex_logged *record = begin(EX_LOG_WAKING, bpf_get_current_task_btf(), p);

	if (!record)
		return 0;
	record->target_cpu = record->cpu;
	if (bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		record->target_cpu = p->se.cfs_rq->rq->cpu;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
