//! The process in which workloads run. The library starts it; do not start it by hand.

fn main() -> std::process::ExitCode {
    exactop_workloads::roles::main()
}
