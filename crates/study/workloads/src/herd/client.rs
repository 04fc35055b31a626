//! The client: connects, waits until the server closes the connection, and repeats.

use crate::children;
use crate::counters::Counters;
use rustix::net::sockopt::set_socket_linger;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

/// Counter of connections that were opened and closed.
pub(super) const CONNECTED: usize = 0;
/// Counter of connections that failed.
pub(super) const FAILED: usize = 1;

/// Longest delay that is caught up: a slow server does not get a burst.
const CATCH_UP: Duration = Duration::from_millis(200);

/// Opens connections until it is killed.
pub(super) fn run(port: u16, rate: f64, counters: &Counters) {
    children::set_name("herd-client");
    let interval = Duration::from_secs_f64(1.0 / rate);
    let mut due = Instant::now();
    loop {
        let counter = match connect(port) {
            Ok(()) => CONNECTED,
            Err(_) => FAILED,
        };
        counters.at(counter).fetch_add(1, Relaxed);
        due = (due + interval).max(Instant::now() - CATCH_UP);
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}

fn connect(port: u16) -> io::Result<()> {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    // The server closes first, and the client's port would stay in TIME_WAIT for a minute. After
    // some ten thousand connections none would be left. A reset frees it at once.
    set_socket_linger(&connection, Some(Duration::ZERO))?;
    let _ = connection.read(&mut [0])?;
    Ok(())
}
