//! `cargo xtask vm`: run one program on a Debian kernel, in an emulated machine.
//!
//! Tests features that the development machine's kernel lacks: cgroup v2 cpu control, fentry, more
//! CPUs, an older BPF verifier. The machine is a kernel and an initramfs made for this one run.
//! Nothing is installed, nothing needs root, and the guest has no network and no disk.

mod apt;
mod archive;
mod cache;
mod guest;
mod initramfs;
mod kernel;
mod libraries;
mod qemu;
mod systemd;

use anyhow::{ensure, Context, Result};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Exit code: the program was still running at the timeout.
pub const EXIT_TIMEOUT: u8 = 124;
/// Exit code: the machine could not be started, and nothing ran.
pub const EXIT_NOT_STARTED: u8 = 125;
/// Exit code: the machine ended without the program's status, by a panic or out of memory.
pub const EXIT_GUEST_DIED: u8 = 126;

/// The command that installs everything a machine needs.
const INSTALL: &str = "run as root: scripts/deps.sh kernels";

/// Kernels of `--kernel all`: all on which the ledger can work.
const ALL: [&str; 6] = ["6.1", "6.1-rt", "6.12", "6.12-rt", "sid", "newest"];

/// Run a program on a Debian kernel in an emulated machine, and exit with its status.
///
/// PROGRAM is a file of this machine, named with a slash: it is put into /test of the guest, with
/// its shared libraries. A name without a slash is a command of the guest's busybox, whose shell
/// prefers its own commands to files of the same name: call those by their path.
#[derive(clap::Args)]
#[command(after_help = "Exit status: the program's own (128 + N if signal N ended it); 124: the \
                        time was up; 125: the machine could not be started; 126: the machine \
                        died before the program ended (a kernel oops counts). With --kernel all \
                        every kernel is tried, and the first failure is the status.")]
pub struct Args {
    /// Run on this kernel: a series (6.1, 6.12, 5.10), a suite of Debian (bookworm,
    /// trixie-backports, sid, bullseye) for its newest, or `newest` for the newest of all suites;
    /// each with -rt for the real-time flavour. `all`: 6.1 and 6.12 and their -rt, sid, newest
    #[arg(long, value_name = "KERNEL")]
    kernel: String,
    /// Give the machine this number of virtual CPUs
    #[arg(long, default_value_t = 4)]
    cpus: u32,
    /// Divide CPUs and memory equally among N NUMA nodes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    nodes: u32,
    /// Give the machine this much memory, in MiB
    #[arg(long, default_value_t = 1024)]
    mem: u32,
    /// Stop the machine after this number of seconds
    #[arg(long, default_value_t = 120)]
    timeout: u64,
    /// Put this file or directory into the guest (default place: /test/NAME), with the shared
    /// libraries of programs
    #[arg(long = "file", value_name = "HOST[:GUEST]")]
    files: Vec<String>,
    /// Set an environment variable for the program
    #[arg(long = "env", value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Boot systemd, with a system bus and a user's manager (user 1000)
    #[arg(long)]
    systemd: bool,
    /// Download a newer kernel of the series from Debian instead of using the cached one
    #[arg(long)]
    refresh: bool,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

/// Download the emulator's kernels, as `vm --kernel` takes them, and print which they are.
///
/// A missing part then ends a run of many machines before the first one.
#[derive(clap::Args)]
pub struct KernelsArgs {
    /// Download newer kernels instead of using the cached ones
    #[arg(long)]
    refresh: bool,
    /// Names as `--kernel` of `vm` takes them
    #[arg(required = true)]
    kernels: Vec<String>,
}

/// Gets every requested kernel.
pub fn get_kernels(args: &KernelsArgs) -> Result<ExitCode> {
    qemu::check_installed()?;
    let cache = cache::dir()?;
    for name in &args.kernels {
        let kernel = kernel::find(name, &cache, args.refresh);
        println!("{name}: {}", kernel.with_context(|| format!("kernel {name}"))?.name);
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the program on every requested kernel.
pub fn run(args: &Args) -> Result<ExitCode> {
    let Args { cpus, nodes, .. } = args;
    ensure!(cpus % nodes == 0, "{cpus} CPUs cannot be shared out alike among {nodes} nodes");
    qemu::check_installed()?;
    let cache = cache::dir()?;
    let names: Vec<&str> = if args.kernel == "all" { ALL.to_vec() } else { vec![&args.kernel] };
    let mut status = 0;
    for one in names {
        let ended = run_on(one, args, &cache).with_context(|| format!("kernel {one}"))?;
        status = if status == 0 { ended } else { status };
    }
    Ok(ExitCode::from(status))
}

fn run_on(name: &str, args: &Args, cache: &Path) -> Result<u8> {
    let kernel = kernel::find(name, cache, args.refresh)?;
    let guest = guest::Guest::new(&args.command, &args.files, &args.env)?;
    let guest = guest::Guest { systemd: args.systemd, ..guest };
    let initrd = initramfs::build(&guest, &crate::target_dir().join("vm"))?;
    let machine = qemu::Machine {
        kernel: &kernel.image,
        initrd: &initrd.path(),
        cpus: args.cpus,
        nodes: args.nodes,
        mem_mib: args.mem,
        timeout: Duration::from_secs(args.timeout),
    };
    let run = machine.run(&guest.token)?;
    eprintln!("xtask: {}: {}", kernel.name, run.describe(args.timeout));
    Ok(run.exit_code())
}
