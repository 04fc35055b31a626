//! The header is what the sources say, and a C program works with the library, shared and static,
//! under valgrind too, where that is installed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo put the libraries: beside the directory of this program.
fn libraries() -> PathBuf {
    let me = std::env::current_exe().expect("this program");
    me.ancestors().nth(2).expect("target/PROFILE").to_path_buf()
}

/// Built here, because cargo does not for a test program that does not link to them.
fn build() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let status = Command::new(cargo)
        .args(["build", "-q", "-p", "exactop-capi"])
        .current_dir(home())
        .status()
        .expect("cargo");
    assert!(status.success());
    libraries()
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

fn compile(dir: &Path, name: &str, link: &[&str]) -> PathBuf {
    let program = dir.join(name);
    let output = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-g", "-D_DEFAULT_SOURCE"])
        .arg("-I")
        .arg(home().join("include"))
        .arg(home().join("examples/walk.c"))
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

/// Where the parts that need the kernel's leave are left out.
fn may_trace() -> bool {
    std::env::var_os("EXACTOP_NO_LEDGER_TESTS").is_none() && rustix::process::geteuid().is_root()
}

#[test]
fn a_c_program_walks_tasks_and_windows_of_every_source() {
    let libraries = build();
    let dir = tempfile::tempdir().expect("a directory");
    let library = libraries.to_str().expect("UTF-8");
    let rpath = format!("-Wl,-rpath,{library}");
    let shared = compile(dir.path(), "shared", &["-L", library, "-lexactop", &rpath]);
    let archive = libraries.join("libexactop.a");
    let archive = archive.to_str().expect("UTF-8");
    let private = ["-lelf", "-lz", "-lpthread", "-ldl", "-lm", "-lgcc_s"];
    let fixed = compile(dir.path(), "static", &[&[archive][..], &private].concat());
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
fn valgrind_finds_no_leak() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("left out: valgrind is not installed: apt-get install valgrind");
        return;
    }
    let libraries = build();
    let dir = tempfile::tempdir().expect("a directory");
    let library = libraries.to_str().expect("UTF-8");
    let rpath = format!("-Wl,-rpath,{library}");
    let program = compile(dir.path(), "walk", &["-L", library, "-lexactop", &rpath]);
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
