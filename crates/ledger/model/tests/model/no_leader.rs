//! A process whose leader no source sees has the same name everywhere.

use exactop_model::frame::named_sums::NamedSums;
use exactop_model::frame::{Frame, FrameOptions};
use exactop_model::ledger::merged::Merged;
use exactop_model::owner::Grouping;
use exactop_model::{Book, Comm, Counter, Ident, Snapshot, SourceKind, TaskKey, TaskSample};
use exactop_testkit::samples;

const SECOND: u64 = 1_000_000_000;

fn thread(tid: u32, comm: &str, run_ns: u64) -> TaskSample {
    let ident = Ident { comm: Comm::new(comm.as_bytes()), ..Ident::default() };
    let mut task = samples::task(tid.into(), TaskKey { tgid: 7, tid, start_ns: 1 }, ident);
    task.counters.set(Counter::RunNs, run_ns);
    task
}

/// The name of its row, and the name in totals and findings, when this thread was active.
fn names(who: u32) -> [String; 2] {
    let mut book = Book::new();
    let all = |ran: u64| {
        ["worker", "timer", "reaper"]
            .into_iter()
            .zip(8..)
            .map(move |(comm, tid)| thread(tid, comm, if tid == who { ran } else { 0 }))
    };
    let at = |seconds, tasks| Snapshot {
        tasks,
        ..samples::snapshot(SourceKind::Ledger, seconds * SECOND)
    };
    book.advance(at(1, all(0).collect()));
    let mut after = at(2, all(5).filter(|task| task.key.tid == who).collect());
    after.complete = false;
    let window = book.advance(after).expect("a window");
    let frame = Frame::new(&window, &book, &FrameOptions::default());
    let row = frame.rows.iter().find(|row| row.key.tgid == 7).expect("its row");
    [row.ident.comm.to_string(), book.leader(&window.tasks[0].sample).ident.comm.to_string()]
}

#[test]
fn a_process_without_leader_has_the_name_that_a_source_gave() {
    let name = Comm::new(b"process_api");
    let at = |seconds, names: &[(u32, Comm)]| Snapshot {
        tasks: vec![thread(8, "worker", seconds)],
        leader_names: names.to_vec(),
        complete: seconds == 1,
        ..samples::snapshot(SourceKind::Ledger, seconds * SECOND)
    };
    let (mut book, mut merged, mut seldom) = (Book::new(), Merged::new(), Book::new());
    for (seconds, names) in [(1, &[(7, name)][..]), (2, &[])] {
        merged.add(at(seconds, names));
        book.advance(at(seconds, names));
    }
    seldom.advance(merged.take().expect("snapshots"));
    let mut whole = Book::new();
    whole.advance(book.whole().expect("it is open"));
    for book in [&mut book, &mut seldom, &mut whole] {
        let window = book.advance(at(3, &[])).expect("a window");
        let frame = Frame::new(&window, book, &FrameOptions::default());
        assert_eq!(frame.rows[0].ident.comm, name);
        let sums = NamedSums::from_window(&window, book, Grouping::Process);
        assert_eq!(sums.rows[0].name, "process_api (7)");
        assert_eq!(book.leader(&window.tasks[0].sample).ident.comm, name);
        // A later process with its number has its own name.
        let mut end = at(4, &[]);
        end.gone = end.tasks.drain(..).map(|task| task.account).collect();
        book.advance(end);
        book.advance(at(5, &[]));
        assert_eq!(book.leader_of(7).expect("it").ident.comm.to_string(), "worker");
    }
}

#[test]
fn a_process_without_leader_has_one_name_whichever_thread_runs() {
    for who in 8..11 {
        assert_eq!(names(who), ["worker", "worker"], "{who} ran");
    }
}
