//! Attacks on a file that is written: links, other owners, other modes.

use exactop_files::{replace, Await, Directory, FileError, Output};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{chown, symlink, DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

/// Another user.
const OTHER: u32 = 65_534;
const SECRET: &str = "what root keeps";

/// True if owners can be changed here; without that there is no other user.
fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        eprintln!("left out: it takes root to give files to someone else");
    }
    root
}

/// A file of root's, and a directory beside it.
struct Ground {
    home: TempDir,
}

impl Ground {
    fn new() -> Ground {
        let home = tempfile::tempdir().expect("a directory");
        fs::write(home.path().join("victim"), SECRET).expect("written");
        fs::create_dir(home.path().join("place")).expect("made");
        Ground { home }
    }

    fn victim(&self) -> PathBuf {
        self.home.path().join("victim")
    }

    fn place(&self) -> PathBuf {
        self.home.path().join("place")
    }

    fn in_place(&self, name: &str) -> PathBuf {
        self.place().join(name)
    }

    fn unharmed(&self) {
        assert_eq!(fs::read_to_string(self.victim()).expect("it is there"), SECRET);
    }

    /// Names in the directory that are no links.
    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.place()).expect("it is there").map(|e| e.expect("entry"));
        let own = entries.filter(|e| !e.file_type().expect("a kind").is_symlink());
        own.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
    }
}

fn foreign(path: &Path) {
    std::os::unix::fs::lchown(path, Some(OTHER), Some(OTHER)).expect("given away");
}

fn write_output(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    match Output::open(path)? {
        Await::Ready(mut output) => output.write_all(bytes).expect("written"),
        Await::NoReader => panic!("it is no FIFO"),
    }
    Ok(())
}

#[test]
fn three_thousand_planted_names_lead_nowhere() {
    let ground = Ground::new();
    let own = std::process::id();
    for guess in own - 1_500.min(own)..own + 1_500 {
        symlink(ground.victim(), ground.in_place(&format!("config.toml.{guess}"))).expect("made");
    }
    for name in ["config.new", "config.tmp", ".config.toml.swp", "config.toml~"] {
        symlink(ground.victim(), ground.in_place(name)).expect("made");
    }
    replace(&ground.in_place("config.toml"), b"ours").expect("written");
    let directory = Directory::open(&ground.place()).expect("ours");
    directory.replace("run.json", b"ours").expect("written");
    write_output(&ground.in_place("trace"), b"ours").expect("written");
    ground.unharmed();
    let mut files = ground.files();
    files.sort();
    assert_eq!(files, ["config.toml", "run.json", "trace"], "nothing is left beside them");
}

#[test]
fn a_link_in_place_of_the_target_is_never_followed() {
    let ground = Ground::new();
    let directory = Directory::open(&ground.place()).expect("ours");
    for name in ["report.html", "points.jsonl"] {
        symlink(ground.victim(), ground.in_place(name)).expect("made");
    }
    directory.replace("report.html", b"ours").expect("written");
    assert!(directory.append("points.jsonl").is_err(), "nothing is added through a link");
    assert!(directory.create("points.jsonl").is_err());
    ground.unharmed();
    assert!(fs::symlink_metadata(ground.in_place("report.html")).expect("a file").is_file());
}

#[test]
fn a_link_of_another_user_is_refused_with_its_owner() {
    let ground = Ground::new();
    if !is_root() {
        return;
    }
    let link = ground.in_place("out");
    symlink(ground.victim(), &link).expect("made");
    foreign(&link);
    for refused in [write_output(&link, b"x"), replace(&link, b"x")] {
        assert!(matches!(refused, Err(FileError::Link { owner: OTHER, .. })), "{refused:?}");
    }
    // A link in the middle of the path, too.
    let way = ground.in_place("way");
    symlink(ground.home.path(), &way).expect("made");
    foreign(&way);
    let refused = write_output(&way.join("victim"), b"x");
    assert!(matches!(refused, Err(FileError::Link { owner: OTHER, .. })), "{refused:?}");
    ground.unharmed();
}

#[test]
fn a_link_of_the_user_stays_a_link() {
    let ground = Ground::new();
    let kept = ground.home.path().join("dotfiles.toml");
    fs::write(&kept, "old").expect("written");
    symlink("../dotfiles.toml", ground.in_place("config.toml")).expect("made");
    replace(&ground.in_place("config.toml"), b"new").expect("written");
    assert_eq!(fs::read(&kept).expect("read"), b"new");
    assert!(fs::symlink_metadata(ground.in_place("config.toml")).expect("there").is_symlink());
    let round = ground.in_place("round");
    symlink("round", &round).expect("made");
    assert!(replace(&round, b"x").is_err(), "a link to itself ends");
}

#[test]
fn a_directory_of_others_is_refused_as_root() {
    let ground = Ground::new();
    if !is_root() {
        return;
    }
    foreign(&ground.place());
    let refused = Directory::open(&ground.place());
    assert!(matches!(refused, Err(FileError::Foreign { owner: OTHER, .. })), "{refused:?}");
    assert!(replace(&ground.in_place("config.toml"), b"x").is_err());
    assert!(Directory::open_to_read(&ground.place()).is_ok(), "it can be read");
    // A new directory in it is ours, and only that one is used.
    let own = Directory::make(&ground.in_place("own")).expect("made");
    fs::rename(ground.in_place("own"), ground.in_place("away")).expect("the owner can");
    symlink(ground.home.path(), ground.in_place("own")).expect("made");
    own.replace("victim", b"x").expect("written");
    ground.unharmed();
    assert_eq!(fs::read(ground.in_place("away/victim")).expect("there"), b"x");
}

#[test]
fn a_directory_that_others_can_write_to_is_refused_as_root_unless_it_is_sticky() {
    let ground = Ground::new();
    if !is_root() {
        return;
    }
    let mode = |mode| {
        let set = fs::Permissions::from_mode(mode);
        fs::set_permissions(ground.place(), set).expect("set");
    };
    for bad in [0o777, 0o770, 0o702] {
        mode(bad);
        let refused = Directory::open(&ground.place());
        assert!(matches!(refused, Err(FileError::Writable { .. })), "{bad:o}: {refused:?}");
    }
    mode(0o1777);
    let sticky = Directory::open(&ground.place()).expect("entries are their owners'");
    fs::write(ground.in_place("points"), "theirs").expect("written");
    foreign(&ground.in_place("points"));
    let refused = sticky.append("points");
    assert!(matches!(refused, Err(FileError::Foreign { owner: OTHER, .. })), "{refused:?}");
}

#[test]
fn a_file_with_another_name_is_not_appended_to() {
    let ground = Ground::new();
    fs::hard_link(ground.victim(), ground.in_place("points")).expect("linked");
    let directory = Directory::open(&ground.place()).expect("ours");
    let refused = directory.append("points");
    assert!(matches!(refused, Err(FileError::Linked { links: 2, .. })), "{refused:?}");
    // A new file takes the name; the other one keeps its content.
    write_output(&ground.in_place("points"), b"x").expect("written");
    ground.unharmed();
}

#[test]
fn new_files_are_for_their_owner_alone() {
    let ground = Ground::new();
    let directory = Directory::make(&ground.in_place("a/b/c")).expect("made");
    directory.replace("report", b"x").expect("written");
    directory.create("new").expect("made");
    directory.append("added").expect("made");
    write_output(&ground.in_place("trace"), b"x").expect("written");
    let mode = |name: &str| fs::metadata(ground.in_place(name)).expect("there").mode() & 0o777;
    for name in ["a/b/c/report", "a/b/c/new", "a/b/c/added", "trace"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    for name in ["a", "a/b", "a/b/c"] {
        assert_eq!(mode(name), 0o700, "{name}");
    }
    // Also if all users could read the old one.
    fs::set_permissions(ground.in_place("trace"), fs::Permissions::from_mode(0o666)).expect("set");
    write_output(&ground.in_place("trace"), b"y").expect("written");
    assert_eq!(mode("trace"), 0o600);
}

#[test]
fn a_default_directory_is_new_and_cannot_be_guessed() {
    let ground = Ground::new();
    let begin = ground.in_place("exactop-lab-20260101-000000");
    let first = Directory::make_unguessable(&begin).expect("made");
    let second = Directory::make_unguessable(&begin).expect("made");
    assert_ne!(first.path(), second.path());
    let refused = Directory::make(first.path());
    assert!(matches!(refused, Err(FileError::Exists { .. })), "{refused:?}");
    symlink(ground.home.path(), ground.in_place("taken")).expect("made");
    let refused = Directory::make(&ground.in_place("taken"));
    assert!(matches!(refused, Err(FileError::Exists { .. })), "{refused:?}");
}

#[test]
fn names_stay_in_their_directory() {
    let ground = Ground::new();
    let directory = Directory::open(&ground.place()).expect("ours");
    for name in ["", ".", "..", "../victim", "/etc/passwd", "a/b", "a\0b"] {
        assert!(directory.replace(name, b"x").is_err(), "{name:?}");
        assert!(directory.create(name).is_err(), "{name:?}");
        assert!(directory.append(name).is_err(), "{name:?}");
        assert!(directory.read(name, 9).is_err(), "{name:?}");
        assert!(directory.within(name).is_err(), "{name:?}");
    }
    ground.unharmed();
}

#[test]
fn a_change_during_a_write_affects_no_other_file() {
    let ground = Ground::new();
    let over = AtomicBool::new(false);
    let (target, aside) = (ground.in_place("target"), ground.in_place("aside"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let _ = symlink(ground.victim(), &aside);
                let _ = fs::rename(&aside, &target);
                let _ = fs::remove_file(&target);
                let _ = fs::hard_link(ground.victim(), &target);
            }
        });
        let directory = Directory::open(&ground.place()).expect("ours");
        for _ in 0..500 {
            let _ = directory.replace("target", b"x");
            if let Ok(mut file) = directory.append("target") {
                let _ = file.write_all(b"x");
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    ground.unharmed();
}

#[test]
fn a_file_in_a_directory_that_takes_none_is_written_where_it_is() {
    let ground = Ground::new();
    if !is_root() {
        return;
    }
    fs::DirBuilder::new().mode(0o755).create(ground.in_place("shut")).expect("made");
    let log = ground.in_place("shut/log");
    fs::write(&log, "a longer text of before").expect("written");
    chown(&log, Some(OTHER), Some(OTHER)).expect("given away");
    for above in [ground.home.path(), &ground.place()] {
        fs::set_permissions(above, fs::Permissions::from_mode(0o755)).expect("set");
    }
    // As the other user, who may write to the file but not to the directory.
    let thread = std::thread::spawn({
        let log = log.clone();
        move || {
            // SAFETY: takes numbers; the raw system call changes this thread alone.
            let changed = unsafe { libc::syscall(libc::SYS_setresuid, OTHER, OTHER, OTHER) };
            assert_eq!(changed, 0);
            write_output(&log, b"new").expect("written");
        }
    });
    thread.join().expect("it could");
    assert_eq!(fs::read(&log).expect("there"), b"new");
}
