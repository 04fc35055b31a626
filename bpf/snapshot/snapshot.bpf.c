/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads the kernel's counters of all tasks that changed since the last read. Nothing is attached:
 * the kernel counts anyway, and between two reads this costs nothing.
 *
 * A running task also gets the time since the kernel's last count, up to `at`, the same instant for
 * all. The kernel counts on the run queues' clocks. `clock_offset` comes from the reader's own run
 * queue, whose clock the reader has just updated.
 */
#include "snapshot.h"
#include "state.h"

#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile bool cgroup_of_cpu_controller = false;

/* The instant of this read on CLOCK_MONOTONIC; set by the reader. */
volatile __u64 at;
/* Number of this read, from 1; set by the reader. */
volatile __u64 read_no;
/* Number of existing tasks, and of tasks without memory for their last state; of this read. */
volatile __u64 alive;
volatile __u64 unknown;
/* Number of records that `walk` left in `shots`, and of records without room. */
volatile __u64 taken;
volatile __u64 left;

__u64 last_serial;
__u64 clock_offset;

/* A larger credit comes from a clock that was read while it changed. */
#define EX_MOST_CREDIT 10000000000ull

/* The last reported state of a task. */
struct shown {
	__u64 serial; /* its account */
	__u64 sum_exec;
	__u64 switches;
	__u64 run;
	__u64 of_children;
	__u32 state;
	__u32 was_on_cpu;
	__u64 read_no; /* the last read that reported it */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct shown);
} shown SEC(".maps");

struct ex_shot *unused_shot __attribute__((unused));
struct ex_there *unused_there __attribute__((unused));

/* Time since the kernel's last count, for a task on a CPU. */
static __always_inline __u64 credit(struct task_struct *task, __u64 now)
{
	struct rq *rq;
	__u64 behind, credit;

	if (!has_run_queues())
		return 0;
	rq = run_queue_of(task);
	/* The clock by which tasks are charged leaves out interrupts and steal. */
	behind = rq->clock - rq->clock_task;
	credit = now - clock_offset - behind - task->se.exec_start;
	return credit < EX_MOST_CREDIT ? credit : 0;
}

/* The present wait for a CPU. */
static __always_inline __u64 present_wait(struct task_struct *task, __u64 now)
{
	__u64 queued = task->sched_info.last_queued, wait;

	if (!queued || is_on_cpu(task))
		return 0;
	wait = now - clock_offset - queued;
	return wait < EX_MOST_CREDIT * 1000 ? wait : 0;
}

static __always_inline void set_clock(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (has_run_queues())
		clock_offset = bpf_ktime_get_ns() - run_queue_of(me)->clock;
}

static __always_inline __u32 ex_state_of(struct task_struct *task, __u32 kstate)
{
	__u32 state;

	if (task->exit_state)
		return EX_DEAD;
	if (is_on_cpu(task))
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
		shot->cutime = to_read(task)->signal->cutime;
		shot->cstime = to_read(task)->signal->cstime;
	}
	shot->cpu = EX_NO_CPU;
	if (has_run_queues())
		shot->cpu = run_queue_of(task)->cpu;
	/* Never runs backwards: the clocks are read a little apart. */
	shot->run = s->sum_exec + (is_on_cpu(task) ? credit(task, now) : 0);
	if (shot->run < s->run)
		shot->run = s->run;
	s->run = shot->run;
}

/*
 * Tasks that were on a CPU at the last read, by hashed bits: they ran on after it without a new
 * arrival. A bit shared by two tasks costs only a closer look.
 */
#define EX_BITS 1024
__u64 on_cpu_bits[2][EX_BITS / 64];
/* Clock of the reader's run queue at this read and the one before. */
__u64 read_clock[2];
__u64 last_read;

/* Largest difference between the clocks of run queues. */
#define EX_CLOCKS_APART 100000000ull

static __always_inline __u64 *on_cpu_word(struct task_struct *task, __u64 no)
{
	return &on_cpu_bits[no & 1][(task->pid & (EX_BITS - 1)) / 64];
}

static __always_inline __u64 on_cpu_bit(struct task_struct *task)
{
	return 1ull << (task->pid & 63);
}

/* True if a task surely did nothing since the last read, by fields that lie next to each other. */
static __always_inline bool did_nothing(struct task_struct *task)
{
	__u64 arrived, since = read_clock[(read_no - 1) & 1];

	if (!bpf_core_field_exists(task->sched_info.last_arrival))
		return false;
	arrived = task->sched_info.last_arrival;
	if (!arrived || arrived + EX_CLOCKS_APART >= since || task->sched_info.last_queued)
		return false;
	if (is_on_cpu(task) || *on_cpu_word(task, read_no - 1) & on_cpu_bit(task))
		return false;
	/* Other tasks freeze and thaw a task. */
	if (task->__state & TASK_FROZEN || !task->__state)
		return false;
	/* With more threads, one of them may have waited for a child. */
	return to_read(task)->thread_node.next == to_read(task)->thread_node.prev;
}

/*
 * The task being read. It is not on the stack, because the verifier would distinguish each path
 * through the loop of `walk` by the stack's content.
 */
struct look {
	__u64 switches;
	__u64 sum_exec;
	__u64 of_children;
	__u32 kstate;
	__u32 state;
	__u32 on_cpu;
	__u32 spare;
};
struct look look;

static __always_inline void begin(void)
{
	alive = 0;
	unknown = 0;
	set_clock();
}

/* The stored state of a task, if there is anything to report. */
static __always_inline struct shown *did_something(struct task_struct *task)
{
	struct shown *s = bpf_task_storage_get(&shown, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!s) {
		unknown++;
		return NULL;
	}
	alive++;
	look.kstate = task->exit_state ? task->exit_state : state_of(task);
	look.state = ex_state_of(task, look.kstate);
	look.switches = task->nvcsw + task->nivcsw;
	look.sum_exec = task->se.sum_exec_runtime;
	look.on_cpu = is_on_cpu(task);
	look.of_children = 0;
	/* Any of its threads may have waited for a child. */
	if (task->pid == task->tgid)
		look.of_children =
			to_read(task)->signal->cutime + to_read(task)->signal->cstime;
	if (!s->serial || s->sum_exec != look.sum_exec || s->switches != look.switches ||
	    s->state != look.state || s->of_children != look.of_children || look.on_cpu ||
	    s->was_on_cpu)
		return s;
	return NULL;
}

static __always_inline void tell(struct ex_shot *shot, struct shown *s, struct task_struct *task)
{
	if (!s->serial)
		s->serial = ++last_serial;
	s->sum_exec = look.sum_exec;
	s->switches = look.switches;
	s->state = look.state;
	s->of_children = look.of_children;
	s->was_on_cpu = look.on_cpu;
	s->read_no = read_no;
	shoot(shot, task, s, at);
	shot->state = look.state;
	shot->kstate = look.kstate;
}

SEC("iter/task")
int changed(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct shown *s;

	if (ctx->meta->seq_num == 0)
		begin();
	if (!task || !task->pid)
		return 0;
	s = did_something(task);
	if (!s)
		return 0;
	/* Zeroed only here: most tasks did nothing. */
	struct ex_shot shot = {};

	tell(&shot, s, task);
	/*
	 * With a full buffer the kernel calls again for the same task: it must not look unchanged.
	 */
	if (bpf_seq_write(ctx->meta->seq, &shot, sizeof(shot))) {
		s->was_on_cpu = 1;
		alive--;
	}
	return 0;
}

/*
 * The same on kernels that let a program walk the tasks itself (6.7). It takes a quarter of the
 * time, because it touches no task's reference count. Records without room are left for another
 * walk of the same read.
 */
#define EX_SHOTS 1024

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, EX_SHOTS);
	__type(key, __u32);
	__type(value, struct ex_shot);
} shots SEC(".maps");

/* include/linux/bpf.h, kernel/bpf/task_iter.c */
struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));
#define EX_ALL_THREADS 1

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
			     unsigned int flags) __ksym __weak;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;

/* The next walk of the same read uses the same instants. */
static __always_inline void set_read_clock(void)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (last_read == read_no)
		return;
	last_read = read_no;
	read_clock[read_no & 1] = 0;
	if (has_run_queues())
		read_clock[read_no & 1] = run_queue_of(me)->clock;
	__builtin_memset(on_cpu_bits[read_no & 1], 0, sizeof(on_cpu_bits[0]));
}

static __always_inline void walk_to(struct task_struct *task)
{
	struct ex_shot *shot;
	struct shown *s;
	__u32 next = taken;

	if (!task->pid)
		return;
	if (did_nothing(task)) {
		alive++;
		return;
	}
	s = did_something(task);
	if (!s)
		return;
	if (look.on_cpu)
		*on_cpu_word(task, read_no) |= on_cpu_bit(task);
	if (s->read_no == read_no)
		return;
	shot = bpf_map_lookup_elem(&shots, &next);
	if (!shot) {
		left++;
		return;
	}
	__builtin_memset(shot, 0, sizeof(*shot));
	tell(shot, s, task);
	taken++;
}

SEC("syscall")
int walk(void *ctx)
{
	struct bpf_iter_task it;
	struct task_struct *task;

	begin();
	taken = 0;
	left = 0;
	set_read_clock();
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, NULL, EX_ALL_THREADS);
	while ((task = bpf_iter_task_next(&it)))
		walk_to(task);
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	return 0;
}

/* Lists all existing tasks, so that the reader finds those that ended. */
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
