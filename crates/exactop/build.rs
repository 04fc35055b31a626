//! Links the unwinder into the release binary, so that it needs no library but the C library, and
//! compiles the commit into the program.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=EXACTOP_BUILD");
    let release = env::var("PROFILE").is_ok_and(|p| p == "release");
    tell_commit(release);
    let gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|e| e == "gnu");
    let native = env::var("HOST") == env::var("TARGET");
    let features = env::var("CARGO_CFG_TARGET_FEATURE");
    // A static program has the unwinder already.
    let fixed = features.is_ok_and(|all| all.split(',').any(|one| one == "crt-static"));
    if release && gnu && native && !fixed {
        link_unwinder();
    }
}

/// Without libgcc_eh.a the binary needs libgcc_s.so.1, which nearly every system has.
fn link_unwinder() {
    let found = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output();
    let Ok(found) = found else { return };
    let path = String::from_utf8_lossy(&found.stdout).trim().to_string();
    if let Some(dir) = Path::new(&path).parent().filter(|d| d.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", dir.display());
        println!("cargo:rustc-link-lib=static:+whole-archive=gcc_eh");
    }
}

/// Sets what `--version` says about the build: the packager's text, or else the commit. Development
/// builds do not ask git, because each commit would rebuild them. A tarball has no commit.
fn tell_commit(release: bool) {
    let told = env::var("EXACTOP_BUILD").ok().filter(|told| !told.is_empty());
    let commit = told.or_else(|| if release { commit() } else { None });
    if let Some(commit) = commit {
        println!("cargo:rustc-env=EXACTOP_COMMIT={commit}");
    }
}

fn commit() -> Option<String> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    // Sources unpacked inside another project's repository do not have that project's commit.
    let top = PathBuf::from(git(&["rev-parse", "--show-toplevel"])?);
    if top.canonicalize().ok()? != workspace.canonicalize().ok()? {
        return None;
    }
    // Git writes this file at every commit and checkout.
    let log = PathBuf::from(git(&["rev-parse", "--git-path", "logs/HEAD"])?);
    if log.exists() {
        println!("cargo:rerun-if-changed={}", log.display());
    }
    git(&["describe", "--tags", "--always", "--dirty"])
}

/// Output of git in this directory; `None` without git or a repository.
fn git(args: &[&str]) -> Option<String> {
    let answer = Command::new("git").args(args).output().ok()?;
    let line = String::from_utf8(answer.stdout).ok()?.trim().to_string();
    (answer.status.success() && !line.is_empty()).then_some(line)
}
