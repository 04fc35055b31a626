//! Leaks over a day: as many windows as a recording has in a day, with readers and on-demand
//! programs that come and go. `make test-soak` takes half an hour.

use crate::daemon::{bpf_files, Daemon};
use crate::helpers::processes::Load;
use crate::helpers::run::{run, without_ledger};
use crate::metrics::{page, port};
use exactop_testkit::wait;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Looks per round: resources that come and go with a window are not in the minimum.
const LOOKS: usize = 8;
/// KiB that may remain per third of the time, besides a twentieth: free pieces between used ones.
const PIECES_KIB: usize = 2 << 10;

/// The minimum of each resource: KiB of own memory, threads, descriptors by kind.
type ResourceCounts = BTreeMap<String, usize>;

fn resource_counts(pid: u32) -> ResourceCounts {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a status file");
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    };
    let mut held = ResourceCounts::from([
        ("memory".to_string(), line("RssAnon:")),
        ("threads".to_string(), line("Threads:")),
    ]);
    let files = fs::read_dir(format!("/proc/{pid}/fd")).expect("descriptors").flatten();
    for link in files.filter_map(|file| fs::read_link(file.path()).ok()) {
        let link = link.to_string_lossy().into_owned();
        let Some(kind) = kind(&link) else { continue };
        *held.entry(kind).or_insert(0) += 1;
    }
    held
}

/// Kind of a descriptor: socket:[1234], anon_inode:bpf-map, /proc/77/stat. `None`: a file of a
/// living process, whose number depends on the machine.
fn kind(link: &str) -> Option<String> {
    let Some(path) = link.strip_prefix('/') else {
        return Some(link.split('[').next().unwrap_or(link).to_string());
    };
    let mut parts = path.split('/');
    let (first, second) = (parts.next().unwrap_or(path), parts.next().unwrap_or_default());
    let is_process = first == "proc" && second.bytes().all(|byte| byte.is_ascii_digit());
    match is_process {
        true if Path::new("/proc").join(second).exists() => None,
        true => Some("proc of who is gone".to_string()),
        false => Some(first.to_string()),
    }
}

/// The minimum over several looks.
fn least(of: &[ResourceCounts]) -> ResourceCounts {
    let names = of.iter().flat_map(ResourceCounts::keys);
    let least = |name: &String| of.iter().map(|held| held.get(name).copied().unwrap_or(0)).min();
    names.filter_map(|name| Some((name.clone(), least(name)?))).collect()
}

/// A round: readers that come and go, with programs of all kinds, and one scrape; then the
/// resources that remain.
fn round(daemon: &Daemon, programs: usize, port: u16) -> ResourceCounts {
    let (pid, socket) = (daemon.load.pid(), daemon.socket());
    let socket = socket.to_str().expect("UTF-8");
    for command in ["syscalls", "wakeups", "waits", "moves", "cgroups"] {
        run(&[command, "--source", "daemon", "--socket", socket, "--json", "0.5", "2"]).fine();
    }
    assert_eq!(daemon.windows(&["-n", "3", "-d", "0.2"]).len(), 3);
    assert!(!page(port).is_empty(), "a page of metrics");
    wait::until("programs at which nobody looks are gone", || bpf_files(pid) == programs);
    let look = |_| {
        // Looks are spread over windows.
        std::thread::sleep(Duration::from_millis(130));
        resource_counts(pid)
    };
    least(&(0..LOOKS).map(look).collect::<Vec<_>>())
}

/// Resources that grew from the first to the last part.
fn more(before: &ResourceCounts, after: &ResourceCounts) -> Vec<String> {
    let grew = |(name, &after): (&String, &usize)| {
        let before = before.get(name).copied().unwrap_or(0);
        let slack = match name.as_str() {
            "memory" => before / 20 + PIECES_KIB,
            // In a storm of births some exist for a window at any time; if they leaked, there would
            // be thousands.
            "proc of who is gone" => 64,
            _ => 0,
        };
        (after > before + slack).then(|| format!("{name}: {before}, then {after}"))
    };
    after.iter().filter_map(grew).collect()
}

#[test]
fn only_files_of_exited_processes_count_as_leaks() {
    let of = |link: &str| kind(link).unwrap_or_default();
    assert_eq!(of(&format!("/proc/{}/stat", std::process::id())), "");
    assert_eq!(of("/proc/4294967295/stat"), "proc of who is gone");
    assert_eq!(
        [of("/proc/stat"), of("socket:[12]"), of("anon_inode:bpf-map")].join(" "),
        "proc socket: anon_inode:bpf-map"
    );
}

#[test]
#[ignore = "takes half an hour: make test-soak"]
fn a_day_of_windows_leaves_memory_and_descriptors_as_they_were() {
    if without_ledger() {
        return;
    }
    let seconds = std::env::var("EXACTOP_TEST_SOAK_SECONDS");
    let seconds = seconds.map_or(1800, |text| text.parse().expect("a number of seconds"));
    let _storm = Load::forks();
    let dir = tempfile::tempdir().expect("a directory");
    let config = dir.path().join("config.toml");
    fs::write(&config, "[record]\ninterval = \"1s\"\nsync = \"none\"\n").expect("settings");
    let config = config.to_str().expect("UTF-8").to_string();
    let port = port();
    let address = format!("127.0.0.1:{port}");
    let options = ["--config", &config, "--metrics", &address];
    let mut daemon = Daemon::start_in(dir, &options, None);
    let programs = bpf_files(daemon.load.pid());
    // In half an hour as many windows as a day has of ten seconds.
    let often = Load::start(daemon.reader(&["--csv", "-d", "0.2"]).stdout(Stdio::null()));
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut rounds = Vec::new();
    while Instant::now() < end {
        rounds.push(round(&daemon, programs, port));
    }
    drop(often);
    assert!(rounds.len() >= 6, "{} rounds: give it more time", rounds.len());
    // In the first third tables grow to their size.
    let third = rounds.len() / 3;
    let (before, after) = (least(&rounds[third..2 * third]), least(&rounds[2 * third..]));
    println!("{} rounds in {seconds} s; the least of the middle third: {before:?}", rounds.len());
    println!("the least of the last third: {after:?}");
    assert_eq!(daemon.end(crate::helpers::processes::TERM), Some(0), "{}", daemon.said());
    let verified = daemon.verified().fine();
    assert!(!verified.contains("damaged"), "{verified}");
    assert_eq!(more(&before, &after), Vec::<String>::new(), "{rounds:?}");
}
