//! Frames of the made-up machine, computed by the real book, and details of rows.

use crate::machine::snapshot;
use crate::on_request::{calls, groups, moves, waits};
use crate::population::PROCESSES;
use exactop_model::ledger::system::DiskRate;
use exactop_model::on_demand::SubjectWindow;
use exactop_model::{
    Ask, Book, Feed, Frame, FrameOptions, IdleRows, Missing, Needs, Row, SourceKind, Window,
};

/// The window that follows `beat` others, and the book that yielded it.
pub fn window(source: SourceKind, beat: u64, watch: Option<u32>) -> (Window, Book) {
    let mut book = Book::new();
    assert!(book.advance(snapshot(source, beat, watch)).is_none(), "the first opens the book");
    let window = book.advance(snapshot(source, beat + 1, watch));
    (window.expect("the second snapshot closes a window"), book)
}

/// The ledger's window after `beat` others, arranged as requested.
pub fn arranged(ask: &Ask, beat: u64) -> Frame {
    let (window, book) = window(SourceKind::Ledger, beat, ask.watch);
    let mut frame = Frame::new(&window, &book, &ask.options);
    let span = (frame.t0_ns, frame.t1_ns);
    let pid = ask.watch.unwrap_or_default();
    let told: [SubjectWindow; 3] =
        [waits(pid, span).into(), calls(span).into(), moves(pid, span).into()];
    for window in told.into_iter().filter(|window| ask.watches(window.subject()).is_some()) {
        frame.subjects.tell(window.subject(), Some(Ok(window)));
    }
    frame.groups = ask.groups.then(|| Ok(groups(span)));
    frame
}

/// The first window of any source, with rows of idle tasks.
pub fn frame(source: SourceKind, threads: bool) -> Frame {
    let (window, book) = window(source, 0, None);
    let options = FrameOptions { threads, still: IdleRows::All, ..FrameOptions::default() };
    Frame::new(&window, &book, &options)
}

/// Gives rows their details, as a feed does.
pub fn details(rows: &mut [&mut Row], needs: Needs) {
    for row in rows {
        let Some(p) = PROCESSES.iter().find(|p| p.pid == row.key.tgid) else { continue };
        let detail = &mut row.detail;
        let ram = |bytes: u64| if p.is_kthread() { Err(Missing::NotApplicable) } else { Ok(bytes) };
        if needs.has(Needs::STATM) {
            (detail.res, detail.shr) = (ram(p.res), ram(p.res / 2));
        }
        if needs.has(Needs::STAT) {
            (detail.virt, detail.time_ns) = (ram(p.res * 4 / 3), Ok(p.cpu * 91_470_000));
        }
        if needs.has(Needs::USER) {
            detail.user = Ok(p.user().into());
        }
        if needs.has(Needs::CMDLINE) {
            detail.cmdline = Ok(p.line.into());
        }
        if needs.has(Needs::DISK) {
            detail.disk = Ok(DiskRate { read: p.cpu as f64 * 1000.0, written: 0.0 });
        }
        if needs.has(Needs::CGROUP) {
            detail.cgroup = Ok(b"/user.slice/user-1000.slice/session-3.scope".to_vec());
        }
    }
}

/// A feed of the machine, as the ledger sees it.
#[derive(Default)]
pub struct Made {
    /// Number of windows so far; the first call only opens one.
    pub beat: u64,
}

impl Feed for Made {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        self.beat += 1;
        Ok(self.same_frame(ask))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        (self.beat > 1).then(|| arranged(ask, self.beat - 2))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        details(rows, needs);
    }
}

/// A feed that only gives details, by its own function.
pub struct Details(pub fn(&mut [&mut Row], Needs));

impl Feed for Details {
    fn next_frame(&mut self, _: &Ask) -> Result<Option<Frame>, String> {
        Ok(None)
    }

    fn same_frame(&mut self, _: &Ask) -> Option<Frame> {
        None
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        self.0(rows, needs);
    }
}
