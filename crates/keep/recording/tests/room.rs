//! A nearly full or full disk: the oldest file is removed, and a window that cannot be written is a
//! gap. Neither the displayed time nor the wall clock removes more than that.

mod world;

use exactop_recording::{GapReason, Notice, Options, Recorder, Recording, Sync};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use world::{all, machine, Live, Shown};

fn options() -> Options {
    Options { file_bytes: 20_000, sync: Sync::Never, ..Options::default() }
}

fn open(path: &Path, boot: &str, options: Options) -> Recorder {
    Recorder::open(path, machine(boot), options).expect("a recorder")
}

fn files(path: &Path) -> usize {
    Recording::open(path).expect("a recording").parts().len()
}

/// A small file system that is unmounted at the end. `None`: only root may mount one.
struct Small(tempfile::TempDir);

impl Small {
    fn mount(options: &str) -> Option<Small> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(dir.path());
        if !mount.output().is_ok_and(|done| done.status.success()) {
            eprintln!("left out: mounting a file system takes root");
            return None;
        }
        Some(Small(dir))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("recording")
    }

    fn remount(&self, options: &str) {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{options}")]).arg(self.0.path());
        assert!(mount.status().expect("mount").success());
    }

    /// Fills the file system to the last byte.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.path().join("filling")).expect("a file");
        let zeroes = [0; 4096];
        while std::io::Write::write_all(&mut file, &zeroes).is_ok() {}
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

fn record(recorder: &mut Recorder, live: &mut Live, windows: usize) -> Vec<Shown> {
    (0..windows).filter_map(|_| live.window(recorder)).collect()
}

#[test]
fn a_wall_clock_that_jumps_ahead_removes_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let keep = Some(Duration::from_secs(7 * 86_400));
    let kept = || Options { keep, ..options() };
    let mut live = Live::new(21, false);
    record(&mut open(&path, "an older boot", kept()), &mut live, 30);
    let older = files(&path);
    let mut live = Live::new(22, false);
    let mut recorder = open(&path, "boot", kept());
    record(&mut recorder, &mut live, 30);
    let before = files(&path);
    assert!(older > 1 && before > older + 1);
    // A clock without a battery, or a wrong NTP server: off by thirty years.
    live.wall_offset_ns += 30 * 365 * 86_400 * 1_000_000_000;
    record(&mut recorder, &mut live, 3);
    assert!(files(&path) >= before, "{} of {before} files left", files(&path));
    assert_eq!(recorder.notices(), []);
    // Files of this boot age by CLOCK_MONOTONIC, which nothing can set; files of older boots have
    // only the wall clock.
    live.world.at_ns += 3_600_000_000_000;
    record(&mut recorder, &mut live, 2);
    assert_eq!(
        files(&path) + older,
        before + files_since(&path, before),
        "the older boot's are gone"
    );
    let went = recorder.notices();
    let said = |n: &Notice| matches!(n, Notice::TooOld(bytes) if *bytes > 0);
    assert!(went.len() == older && went.iter().all(said), "{went:?}");
    live.world.at_ns += 8 * 86_400_000_000_000;
    record(&mut recorder, &mut live, 2);
    assert!(files(&path) <= 2, "{}", files(&path));
}

/// Number of files that were created after the first `before`.
fn files_since(path: &Path, before: usize) -> usize {
    let recording = Recording::open(path).expect("a recording");
    let last = recording.parts().last().expect("a file").name.clone();
    let number: usize = last[8..16].parse().expect("a number");
    number - before
}

#[test]
fn a_full_file_system_removes_the_oldest_file() {
    // Inodes: the root, the directory, the lock and five files.
    let Some(small) = Small::mount("size=8m,nr_inodes=8") else { return };
    let path = small.path();
    let mut recorder = open(&path, "boot", options());
    let mut live = Live::new(23, false);
    let shown = record(&mut recorder, &mut live, 150);
    let told = recorder.notices();
    assert!(told.len() > 2 && told.iter().all(|n| matches!(n, Notice::Full(_))), "{told:?}");
    drop(recorder);
    let (windows, gaps) = all(&path);
    assert_eq!(gaps, []);
    assert_eq!(windows[..], shown[shown.len() - windows.len()..], "the newest are there");
}

#[test]
fn on_a_full_disk_recording_starts_once_there_is_room() {
    let Some(small) = Small::mount("size=1m") else { return };
    let path = small.path();
    let mut live = Live::new(24, false);
    let first = record(&mut open(&path, "boot", options()), &mut live, 4);
    // As if the recorder was killed in the middle of a frame.
    let file = path.join("exactop-00000001.rec");
    let length = std::fs::metadata(&file).expect("the file").len();
    let file = std::fs::File::options().write(true).open(&file).expect("the file");
    file.set_len(length - 10).expect("shorter");
    std::fs::remove_file(path.join("writer.lock")).expect("the lock");
    small.fill();
    let mut recorder = open(&path, "boot", options());
    assert!(matches!(recorder.notices()[..], [Notice::Cut(_)]));
    live.book = exactop_model::Book::new();
    assert_eq!(record(&mut recorder, &mut live, 4).len(), 3);
    let told = recorder.notices();
    assert!(matches!(told[..], [Notice::NotWritten(_)]), "{told:?}");
    std::fs::remove_file(small.0.path().join("filling")).expect("the file");
    let second = record(&mut recorder, &mut live, 4);
    assert_eq!(recorder.notices(), [Notice::Again]);
    drop(recorder);
    let (windows, gaps) = all(&path);
    assert_eq!(windows, [first, second].concat());
    // Nothing says for how long no recorder ran: nothing could be written since.
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    assert_eq!(gap.why, GapReason::NotRunning);
    let (from, to) = (windows[2].frames[0].t1_ns, windows[3].frames[0].t0_ns);
    assert_eq!(gap.length_ns, Some(to - from));
}

#[test]
fn a_directory_that_cannot_be_written_fails_at_once() {
    let Some(small) = Small::mount("size=1m") else { return };
    let path = small.path();
    record(&mut open(&path, "boot", options()), &mut Live::new(25, false), 3);
    small.remount("ro");
    let error = Recorder::open(&path, machine("boot"), options()).expect_err("refused").to_string();
    assert!(error.contains("Read-only") && error.contains("recording"), "{error}");
}
