//! The daemon's log of readers, rate limited: a process that may connect can cause any number of
//! refusals.

use std::time::Duration;

/// An event that the service reports to its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A reader was disconnected because it left this many bytes unread.
    Stalled(usize),
    /// A reader was refused: the reason.
    Refused(String),
    /// A snapshot is too large to send.
    TooLarge,
}

/// Shortest time between two notices of one kind, ns.
const PAUSE_NS: u64 = 1_000_000_000;

/// Number of kinds. Each has its own limit, so a flood of one kind does not hide another.
const KINDS: usize = 4;

/// The state of one kind.
#[derive(Debug, Default)]
struct NoticeCount {
    said_ns: Option<u64>,
    last: Option<Notice>,
    count: u64,
}

/// Limits notices per kind and counts the suppressed ones.
#[derive(Debug, Default)]
pub struct Log {
    kinds: [NoticeCount; KINDS],
}

fn kind(notice: &Notice) -> usize {
    match notice {
        Notice::Stalled(_) => 0,
        Notice::TooLarge => 1,
        // The reader's line is quoted.
        Notice::Refused(why) if why.starts_with('\'') => 2,
        Notice::Refused(_) => 3,
    }
}

impl Log {
    /// The notices to print now, with the number of suppressed ones of the same kind.
    pub fn take(&mut self, notices: Vec<Notice>, now_ns: u64) -> Vec<Notice> {
        let counted = self.counted(notices, now_ns).into_iter();
        let worded = counted.map(|counted| match counted {
            (Notice::Refused(why), more) if more > 0 => {
                Notice::Refused(format!("{why} (and {more} more like it)"))
            }
            (notice, _) => notice,
        });
        worded.collect()
    }

    fn counted(&mut self, notices: Vec<Notice>, now_ns: u64) -> Vec<(Notice, u64)> {
        for notice in notices {
            let held = &mut self.kinds[kind(&notice)];
            held.last = Some(notice);
            held.count += 1;
        }
        let due = self.kinds.iter_mut().filter(|held| held.due_ns().is_some_and(|at| at <= now_ns));
        due.filter_map(|held| held.say(now_ns)).collect()
    }

    /// Time until a suppressed notice is due; `None` if there is none.
    pub fn due(&self, now_ns: u64) -> Option<Duration> {
        let due_ns = self.kinds.iter().filter_map(NoticeCount::due_ns).min()?;
        Some(Duration::from_nanos(due_ns.saturating_sub(now_ns)))
    }
}

impl NoticeCount {
    fn due_ns(&self) -> Option<u64> {
        self.last.as_ref()?;
        Some(self.said_ns.map_or(0, |said_ns| said_ns + PAUSE_NS))
    }

    fn say(&mut self, now_ns: u64) -> Option<(Notice, u64)> {
        let notice = self.last.take()?;
        self.said_ns = Some(now_ns);
        Some((notice, std::mem::take(&mut self.count) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn refused(n: u64) -> Notice {
        Notice::Refused(format!("'x{n}' is not a valid request"))
    }

    #[test]
    fn a_flood_is_one_line_a_second_and_all_of_it_is_counted() {
        let mut log = Log::default();
        let (mut lines, mut counted) = (0, 0);
        for n in 0..5000 {
            for (_, more) in log.counted(vec![refused(n)], 10_000 * MS + n * MS) {
                lines += 1;
                counted += 1 + more;
            }
        }
        assert_eq!(lines, 5, "in five seconds");
        assert!(log.due(15_000 * MS).is_some());
        let rest = log.counted(Vec::new(), 60_000 * MS);
        assert_eq!(rest.first().map(|(notice, _)| notice), Some(&refused(4999)));
        counted += rest.iter().map(|(_, more)| 1 + more).sum::<u64>();
        assert_eq!((rest.len(), counted), (1, 5000));
        assert_eq!(log.due(60_000 * MS), None, "nothing is left to be said");
    }

    #[test]
    fn a_notice_of_another_kind_is_not_delayed() {
        let mut log = Log::default();
        let flood: Vec<Notice> = (0..100).map(refused).collect();
        let why = "'x99' is not a valid request (and 99 more like it)";
        assert_eq!(log.take(flood, 0), [Notice::Refused(why.into())]);
        let others = [Notice::Stalled(5), Notice::TooLarge, Notice::Refused("hidepid".into())];
        let said = log.take([vec![refused(100)], others.to_vec()].concat(), 10 * MS);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(others.iter().all(|other| said.contains(other)), "{said:?}");
        assert_eq!(log.due(10 * MS), Some(Duration::from_millis(990)));
    }
}
