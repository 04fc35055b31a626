//! Text of `--version`: the version, the build, and the running kernel.

use exactop_model::text::escape::harmless;

/// The commit of the build, or the packager's text; a tarball has none.
pub const COMMIT: Option<&str> = option_env!("EXACTOP_COMMIT");

/// Text of `--version`; `-V` prints only its first line.
pub fn long() -> String {
    format!("{}\nbuild: {}\nkernel: {}", env!("CARGO_PKG_VERSION"), build(), kernel())
}

/// Facts on the build for a bug report.
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
