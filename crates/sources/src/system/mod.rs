//! The machine at one instant, for the header: time, users, load, memory, the kernel's own ticks.
//!
//! A field that cannot be read is `None`; nothing here is an error.

mod logins;

use crate::procfs::files::KeptFile;
use crate::procfs::ticks::number;
use crate::procfs::KernelStat;
use exactop_model::system::{Memory, System};
use jiff::tz::TimeZone;
use jiff::Timestamp;
use logins::Logins;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where logins are recorded (utmp(5)); many systems no longer have it.
const UTMP: &str = "/run/utmp";

/// Reads the machine; its files stay open.
pub struct SystemReader {
    uptime: Option<KeptFile>,
    load: Option<KeptFile>,
    memory: Option<KeptFile>,
    stat: Option<KeptFile>,
    logins: Logins,
    zone: TimeZone,
}

impl SystemReader {
    /// Opens a /proc; `root` is `/proc` outside of tests. The time zone is the one of `TZ`, else
    /// of /etc/localtime, else UTC.
    pub fn open(root: &Path) -> SystemReader {
        let file = |name| KeptFile::open(root.join(name)).ok();
        SystemReader {
            uptime: file("uptime"),
            load: file("loadavg"),
            memory: file("meminfo"),
            stat: file("stat"),
            logins: Logins::new(Path::new(UTMP)),
            zone: exactop_files::zone::local(),
        }
    }

    /// Takes logins from another file than `/run/utmp`.
    pub fn with_utmp(mut self, path: PathBuf) -> SystemReader {
        self.logins = Logins::new(&path);
        self
    }

    /// Only how long it has been up: a file instead of five.
    pub fn read_uptime(&mut self) -> System {
        System { uptime_s: read(&mut self.uptime, uptime_s), ..System::default() }
    }

    /// Everything as it is now.
    pub fn read(&mut self) -> System {
        let now = Timestamp::now();
        let stat = read(&mut self.stat, KernelStat::parse).unwrap_or_default();
        System {
            wall_s: Some(now.as_second()),
            local_time: Some(time_of_day(now, &self.zone)),
            uptime_s: read(&mut self.uptime, uptime_s),
            users: self.logins.logged_in(Instant::now()),
            load: read(&mut self.load, load),
            memory: read(&mut self.memory, memory),
            ticks: stat.total,
            cpu_ticks: stat.cpus,
            forks: stat.forks,
        }
    }
}

fn read<T>(file: &mut Option<KeptFile>, parse: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    // Why a figure of the header is missing is of no use to anyone: it shows as '-'.
    file.as_mut()?.read("", parse).ok()
}

/// `HH:MM:SS` in the given zone.
fn time_of_day(at: Timestamp, zone: &TimeZone) -> String {
    let time = zone.to_datetime(at);
    format!("{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())
}

/// The first number of /proc/uptime (proc_uptime(5)).
fn uptime_s(text: &[u8]) -> Option<f64> {
    number(text.split(|b| b.is_ascii_whitespace()).next()?)
}

/// The first three numbers of /proc/loadavg (proc_loadavg(5)).
fn load(text: &[u8]) -> Option<[f64; 3]> {
    let mut numbers = text.split(|&b| b == b' ').map(number);
    let mut next = || numbers.next().flatten();
    Some([next()?, next()?, next()?])
}

/// /proc/meminfo (proc_meminfo(5)); `None` unless every line needed is there.
fn memory(text: &[u8]) -> Option<Memory> {
    let bytes = |name: &str| {
        let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(name.as_bytes()));
        let kib = line?.strip_suffix(b" kB")?.trim_ascii();
        number::<u64>(kib)?.checked_mul(1024)
    };
    let sum = bytes("Buffers:")?.checked_add(bytes("Cached:")?)?;
    Some(Memory {
        total: bytes("MemTotal:")?,
        free: bytes("MemFree:")?,
        available: bytes("MemAvailable:")?,
        cache: sum.checked_add(bytes("SReclaimable:")?)?,
        swap_total: bytes("SwapTotal:")?,
        swap_free: bytes("SwapFree:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::fake::FakeProc;

    const MEMINFO: &str = "MemTotal:  1000 kB\nMemFree:   300 kB\nMemAvailable: 600 kB\n\
        Buffers: 10 kB\nCached:  20 kB\nSwapCached: 9 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n\
        SReclaimable: 5 kB\nHugePages_Total: 0\n";

    #[test]
    fn a_machine_is_read_anew_each_time() {
        let proc = FakeProc::new();
        proc.cpus(&[[1; 8], [2; 8]]);
        proc.write("uptime", "350.25 600.00\n");
        proc.write("loadavg", "0.50 1.25 2.00 3/120 4711\n");
        proc.write("meminfo", MEMINFO);
        let mut reader = SystemReader::open(proc.root()).with_utmp(proc.root().join("none"));
        let system = reader.read();
        assert_eq!(system.uptime_s, Some(350.25));
        assert_eq!(system.load, Some([0.5, 1.25, 2.0]));
        assert_eq!((system.users, system.forks), (None, Some(42)));
        assert_eq!((system.ticks.unwrap().total(), system.cpu_ticks.len()), (24, 2));
        let memory = system.memory.unwrap();
        assert_eq!((memory.total, memory.cache), (1000 * 1024, 35 * 1024));
        proc.write("uptime", "351.25 600.00\n");
        assert_eq!(reader.read().uptime_s, Some(351.25));
        let alone = System { uptime_s: Some(351.25), ..System::default() };
        assert_eq!(reader.read_uptime(), alone);
    }

    #[test]
    fn what_is_missing_or_nonsense_is_none() {
        let proc = FakeProc::new();
        proc.write("meminfo", "MemTotal: 1000 kB\n");
        proc.write("loadavg", "a b c\n");
        proc.write("stat", "nonsense");
        let system = SystemReader::open(proc.root()).read();
        assert_eq!((system.uptime_s, system.load, system.memory), (None, None, None));
        assert_eq!((system.ticks, system.forks), (None, None));
    }

    #[test]
    fn the_time_of_day_follows_the_zone_and_its_summer() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let at = |s: &str| time_of_day(s.parse().unwrap(), &zone);
        assert_eq!(at("2026-01-05T09:08:07Z"), "10:08:07");
        assert_eq!(at("2026-07-05T23:08:07Z"), "01:08:07");
    }
}
