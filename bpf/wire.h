/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wire format between the ledger's programs and their reader.
 *
 * The Rust side gets these types from the BTF of the compiled object, so a field is declared only
 * here; both sides assert the sizes. The reader maps the maps of these types into memory.
 */
#ifndef EXACTOP_WIRE_H
#define EXACTOP_WIRE_H

#include "identity.h"

/*
 * The state of a task. A timed state is also the index of its time in ex_cum.ns. STEAL and IRQ have
 * an index there too: their time is taken from the time on a CPU. A task on a CPU is in EX_RUN; its
 * time goes to EX_USR or EX_SYS while the split is measured.
 */
enum ex_state {
	EX_FREE = 0, /* the slot has no owner */
	EX_RUN = 1,
	EX_STEAL = 2,
	EX_IRQ = 3,
	EX_LAT = 4, /* waiting for a CPU since the call that woke it */
	EX_SLEEP = 5,
	EX_BLOCK = 6,
	EX_STOP = 7,
	EX_LAT_PREEMPT = 8, /* waiting for a CPU after losing it */
	EX_LOCK = 9,	    /* asleep on a user-level lock */
	EX_TEXT_FAULT = 10, /* asleep in a page fault on an instruction */
	EX_DATA_FAULT = 11, /* asleep in any other page fault */
	EX_THROTTLE = 12,   /* runnable, but its cgroup's quota is used up */
	EX_USR = 13,
	EX_SYS = 14,
	EX_NS = 16,
	/* In ex_cum.ns alone: waits, and throttled time, that are in the blame book. */
	EX_BOOKED = 0,
	EX_BOOKED_THROTTLE = 15,
	EX_NEW = 16,  /* forked, not yet woken for the first time */
	EX_SEED = 17, /* found by the iterator, no event seen yet */
	EX_DEAD = 18  /* its last switch is over */
};

/* The state of a CPU that does not run the owner of a slot. */
enum ex_cur {
	EX_CUR_OFFLINE = 0xfffffffd,
	EX_CUR_UNNAMED = 0xfffffffe,
	EX_CUR_IDLE = 0xffffffff
};

/* Flags in ex_slot.cpu beside the number (ledger/writer.h). */
enum ex_cpu_word {
	EX_CPU_NUMBER = 0x3fffffff,
	EX_CPU_FREED = 0x40000000,  /* the owner was freed meanwhile */
	EX_CPU_LEAVING = 0x80000000 /* that CPU is taking the owner off, unseen */
};

/* Cumulative figures of a task: nanoseconds and counts. Those of each switch come first. */
struct ex_cum {
	__u64 ns[EX_NS];
	__u64 utime; /* task_struct.utime, tick-sampled */
	__u64 stime;
	__u64 min_flt; /* task_struct.min_flt */
	__u64 maj_flt;
	__u64 dispatches;
	__u64 vcx;
	__u64 icx;
	__u64 wakeups;
	__u64 given;   /* wake-ups given to others */
	__u32 missed;  /* switches of the task that the kernel counted and did not show */
	__u32 repairs; /* repairs of the task; of a group: repaired tasks */
	/*
	 * The audit (ledger/audit.h): our figure less the kernel's, without the clocks' difference
	 * over the same events (error), and that difference (bias). Signed; a group sums them
	 * without their sign.
	 */
	__s64 run_error;
	__s64 run_bias;
	__s64 lat_error;
	__s64 lat_bias;
	__u64 migrations;
	__u64 signals;	/* delivered to a handler or default action */
	__u64 syscalls; /* while the split is measured */
};

/* The kernel's own counts of a task, from before its account. */
struct ex_before {
	__u64 utime;
	__u64 stime;
	__u64 min_flt;
	__u64 maj_flt;
};

/* Cumulative figures of a task that no sum has: what became of its waits. */
struct ex_wait_cum {
	__u64 sized;  /* those in the histograms, ns */
	__u64 brief;  /* booked ones that are too short for a culprit, ns */
	__u64 briefs; /* and their number */
};

/*
 * A task. It has one writer at a time: its CPU or, while it is off CPU, the CPU that wakes or picks
 * it. The scheduler's own locks order them; ledger/writer.h covers the rest.
 *
 * `snap` is `cum` as of the boundary of `epoch`, and `snap_waits` is `waits`. A writer that crosses a
 * boundary stores snap, epoch, cum in this order. So a reader that finds the boundary's epoch takes
 * snap. If it finds an older epoch before and after its copy, it takes cum and adds the time since
 * `since`.
 *
 * What each switch needs comes first, up to cum.lat_bias: on a quiet machine each cache line is a
 * miss.
 */
struct ex_slot {
	__u64 task;  /* address of the task_struct; 0: free */
	__u64 since; /* time up to which `state` is charged */
	__u32 epoch;
	__u32 state;
	__u32 cpu;
	__u32 kstate; /* prev_state of the last switch-out; exit_state when dead */
	__u64 set;    /* address of the css_set from which its cgroup was read */
	__u64 serial;	    /* never reused */
	__u64 exec_offset;  /* at the last look: sum_exec_runtime less its time on CPUs here */
	__u64 delay_offset; /* at the last look: sched_info.run_delay less its waits here */
	__u64 sum_exec;	    /* sum_exec_runtime at the last switch-in */
	__s64 queue_offset; /* begin of its wait here, less its begin in the run queue */
	__u64 wait_began;   /* begin of its wait here */
	__u64 woken_at; /* woken while it was still leaving its CPU; 0: not */
	__u32 counted;	/* nvcsw + nivcsw at its last switch-out */
	__u32 arrivals; /* sched_info.pcount at the begin of its wait */
	__u32 split_run;
	__s32 wait_nr; /* the system call it sleeps in; -1: none */
	__u8 mode;     /* EX_USR or EX_SYS, if split_run is the present one */
	__u8 fault_text; /* its last page fault was on an instruction */
	__u16 party; /* number of its party in the blame book; 0: none */
	__u32 tree; /* the followed tree that it belongs to; 0: none; inherited */
	struct ex_wait_cum waits;
	struct ex_cum cum;
	struct ex_cum snap;
	struct ex_wait_cum snap_waits;
	struct ex_before before; /* 0 if the account began with the task, or when the ledger did */
	struct ex_ident id;	 /* its cgroup changes with `set` */
	__u64 born;		 /* begin of the account */
	__u64 snap_cgroup;
	__u32 snap_cpu;
	__u32 snap_kstate;
	__u32 exit_flags;
	__u16 snap_party;
	__u16 snap_state;
};

/* A process whose children begin a followed tree. */
struct ex_followed {
	__u64 start; /* of its leader; 0: the process that has this number */
	__u32 tgid;
	__u32 tree; /* number of the tree, which no other tree has; 0: no entry */
};

enum ex_follows { EX_FOLLOWED_MOST = 16 };

#define EX_EXIT_WHOLE 1 /* the whole process ends */
#define EX_EXIT_LAST 2	/* this task stands for the process in the count of exited ones */
#define EX_EXIT_NOTED 4 /* the first flag is valid; and the second, if its exit was shown */
#define EX_EXIT_COUNTED 8 /* of a leader: another task stands for the process */
#define EX_EXIT_ALONE 16  /* its parent may be freed, so its group has none */

/*
 * Slots and groups come in chunks: an array of maps, to which the reader adds as the machine grows.
 * A chunk is a map of its own, which the reader maps into memory as a whole.
 */
enum ex_chunks {
	EX_SLOT_CHUNK_BITS = 13,
	EX_SLOT_CHUNK = 1 << EX_SLOT_CHUNK_BITS,
	EX_SLOT_CHUNKS = 64,
	EX_GROUP_CHUNK_BITS = 12,
	EX_GROUP_CHUNK = 1 << EX_GROUP_CHUNK_BITS,
	EX_GROUP_CHUNKS = 32
};

/* The table that needs another chunk. */
enum ex_table { EX_TABLE_SLOTS, EX_TABLE_GROUPS, EX_TABLES };

/* ex_slot.counted of an existing task before its first switch-out */
#define EX_UNCOUNTED 0xffffffffu

/* A process that exited and is not reaped: it needs a row, but no slot. */
struct ex_zombie {
	__u64 task; /* address of its task_struct, which may be reused */
	__u64 since;
	struct ex_ident id;
	__u32 cpu;
	__u32 tree;
};

/* Where a CPU's time went. Figures of each switch come first. */
struct ex_cpu_cum {
	__u64 task;
	__u64 idle;
	__u64 steal;	  /* all of it */
	__u64 steal_idle; /* the part that hit no task's account */
	__u64 irq;	/* all of it */
	__u64 irq_idle; /* the part that hit no task's account */
	__u64 switches;
	__u64 missed; /* switches that the kernel counted and did not show */
	__u64 unnamed;
	__u64 offline;
	__u64 watched;
	__u64 watched_dispatches;
	__u64 no_name; /* executed by tasks that exited with no group free; in `task` of some CPU */
	__u64 no_name_steal;
	__u64 no_name_irq;
	__u64 no_name_tasks; /* number of these tasks */
	__u64 no_name_processes; /* number of whole processes among them */
};

/* steal_raw and kernel_switches before the first look. */
#define EX_UNREAD 0xffffffffffffffffull

enum ex_event {
	EX_EV_SWITCH,
	EX_EV_WAKEUP,
	EX_EV_NEW,
	EX_EV_EXIT,
	EX_EV_OTHER, /* exec, names, groups, quotas, signals, faults, freed tasks */
	EX_EV_FLUSH,
	EX_EV_MODE,
	EX_EV_IRQ,
	EX_EVENTS
};

/* For tests, instead of one of these: the exit of a task together with its last switch. */
#define EX_LOSE_ENDS EX_EVENTS
/* The same, and the release of every task. */
#define EX_LOSE_ENDS_AND_RELEASES (EX_EVENTS + 1)

/* A stay on a CPU; it began when the stay before ended. */
struct ex_segment {
	__u64 end;
	__u16 party;
	__u16 why;
	__u32 steal; /* ns that were taken from it */
	__u32 irq;
	__u32 pad;
};

/* Slots that a CPU keeps for the next births on it. */
enum ex_spares { EX_SPARES = 4 };

/* Who is on a CPU, and who was before; the stays before these are in its part of the blame book. */
struct ex_stays {
	__u32 ended; /* number of ended stays so far */
	__u16 party; /* who is on the CPU now */
	__u16 why;
	__u64 steal; /* the CPU's figures when that stay began */
	__u64 irq;
	__u64 last_began;
	struct ex_segment last; /* the last ended stay */
};

/* A CPU. Its only writer is the CPU itself; the reader waits for `busy` to be 0 once after T. */
struct ex_cpu {
	__u64 busy; /* number of our nested programs on this CPU */
	struct ex_stays stays; /* here, because each switch needs this cache line */
	__u64 since; /* time up to which the present occupant is charged */
	__u64 steal_raw;
	__u64 steal_carry; /* stolen, not yet charged */
	__u64 met;	   /* events; counted only if some are lost on purpose */
	__u32 cur;	   /* slot on the CPU, or EX_CUR_* */
	__u32 epoch;
	__s64 clock_offset; /* our clock minus the run queue's */
	__u32 irq_depth;    /* nesting of interrupts, while they are measured */
	__u32 irq_own;	    /* ksoftirqd serves softirqs: that is its own time */
	__u64 irq_since;
	__u64 irq_total; /* written by interrupts only */
	__u64 irq_taken; /* the charged part; written by the others only */
	__u64 rq;	 /* address of its run queue */
	__u64 kernel_switches; /* rq.nr_switches at the last look */
	__u64 arrived;	       /* arrival of the present occupant */
	__s64 came_offset;     /* arrival less the run queue's clock then */
	__s64 came_ahead;      /* arrival less its clock for tasks */
	__u32 irq_run;	       /* the measurement of interrupts in which it had a switch */
	__u32 barrier;	       /* written only to order other stores */
	__u64 events[EX_EVENTS];
	struct ex_cpu_cum cum;
	struct ex_cpu_cum snap;
	__u32 spares[EX_SPARES]; /* slots for births, each plus 1 (ledger/slots.h); 0: none */
	__u32 pad[8];		 /* whole cache lines */
};

/* A process in a chain of ancestors. */
struct ex_process {
	__u64 start;
	__u32 tgid;
	__u32 pad;
};

#define EX_ANCESTORS 8

/* Key by which exited tasks are summed. It has the CPU, so that a group has one writer. */
struct ex_group_key {
	__u64 of_start;
	__u32 of_tgid; /* 0: whole processes; else threads of this process */
	__u32 cpu;
	struct ex_process parent;
	__u64 cgroup;
	char comm[16];
	__u32 tree;
	__u32 uid;
	__u32 session;
	__u32 pad;
};

struct ex_group_cum {
	struct ex_cum sum;
	__u64 processes;
	__u64 tasks;
	__u64 life_ns;
	__u64 run_worst; /* largest run_error of a task in the last window with an exit */
	__u64 lat_worst; /* largest lat_error of a task in the last window with an exit */
};

struct ex_group {
	__u32 used;
	__u32 epoch;
	__u64 serial;
	struct ex_group_key key;
	struct ex_process ancestors[EX_ANCESTORS];
	struct ex_group_cum cum;
	struct ex_group_cum snap;
};

/*
 * Key of the figures (ex_cum) of tasks before they moved to another group in a window. A window
 * holds a task's figures under its group at the window's end or at its exit; what it has before a
 * move within the window is posted under this key.
 */
struct ex_move_key {
	__u64 from;
	__u64 to;
	__u32 epoch;
	__u32 pad;
};

/*
 * What an owner under every key is made of, as of the task's first event in a window, its last exec
 * and its last move.
 */
struct ex_party {
	__u64 cgroup;
	__u32 uid;
	__u32 session;
	char comm[16]; /* of the process */
	__u32 kthread;
	__u32 pad;
};

/* Why a CPU was not free for a task that waited. */
enum ex_why {
	EX_BY_OTHER, /* a task without a slot, or no room in the table */
	EX_BY_TASK,
	EX_BY_IDLE, /* the CPU was waking up */
	EX_BY_INTERRUPTS,
	EX_BY_STEAL,
	EX_BY_THROTTLE, /* its own quota was used up */
	EX_BY_BRIEF,	/* too short to look for a culprit */
	EX_BY_OLDER	/* longer ago than the stays of the CPU reach, or ended unseen */
};

enum ex_book_sizes {
	EX_STAYS = 256,
	EX_PAIRS = 1024, /* of a CPU and a window */
	EX_PARTIES = 32768,
	EX_NEW_LISTED = 1024, /* places of a list of what is new in a map */
	EX_WAIT_PLACES = 2048, /* of a CPU and a window */
	EX_WAIT_BUCKETS = 26
};

/* Bit of a pair in use. Below it stand the victim's party, the culprit's, and an enum ex_why. */
#define EX_PAIR_USED (1ull << 48)

struct ex_pair {
	__u64 pair; /* 0: the place is free */
	__u64 ns;
	__u64 times;
};

/* A CPU's part of the blame book. */
struct ex_book {
	__u64 booked; /* bookings so far, if some are left out for tests */
	__u64 line0[7];
	struct ex_segment ring[EX_STAYS]; /* stays before the last: number n at n & (EX_STAYS - 1) */
	struct ex_pair pairs[2][EX_PAIRS]; /* of the window of epoch e at [e & 1] */
	__u64 used[2][EX_PAIRS / 64]; /* a bit for each place of them that is taken */
};

struct ex_party_key {
	__u32 party;
	__u32 epoch;
};

struct ex_party_sum {
	__u64 waits; /* signed: what tasks waited before they ended or became another party */
	__u64 dispatches;
	__u64 ns; /* waits without a place among the pairs */
	__u64 times;
};

/* Waits of a party, of one kind and about one size, that ended on a CPU in a window. */
struct ex_wait_size {
	__u64 size; /* EX_PAIR_USED, party << 16, preempted << 8, bucket; 0: the place is free */
	__u64 ns;
	__u64 times; /* dispatches that ended one */
	__u64 max;   /* the longest of these, ns */
};

/* Waits of a party in a window that are among those of nobody, because no place was left. */
struct ex_unplaced {
	__u64 ns;
	__u64 dispatches;
};

/* Bits: the counts of a task that this kernel has too, for comparison with ours. */
enum ex_audited { EX_AUDIT_RUN = 1, EX_AUDIT_LAT = 2 };

/* Missed and impossible events; the model's error table has their meanings. */
enum ex_error {
	EX_ERR_UNSEEN_SWITCH,
	EX_ERR_NO_SLOT,
	EX_ERR_NO_STORAGE,
	EX_ERR_NO_GROUP,
	EX_ERR_FREE_LIST,
	EX_ERR_CLOCK_STEP,
	EX_ERR_LOST_WAKEUP,
	EX_ERR_NO_LINE,
	EX_ERR_MISSED_SWITCH,
	EX_ERR_UNSEEN_BIRTH,
	EX_ERR_UNSEEN_EXIT,
	EX_ERR_UNSEEN_IRQ,
	EX_ERR_NO_MOVE,
	EX_ERRORS
};

_Static_assert(sizeof(struct ex_cum) == 264, "ex_cum");
_Static_assert(sizeof(struct ex_ident) == 72, "ex_ident");
_Static_assert(sizeof(struct ex_slot) == 832, "ex_slot");
_Static_assert(sizeof(struct ex_cpu) == 576, "ex_cpu");
_Static_assert(sizeof(struct ex_group_key) == 72, "ex_group_key");
_Static_assert(sizeof(struct ex_group) == 824, "ex_group");
_Static_assert(sizeof(struct ex_zombie) == 96, "ex_zombie");
_Static_assert(sizeof(struct ex_move_key) == 24, "ex_move_key");
_Static_assert(sizeof(struct ex_party) == 40, "ex_party");
_Static_assert(sizeof(struct ex_book) == 55616, "ex_book");
_Static_assert(sizeof(struct ex_wait_size) == 32, "ex_wait_size");

#endif
