//! Ports that a test chooses before a server starts, and that stay the same across a restart.

use rustix::fs::{flock, FlockOperation};
use std::fs::File;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below the range from which the kernel assigns ports (ip_local_port_range, ip(7)), so that no
/// other program gets a port between two starts of a server.
const FIRST: u32 = 10_000;
const PORTS: u32 = 20_000;

/// More ports than one process needs.
const OF_ONE: u32 = 16;

/// A free port of this machine. Every call returns another one, also in other processes: one that
/// lives keeps a lock of the port's name, because a server frees the port when it restarts.
///
/// # Panics
/// All ports are taken.
pub fn port() -> u16 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id().wrapping_mul(OF_ONE);
    let next = |_| FIRST + own.wrapping_add(NUMBER.fetch_add(1, Ordering::Relaxed)) % PORTS;
    let ports = (0..PORTS).map(next).filter_map(|port| u16::try_from(port).ok());
    let is_free = |&port: &u16| TcpListener::bind(("127.0.0.1", port)).is_ok() && locked(port);
    ports.into_iter().find(is_free).expect("a port that nobody has")
}

/// Locks the port's name until this process ends; false: another process has the lock.
fn locked(port: u16) -> bool {
    let path = std::env::temp_dir().join(format!("exactop-test-port-{port}"));
    let file = File::options().create(true).append(true).open(&path).expect("a file");
    let is_ours = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    // The descriptor closes when the process ends.
    std::mem::forget(file);
    is_ours
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_a_port_of_its_own() {
        let (one, other) = (port(), port());
        assert_ne!(one, other);
        let taken = TcpListener::bind(("127.0.0.1", one)).expect("nobody has it");
        assert_eq!(taken.local_addr().expect("an address").port(), one);
    }
}
