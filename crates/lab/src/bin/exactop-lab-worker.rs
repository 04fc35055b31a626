//! The process that workloads of exactop-lab run in. Started by the library, not by hand.

fn main() -> std::process::ExitCode {
    exactop_lab::roles::main()
}
