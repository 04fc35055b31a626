//! The header matches the sources, and a C program works with the library, shared and static, also
//! under valgrind if it is installed.

mod released;
mod served;

use exactop_model::{Ask, Book, Feed, FrameOptions, IdleRows, SourceKind};
use exactop_recording::{
    Clocks, Machine, Options, Reader, Recorder, Recording, Replay, ReplayStep, Sync,
};
use served::Served;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The directory into which cargo put the libraries: that of this program.
fn libraries() -> PathBuf {
    let me = std::env::current_exe().expect("this program");
    let libraries = me.parent().expect("target/PROFILE/deps").to_path_buf();
    // The name by which linked programs find an installed library.
    let name = concat!("libexactop.so.", env!("CARGO_PKG_VERSION_MAJOR"));
    match std::os::unix::fs::symlink("libexactop.so", libraries.join(name)) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            panic!("{name}: {error}")
        }
        _ => libraries,
    }
}

#[test]
fn the_header_is_what_the_sources_say() {
    let config = cbindgen::Config::from_file(home().join("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new()
        .with_crate(home())
        .with_config(config)
        .generate()
        .expect("a header");
    let mut text = Vec::new();
    bindings.write(&mut text);
    let text = String::from_utf8(text).expect("UTF-8");
    let path = home().join("include/exactop.h");
    if std::env::var_os("EXACTOP_WRITE_HEADER").is_some() {
        std::fs::write(&path, &text).expect("written");
    }
    let committed = std::fs::read_to_string(&path).expect("include/exactop.h");
    assert!(
        committed == text,
        "include/exactop.h is not what the sources say: EXACTOP_WRITE_HEADER=1 cargo test -p \
         exactop-capi writes it"
    );
}

/// Compiles an example.
fn compile(dir: &Path, example: &str, name: &str, link: &[&str]) -> PathBuf {
    let program = dir.join(name);
    let output = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-D_DEFAULT_SOURCE"])
        .arg("-I")
        .arg(home().join("include"))
        .arg(home().join("examples").join(example))
        .args(link)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("cc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn run(command: &mut Command) -> (Output, String) {
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    (output, text)
}

/// True if tests that need the kernel's permission can run.
fn may_trace() -> bool {
    std::env::var_os("EXACTOP_NO_LEDGER_TESTS").is_none() && rustix::process::geteuid().is_root()
}

#[test]
fn a_c_program_walks_tasks_and_windows_of_every_source() {
    let libraries = libraries();
    let dir = tempfile::tempdir().expect("a directory");
    let library = libraries.to_str().expect("UTF-8");
    let rpath = format!("-Wl,-rpath,{library}");
    let shared = compile(dir.path(), "walk.c", "shared", &["-L", library, "-lexactop", &rpath]);
    let archive = libraries.join("libexactop.a");
    let archive = archive.to_str().expect("UTF-8");
    let private = ["-lelf", "-lz", "-lpthread", "-ldl", "-lm", "-lgcc_s"];
    let fixed = compile(dir.path(), "walk.c", "static", &[&[archive][..], &private].concat());
    let all: &[&str] = match may_trace() {
        true => &["procfs", "taskstats", "snapshot", "ledger", "auto"],
        false => &["procfs", "auto"],
    };
    for source in all {
        let (output, text) = run(Command::new(&shared).arg(source));
        assert!(output.status.success(), "{source}: {text}");
        assert!(*source == "auto" || text.starts_with(&format!("source {source}\n")), "{text}");
        assert!(text.contains("this process ran "), "{text}");
    }
    let (output, text) = run(Command::new(&fixed).arg("procfs"));
    assert!(output.status.success(), "static: {text}");
    let (output, _) = run(Command::new(&shared).arg("nonesuch"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("no source has the number 99"), "{error}");
}

#[test]
fn a_c_program_reads_a_daemon() {
    let libraries = libraries();
    let dir = tempfile::tempdir().expect("a directory");
    let library = libraries.to_str().expect("UTF-8");
    let rpath = format!("-Wl,-rpath,{library}");
    let program = compile(dir.path(), "walk.c", "walk", &["-L", library, "-lexactop", &rpath]);
    let socket = dir.path().join("run/socket");
    let daemon = |path: &Path| run(Command::new(&program).arg("daemon").arg(path));
    let refused = |(output, _): (Output, String)| {
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let error = refused(daemon(&socket));
    assert!(
        error.contains(&format!("cannot reach an exactop daemon at {}", socket.display())),
        "{error}"
    );
    let kinds: &[&str] = if may_trace() { &["procfs", "ledger"] } else { &["procfs"] };
    for kind in kinds {
        let served = Served::start(&socket, kind);
        // One after the other, then both at once: each has its own tasks, windows and balance.
        for together in [1, 2] {
            let readers: Vec<_> = std::thread::scope(|scope| {
                let all: Vec<_> = (0..together).map(|_| scope.spawn(|| daemon(&socket))).collect();
                all.into_iter().map(|reader| reader.join().expect("a reader")).collect()
            });
            for (output, text) in readers {
                assert!(output.status.success(), "{kind}: {text}");
                assert!(text.starts_with(&format!("source {kind}\n")), "{text}");
                assert!(text.contains("this process ran "), "{text}");
            }
        }
        drop(served);
        let error = refused(daemon(&socket));
        assert!(error.contains("cannot reach an exactop daemon at"), "{error}");
    }
    if !Path::new("/run/exactop/socket").exists() {
        let error = refused(run(Command::new(&program).arg("daemon")));
        assert!(error.contains("cannot reach an exactop daemon at /run/exactop/socket"), "{error}");
    }
    if Command::new("valgrind").arg("--version").output().is_ok() {
        let _served = Served::start(&socket, "procfs");
        let leaks = ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect,possible"];
        let mut checked = Command::new("valgrind");
        checked.args(leaks).args(["--error-exitcode=9", "-q"]).arg(&program);
        let (output, text) = run(checked.arg("daemon").arg(&socket));
        assert!(output.status.success(), "{text}");
    }
}

#[test]
fn a_forked_child_leaves_the_parents_connection_intact() {
    let libraries = libraries();
    let dir = tempfile::tempdir().expect("a directory");
    let library = libraries.to_str().expect("UTF-8");
    let rpath = format!("-Wl,-rpath,{library}");
    let link = ["-L", library, "-lexactop", &rpath];
    let program = compile(dir.path(), "../tests/forks.c", "forks", &link);
    let socket = dir.path().join("run/socket");
    let _served = Served::start(&socket, "procfs");
    let (output, text) = run(Command::new(&program).arg(&socket));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), text.as_str()), (Some(0), "both go on\n"), "{said}");
    assert!(said.contains("which forked this one: open a new connection"), "{said}");
}

#[test]
fn a_c_program_notices_a_restarted_daemon() {
    let libraries = libraries();
    let dir = tempfile::tempdir().expect("a directory");
    let library = libraries.to_str().expect("UTF-8");
    let rpath = format!("-Wl,-rpath,{library}");
    let link = ["-L", library, "-lexactop", &rpath];
    let program = compile(dir.path(), "../tests/again.c", "again", &link);
    let socket = dir.path().join("run/socket");
    let served = Served::start(&socket, "procfs");
    let mut reader = Command::new(&program)
        .arg(&socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(reader.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().and_then(Result::ok);
    assert_eq!(next().as_deref(), Some("looked"));
    drop(served);
    let _another = Served::start(&socket, "procfs");
    reader.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
    assert_eq!(next().as_deref(), Some("told once"));
    assert!(reader.wait().expect("an end").success());
}

/// Records a made-up machine twice, with a gap between.
fn record(path: &Path) {
    for begin in [0, 10] {
        let machine = Machine::this("0.1.0");
        let options = Options { sync: Sync::Never, ..Options::default() };
        let mut recorder = Recorder::open(path, machine, options).expect("a recorder");
        let mut book = Book::new();
        for n in begin..begin + 4 {
            let now = exactop_testkit::snapshot(SourceKind::Ledger, n, None);
            recorder.record(&now, &book, Clocks { wall_offset_ns: 7, suspended_ns: 0 });
            book.advance(now);
        }
    }
}

/// The lines that the example prints for the recording.
fn windows(path: &Path) -> Vec<String> {
    let mut replay = Replay::new(Reader::new(Recording::open(path).expect("a recording")));
    let mut lines = Vec::new();
    loop {
        match replay.forward().expect("readable") {
            ReplayStep::End => return lines,
            ReplayStep::Gap(gap) => {
                let (from, to, why) = (gap.from_wall_ns, gap.to_wall_ns, gap.why.text());
                lines.push(format!("gap: not recorded from {from} to {to}: {why}"));
            }
            ReplayStep::Window => {
                let options = FrameOptions {
                    threads: false,
                    still: IdleRows::All,
                    ..FrameOptions::default()
                };
                let ask = Ask { options, ..Ask::default() };
                let frame = replay.same_frame(&ask).expect("a window");
                let (end, rows) = (replay.ends_wall_ns(), frame.rows.len() + frame.exited.len());
                lines.push(format!(
                    "window {} total {} tasks {} rows {rows}",
                    end.expect("a window"),
                    frame.books.total_ns,
                    frame.books.tasks_ns
                ));
            }
        }
    }
}

#[test]
fn a_c_program_goes_through_a_recording() {
    let libraries = libraries();
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    record(&path);
    let told = windows(&path);
    assert!(told.len() == 7 && told[3].starts_with("gap:"), "{told:?}");
    let library = libraries.to_str().expect("UTF-8");
    let rpath = format!("-Wl,-rpath,{library}");
    let link = ["-L", library, "-lexactop", &rpath];
    let program = compile(dir.path(), "replay.c", "replay", &link);
    let (output, text) = run(Command::new(&program).arg(&path));
    assert!(output.status.success(), "{text}");
    assert_eq!(text.lines().collect::<Vec<_>>(), told);
    // From the window that holds a time on.
    let last = told[6].split(' ').nth(1).expect("its end");
    let (output, text) = run(Command::new(&program).arg(&path).arg(last));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("ends before"), "{text}{error}");
    let second = told[5].split(' ').nth(1).expect("its end");
    let (output, text) = run(Command::new(&program).arg(&path).arg(second));
    assert!(output.status.success() && text.lines().eq([&told[6]]), "{text}");
    let (output, _) = run(Command::new(&program).arg(dir.path()));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("no recording in"), "{error}");
    if Command::new("valgrind").arg("--version").output().is_ok() {
        let leaks = ["--leak-check=full", "--errors-for-leak-kinds=definite,indirect"];
        let mut checked = Command::new("valgrind");
        checked.args(leaks).args(["--error-exitcode=9", "-q"]).arg(&program).arg(&path);
        let (output, text) = run(&mut checked);
        assert!(output.status.success(), "{text}");
    }
}

#[test]
fn valgrind_finds_no_leak() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("left out: valgrind is not installed: apt-get install valgrind");
        return;
    }
    let libraries = libraries();
    let dir = tempfile::tempdir().expect("a directory");
    let library = libraries.to_str().expect("UTF-8");
    let rpath = format!("-Wl,-rpath,{library}");
    let program = compile(dir.path(), "walk.c", "walk", &["-L", library, "-lexactop", &rpath]);
    // The BPF sources keep their object for the life of the process, and valgrind does not know all
    // of bpf(2).
    let sources: &[&str] = if may_trace() { &["procfs", "taskstats"] } else { &["procfs"] };
    for source in sources {
        let (output, text) = run(Command::new("valgrind")
            .args(["--leak-check=full", "--errors-for-leak-kinds=definite,indirect"])
            .args(["--error-exitcode=9", "-q"])
            .arg(&program)
            .arg(source));
        assert!(output.status.success(), "{source}: {text}");
    }
}
