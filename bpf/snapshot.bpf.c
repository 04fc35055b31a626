/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everyone's own counters in one read, but only of those that did something since the read before.
 * Nothing is attached: the kernel counts anyway, and between two reads this costs nothing.
 *
 * What is on a CPU is credited with the time since the kernel last counted, up to `at`, the same
 * instant for all. The kernel counts on the run queues' clocks; `clock_offset` comes from the
 * reader's own run queue, whose clock the reader has just had updated.
 */
#include "identity.h"
#include "state.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile bool cgroup_of_cpu_controller = false;

/* The instant of this read on CLOCK_MONOTONIC; set by the reader. */
volatile __u64 at;
/* Tasks there are, tasks without memory for what was shown of them; of this read. */
volatile __u64 alive;
volatile __u64 unknown;

__u64 last_serial;
__u64 clock_offset;

/* A credit of more than this is a clock that was read while it changed. */
#define EX_MOST_CREDIT 10000000000ull

/* A CPU that is not known. */
#define EX_NO_CPU 0xffffffffu

/* What was shown of a task. */
struct shown {
	__u64 serial; /* its account */
	__u64 sum_exec;
	__u64 switches;
	__u64 run;
	__u64 of_children;
	__u32 state;
	__u32 was_on_cpu;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct shown);
} shown SEC(".maps");

/* A task that did something. */
struct ex_shot {
	struct ex_ident id;
	__u64 serial;
	__u64 run;
	__u64 utime; /* as the kernel samples or measures it */
	__u64 stime;
	__u64 run_delay; /* the present wait included */
	__u64 dispatches;
	__u64 vcx;
	__u64 icx;
	__u64 min_flt;
	__u64 maj_flt;
	__u64 migrations;
	__u64 cutime; /* of the process, told by its leader */
	__u64 cstime;
	__u32 state; /* enum ex_state */
	__u32 kstate; /* its bits; exit_state of the dead */
	__u32 cpu;
	__u32 spare;
};

/* A task that is there. */
struct ex_there {
	__u64 serial;
};

struct ex_shot *unused_shot __attribute__((unused));
struct ex_there *unused_there __attribute__((unused));

/* Since the kernel last counted, for a task on a CPU. */
static __always_inline __u64 credit(struct task_struct *task, __u64 now)
{
	struct rq *rq;
	__u64 behind, credit;

	if (!bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		return 0;
	rq = task->se.cfs_rq->rq;
	/* Interrupts and steal are not on the clock that tasks are charged by. */
	behind = rq->clock - rq->clock_task;
	credit = now - clock_offset - behind - task->se.exec_start;
	return credit < EX_MOST_CREDIT ? credit : 0;
}

/* The wait for a CPU that has not ended. */
static __always_inline __u64 present_wait(struct task_struct *task, __u64 now)
{
	__u64 queued = task->sched_info.last_queued, wait;

	if (!queued || task->on_cpu)
		return 0;
	wait = now - clock_offset - queued;
	return wait < EX_MOST_CREDIT * 1000 ? wait : 0;
}

static __always_inline void set_clock(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		clock_offset = bpf_ktime_get_ns() - me->se.cfs_rq->rq->clock;
}

static __always_inline __u32 ex_state_of(struct task_struct *task, __u32 kstate)
{
	__u32 state;

	if (task->exit_state)
		return EX_DEAD;
	if (task->on_cpu)
		return EX_RUN;
	state = off_cpu_state(false, kstate);
	return state == EX_LAT_PREEMPT ? EX_LAT : state;
}

static __always_inline void shoot(struct ex_shot *shot, struct task_struct *task,
				  struct shown *s, __u64 now)
{
	identify(&shot->id, task);
	shot->serial = s->serial;
	shot->utime = task->utime;
	shot->stime = task->stime;
	shot->run_delay = task->sched_info.run_delay + present_wait(task, now);
	shot->dispatches = task->sched_info.pcount;
	shot->vcx = task->nvcsw;
	shot->icx = task->nivcsw;
	shot->min_flt = task->min_flt;
	shot->maj_flt = task->maj_flt;
	shot->migrations = task->se.nr_migrations;
	if (task->pid == task->tgid) {
		shot->cutime = task->signal->cutime;
		shot->cstime = task->signal->cstime;
	}
	shot->cpu = EX_NO_CPU;
	if (bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq))
		shot->cpu = task->se.cfs_rq->rq->cpu;
	/* Never back: the clocks are read a little apart. */
	shot->run = s->sum_exec + (task->on_cpu ? credit(task, now) : 0);
	if (shot->run < s->run)
		shot->run = s->run;
	s->run = shot->run;
}

SEC("iter/task")
int changed(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct seq_file *seq = ctx->meta->seq;
	struct shown *s;
	__u64 switches, sum_exec, of_children = 0, now = at;
	__u32 kstate, state, on_cpu;

	if (ctx->meta->seq_num == 0) {
		alive = 0;
		unknown = 0;
		set_clock();
	}
	if (!task || !task->pid)
		return 0;
	s = bpf_task_storage_get(&shown, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!s) {
		unknown++;
		return 0;
	}
	alive++;
	kstate = task->exit_state ? task->exit_state : state_of(task);
	state = ex_state_of(task, kstate);
	switches = task->nvcsw + task->nivcsw;
	sum_exec = task->se.sum_exec_runtime;
	on_cpu = task->on_cpu;
	/* Any of its threads may have waited for a child. */
	if (task->pid == task->tgid)
		of_children = task->signal->cutime + task->signal->cstime;
	if (s->serial && s->sum_exec == sum_exec && s->switches == switches &&
	    s->state == state && s->of_children == of_children && !on_cpu && !s->was_on_cpu)
		return 0;
	/* Not before: most tasks did nothing. */
	struct ex_shot shot = {};

	if (!s->serial)
		s->serial = ++last_serial;
	s->sum_exec = sum_exec;
	s->switches = switches;
	s->state = state;
	s->of_children = of_children;
	s->was_on_cpu = on_cpu;
	shoot(&shot, task, s, now);
	shot.state = state;
	shot.kstate = kstate;
	/* A full buffer makes the kernel call again for the same task: it must not look unchanged. */
	if (bpf_seq_write(seq, &shot, sizeof(shot))) {
		s->was_on_cpu = 1;
		alive--;
	}
	return 0;
}

/* Everyone who is there, to find out who is not any more. */
SEC("iter/task")
int there(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ex_there one = {};
	struct shown *s;

	if (!task || !task->pid)
		return 0;
	s = bpf_task_storage_get(&shown, task, 0, 0);
	if (!s || !s->serial)
		return 0;
	one.serial = s->serial;
	bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	return 0;
}
