//! Empty programs at the ledger's events, to separate the ledger's cost from that of any program.
//!
//! Two instructions, loaded with bpf(2) directly, so that the measurement needs no compiler and no
//! bpftool. Raw tracepoints are called like the typed ones that the ledger uses.

use super::bpf_stats::{self, Runs};
use anyhow::{Context, Result};
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The ledger's events at a switch, a wakeup, a birth and an exit.
pub const EVENTS: [&str; 7] = [
    "sched_switch",
    "sched_wakeup",
    "sched_wakeup_new",
    "task_newtask",
    "sched_process_exec",
    "sched_process_exit",
    "sched_process_free",
];

/// Commands and a type of bpf(2).
const BPF_PROG_LOAD: libc::c_int = 5;
const BPF_RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const BPF_PROG_TYPE_RAW_TRACEPOINT: u32 = 17;

/// `r0 = 0; exit`.
const NOTHING: [u64; 2] = [0xb7, 0x95];

const LICENSE: &CStr = c"Dual BSD/GPL";

/// The first fields of `union bpf_attr` for loading a program.
#[repr(C)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
}

/// The first fields for attaching one.
#[repr(C)]
struct RawTracepointOpen {
    name: u64,
    prog_fd: u32,
    unused: u32,
}

/// The programs, attached until this is dropped.
pub struct Attached {
    _programs: Vec<OwnedFd>,
    _links: Vec<OwnedFd>,
}

impl Attached {
    pub fn new() -> Result<Attached> {
        let (mut programs, mut links) = (Vec::new(), Vec::new());
        for event in EVENTS {
            let program = load().context("loading an empty program")?;
            links.push(attach(event, &program).with_context(|| format!("attaching to {event}"))?);
            programs.push(program);
        }
        Ok(Attached { _programs: programs, _links: links })
    }

    /// Their runs while the kernel's statistics were on.
    pub fn runs(&self) -> Option<Runs> {
        bpf_stats::of_process(std::process::id())
    }
}

fn load() -> io::Result<OwnedFd> {
    let request = ProgLoad {
        prog_type: BPF_PROG_TYPE_RAW_TRACEPOINT,
        insn_cnt: NOTHING.len() as u32,
        insns: NOTHING.as_ptr() as u64,
        license: LICENSE.as_ptr() as u64,
    };
    bpf(BPF_PROG_LOAD, &request)
}

fn attach(event: &str, program: &OwnedFd) -> io::Result<OwnedFd> {
    let name = CString::new(event)?;
    let prog_fd = program.as_raw_fd() as u32;
    bpf(
        BPF_RAW_TRACEPOINT_OPEN,
        &RawTracepointOpen { name: name.as_ptr() as u64, prog_fd, unused: 0 },
    )
}

/// Calls bpf(2) for commands that return a descriptor.
fn bpf<T>(command: libc::c_int, request: &T) -> io::Result<OwnedFd> {
    // SAFETY: the kernel reads `request`, of the given size, and the memory it points to; both live
    // until the call returns.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, command, request, size_of::<T>()) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that the call just opened for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
