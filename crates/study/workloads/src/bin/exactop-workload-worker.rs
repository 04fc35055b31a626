//! The process that workloads run in. Started by the library, not by hand.

fn main() -> std::process::ExitCode {
    exactop_workloads::roles::main()
}
