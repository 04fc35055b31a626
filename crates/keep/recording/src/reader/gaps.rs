//! Reports gaps: from where to where, and why.

use super::{Reader, Step};
use crate::frame::FrameHeader;
use crate::gap::{Gap, GapReason, GapRecord};
use crate::lost::{Lost, Point};

impl Reader {
    /// Notes the time of a frame that cannot be decoded.
    pub(super) fn pass_by(&mut self, header: &FrameHeader) {
        let Some(here) = self.point(header.span()) else { return };
        if self.lost.as_ref().is_some_and(|lost| !lost.to.is_of_boot(&here.boot_id)) {
            self.tell_lost(None);
        }
        self.lost = Lost::add(self.lost.take(), header, here);
    }

    /// Reports the skipped time, up to `until` at most.
    pub(super) fn tell_lost(&mut self, until: Option<&Point>) {
        let Some(Lost { from, mut to }) = self.lost.take() else { return };
        if let Some(until) = until.filter(|until| until.is_of_boot(&to.boot_id)) {
            to.span = if to.span.t1_ns > until.span.t1_ns { until.span } else { to.span };
        }
        let from = match self.point.take() {
            None => from,
            Some(last) => {
                let known = last.is_of_session(&from)
                    || last.is_of_boot(&from.boot_id) && last.span.t1_ns >= from.span.t1_ns;
                if known {
                    last
                } else {
                    self.tell_between(&last, &from);
                    from
                }
            }
        };
        if from.is_of_boot(&to.boot_id) && from.span.t1_ns >= to.span.t1_ns {
            self.point = Some(from);
            return;
        }
        let why = self.why.take().unwrap_or(GapReason::Damaged);
        self.tell(from.gap(why, &to));
        self.point = Some(to);
    }

    /// Reports why there are no windows between two instants.
    pub(super) fn tell_between(&mut self, last: &Point, next: &Point) {
        if !last.is_of_boot(&next.boot_id) {
            self.tell(last.gap(GapReason::Boot, next));
            return;
        }
        let mut last = last.clone();
        let (stated, why) = (std::mem::take(&mut self.stated), self.why.take());
        let within = last.span.t1_ns..=next.span.t1_ns;
        let stated: Vec<_> =
            stated.into_iter().filter(|(since, _)| within.contains(&since.t1_ns)).collect();
        let begins = stated.first().map_or(next.span, |&(since, _)| since);
        if begins.t1_ns > last.span.t1_ns {
            // A recorder ran up to `begins`, but its windows are missing.
            let unsaid = match stated.is_empty() && !last.is_of_session(next) {
                true => GapReason::NotRunning,
                false => GapReason::Damaged,
            };
            let to = Point { span: begins, ..next.clone() };
            self.tell(last.gap(why.unwrap_or(unsaid), &to));
            last = Point { span: begins, ..last };
        }
        for (at, &(_, GapRecord { why, suspended_ns })) in stated.iter().enumerate() {
            let to = stated.get(at + 1).map_or(next.span, |&(since, _)| since);
            let to = Point { span: to, ..next.clone() };
            if last.span.t1_ns < to.span.t1_ns {
                self.tell(last.gap(why, &to));
            } else if why == GapReason::Suspend {
                self.tell(Gap { length_ns: suspended_ns, ..last.gap(why, &to) });
            }
            last = Point { span: to.span, ..last };
        }
    }

    fn tell(&mut self, gap: Gap) {
        self.gap_reported = true;
        self.ready.push_back(Step::Gap(gap));
    }
}
