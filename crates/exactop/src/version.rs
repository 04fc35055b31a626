//! What `--version` says: the version, what it was built from and how, and the kernel it runs on.

use exactop_model::text::escape::harmless;

/// The commit it was built from, or what its packager says; a tarball has none.
pub const COMMIT: Option<&str> = option_env!("EXACTOP_COMMIT");

/// All of it, for `--version`; `-V` has the first line.
pub fn long() -> String {
    format!("{}\nbuild: {}\nkernel: {}", env!("CARGO_PKG_VERSION"), build(), kernel())
}

/// What a report of something wrong needs of the build.
fn build() -> String {
    let commit = COMMIT.map(|commit| format!("from {commit}"));
    let profile = if cfg!(debug_assertions) { "debug" } else { "release" };
    let linked = match (cfg!(target_feature = "crt-static"), cfg!(feature = "static")) {
        (true, _) => "static",
        (false, true) => "needs the C library alone",
        (false, false) => "shared",
    };
    let bpf = if cfg!(feature = "bpf") { "with BPF" } else { "without BPF" };
    let words = [profile, std::env::consts::ARCH, linked, bpf].map(str::to_string);
    commit.into_iter().chain(words).collect::<Vec<_>>().join(", ")
}

fn kernel() -> String {
    let name = rustix::system::uname();
    let words = [name.sysname(), name.release(), name.machine()];
    harmless(&words.map(|word| word.to_string_lossy()).join(" "))
}
