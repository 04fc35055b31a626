//! Links the unwinder into the release binary, so that it needs no library but the C library.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let release = env::var("PROFILE").is_ok_and(|p| p == "release");
    let gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|e| e == "gnu");
    let native = env::var("HOST") == env::var("TARGET");
    if !(release && gnu && native) {
        return;
    }
    // Without the archive the binary needs libgcc_s.so.1, which nearly every system has.
    let found = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let Ok(found) = found else { return };
    let path = String::from_utf8_lossy(&found.stdout).trim().to_string();
    if let Some(dir) = Path::new(&path).parent().filter(|d| d.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", dir.display());
        println!("cargo:rustc-link-lib=static:+whole-archive=gcc_eh");
    }
}
