//! Ports for servers that are told theirs before they start, and have it again when they start anew.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

/// Below those that the kernel gives to whoever asks for any (ip_local_port_range, ip(7)): nobody else comes to have it
/// between two starts of a server.
const FIRST: u32 = 10_000;
const PORTS: u32 = 20_000;

/// A process asks for fewer.
const OF_ONE: u32 = 16;

/// A port of this machine that nobody has. Another call has another one, in another process, too.
///
/// # Panics
/// If all are taken.
pub fn port() -> u16 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id().wrapping_mul(OF_ONE);
    let next = |_| FIRST + own.wrapping_add(NUMBER.fetch_add(1, Ordering::Relaxed)) % PORTS;
    let ports = (0..PORTS).map(next).filter_map(|port| u16::try_from(port).ok());
    let mut free = ports.filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    free.next().expect("a port that nobody has")
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
