//! Values of the machine for the header: time, users, load, memory, the kernel's tick counts.
//!
//! A field that cannot be read is `None`; there are no errors.

mod logins;

use crate::procfs::files::KeptFile;
use crate::procfs::ticks::number;
use crate::procfs::KernelStat;
use exactop_model::ledger::system::{DiskRate, Memory, Pressure, System};
use jiff::tz::TimeZone;
use jiff::Timestamp;
use logins::Logins;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// File of logins (utmp(5)); many systems no longer have it.
const UTMP: &str = "/run/utmp";

/// Reads the machine's values from files that stay open.
pub struct SystemReader {
    uptime: Option<KeptFile>,
    load: Option<KeptFile>,
    memory: Option<KeptFile>,
    stat: Option<KeptFile>,
    /// Files of CPU, I/O and memory pressure; open while a view shows pressure.
    pressure: Option<[Option<KeptFile>; 3]>,
    vmstat: Option<KeptFile>,
    /// Bytes read from and written to disks at the last reading, and its time.
    disk: Option<(Instant, [u64; 2])>,
    root: PathBuf,
    logins: Logins,
    zone: TimeZone,
}

impl SystemReader {
    /// Opens a /proc; `root` is `/proc` outside of tests. The time zone is that of `TZ`, else of
    /// /etc/localtime, else UTC.
    pub fn open(root: &Path) -> SystemReader {
        let file = |name| KeptFile::open(root.join(name)).ok();
        SystemReader {
            uptime: file("uptime"),
            load: file("loadavg"),
            memory: file("meminfo"),
            stat: file("stat"),
            pressure: None,
            vmstat: None,
            disk: None,
            root: root.into(),
            logins: Logins::new(Path::new(UTMP)),
            zone: exactop_files::zone::local(),
        }
    }

    /// Reads logins from another file than `/run/utmp`.
    pub fn with_utmp(mut self, path: PathBuf) -> SystemReader {
        self.logins = Logins::new(&path);
        self
    }

    /// Reads only the uptime: one file instead of five.
    pub fn read_uptime(&mut self) -> System {
        System { uptime_s: read(&mut self.uptime, uptime_s), ..System::default() }
    }

    /// Reads all values but pressure and disk I/O.
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
            pressure: None,
            disk: None,
        }
    }

    /// Reads all values, with pressure and the disk I/O since the last call. The first call opens
    /// files for this; [`SystemReader::leave_pressure`] closes them.
    pub fn read_with_pressure(&mut self) -> System {
        let open = |name: &str| KeptFile::open(self.root.join(name)).ok();
        let files = self
            .pressure
            .get_or_insert_with(|| ["pressure/cpu", "pressure/io", "pressure/memory"].map(open));
        let [cpu, io, memory] = files.each_mut().map(|file| read(file, some_avg10));
        let known = [cpu, io, memory].iter().any(Option::is_some);
        if self.vmstat.is_none() {
            self.vmstat = KeptFile::open(self.root.join("vmstat")).ok();
        }
        let now = read(&mut self.vmstat, paged_bytes).map(|bytes| (Instant::now(), bytes));
        let disk = self.disk.zip(now).and_then(|(then, now)| rate(then, now));
        self.disk = now;
        System { pressure: known.then_some(Pressure { cpu, io, memory }), disk, ..self.read() }
    }

    /// Closes the files of pressure and disk I/O, when no view shows them.
    pub fn leave_pressure(&mut self) {
        (self.pressure, self.vmstat, self.disk) = (None, None, None);
    }
}

fn read<T>(file: &mut Option<KeptFile>, parse: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
    // The header shows '-' for a missing value, without a reason.
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

/// `some avg10=1.23 avg60=...`, of /proc/pressure.
fn some_avg10(text: &[u8]) -> Option<f64> {
    let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(b"some avg10="))?;
    number(line.split(|&b| b == b' ').next()?)
}

/// Bytes read from and written to block devices since boot: `pgpgin` and `pgpgout` of /proc/vmstat,
/// which counts each byte once even if devices are stacked.
fn paged_bytes(text: &[u8]) -> Option<[u64; 2]> {
    let kib = |name: &[u8]| -> Option<u64> {
        let line = text.split(|&b| b == b'\n').find_map(|line| line.strip_prefix(name))?;
        number::<u64>(line)?.checked_mul(1024)
    };
    Some([kib(b"pgpgin ")?, kib(b"pgpgout ")?])
}

fn rate(then: (Instant, [u64; 2]), now: (Instant, [u64; 2])) -> Option<DiskRate> {
    let seconds = now.0.checked_duration_since(then.0)?.as_secs_f64();
    let of = |n: usize| Some(now.1[n].checked_sub(then.1[n])? as f64 / seconds);
    (seconds > 0.0).then_some(DiskRate { read: of(0)?, written: of(1)? })
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
    fn pressure_and_disks_are_read_while_somebody_looks() {
        let proc = FakeProc::new();
        std::fs::create_dir(proc.root().join("pressure")).unwrap();
        proc.write(
            "pressure/cpu",
            "some avg10=18.64 avg60=1.00 avg300=0.00 total=7\nfull avg10=1\n",
        );
        proc.write("pressure/io", "nonsense");
        proc.write("vmstat", "nr_free_pages 7\npgpgin 100\npgpgout 50\npgpgoutrun 1\n");
        let mut reader = SystemReader::open(proc.root());
        assert_eq!((reader.read().pressure, reader.read().disk), (None, None));
        let first = reader.read_with_pressure();
        assert_eq!(first.pressure, Some(Pressure { cpu: Some(18.64), io: None, memory: None }));
        assert_eq!(first.disk, None, "since when?");
        proc.write("vmstat", "pgpgin 100\npgpgout 60\n");
        let disk = reader.read_with_pressure().disk.unwrap();
        assert!(disk.read == 0.0 && disk.written > 0.0, "{disk:?}");
        reader.leave_pressure();
        assert_eq!(reader.read_with_pressure().disk, None);
        let then = (Instant::now(), [0, 1024]);
        let now = (then.0 + std::time::Duration::from_secs(2), [4096, 1023]);
        assert_eq!(rate(then, now), None, "it ran backwards");
        let now = (now.0, [4096, 1024]);
        assert_eq!(rate(then, now), Some(DiskRate { read: 2048.0, written: 0.0 }));
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
