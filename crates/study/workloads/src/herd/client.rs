//! The client: connects, waits until the server closes the connection, and so on.

use crate::children;
use crate::counters::Counters;
use rustix::net::sockopt::set_socket_linger;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

/// The counter of connections made and seen closed.
pub(super) const CONNECTED: usize = 0;
/// The counter of those that could not be made.
pub(super) const FAILED: usize = 1;

/// What was missed is not made up for beyond this: a server that is late gets no burst.
const CATCH_UP: Duration = Duration::from_millis(200);

/// Makes connections until it is killed.
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
    // The server closes first, and its end would keep the port for a minute (TIME_WAIT): after
    // some ten thousand connections there would be none left. A reset lets go of it at once.
    set_socket_linger(&connection, Some(Duration::ZERO))?;
    let _ = connection.read(&mut [0])?;
    Ok(())
}
