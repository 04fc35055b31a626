//! FIFOs, devices and endless files in place of a file.

use exactop_files::{
    read, read_configuration, replace, Await, Directory, FileError, FileKind, Output, CONFIGURATION,
};
use rustix::fs::{mknodat, FileType, Mode, CWD};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{symlink, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

/// Nothing here may block: a hang fails the test instead of blocking it.
const HANGS: Duration = Duration::from_secs(60);

fn ends<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    receiver.recv_timeout(HANGS).expect("it hangs or panicked")
}

fn home() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn fifo(path: &Path) {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a FIFO");
}

/// One file of each type that is not regular.
fn oddities(home: &TempDir) -> Vec<PathBuf> {
    let path = |name: &str| home.path().join(name);
    fifo(&path("fifo"));
    let _ = UnixListener::bind(path("socket")).expect("a socket");
    fs::create_dir(path("directory")).expect("a directory");
    for device in ["zero", "null", "full", "tty", "random", "kmsg"] {
        symlink(format!("/dev/{device}"), path(device)).expect("a link");
    }
    let names = ["fifo", "socket", "directory", "zero", "null", "full", "tty", "random", "kmsg"];
    names.map(path).into_iter().filter(|path| path.exists()).collect()
}

#[test]
fn only_a_regular_file_is_read() {
    let home = home();
    for path in oddities(&home) {
        for reader in [read_configuration as fn(&Path) -> _, |path| read(path, 1 << 30)] {
            let target = path.clone();
            let found = ends(move || reader(&target));
            assert!(matches!(found, Err(FileError::Kind { .. })), "{path:?}: {found:?}");
        }
    }
    let (inside, name) = (home.path().to_path_buf(), "fifo");
    let found = ends(move || Directory::open_to_read(&inside).and_then(|d| d.read(name, 9)));
    assert!(matches!(found, Err(FileError::Kind { found: FileKind::Fifo, .. })), "{found:?}");
}

#[test]
fn a_read_is_limited_in_length() {
    let home = home();
    let path = home.path().join("config.toml");
    let file = File::create(&path).expect("made");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
    file.set_len(CONFIGURATION).expect("set");
    assert_eq!(read_configuration(&path).map(|b| b.len() as u64).ok(), Some(CONFIGURATION));
    // A sparse file, which costs an attacker nothing.
    for length in [CONFIGURATION + 1, 1 << 40] {
        file.set_len(length).expect("set");
        let found = read_configuration(&path);
        assert!(matches!(found, Err(FileError::TooLong { .. })), "{found:?}");
    }
    // Files of the kernel have length 0 and still have content.
    assert!(read(Path::new("/proc/self/status"), 1 << 20).is_ok_and(|bytes| !bytes.is_empty()));
    assert!(matches!(
        read(Path::new("/proc/self/status"), 10),
        Err(FileError::TooLong { limit: 10, .. })
    ));
    for missing in [home.path().join("none"), Path::new("/dev/null").join("none")] {
        let missing = read_configuration(&missing);
        assert!(missing.is_err_and(|error| error.is_missing()));
    }
}

fn is_of_another<T>(found: Result<T, FileError>) -> bool {
    matches!(found, Err(FileError::Foreign { owner: 65_534, .. }))
}

#[test]
fn a_configuration_of_others_is_refused_as_root() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = home();
    let path = home.path().join("config.toml");
    fs::write(&path, "").expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).expect("set");
    let found = read_configuration(&path);
    assert!(matches!(found, Err(FileError::Writable { .. })), "{found:?}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
    assert!(read_configuration(&path).is_ok());
    std::os::unix::fs::chown(&path, Some(65_534), None).expect("given away");
    assert!(is_of_another(read_configuration(&path)));
    std::os::unix::fs::chown(&path, Some(0), None).expect("taken back");
    std::os::unix::fs::chown(home.path(), Some(65_534), None).expect("given away");
    assert!(is_of_another(read_configuration(&path)));
}

#[test]
fn a_fifo_is_written_to_once_it_has_a_reader() {
    let home = home();
    let path = home.path().join("fifo");
    fifo(&path);
    let open = |path: &Path| {
        let path = path.to_path_buf();
        ends(move || Output::open(&path))
    };
    assert!(matches!(open(&path), Ok(Await::NoReader)));
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut reader = OpenOptions::new().read(true).custom_flags(flags).open(&path).expect("opened");
    let Ok(Await::Ready(mut output)) = open(&path) else { panic!("someone reads") };
    assert!(output.is_stream());
    output.write_all(b"told").expect("written");
    // A write does not block when the reader takes nothing.
    let full = loop {
        if let Err(error) = output.write(&[0; 4096]) {
            break error;
        }
    };
    assert_eq!(full.kind(), std::io::ErrorKind::WouldBlock);
    let mut four = [0; 4];
    reader.read_exact(&mut four).expect("read");
    assert_eq!(&four, b"told");
}

#[test]
fn a_fifo_of_another_user_in_a_shared_directory_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let home = home();
    let path = home.path().join("fifo");
    fifo(&path);
    std::os::unix::fs::chown(&path, Some(65_534), None).expect("given away");
    assert!(is_of_another(Output::open(&path)));
    // In a directory of its owner the user named it on purpose.
    std::os::unix::fs::chown(home.path(), Some(65_534), None).expect("given away");
    assert!(matches!(Output::open(&path), Ok(Await::NoReader)));
}

#[test]
fn devices_are_written_to_and_return_their_errors() {
    let Ok(Await::Ready(mut full)) = Output::open(Path::new("/dev/full")) else {
        panic!("/dev/full opens")
    };
    let error = full.write(b"x").expect_err("it is full");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    let Ok(Await::Ready(mut null)) = Output::open(Path::new("/dev/null")) else {
        panic!("/dev/null opens")
    };
    null.write_all(b"x").expect("it takes everything");
    assert!(fs::metadata("/dev/null").is_ok_and(|null| !null.is_file()), "it is still there");
    assert!(matches!(
        Output::open(Path::new("/")),
        Err(FileError::Kind { found: FileKind::Directory, .. })
    ));
}

#[test]
fn an_open_descriptor_continues_at_its_position() {
    let home = home();
    let path = home.path().join("log");
    let mut file = File::create(&path).expect("made");
    file.write_all(b"before ").expect("written");
    let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let Ok(Await::Ready(mut output)) = Output::open(Path::new(&name)) else { panic!("{name}") };
    output.write_all(b"after").expect("written");
    assert_eq!(fs::read(&path).expect("read"), b"before after");
}

#[test]
fn a_fifo_is_not_appended_to_and_is_replaced_by_a_file() {
    let home = home();
    fifo(&home.path().join("fifo"));
    let (path, inside) = (home.path().join("fifo"), home.path().to_path_buf());
    let found = ends(move || Directory::open(&inside).and_then(|d| d.append("fifo").map(drop)));
    assert!(matches!(found, Err(FileError::Kind { found: FileKind::Fifo, .. })), "{found:?}");
    ends(move || replace(&path, b"x")).expect("a file takes the name");
    assert!(home.path().join("fifo").is_file());
}
