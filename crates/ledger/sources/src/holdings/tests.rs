use super::*;
use exactop_model::frame::holdings::{DiskBytes, OpenFileKind};
use exactop_testkit::wait;
use rustix::process::{kill_process, Pid, Signal};
use std::io::{Seek, SeekFrom, Write};
use std::process::{Child, Command, Stdio};

struct Sleeps(Child);

impl Drop for Sleeps {
    fn drop(&mut self) {
        let pid = Pid::from_raw(self.0.id() as i32).expect("a number");
        let _ = kill_process(pid, Signal::KILL);
        let _ = self.0.wait();
    }
}

fn proc() -> &'static Path {
    Path::new("/proc")
}

#[test]
fn the_environment_of_a_process_is_the_one_it_was_started_with() {
    let mut command = Command::new("sleep");
    command
        .arg("1000")
        .env_clear()
        .env("B", "two\nlines")
        .env("A", "1")
        .env("PATH", "/bin:/usr/bin");
    let child = Sleeps(command.spawn().expect("sleep(1)"));
    let process = Process::open(proc(), child.0.id()).expect("a process");
    // Until the exec is over, /proc has what the child inherited.
    let variables = wait::find("its environment", || match process.read(Part::Environment) {
        Ok(Holdings::Environment(found)) if found.variables.len() == 3 => Some(found.variables),
        _ => None,
    });
    assert_eq!(variables, [&b"A=1"[..], b"B=two\nlines", b"PATH=/bin:/usr/bin"]);
}

#[test]
fn a_cut_environment_has_only_whole_variables() {
    let whole = environment::parsed(b"B=2\0A=1\0", false);
    assert_eq!(whole.variables, [&b"A=1"[..], b"B=2"]);
    let cut = environment::parsed(b"B=2\0A=1", true);
    assert_eq!((cut.variables, cut.is_cut), (vec![b"B=2".to_vec()], true));
}

#[test]
fn open_files_have_their_kinds_places_and_positions() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(b"0123456789").expect("written");
    file.seek(SeekFrom::Start(4)).expect("sought");
    let stdin = file.reopen().expect("opened again");
    (&stdin).seek(SeekFrom::Start(4)).expect("sought");
    let mut command = Command::new("sleep");
    command.arg("1000").stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::null());
    let child = Sleeps(command.spawn().expect("sleep(1)"));
    let process = Process::open(proc(), child.0.id()).expect("a process");
    let path = file.path().as_os_str().as_encoded_bytes();
    // Before exec the child has this test's files; after it also those that this test's parent left
    // open.
    let mut files = wait::find("its files", || match process.read(Part::Files) {
        Ok(Holdings::Files(found)) if found.files.first()?.name == path => Some(found.files),
        _ => None,
    });
    assert!(files.is_sorted_by_key(|file| file.number));
    files.truncate(3);
    assert_eq!(files.iter().map(|file| file.number).collect::<Vec<_>>(), [0, 1, 2]);
    let kinds = files.iter().map(|file| file.kind).collect::<Vec<_>>();
    assert_eq!(kinds, [OpenFileKind::Regular, OpenFileKind::Pipe, OpenFileKind::CharacterDevice]);
    assert_eq!((&*files[0].name, files[0].size, files[0].position), (path, Some(10), Some(4)));
    assert_eq!(files[0].flags.map(|flags| flags & 3), Some(2), "read and written");
    assert!(files[1].name.starts_with(b"pipe:["));
    assert_eq!(files[2].name, b"/dev/null");
}

#[test]
fn names_and_figures_parse_in_the_kernels_format() {
    assert_eq!(files::called(b"socket:[1]"), Some(OpenFileKind::Socket));
    assert_eq!(files::called(b"anon_inode:[eventpoll]"), Some(OpenFileKind::Anonymous));
    assert_eq!(files::called(b"/socket:[1]"), None);
    let text = b"pos:\t42\nflags:\t0100002\nmnt_id:\t9\n";
    assert_eq!(files::parsed(text), (Some(42), Some(0o100_002)));
    assert_eq!(files::parsed(b"flags:\t9\n"), (None, None));
}

/// The descriptor of a directory stays with the process, not with its number.
#[test]
fn an_exited_process_has_no_holdings() {
    let child = Sleeps(Command::new("sleep").arg("1000").spawn().expect("sleep(1)"));
    let process = Process::open(proc(), child.0.id()).expect("a process");
    assert!(process.start_ticks().is_ok_and(|ticks| ticks > 0));
    drop(child);
    assert_eq!(process.start_ticks(), Err(Refusal::Exited));
    for part in [Part::Environment, Part::Files] {
        assert_eq!(process.read(part), Err(Refusal::Exited));
    }
    assert_eq!(Process::open(proc(), u32::MAX).err(), Some(Refusal::Exited));
}

#[test]
fn disk_io_is_what_reached_block_devices() {
    let text = b"rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 1\n";
    assert_eq!(disk::parsed(text), Some(DiskBytes { read: 4096, written: 512 }));
    assert_eq!(disk::parsed(b"rchar: 9\nwrite_bytes: 512\n"), None);
    let own = Process::open(proc(), std::process::id()).expect("this process");
    assert!(own.disk(None).is_ok());
}
