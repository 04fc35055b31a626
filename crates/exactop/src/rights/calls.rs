//! Refuses system calls that no code of exactop's measuring makes (seccomp(2)).
//!
//! The list names refused calls, not allowed ones. A newer C library or kernel may make calls that
//! are unknown today. It is better to allow such a call than to be killed by it. A refused call
//! fails with EPERM, as for a user without the right.

use super::Measure;
use libc::{c_long, sock_filter};
use seccompiler::{
    apply_filter_all_threads, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule,
};
use std::collections::BTreeMap;

/// Calls on other programs and other processes' memory, mounts and namespaces, the kernel itself,
/// other users, clocks and keys, and calls that would bypass these refusals.
const REFUSED: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_personality,
    libc::SYS_userfaultfd,
    libc::SYS_open_by_handle_at,
    // The kernel's own threads do its work, past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Socket families that stay allowed: this machine's own, and the kernel's.
const FAMILIES: [i32; 2] = [libc::AF_UNIX, libc::AF_NETLINK];
/// Socket families of the network, for a service that serves or sends metrics.
const NETWORK: [i32; 2] = [libc::AF_INET, libc::AF_INET6];

/// Installs the filter in all threads of this process; `network`: network sockets stay allowed.
pub fn fence(network: bool) -> Measure {
    let applied = program(network).and_then(|program| apply_filter_all_threads(&program));
    match applied {
        Ok(()) => Measure::On(format!("{} calls are refused", REFUSED.len())),
        Err(error) => Measure::Off(error.to_string()),
    }
}

fn program(network: bool) -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|&call| (call, Vec::new())).collect();
    let other = |family: i32| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family as u64)
    };
    let beside: &[i32] = if network { &NETWORK } else { &[] };
    let families = FAMILIES.iter().chain(beside).map(|&family| other(family));
    let families = families.collect::<Result<Vec<_>, _>>()?;
    rules.insert(libc::SYS_socket, vec![SeccompRule::new(families)?]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?;
    let listed: BpfProgram = filter.try_into()?;
    Ok(without_x32().into_iter().map(instruction).chain(listed).collect())
}

/// Calls of the process that reads for the live view: it reads and answers. This is a list of
/// allowed calls, because a call that is unknown today would only cost one page. No socket call is
/// on it: such a call could pass an open file to another process.
const OF_A_READER: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_ppoll,
    libc::SYS_close,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_getdents64,
    libc::SYS_readlinkat,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Installs the filter in that process.
pub fn fence_reader() -> Measure {
    match reader().and_then(|program| apply_filter_all_threads(&program)) {
        Ok(()) => Measure::On(format!("{} calls are left", OF_A_READER.len() + 1)),
        Err(error) => Measure::Off(error.to_string()),
    }
}

/// Files may be opened only for reading, and none may be created.
fn reader() -> Result<BpfProgram, seccompiler::Error> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        OF_A_READER.iter().map(|&call| (call, Vec::new())).collect();
    let written = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
    let none_of = SeccompCmpOp::MaskedEq(written as u64);
    let flags = SeccompCondition::new(2, SeccompCmpArgLen::Dword, none_of, 0)?;
    rules.insert(libc::SYS_openat, vec![SeccompRule::new(vec![flags])?]);
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let architecture = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?;
    let listed: BpfProgram = filter.try_into()?;
    Ok(without_x32().into_iter().map(instruction).chain(listed).collect())
}

/// x86-64 has a second set of numbers for the same calls, with this bit (the x32 interface).
/// exactop makes no such calls, and a list of numbers would not match them.
fn without_x32() -> Vec<sock_filter> {
    if !cfg!(target_arch = "x86_64") {
        return Vec::new();
    }
    const X32: u32 = 0x4000_0000;
    let (load, at_least, answer) = (
        libc::BPF_LD | libc::BPF_W | libc::BPF_ABS,
        libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K,
        libc::BPF_RET | libc::BPF_K,
    );
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    vec![
        // The call's number is the first word of seccomp_data.
        sock_filter { code: load as u16, jt: 0, jf: 0, k: 0 },
        sock_filter { code: at_least as u16, jt: 0, jf: 1, k: X32 },
        sock_filter { code: answer as u16, jt: 0, jf: 0, k: refused },
    ]
}

fn instruction(of: sock_filter) -> seccompiler::sock_filter {
    seccompiler::sock_filter { code: of.code, jt: of.jt, jf: of.jf, k: of.k }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::net::UdpSocket;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::unix::net::UnixDatagram;

    /// Runs in a thread of its own, so that only this thread is fenced.
    fn fenced<T: Send>(test: impl FnOnce() -> T + Send) -> T {
        fenced_with(false, test)
    }

    fn fenced_with<T: Send>(network: bool, test: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                seccompiler::apply_filter(&program(network).expect("a program")).expect("seccomp");
                test()
            });
            thread.join().expect("no panic")
        })
    }

    fn errno(of: c_long) -> Option<i32> {
        (of < 0).then(|| io::Error::last_os_error().raw_os_error()).flatten()
    }

    #[test]
    fn listed_calls_are_refused() {
        fenced(|| {
            for &call in REFUSED {
                // SAFETY: arguments of 0 and null. If allowed, each call would fail or do nothing,
                // except setuid(0) and similar calls, which root may make.
                let result = unsafe { libc::syscall(call, 0, 0, 0, 0, 0, 0) };
                assert_eq!(errno(result), Some(libc::EPERM), "call {call}");
            }
            let started = std::process::Command::new("/bin/true").status();
            assert!(started.is_err());
        });
    }

    #[test]
    fn a_reader_reads_and_does_nothing_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let (there, new) = (dir.path().join("there"), dir.path().join("new"));
        std::fs::write(&there, "text").expect("a file");
        std::thread::scope(|scope| {
            let fenced = || {
                seccompiler::apply_filter(&reader().expect("a program")).expect("seccomp");
                let read = std::fs::read("/proc/self/stat").is_ok();
                let written = [std::fs::write(&there, "other"), std::fs::write(&new, "")];
                let removed = std::fs::remove_file(&there);
                let sent = UnixDatagram::unbound().map(drop);
                // SAFETY: signal 0 sends nothing.
                let killed = unsafe { libc::syscall(libc::SYS_kill, std::process::id(), 0) };
                (read, [written.map(|w| w.is_err()), [removed.is_err(), sent.is_err()]], killed)
            };
            let (read, refused, killed) = scope.spawn(fenced).join().expect("no panic");
            assert!(read);
            assert_eq!((refused, killed), ([[true; 2]; 2], -1));
        });
        assert_eq!(std::fs::read(&there).expect("it is there"), b"text");
        const DOCUMENT: &str = include_str!("../../../../docs/explanation/security.md");
        let calls = format!("{} calls, no other", OF_A_READER.len() + 1);
        assert!(DOCUMENT.contains(&calls), "docs/explanation/security.md lacks {calls:?}");
    }

    /// Read and written as a file, the reader's socket passes only bytes.
    #[test]
    fn a_reader_is_handed_no_file_and_hands_over_none() {
        let (ours, theirs) = UnixDatagram::pair().expect("a pair");
        let fenced = || {
            seccompiler::apply_filter(&reader().expect("a program")).expect("seccomp");
            let of_sockets = [
                libc::SYS_sendmsg,
                libc::SYS_sendmmsg,
                libc::SYS_sendto,
                libc::SYS_recvmsg,
                libc::SYS_recvmmsg,
                libc::SYS_recvfrom,
            ];
            // SAFETY: if allowed, the call would fail for lack of a message: there is none at 0.
            let refused = of_sockets.map(|call| unsafe {
                errno(libc::syscall(call, theirs.as_raw_fd(), 0, 1, libc::MSG_DONTWAIT, 0, 0))
            });
            let mut socket = std::fs::File::from(OwnedFd::from(theirs));
            (refused, socket.write(b"text").is_ok())
        };
        let (refused, written) =
            std::thread::scope(|scope| scope.spawn(fenced).join().expect("no panic"));
        assert_eq!(refused, [Some(libc::EPERM); 6]);
        let mut text = [0; 4];
        assert!(written && ours.recv(&mut text).is_ok_and(|n| n == 4) && text == *b"text");
    }

    #[test]
    fn sockets_are_those_of_this_machine() {
        fenced(|| {
            assert!(UnixDatagram::unbound().is_ok());
            // SAFETY: makes a descriptor or fails.
            let netlink = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, 0) };
            assert!(netlink >= 0);
            let refused = UdpSocket::bind("127.0.0.1:0").map_err(|error| error.raw_os_error());
            assert_eq!(refused.map(drop), Err(Some(libc::EPERM)));
        });
    }

    #[test]
    fn a_service_of_metrics_has_the_network_and_nothing_else_more() {
        fenced_with(true, || {
            assert!(UdpSocket::bind("127.0.0.1:0").is_ok());
            // SAFETY: makes a descriptor or fails.
            let packet = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) };
            assert_eq!(errno(packet.into()), Some(libc::EPERM));
            assert!(std::process::Command::new("/bin/true").status().is_err());
        });
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_second_set_of_numbers_is_no_way_round() {
        fenced(|| {
            // SAFETY: getpid has no arguments.
            let result = unsafe { libc::syscall(libc::SYS_getpid | 0x4000_0000) };
            assert_eq!(errno(result), Some(libc::EPERM));
            // SAFETY: getpid has no arguments.
            assert!(unsafe { libc::syscall(libc::SYS_getpid) } > 0);
        });
    }

    #[test]
    fn threads_files_and_time_go_on() {
        fenced(|| {
            assert!(std::thread::spawn(|| std::fs::read("/proc/self/stat").is_ok()).join().is_ok());
            std::thread::sleep(std::time::Duration::from_millis(1));
        });
    }
}
