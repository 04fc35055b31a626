//! Tests of causes from given stacks, and of sums by different keys.

use super::*;
use crate::Comm;

const NOTHING: Facts = Facts { waking: false, born: false, was_offline: false, not_allowed: false };

/// The cause for a stack written innermost first.
fn of(facts: Facts, stack: &str) -> Cause {
    of_both(facts, stack, "")
}

fn of_both(facts: Facts, stack: &str, own: &str) -> Cause {
    let [stack, own] = [stack, own].map(|drawn| drawn.split_whitespace().collect::<Vec<_>>());
    cause(facts, &stack, &own)
}

#[test]
fn each_cause_follows_from_its_stack_on_every_kernel() {
    let drawn = [
        (
            "set_task_cpu detach_tasks load_balance newidle_balance pick_next_task_fair __schedule",
            Cause::NewIdle,
        ),
        (
            "set_task_cpu sched_balance_rq sched_balance_newidle balance_fair __schedule",
            Cause::NewIdle,
        ),
        ("set_task_cpu sched_balance_rq pick_task_fair __schedule schedule", Cause::NewIdle),
        ("set_task_cpu load_balance pick_next_task_fair __schedule schedule", Cause::NewIdle),
        ("set_task_cpu load_balance rebalance_domains __do_softirq irq_exit_rcu", Cause::Periodic),
        (
            "set_task_cpu sched_balance_rq sched_balance_domains _nohz_idle_balance do_idle",
            Cause::Periodic,
        ),
        (
            "set_task_cpu active_load_balance_cpu_stop cpu_stopper_thread smpboot_thread_fn",
            Cause::Active,
        ),
        (
            "set_task_cpu move_queued_task __set_cpus_allowed_ptr_locked __sched_setaffinity",
            Cause::Affinity,
        ),
        ("set_task_cpu migrate_swap_stop multi_cpu_stop cpu_stopper_thread", Cause::Numa),
        (
            "set_task_cpu move_queued_task __balance_push_cpu_stop cpu_stopper_thread",
            Cause::Hotplug,
        ),
        ("set_task_cpu try_steal_cookie sched_core_balance __schedule", Cause::Core),
        ("set_task_cpu push_rt_task push_rt_tasks finish_task_switch", Cause::RtPush),
        ("set_task_cpu pull_rt_task balance_rt __schedule", Cause::RtPull),
        ("set_task_cpu push_dl_task push_dl_tasks __balance_callbacks", Cause::DlPush),
        ("set_task_cpu pull_dl_task balance_dl __schedule", Cause::DlPull),
        ("set_task_cpu move_remote_task_to_local_dsq dispatch_to_local_dsq", Cause::Ext),
        ("set_task_cpu a_function_of_next_year __schedule", Cause::Unknown),
        ("", Cause::Unknown),
    ];
    for (stack, expected) in drawn {
        assert_eq!(of(NOTHING, stack), expected, "{stack}");
    }
}

#[test]
fn the_innermost_function_decides_on_an_interrupt_stack() {
    let hit = "set_task_cpu load_balance rebalance_domains __do_softirq irq_exit_rcu \
               asm_sysvec_apic_timer_interrupt newidle_balance __schedule";
    assert_eq!(of(NOTHING, hit), Cause::Periodic);
    let hit =
        "set_task_cpu try_to_wake_up hrtimer_wakeup __hrtimer_run_queues sched_balance_domains";
    assert_eq!(of(NOTHING, hit), Cause::Wakeup);
    let hit = "set_task_cpu load_balance someone_new __do_softirq sched_exec";
    assert_eq!(of(NOTHING, hit), Cause::Unknown, "balancing of no known kind is not an exec");
}

#[test]
fn a_migration_thread_moves_on_request_of_another_task() {
    let stack = "set_task_cpu move_queued_task migration_cpu_stop cpu_stopper_thread";
    assert_eq!(of(NOTHING, stack), Cause::Unknown);
    let exec = "__schedule preempt_schedule_common stop_one_cpu sched_exec bprm_execve";
    let fault = "__schedule stop_one_cpu migrate_task_to task_numa_migrate do_numa_page";
    assert_eq!(of_both(NOTHING, stack, exec), Cause::Exec);
    assert_eq!(of_both(NOTHING, stack, fault), Cause::Numa);
    assert_eq!(of_both(NOTHING, stack, "__schedule irqentry_exit"), Cause::Unknown);
    let bound = Facts { not_allowed: true, ..NOTHING };
    assert_eq!(of_both(bound, stack, exec), Cause::Affinity);
    assert_eq!(of(Facts { was_offline: true, ..NOTHING }, stack), Cause::Hotplug);
    // Load balancing may also run during an exec.
    let balanced = "set_task_cpu sched_balance_rq sched_balance_domains";
    assert_eq!(of_both(NOTHING, balanced, exec), Cause::Periodic);
}

#[test]
fn a_wakeup_or_fork_needs_no_stack_and_a_forced_move_is_no_placement() {
    let waking = Facts { waking: true, ..NOTHING };
    assert_eq!(of(waking, ""), Cause::Wakeup);
    assert_eq!(of(Facts { not_allowed: true, ..waking }, ""), Cause::Affinity);
    assert_eq!(of(Facts { not_allowed: true, was_offline: true, ..waking }, ""), Cause::Hotplug);
    assert_eq!(of(Facts { born: true, ..NOTHING }, ""), Cause::Fork);
    assert_eq!(
        of(Facts { not_allowed: true, ..NOTHING }, ""),
        Cause::Affinity,
        "without names, too"
    );
}

#[test]
fn every_cause_has_a_word_of_its_own() {
    let mut names: Vec<_> = Cause::ALL.iter().map(|cause| cause.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Cause::ALL.len());
    for &cause in Cause::ALL {
        let word = serde_json::to_value(cause).unwrap();
        assert_eq!(word, cause.name());
    }
}

fn row(tid: u32, from: u32, to: u32, cause: Cause, moves: u64) -> MoveRow {
    let who = TaskRef::thread(7, tid, Comm::new(b"x"), Comm::new(b"x"));
    let sums =
        MoveSums { moves, queued: 1, before_ns: 10, ran: moves, after_ns: 30, paid: 1, unpaid: 0 };
    MoveRow { who, from, to, cause, sums }
}

fn window(rows: Vec<MoveRow>) -> MoveWindow {
    MoveWindow {
        t0_ns: 0,
        t1_ns: 1,
        rows,
        unknown: vec![Unknown { why: "x".into(), moves: 1 }],
        missed: 2,
        losses: Losses { lost: 3, ..Losses::default() },
        whole: true,
    }
}

#[test]
fn causes_pairs_and_processes_have_the_same_sum() {
    let rows = vec![
        row(7, 0, 1, Cause::Wakeup, 5),
        row(8, 0, 1, Cause::Wakeup, 2),
        row(8, 1, 0, Cause::NewIdle, 4),
        row(8, 1, 0, Cause::Fork, 1),
    ];
    let window = window(rows);
    assert_eq!((window.migrations(), window.births(), window.by_kernel()), (11, 1, Some(16)));
    let causes = window.by_cause();
    let told: Vec<_> = causes.iter().map(|(cause, sums)| (*cause, sums.moves)).collect();
    assert_eq!(told, [(Cause::Wakeup, 7), (Cause::NewIdle, 4), (Cause::Fork, 1)]);
    assert_eq!((causes[0].1.mean_before_ns(), causes[0].1.mean_after_ns()), (Some(10), Some(8)));
    let pairs: Vec<_> = window.by_cpus().iter().map(|(a, b, s)| (*a, *b, s.moves)).collect();
    assert_eq!(pairs, [(0, 1, 7), (1, 0, 4)], "a new task has not left a CPU");
    let processes = window.by_process();
    assert_eq!((processes.len(), processes.iter().map(|row| row.sums.moves).sum::<u64>()), (3, 12));
    assert!(processes.iter().all(|row| row.who.tid.is_none()));
}

#[test]
fn two_windows_merge_into_one() {
    let mut both = window(vec![row(7, 0, 1, Cause::Wakeup, 5)]);
    both.then(MoveWindow {
        t1_ns: 9,
        unknown: vec![Unknown { why: "y".into(), moves: 4 }, Unknown { why: "x".into(), moves: 1 }],
        ..window(vec![row(7, 0, 1, Cause::Wakeup, 1), row(7, 1, 0, Cause::Wakeup, 1)])
    });
    assert_eq!((both.rows.len(), both.migrations(), both.missed, both.t1_ns), (2, 7, 4, 9));
    let unknown: Vec<_> = both.unknown.iter().map(|u| (u.why.as_str(), u.moves)).collect();
    assert_eq!(unknown, [("x", 2), ("y", 4)]);
}

#[test]
fn the_kernels_count_is_unknown_for_a_part_of_the_rows() {
    let all = window(vec![row(7, 0, 1, Cause::Wakeup, 5), row(8, 0, 1, Cause::Unknown, 2)]);
    let one = Choice { pids: vec![5], ..Choice::default() };
    let some = |tid| all.visible_to(&one, &|who| who.tid == Some(tid));
    assert_eq!((some(7).migrations(), some(7).by_kernel()), (5, None));
    assert_eq!(some(7).unknown, []);
    assert_eq!(some(8).unknown.iter().map(|unknown| unknown.moves).sum::<u64>(), 2);
    let everyone = |shown: &dyn Fn(&TaskRef) -> bool| all.visible_to(&Choice::default(), shown);
    assert_eq!(everyone(&|_| true).by_kernel(), all.by_kernel());
    assert_eq!(everyone(&|who| who.tid == Some(7)).by_kernel(), None, "the rows are not complete");
    let mut both = all.clone();
    both.then(some(7));
    assert_eq!(both.by_kernel(), None);
}
