//! The daemon's own figures on the page. A report to a collector has them as its resource.

use crate::clock::Clock;
use crate::family::{Family, FamilyKind, Point, Unit, Value};
use exactop_model::text::escape::escape_str;

/// The daemon, and the machine that it reports.
#[derive(Clone, Debug)]
pub struct DaemonInfo {
    /// The version of the daemon.
    pub version: &'static str,
    /// The commit of its build, if known.
    pub commit: Option<&'static str>,
    /// Host name.
    pub host: String,
    /// Id of the boot; it distinguishes two hosts with one name.
    pub boot_id: String,
    /// Reads the daemon's resource use, for each page.
    pub process: fn() -> Process,
}

/// Resource use of a process by the kernel's count. A figure that cannot be read is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Process {
    /// Start on CLOCK_MONOTONIC, ns.
    pub begun_ns: Option<u64>,
    /// CPU time of all its threads, ns.
    pub cpu_ns: u64,
    /// Resident memory.
    pub resident_bytes: Option<u64>,
    /// Open file descriptors.
    pub open_files: Option<u64>,
}

impl DaemonInfo {
    pub(crate) fn families(&self, clock: &Clock) -> Vec<Family> {
        let mut families = vec![self.build(), self.machine()];
        families.extend((self.process)().families(clock));
        families
    }

    fn build(&self) -> Family {
        let mut labels = vec![("version", self.version.to_string())];
        labels.extend(self.commit.map(|commit| ("revision", escape_str(commit))));
        let help = "Version and commit of exactop.";
        info("exactop_build_info", help, labels)
    }

    fn machine(&self) -> Family {
        let labels = [("host", &self.host), ("boot_id", &self.boot_id)];
        info(
            "exactop_machine_info",
            "Host name and boot of the machine.",
            labels.map(|(name, value)| (name, escape_str(value))).into(),
        )
    }
}

impl Process {
    /// The families under the names of Prometheus's conventions.
    fn families(&self, clock: &Clock) -> [Family; 4] {
        let plain = |value| Point { labels: Vec::new(), value, created_ns: None };
        let count = |n: Option<u64>| n.map(|n| plain(Value::Count(n.into()))).into_iter().collect();
        let begun = self.begun_ns.map(|at_ns| plain(Value::Ns(clock.wall_ns(at_ns))));
        let cpu = Point { created_ns: self.begun_ns, ..plain(Value::Ns(self.cpu_ns.into())) };
        [
            of_page(
                ("process_cpu_seconds", "CPU time of the daemon."),
                (Unit::Seconds, FamilyKind::Counter),
                vec![cpu],
            ),
            of_page(
                ("process_resident_memory_bytes", "Resident memory of the daemon."),
                (Unit::Bytes, FamilyKind::Gauge),
                count(self.resident_bytes),
            ),
            of_page(
                ("process_open_fds", "Open file descriptors of the daemon."),
                (Unit::One, FamilyKind::Gauge),
                count(self.open_files),
            ),
            of_page(
                ("process_start_time_seconds", "Start of the daemon since the epoch."),
                (Unit::Seconds, FamilyKind::Gauge),
                begun.into_iter().collect(),
            ),
        ]
    }
}

/// A figure of 1 that carries labels.
fn info(name: &'static str, help: &'static str, labels: Vec<(&'static str, String)>) -> Family {
    let point = Point { labels, value: Value::Count(1), created_ns: None };
    of_page((name, help), (Unit::One, FamilyKind::Gauge), vec![point])
}

/// A family of the page only: a report has it as its resource.
fn of_page(
    (name, help): (&'static str, &'static str),
    (unit, kind): (Unit, FamilyKind),
    points: Vec<Point>,
) -> Family {
    Family { name, dotted: "", help, unit, kind, points }
}
