//! Histograms of waits by group, as a family, and the waits that have not ended.

use crate::family::{Family, FamilyKind, Point, Unit, Value, WaitCounts};
use crate::places::{Counted, Places};
use crate::settings::Settings;
use exactop_model::blame::size_rows::{SizeRow, SizedWaits};
use exactop_model::blame::sizes::{Sizes, WaitKind};
use exactop_model::owner::{Names, LABEL_LEFT, LABEL_OTHER};
use exactop_model::text::escape::escape;
use exactop_model::{Book, Window};
use rustc_hash::FxHashMap;

/// The waits of both kinds.
type Waits = [WaitCounts; WaitKind::ALL.len()];

impl Counted for Waits {
    fn add(&mut self, more: &Waits) {
        for (into, more) in self.iter_mut().zip(more) {
            into.counts.iter_mut().zip(more.counts).for_each(|(into, more)| *into += more);
            into.ns += more.ns;
        }
    }

    fn demand_ns(&self) -> u128 {
        self.iter().map(|waits| waits.ns).sum()
    }
}

/// What a window adds: each group's ended waits, and the increase of the waits in flight, ns.
/// `None`: no histograms were kept.
pub(crate) type EndedWaits = Option<(FxHashMap<String, Waits>, i64)>;

/// The histograms of a window.
pub(crate) fn sized(
    window: &Window,
    book: &Book,
    settings: &Settings,
    names: &dyn Names,
) -> EndedWaits {
    let blame = window.blame.as_ref().filter(|blame| !blame.sizes.is_empty())?;
    let time = (window.t0_ns, window.t1_ns);
    let mut user = |uid| names.user(uid).map(|name| escape(name.as_bytes()));
    let rows = SizedWaits::new(blame, time, settings.blame_by, book, &mut user).rows;
    let in_flight_ns = rows.iter().map(|row| row.sizes.waits.in_flight_delta_ns).sum();
    let waits = |sizes: &Sizes, kind| {
        let of = sizes.histogram(kind);
        WaitCounts { counts: of.counts(), ns: of.ns().into() }
    };
    let of = |row: SizeRow| (row.group, WaitKind::ALL.map(|kind| waits(&row.sizes, kind)));
    Some((rows.into_iter().map(of).collect(), in_flight_ns))
}

/// Histograms by group since the start; the groups that waited longest have series of their own.
#[derive(Clone, Debug)]
pub(crate) struct WaitSizes {
    places: Places<String, Waits>,
    in_flight_ns: i128,
    /// True once a window had histograms.
    is_kept: bool,
    /// True if pages have all buckets.
    buckets: bool,
}

impl WaitSizes {
    pub fn new(settings: &Settings) -> WaitSizes {
        let places = Places::new(settings.groups, settings.zero_for_ns);
        WaitSizes { places, in_flight_ns: 0, is_kept: false, buckets: settings.buckets }
    }

    pub fn advance(&mut self, t0_ns: u64, t1_ns: u64, sized: EndedWaits) {
        let Some((waits, in_flight_ns)) = sized else { return };
        self.is_kept = true;
        self.in_flight_ns += i128::from(in_flight_ns);
        self.places.advance(t0_ns, t1_ns, waits);
    }

    pub fn look(&mut self, at_ns: u64) {
        self.places.look(at_ns);
    }

    /// The families; none if no window had histograms.
    pub fn families(&self, start_ns: u64) -> Vec<Family> {
        if !self.is_kept {
            return Vec::new();
        }
        let rest = [LABEL_OTHER, LABEL_LEFT].map(String::from).into_iter().zip(self.places.rest());
        let rest = rest.map(|(name, waits)| (name, waits, start_ns));
        let points = |(victim, waits, created_ns): (String, Waits, u64)| {
            WaitKind::ALL.into_iter().zip(waits).map(move |(kind, waits)| Point {
                labels: vec![("victim", victim.clone()), ("began", kind.name().into())],
                value: Value::Waits(waits),
                created_ns: Some(created_ns),
            })
        };
        let open =
            Point { labels: Vec::new(), value: Value::Ns(self.in_flight_ns), created_ns: None };
        vec![
            Family {
                name: "exactop_wait_size",
                dotted: "exactop.wait.size",
                help: "Ended waits of victim's tasks for a CPU by size, ns, woken or preempted; with the open waits they sum to all waits.",
                unit: Unit::Nanoseconds,
                kind: FamilyKind::Histogram { buckets: self.buckets },
                points: self.places.series().into_iter().chain(rest).flat_map(points).collect(),
            },
            Family {
                name: "exactop_open_waits_seconds",
                dotted: "exactop.open_waits",
                help: "Waits for a CPU that have not ended, less those open at the start.",
                unit: Unit::Seconds,
                kind: FamilyKind::Gauge,
                points: vec![open],
            },
        ]
    }
}
