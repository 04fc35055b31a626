//! Figures since boot from /proc, to show before a window was measured.

use super::Session;
use crate::error::SourceError;
use crate::procfs::Procfs;
use crate::source::Source;
use exactop_model::ledger::system::{StatTicks, System};
use exactop_model::{CpuSample, Snapshot};
use std::path::Path;

impl Session {
    /// Opens a session on /proc whose first window began with the boot, so that its first frame is
    /// ready at once. The frame has figures of whole lives
    /// ([`exactop_model::Frame::is_since_boot`]).
    ///
    /// # Errors
    /// [`SourceError::Read`] if `root` cannot be opened.
    pub fn since_boot(root: &Path) -> Result<Session, SourceError> {
        let source = Procfs::open(root)?;
        let mut session = Session::new(Box::new(source), root)?;
        let boot = boot(session.source.as_ref(), &session.system.read());
        session.book.advance(boot);
        Ok(session)
    }
}

/// A snapshot of the machine at boot: no tasks, and all counts 0. `now` gives the CPUs.
fn boot(source: &dyn Source, now: &System) -> Snapshot {
    let nothing = |&(cpu, _): &(u32, StatTicks)| (cpu, StatTicks::default());
    let cpu_ticks: Vec<_> = now.cpu_ticks.iter().map(nothing).collect();
    let cpus = cpu_ticks.iter().map(|&(cpu, _)| CpuSample {
        cpu,
        irq_ns: Some(0),
        irq_idle_ns: Some(0),
        steal_ns: Some(0),
        steal_idle_ns: Some(0),
        ..CpuSample::default()
    });
    Snapshot {
        cpus: cpus.collect(),
        born: Some(0),
        system: System {
            ticks: Some(StatTicks::default()),
            cpu_ticks: cpu_ticks.clone(),
            ..System::default()
        },
        // CLOCK_MONOTONIC begins at boot.
        ..Snapshot::empty(source.provenance().clone(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::fake::{FakeProc, FakeTask};
    use exactop_model::{Ask, Counter, Feed, IdleRows, Needs};

    #[test]
    fn the_first_frame_is_ready_at_once_and_has_whole_lives() {
        let proc = FakeProc::new();
        proc.process(FakeTask { utime: 7, stime: 5, ..FakeTask::new(7) });
        proc.process(FakeTask { utime: 0, stime: 0, ..FakeTask::new(9) });
        proc.cpus(&[[1; 8], [2; 8]]);
        let mut session = Session::since_boot(proc.root()).unwrap();
        let mut ask = Ask { needs: Needs::MACHINE, ..Ask::default() };
        ask.options.still = IdleRows::All;
        let frame = session.next_frame(&ask).unwrap().expect("a frame at once");
        let row = |pid| frame.rows.iter().find(|row| row.key.tgid == pid).expect("a row");
        let tick_ns = crate::procfs::ticks::Ticks::of_this_system().tick_ns();
        assert_eq!(row(7).delta.get(Counter::RunNs), Some(12 * tick_ns));
        assert_eq!(row(9).delta.get(Counter::RunNs), Some(0));
        assert_eq!((frame.t0_ns, frame.cpus.len()), (0, 2));
        assert_eq!(frame.ticks.expect("ticks since boot").total(), 24);
        // Hard and soft interrupts and steal are known since boot, so none of them is in the rest.
        let books = &frame.books;
        let known = books.idle_ns + 3 * 2 * tick_ns + 3 * tick_ns;
        assert_eq!((books.irq_ns, books.steal_ns), (Some(3 * 2 * tick_ns), Some(3 * tick_ns)));
        let used = books.tasks_ns + books.unnamed_ns;
        assert_eq!(books.residual_ns, books.total_ns as i64 - (used + known) as i64, "{books:?}");
        assert!(!frame.exact && frame.is_since_boot() && frame.residual_ns().is_none());
        // From here on windows are normal ones.
        proc.process(FakeTask { utime: 8, stime: 5, ..FakeTask::new(7) });
        let next = session.next_frame(&ask).unwrap().expect("the next window");
        assert_eq!((next.t0_ns, next.is_since_boot()), (frame.t1_ns, false));
        let row = next.rows.iter().find(|row| row.key.tgid == 7).expect("a row");
        assert_eq!(row.delta.get(Counter::RunNs), Some(tick_ns));
    }
}
