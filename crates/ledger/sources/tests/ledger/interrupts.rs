//! Interrupt time is separate from the tasks that were interrupted, and the books still close.

use crate::books::Books;
use exactop_model::{Counter, Quality};
use exactop_sources::ledger::Options;
use exactop_sources::{MeasurePolicy, SplitOptions};
use exactop_workloads::workloads::{ForkStorm, PipePingPong, Spin};
use std::time::Duration;

fn measured() -> Options {
    let split = SplitOptions { irq: MeasurePolicy::Always, ..SplitOptions::default() };
    Options { split, ..Options::default() }
}

#[test]
fn the_books_close_with_interrupts_measured() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&measured());
    let _load = (
        ForkStorm::start(1).expect("a fork storm"),
        PipePingPong::start(20).expect("ping-pong"),
        Spin::start(1, None).expect("a spinner"),
    );
    let (mut irq, mut total, mut of_tasks) = (0, 0, 0);
    for _ in 0..30 {
        let window = books.window(Duration::from_millis(50));
        assert!(books.faults(&window).is_empty(), "{:?}", books.faults(&window));
        let frame = books.threads(&window);
        irq += frame.books.irq_ns.expect("measured");
        total += frame.books.total_ns;
        let of_task = |t: &exactop_model::ledger::window::TaskDelta| t.delta.get(Counter::IrqNs);
        of_tasks += window.tasks.iter().filter_map(of_task).sum::<u64>();
        let on_cpus: u64 = window.cpus.iter().filter_map(|c| c.time.irq_ns).sum();
        assert_eq!(frame.books.irq_ns, Some(on_cpus), "the CPUs and the tasks say the same");
    }
    println!("{irq} ns of interrupts in {total} ns, {of_tasks} ns of them in living tasks");
    assert!(of_tasks > 0 && irq >= of_tasks, "timers tick while tasks run");
    assert!(irq < total / 2);
}

#[test]
fn the_books_close_while_it_is_switched_on_and_off() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let _load = (ForkStorm::start(1).expect("a storm"), Spin::start(1, None).expect("a spinner"));
    let (mut apart, mut not_apart) = (0, 0);
    for n in 0..40 {
        books.interrupts(n / 5 % 2 == 1);
        let window = books.window(Duration::from_millis(30));
        assert!(books.faults(&window).is_empty(), "{n}: {:?}", books.faults(&window));
        let frame = books.threads(&window);
        if let Some(irq) = frame.books.irq_ns {
            apart += 1;
            assert_eq!(frame.provenance.quality(Counter::IrqNs), Quality::Exact);
            assert!(irq > 0);
        } else {
            not_apart += 1;
            let told = |t: &exactop_model::ledger::window::TaskDelta| t.delta.get(Counter::IrqNs);
            assert_eq!(window.tasks.iter().find_map(told), None, "no task has a part of it");
        }
    }
    assert!(apart >= 10 && not_apart >= 10, "{apart} {not_apart}");
}
