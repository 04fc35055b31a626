//! Findings merged over windows: the same finding in ten consecutive windows is one mark.

use crate::page::entities::EntityId;
use exactop_model::findings::{Finding, FindingKind, Leads, ShortLived, Subject, Waited};
use exactop_model::words::findings::{evidence, sentence};
use exactop_model::TaskKey;
use serde::{Serialize, Serializer};
use std::cmp::Reverse;

/// A finding on some consecutive windows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Mark {
    id: &'static str,
    /// Sentence of its worst window.
    sentence: String,
    evidence: String,
    from_us: i64,
    to_us: i64,
    windows: u64,
    about_ns: u64,
    #[serde(skip)]
    worst_ns: u64,
    /// Its subject, by which the next window's finding is merged.
    #[serde(serialize_with = "in_short")]
    subject: Subject,
    /// Place with more details, from its worst window.
    #[serde(skip_serializing_if = "Option::is_none")]
    leads: Option<Lead>,
}

/// A place on the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Lead {
    /// Key of a control group.
    Group(String),
    /// Key of a row.
    Row(String),
    /// Rows of a command.
    Command(String),
}

impl Lead {
    fn from_finding(finding: &Finding, boot: u32) -> Option<Lead> {
        match (&finding.what, finding.leads()) {
            (FindingKind::Throttled(group), _) => {
                Some(Lead::Group(format!("{boot}.{}", group.cgroup_id)))
            }
            (_, Leads::Process(TaskKey { tgid, start_ns, .. })) => {
                Some(Lead::Row(EntityId::Process { boot, tgid, start_ns }.key()))
            }
            (
                FindingKind::Waited(Waited { comm, .. })
                | FindingKind::ShortLived(ShortLived { comm, .. }),
                _,
            ) => Some(Lead::Command(comm.to_string())),
            _ => None,
        }
    }
}

fn in_short<S: Serializer>(subject: &Subject, serializer: S) -> Result<S::Ok, S::Error> {
    match subject {
        Subject::Group(id) => serializer.collect_str(&format_args!("group {id}")),
        Subject::Program(comm) => serializer.collect_str(comm),
        Subject::Machine(_) => serializer.serialize_str(""),
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowTime {
    pub from_us: i64,
    pub to_us: i64,
    pub length_ns: u64,
    pub goes_on: bool,
}

/// The largest marks so far.
#[derive(Debug)]
pub(crate) struct Marks {
    most: usize,
    left_out: usize,
    done: Vec<Mark>,
    /// Marks of the previous window.
    open: Vec<Mark>,
}

impl Marks {
    /// Keeps at most this number.
    pub fn new(most: usize) -> Marks {
        Marks { most, left_out: 0, done: Vec::new(), open: Vec::new() }
    }

    pub fn take(&mut self, findings: &[Finding], then: WindowTime, boot: u32) {
        if !then.goes_on {
            self.done.append(&mut self.open);
        }
        let mut before = std::mem::take(&mut self.open);
        for finding in findings {
            let subject = finding.subject();
            let same = |mark: &Mark| mark.subject == subject && mark.id == finding.id();
            let mark = before.iter().position(same).map(|at| before.swap_remove(at));
            let mut mark = mark.unwrap_or_else(|| Mark::new(finding, then, boot));
            mark.add(finding, then, boot);
            self.open.push(mark);
        }
        self.done.append(&mut before);
        if self.done.len() > 2 * self.most {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        self.left_out += self.done.len().saturating_sub(self.most);
        self.done.sort_by_key(|mark| (Reverse(mark.about_ns), mark.from_us));
        self.done.truncate(self.most);
    }

    /// The largest marks in the order of time, and the number of omitted ones.
    pub fn finish(mut self) -> (Vec<Mark>, usize) {
        self.done.append(&mut self.open);
        self.shorten();
        self.done.sort_by_key(|mark| (mark.from_us, Reverse(mark.about_ns)));
        (self.done, self.left_out)
    }
}

impl Mark {
    fn new(finding: &Finding, then: WindowTime, boot: u32) -> Mark {
        Mark {
            id: finding.id(),
            sentence: sentence(finding, then.length_ns),
            evidence: evidence(finding),
            from_us: then.from_us,
            to_us: then.to_us,
            windows: 0,
            about_ns: 0,
            worst_ns: finding.about_ns,
            subject: finding.subject(),
            leads: Lead::from_finding(finding, boot),
        }
    }

    fn add(&mut self, finding: &Finding, then: WindowTime, boot: u32) {
        self.to_us = then.to_us;
        self.windows += 1;
        self.about_ns = self.about_ns.saturating_add(finding.about_ns);
        if finding.about_ns > self.worst_ns {
            self.worst_ns = finding.about_ns;
            self.sentence = sentence(finding, then.length_ns);
            self.evidence = evidence(finding);
            self.leads = Lead::from_finding(finding, boot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stolen(ns: u64) -> Finding {
        let what = FindingKind::Stolen { steal_ns: ns, busy_ns: 1000 };
        Finding { what, about_ns: ns, sampled: false }
    }

    fn then(from_us: i64, goes_on: bool) -> WindowTime {
        WindowTime { from_us, to_us: from_us + 10, length_ns: 10_000, goes_on }
    }

    #[test]
    fn windows_in_a_row_are_one_mark_and_a_gap_ends_it() {
        let mut marks = Marks::new(2);
        marks.take(&[stolen(100)], then(0, false), 0);
        marks.take(&[stolen(700)], then(10, true), 0);
        marks.take(&[], then(20, true), 0);
        marks.take(&[stolen(50)], then(30, true), 0);
        marks.take(&[stolen(60)], then(90, false), 0);
        let (marks, left_out) = marks.finish();
        let told: Vec<_> = marks.iter().map(|m| (m.from_us, m.to_us, m.windows)).collect();
        assert_eq!((told, left_out), (vec![(0, 20, 2), (90, 100, 1)], 1));
        assert!(marks[0].sentence.contains("70 %"), "{}", marks[0].sentence);
    }

    #[test]
    fn there_are_never_many_more_than_are_kept() {
        let mut marks = Marks::new(5);
        for at in 0..1000i64 {
            marks.take(&[stolen(100 + at as u64 % 300)], then(20 * at, false), 0);
            assert!(marks.done.len() <= 10);
        }
        let (marks, left_out) = marks.finish();
        assert_eq!((marks.len(), left_out), (5, 995));
        assert!(marks.iter().all(|mark| mark.about_ns >= 398), "{marks:?}");
    }
}
