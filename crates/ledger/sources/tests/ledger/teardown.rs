//! CPU time of a process after its last instruction: the kernel's work to free its memory counts
//! too.

use crate::books::{run_ns, Books};
use exactop_model::{Row, RowKind};
use exactop_sources::ledger::Options;
use std::io::Read;
use std::os::fd::AsRawFd;

const NAME: &std::ffi::CStr = c"teardown";
const BYTES: usize = 200 << 20;
const PAGE: usize = 4096;

/// CPU time of this process, ns.
fn own_clock() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Touches memory, reports its CPU time and exits. After a fork other threads may hold locks of the
/// allocator, so this makes system calls only.
fn child(tell: i32) -> ! {
    // SAFETY: plain system calls; the memory belongs to this process alone.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let memory = libc::mmap(std::ptr::null_mut(), BYTES, access, flags, -1, 0).cast::<u8>();
        if memory as isize == -1 {
            libc::_exit(1);
        }
        // Small pages: more of them to free.
        libc::madvise(memory.cast(), BYTES, libc::MADV_NOHUGEPAGE);
        for at in (0..BYTES).step_by(PAGE) {
            memory.add(at).write_volatile(1);
        }
        let own = own_clock().to_ne_bytes();
        libc::write(tell, own.as_ptr().cast(), own.len());
        libc::_exit(0)
    }
}

/// Forks the child. Returns its own last reading and its CPU time by wait4(2), ns.
fn run() -> (u64, u64) {
    let (mut hear, tell) = std::io::pipe().expect("a pipe");
    // SAFETY: see `child`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        child(tell.as_raw_fd());
    }
    assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
    let mut own = [0; 8];
    hear.read_exact(&mut own).expect("the child's clock");
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: there is room for both answers.
    let reaped = unsafe { libc::wait4(pid, &mut status, 0, usage.as_mut_ptr()) };
    assert_eq!((reaped, status), (pid, 0));
    // SAFETY: wait4 filled it in, and zeroes would be valid too.
    let usage = unsafe { usage.assume_init() };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    (u64::from_ne_bytes(own), ns(usage.ru_utime) + ns(usage.ru_stime))
}

#[test]
fn freeing_memory_is_charged_to_the_exited_process() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let (mut ours, mut own, mut usage) = (0, 0, 0);
    for _ in 0..5 {
        let told = run();
        own += told.0;
        usage += told.1;
        // Its last switch may come after it was reaped; until then its time is in a living row.
        books.find("its last switch", |books, window| {
            let faults = books.faults(&window);
            assert!(faults.is_empty(), "{faults:?}");
            let frame = books.processes(&window);
            let is_ours = |r: &&Row| {
                r.ident.comm.bytes() == NAME.to_bytes() && r.ident.ppid == std::process::id()
            };
            let found: Vec<&Row> = frame.exited.iter().filter(is_ours).collect();
            assert!(found.iter().all(|r| r.kind == RowKind::Exited));
            let living = frame.rows.iter().filter(is_ours);
            ours += found.iter().copied().chain(living).map(run_ns).sum::<u64>();
            let ended = found.iter().map(|r| r.exited_processes).sum::<u64>();
            assert!(ended <= 1, "{found:?}");
            (ended == 1).then_some(())
        });
    }
    println!("ours {ours} ns, its own last reading {own} ns, wait4 {usage} ns");
    assert!(ours > own, "the teardown is missing");
    // wait4 rounds down to microseconds, and leaves out the last steps and interrupts.
    assert!(ours >= usage - usage / 100, "less than the kernel's own count");
}
