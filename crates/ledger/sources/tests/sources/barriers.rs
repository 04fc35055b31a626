//! The ledger's barriers, as compiled for a machine that reorders stores. The tests run on no such
//! machine, so they read its instructions.

use std::path::{Path, PathBuf};
use std::process::Command;

/// libbpf's headers, where the crate that contains them puts them.
fn headers() -> PathBuf {
    let builds = Path::new(env!("OUT_DIR")).ancestors().nth(2).expect("cargo's build directory");
    let entries = std::fs::read_dir(builds).expect("cargo's build directory");
    let mut found = entries.filter_map(|entry| {
        let headers = entry.ok()?.path().join("out/include");
        headers.join("bpf/bpf_helpers.h").exists().then_some(headers)
    });
    found.next().unwrap_or_else(|| panic!("no headers of libbpf in {}", builds.display()))
}

/// The ledger's programs as BPF assembly.
fn assembly(arch: &str) -> String {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../bpf");
    let multiarch = format!("/usr/include/{}-linux-gnu", std::env::consts::ARCH);
    let clang = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-S", "-o", "-"])
        .arg(format!("-D__TARGET_ARCH_{arch}"))
        .args([Path::new("-I"), &bpf, Path::new("-I"), Path::new(&multiarch)])
        .args([Path::new("-I"), &headers(), &bpf.join("ledger/ledger.bpf.c")])
        .output()
        .expect("clang runs");
    assert!(clang.status.success(), "{}", String::from_utf8_lossy(&clang.stderr));
    String::from_utf8(clang.stdout).expect("assembly is text")
}

/// On x86 no barrier needs an instruction. On arm64 each is an atomic, which orders only if it
/// returns a value (Documentation/atomic_t.txt).
#[test]
fn each_barrier_on_arm64_is_an_atomic_that_returns_a_value() {
    let (x86, arm64) = (assembly("x86"), assembly("arm64"));
    let count = |text: &str, atomic: &str| text.matches(atomic).count();
    let valued = |text| count(text, "= atomic_fetch_add((u32 *)");
    let without = |text| count(text, "lock *(u32 *)");
    assert_eq!(without(&arm64), without(&x86), "atomics that return no value");
    let barriers = valued(&arm64).saturating_sub(valued(&x86));
    assert!(barriers >= 20, "{barriers} barriers");
}
