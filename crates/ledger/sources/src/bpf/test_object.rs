//! Builds BPF objects for tests.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

/// Builds an object from C. It lies in the directory until that is dropped.
pub fn built(program: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a directory");
    let (source, object) = (dir.path().join("test.c"), dir.path().join("test.o"));
    fs::write(&source, program).expect("room for a program");
    let clang = Command::new("clang")
        .args(["-target", "bpf", "-mcpu=v3", "-g", "-O2", "-c", "-o"])
        .args([&object, &source])
        .status();
    assert!(clang.expect("clang, which builds the BPF programs").success());
    (dir, object)
}
