//! Who had the CPU while others waited: the pairs of the blame book, as a family.

use crate::family::{Family, FamilyKind, Point, Unit, Value};
use crate::places::Places;
use crate::settings::Settings;
use exactop_model::blame::rows::{Blamed, CulpritKind};
use exactop_model::owner::{Names, LABEL_LEFT, LABEL_OTHER};
use exactop_model::text::escape::escape;
use exactop_model::{Book, Window};
use rustc_hash::FxHashMap;

/// A victim and its culprit.
type Pair = (String, String);

/// What a window adds: the wait of each pair, ns. `None`: no blame book was kept.
pub(crate) type Booked = Option<FxHashMap<Pair, u128>>;

/// The pairs of a window. A culprit that is no other group has a `~` in front, as [`LABEL_OTHER`]
/// has.
pub(crate) fn booked(
    window: &Window,
    book: &Book,
    settings: &Settings,
    names: &dyn Names,
) -> Booked {
    let blame = window.blame.as_ref()?;
    let time = (window.t0_ns, window.t1_ns);
    let mut user = |uid| names.user(uid).map(|name| escape(name.as_bytes()));
    let blamed = Blamed::new(blame, time, settings.blame_by, book, &mut user);
    let mut pairs: FxHashMap<Pair, u128> = FxHashMap::default();
    for row in blamed.rows {
        for culprit in row.culprits {
            let name = match culprit.kind {
                CulpritKind::Group | CulpritKind::Kernel | CulpritKind::Other => culprit.culprit,
                kind => format!("~{}", kind.name()),
            };
            *pairs.entry((row.victim.clone(), name)).or_default() += u128::from(culprit.booked.ns);
        }
    }
    Some(pairs)
}

/// Waits by pair since the start; the largest pairs have a series of their own.
#[derive(Clone, Debug)]
pub(crate) struct WaitsBy {
    places: Places<Pair, u128>,
    /// True once a window had a blame book.
    is_kept: bool,
}

impl WaitsBy {
    pub fn new(settings: &Settings) -> WaitsBy {
        WaitsBy { places: Places::new(settings.groups, settings.zero_for_ns), is_kept: false }
    }

    pub fn advance(&mut self, t0_ns: u64, t1_ns: u64, booked: Booked) {
        let Some(booked) = booked else { return };
        self.is_kept = true;
        self.places.advance(t0_ns, t1_ns, booked);
    }

    pub fn look(&mut self, at_ns: u64) {
        self.places.look(at_ns);
    }

    /// The family; `None`: no window had a blame book.
    pub fn family(&self, start_ns: u64) -> Option<Family> {
        let rest = [LABEL_OTHER, LABEL_LEFT].map(|name| (name.to_string(), name.to_string()));
        let rest = rest.into_iter().zip(self.places.rest()).map(|(pair, ns)| (pair, ns, start_ns));
        let point = |((victim, culprit), ns, created_ns): (Pair, u128, u64)| Point {
            labels: vec![("victim", victim), ("culprit", culprit)],
            value: Value::Ns(ns as i128),
            created_ns: Some(created_ns),
        };
        self.is_kept.then(|| Family {
            name: "exactop_wait_by_seconds",
            dotted: "exactop.wait_by.time",
            help: "Waits of victim's tasks for a CPU while culprit had it; they sum to all ended waits.",
            unit: Unit::Seconds,
            kind: FamilyKind::Counter,
            points: self.places.series().into_iter().chain(rest).map(point).collect(),
        })
    }
}
