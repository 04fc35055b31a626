//! Histograms of waits: each dispatch is counted by the size of the whole wait that it ended.

use super::Waits;

/// Buckets of a histogram. The first one is below 256 ns, each further one reaches twice as far, and the last
/// one, from 4.3 s on, has no end.
pub const BUCKETS: usize = 26;

/// The end of a bucket, which belongs to the next one, ns; `None`: it has no end.
pub fn end_ns(bucket: usize) -> Option<u64> {
    (bucket + 1 < BUCKETS).then(|| 256 << bucket)
}

/// How a wait began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum WaitKind {
    /// With a wake-up.
    Woken,
    /// With the loss of a CPU; also every wait in which the group's quota was used up.
    Preempted,
}

impl WaitKind {
    /// Both.
    pub const ALL: [WaitKind; 2] = [WaitKind::Woken, WaitKind::Preempted];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// Waits in a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sized {
    /// Their time, ns; also that of waits which no dispatch ended: by exit, or because the task
    /// became another party.
    pub ns: u64,
    /// Dispatches that ended one.
    pub count: u64,
    /// The longest that a dispatch ended, ns.
    pub max_ns: u64,
}

/// Waits of one kind, by size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram([Sized; BUCKETS]);

impl Histogram {
    /// Adds to a bucket.
    pub fn add_to(&mut self, bucket: usize, sized: Sized) {
        let into = &mut self.0[bucket];
        into.ns += sized.ns;
        into.count += sized.count;
        into.max_ns = into.max_ns.max(sized.max_ns);
    }

    fn add(&mut self, other: &Histogram) {
        other.0.iter().enumerate().for_each(|(bucket, sized)| self.add_to(bucket, *sized));
    }

    /// Its buckets.
    pub fn buckets(&self) -> &[Sized; BUCKETS] {
        &self.0
    }

    /// Dispatches in each bucket.
    pub fn counts(&self) -> [u64; BUCKETS] {
        self.0.map(|sized| sized.count)
    }

    /// Dispatches.
    pub fn count(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// Time of the waits, ns.
    pub fn ns(&self) -> u64 {
        self.0.iter().map(|sized| sized.ns).sum()
    }

    /// The longest wait that a dispatch ended, ns; `None`: there was none.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then(|| self.0.iter().map(|sized| sized.max_ns).max().unwrap_or(0))
    }

    /// An upper bound of the wait that this part of the dispatches did not exceed, ns: the end of its bucket,
    /// or the longest wait if that is shorter. `None`: there was no dispatch.
    pub fn percentile_ns(&self, percent: u64) -> Option<u64> {
        let (count, max_ns) = (self.count(), self.max_ns()?);
        let rank = (u128::from(count) * u128::from(percent)).div_ceil(100) as u64;
        let up_to = self.counts().into_iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        let bucket = up_to.take_while(|&sum| sum < rank).count();
        Some(end_ns(bucket).map_or(max_ns, |end| end.min(max_ns)))
    }
}

/// The waits of an owner, and their histograms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The waits. Those without a place in the histogram of their party are those of no party.
    /// What is in flight is not in a histogram yet.
    pub waits: Waits,
    histograms: [Histogram; WaitKind::ALL.len()],
}

impl Sizes {
    /// The histogram of a kind.
    pub fn histogram(&self, kind: WaitKind) -> &Histogram {
        &self.histograms[kind as usize]
    }

    /// The same, to add to.
    pub fn histogram_mut(&mut self, kind: WaitKind) -> &mut Histogram {
        &mut self.histograms[kind as usize]
    }

    /// Adds the waits of another owner or of the next window.
    pub fn add(&mut self, other: &Sizes) {
        self.waits.add(&other.waits);
        for (into, other) in self.histograms.iter_mut().zip(&other.histograms) {
            into.add(other);
        }
    }

    /// Waits less those in the histograms and the change of what is in flight, ns.
    pub fn residual_ns(&self) -> i64 {
        let ns: u64 = self.histograms.iter().map(Histogram::ns).sum();
        self.waits.lat_ns.wrapping_sub(ns as i64).wrapping_sub(self.waits.in_flight_delta_ns)
    }

    /// Dispatches less those in the histograms.
    pub fn missing_dispatches(&self) -> i64 {
        let counted: u64 = self.histograms.iter().map(Histogram::count).sum();
        self.waits.dispatches - counted as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(waits: &[(usize, u64)]) -> Histogram {
        let mut histogram = Histogram::default();
        for &(bucket, ns) in waits {
            histogram.add_to(bucket, Sized { ns, count: 1, max_ns: ns });
        }
        histogram
    }

    #[test]
    fn buckets_double_from_256_ns_and_the_last_has_no_end() {
        assert_eq!([0, 1, 24].map(end_ns), [Some(256), Some(512), Some(1 << 32)]);
        assert_eq!(end_ns(BUCKETS - 1), None);
    }

    #[test]
    fn a_percentile_is_the_end_of_its_bucket_and_never_above_the_longest() {
        let nine_and_one = |last| {
            let mut waits = vec![(1, 300); 9];
            waits.push(last);
            histogram(&waits)
        };
        let short = nine_and_one((3, 1_500));
        assert_eq!(
            [50, 90, 99].map(|p| short.percentile_ns(p)),
            [Some(512), Some(512), Some(1_500)]
        );
        let long = nine_and_one((25, 9_000_000_000));
        assert_eq!(long.percentile_ns(99), Some(9_000_000_000));
        assert_eq!(histogram(&[(1, 300)]).percentile_ns(50), Some(300));
        let mut cut = Histogram::default();
        cut.add_to(3, Sized { ns: 1_500, count: 0, max_ns: 0 });
        assert_eq!((cut.percentile_ns(50), cut.max_ns()), (None, None), "no dispatch ended it");
    }

    #[test]
    fn what_is_missing_in_a_histogram_is_a_residual() {
        let waits = Waits { lat_ns: 2_000, dispatches: 2, in_flight_delta_ns: 200 };
        let mut sizes = Sizes { waits, ..Sizes::default() };
        sizes.histogram_mut(WaitKind::Woken).add_to(1, Sized { ns: 300, count: 1, max_ns: 300 });
        assert_eq!((sizes.residual_ns(), sizes.missing_dispatches()), (1_500, 1));
        sizes
            .histogram_mut(WaitKind::Preempted)
            .add_to(3, Sized { ns: 1_500, count: 1, max_ns: 1_500 });
        assert_eq!((sizes.residual_ns(), sizes.missing_dispatches()), (0, 0));
    }
}
