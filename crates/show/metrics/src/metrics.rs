//! The counters since the daemon's start, and their families.

use crate::accounts::{Accounts, RunningSum};
use crate::blamed::{self, Booked, WaitsBy};
use crate::clock::Clock;
use crate::degraded;
use crate::exporting::Exporting;
use crate::family::{Family, FamilyKind, Point, Unit, Value};
use crate::own::DaemonInfo;
use crate::places::Places;
use crate::settings::Settings;
use crate::sized::{self, EndedWaits, WaitSizes};
use crate::text::{write, Format};
use exactop_model::owner::{
    labelled, Grouping, Labels, Names, Usage, LABEL_LEFT, LABEL_OTHER, WAITS,
};
use exactop_model::{Book, Degraded, ErrorKind, Window};
use rustc_hash::FxHashMap;

/// The counters of a daemon since its start.
#[derive(Clone, Debug)]
pub struct Metrics {
    settings: Settings,
    clock: Clock,
    /// Start of the first window and end of the last one, on CLOCK_MONOTONIC, ns.
    span: Option<(u64, u64)>,
    accounts: Accounts,
    places: Places<Labels, Usage>,
    waits_by: WaitsBy,
    wait_sizes: WaitSizes,
    exporting: Option<Exporting>,
    degraded: Option<Degraded>,
    own: Option<DaemonInfo>,
}

type Group = (Labels, Usage, u64);

/// A figure of a group, with the label that distinguishes it within its family.
type Figure = (Option<(&'static str, &'static str)>, Value);

impl Metrics {
    /// All counters at zero.
    pub fn new(mut settings: Settings, clock: Clock) -> Metrics {
        let mut seen = Vec::new();
        settings.by.retain(|dimension| {
            let new = !seen.contains(dimension);
            seen.push(*dimension);
            new
        });
        let places = Places::new(settings.groups, settings.zero_for_ns);
        let (waits_by, wait_sizes) = (WaitsBy::new(&settings), WaitSizes::new(&settings));
        Metrics {
            settings,
            clock,
            span: None,
            accounts: Accounts::default(),
            places,
            waits_by,
            wait_sizes,
            exporting: None,
            degraded: None,
            own: None,
        }
    }

    /// Sets the daemon's own figures for the page.
    pub fn set_own(&mut self, own: DaemonInfo) {
        self.own = Some(own);
    }

    /// Sets the exporter's figures; `None`: there is no exporter.
    pub fn set_exporting(&mut self, exporting: Option<Exporting>) {
        self.exporting = exporting;
    }

    /// Sets the dropped details; `None`: this process never drops any.
    pub fn set_degraded(&mut self, degraded: Option<Degraded>) {
        self.degraded = degraded;
    }

    /// Counts a window, which must start at the end of the last one; merged windows are allowed.
    /// `book` is at the window's end.
    pub fn advance(&mut self, window: &Window, book: &Book, names: &dyn Names) {
        let groups = labelled(window, book, &self.settings.by, names);
        let booked = blamed::booked(window, book, &self.settings, names);
        let sized = sized::sized(window, book, &self.settings, names);
        self.count(window, groups, booked, sized);
    }

    /// Counts a window with the figures of its groups, as [`labelled`] returns them, its pairs and
    /// its histograms.
    pub(crate) fn count(
        &mut self,
        window: &Window,
        groups: FxHashMap<Labels, Usage>,
        booked: Booked,
        sized: EndedWaits,
    ) {
        let start_ns = self.span.map_or(window.t0_ns, |(start_ns, _)| start_ns);
        self.span = Some((start_ns, window.t1_ns));
        self.accounts.advance(window);
        self.places.advance(window.t0_ns, window.t1_ns, groups);
        self.waits_by.advance(window.t0_ns, window.t1_ns, booked);
        self.wait_sizes.advance(window.t0_ns, window.t1_ns, sized);
    }

    /// The settings of the counters.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Prepares for a reader, as of the last boundary: from now on, the page has new groups,
    /// starting at 0.
    pub fn look(&mut self) {
        if let Some((_, at_ns)) = self.span {
            self.places.look(at_ns);
            self.waits_by.look(at_ns);
            self.wait_sizes.look(at_ns);
        }
    }

    /// The page for a scrape: [`Metrics::look`] and [`Metrics::render`].
    pub fn scrape(&mut self, format: Format) -> Vec<u8> {
        self.look();
        self.render(format)
    }

    /// The page as it is.
    pub fn render(&self, format: Format) -> Vec<u8> {
        write(&self.page(), &self.clock, format)
    }

    /// The last boundary on CLOCK_MONOTONIC, ns; `None` before the first window.
    pub fn boundary_ns(&self) -> Option<u64> {
        self.span.map(|(_, t1_ns)| t1_ns)
    }

    /// The clock for wall-clock times.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// All families; empty before the first window.
    pub fn families(&self) -> Vec<Family> {
        let Some((start_ns, t1_ns)) = self.span else { return Vec::new() };
        let mut families = vec![self.cpu_time()];
        families.extend(self.groups(start_ns));
        families.extend(self.waits_by.family(start_ns));
        families.extend(self.wait_sizes.families(start_ns));
        families.extend(self.trust(start_ns));
        families.extend(self.gauges(t1_ns));
        families.extend(self.degraded.map(degraded::family));
        families.extend(self.exporting.iter().flat_map(Exporting::families));
        families
    }

    /// The families of the page: all families, and the figures that an OTLP report has in its
    /// resource.
    pub(crate) fn page(&self) -> Vec<Family> {
        let mut families = self.families();
        if self.span.is_some() {
            families.extend(self.own.iter().flat_map(|own| own.families(&self.clock)));
        }
        families
    }

    fn cpu_time(&self) -> Family {
        let points = self.accounts.accounts().into_iter();
        Family {
            name: "exactop_cpu_seconds",
            dotted: "exactop.cpu.time",
            help: "CPU time by account; all accounts and the residual sum to CPUs x time.",
            unit: Unit::Seconds,
            kind: FamilyKind::Counter,
            points: points.filter_map(|(word, sum)| since("account", word, sum)).collect(),
        }
    }

    fn groups(&self, start_ns: u64) -> Vec<Family> {
        let groups = self.series(start_ns);
        let mut families = vec![self.group_family(
            ("exactop_group_cpu_seconds", "exactop.group.cpu.time"),
            "CPU time of living and exited tasks; all groups sum to the accounts tasks and exited.",
            Unit::Seconds,
            &groups,
            &|group| vec![(None, ns(group.1.run_ns))],
        )];
        if self.settings.modes {
            families.push(self.group_family(
                ("exactop_group_cpu_mode_seconds", "exactop.group.cpu.mode.time"),
                "User and system time.",
                Unit::Seconds,
                &groups,
                &|(_, charge, _)| {
                    let modes = [("user", charge.user_ns), ("system", charge.system_ns)];
                    modes.map(|(mode, time)| (Some(("mode", mode)), ns(time))).to_vec()
                },
            ));
        }
        if self.settings.waits {
            families.push(self.group_family(
                ("exactop_group_wait_seconds", "exactop.group.wait.time"),
                "Wait time, summed over threads.",
                Unit::Seconds,
                &groups,
                &|(_, charge, _)| {
                    let waits = WAITS.iter().zip(charge.waits_ns);
                    waits.map(|((wait, _), time)| (Some(("wait", *wait)), ns(time))).collect()
                },
            ));
        }
        families.push(self.group_family(
            ("exactop_group_exited_processes", "exactop.group.exited_processes"),
            "Exited processes.",
            Unit::Processes,
            &groups,
            &|(_, charge, _)| vec![(None, Value::Count(charge.exited))],
        ));
        families
    }

    /// All groups by name, and `~other` and `~left`. Without labels there is only one series.
    fn series(&self, start_ns: u64) -> Vec<Group> {
        let by = &self.settings.by;
        let mut series = self.places.series();
        let rest = [LABEL_OTHER, LABEL_LEFT].into_iter().zip(self.places.rest());
        series.extend(rest.map(|(name, usage)| (Labels::all(by, name), usage, start_ns)));
        if by.is_empty() {
            let mut sum = Usage::default();
            series.iter().for_each(|(_, usage, _)| sum.add(usage));
            return vec![(Labels::all(by, LABEL_OTHER), sum, start_ns)];
        }
        series
    }

    fn group_family(
        &self,
        (name, dotted): (&'static str, &'static str),
        help: &'static str,
        unit: Unit,
        groups: &[Group],
        told: &dyn Fn(&Group) -> Vec<Figure>,
    ) -> Family {
        let mut points = Vec::new();
        for group in groups {
            let own = self.settings.by.iter().zip(&group.0 .0);
            let own: Vec<_> = own
                .filter_map(|(by, value): (&Grouping, _)| Some((by.name(), value.clone()?)))
                .collect();
            for (more, value) in told(group) {
                let mut labels = own.clone();
                labels.extend(more.map(|(name, value)| (name, value.to_string())));
                points.push(Point { labels, value, created_ns: Some(group.2) });
            }
        }
        Family { name, dotted, help, unit, kind: FamilyKind::Counter, points }
    }

    /// Exactness of the figures, and the cost of measuring.
    fn trust(&self, start_ns: u64) -> [Family; 3] {
        let created_ns = Some(start_ns);
        let inexact = Value::Count(self.accounts.inexact_windows);
        let event = |&kind: &ErrorKind| Point {
            labels: vec![("kind", kind.id().to_string())],
            value: Value::Count(self.accounts.events.get(kind).into()),
            created_ns,
        };
        let parts = [("user", self.accounts.self_user), ("bpf", self.accounts.self_bpf)];
        [
            Family {
                name: "exactop_inexact_windows",
                dotted: "exactop.inexact_windows",
                help: "Windows with an unrepaired miss or a residual.",
                unit: Unit::Windows,
                kind: FamilyKind::Counter,
                points: vec![Point { labels: Vec::new(), value: inexact, created_ns }],
            },
            Family {
                name: "exactop_ledger_events",
                dotted: "exactop.ledger.events",
                help: "Missed and impossible events, by kind; the live view's help explains each.",
                unit: Unit::Events,
                kind: FamilyKind::Counter,
                points: ErrorKind::ALL.iter().map(event).collect(),
            },
            Family {
                name: "exactop_self_cpu_seconds",
                dotted: "exactop.self.cpu.time",
                help: "Cost of measuring: user is this process, bpf its programs (runs x calibrated cost).",
                unit: Unit::Seconds,
                kind: FamilyKind::Counter,
                points: parts.into_iter().filter_map(|(part, sum)| since("part", part, sum)).collect(),
            },
        ]
    }

    fn gauges(&self, t1_ns: u64) -> [Family; 3] {
        let gauge = |name, dotted, help, unit, value| Family {
            name,
            dotted,
            help,
            unit,
            kind: FamilyKind::Gauge,
            points: vec![Point { labels: Vec::new(), value, created_ns: None }],
        };
        [
            gauge(
                "exactop_boundary_seconds",
                "exactop.boundary",
                "Instant of all figures here, on CLOCK_MONOTONIC.",
                Unit::Seconds,
                Value::Ns(t1_ns.into()),
            ),
            gauge(
                "exactop_cpus",
                "exactop.cpus",
                "CPUs online in the newest window.",
                Unit::Cpus,
                Value::Count(self.accounts.cpus.into()),
            ),
            gauge(
                "exactop_residual_seconds",
                "exactop.residual",
                "CPUs x time minus all accounts, since the start; 0 if the books close.",
                Unit::Seconds,
                Value::Ns(self.accounts.residual_ns),
            ),
        ]
    }
}

/// A sum as a series, if it is known.
fn since(label: &'static str, word: &str, sum: Option<RunningSum>) -> Option<Point> {
    let RunningSum { ns: time, created_ns } = sum?;
    let labels = vec![(label, word.to_string())];
    Some(Point { labels, value: ns(time), created_ns: Some(created_ns) })
}

/// A time as a value. It never reaches 2^127 ns.
fn ns(time: u128) -> Value {
    Value::Ns(time as i128)
}
