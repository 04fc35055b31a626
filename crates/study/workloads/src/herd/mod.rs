//! The thundering herd: a TCP server whose workers wait at one condition variable, woken all
//! together or one by one, and its client.
//!
//! The thread that calls [`Server::accept`] accepts connections and queues them; the worker that
//! takes one closes it. The rest is waking and waiting.

mod client;
mod pool;

use crate::counters::Counters;
use crate::error::Refusal;
use crate::{children, work};
use pool::Pool;
use rustix::process::{kill_process, waitpid, Pid, Signal, WaitOptions};
use rustix::time::ClockId;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::str::FromStr;
use std::sync::atomic::Ordering::Relaxed;

/// Workers that a new connection wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// All, as by pthread_cond_broadcast(3).
    All,
    /// One, as by pthread_cond_signal(3).
    One,
}

impl fmt::Display for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Wake::All => "all",
            Wake::One => "one",
        })
    }
}

impl FromStr for Wake {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Wake, Refusal> {
        match text {
            "all" => Ok(Wake::All),
            "one" => Ok(Wake::One),
            _ => Err(Refusal::Other(format!("{text:?} is not a way to wake: write all or one"))),
        }
    }
}

/// Size of the herd, and rate of connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Number of workers.
    pub threads: usize,
    /// Workers that a connection wakes.
    pub wake: Wake,
    /// Connections per second that the client tries to open, one after the other.
    pub rate: f64,
}

/// Counts so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Accepted connections.
    pub accepted: u64,
    /// Connections that a worker closed.
    pub served: u64,
    /// Returns of workers from their waits.
    pub wakeups: u64,
    /// Returns without a job.
    pub futile: u64,
    /// Connections that the client opened and saw closed.
    pub connected: u64,
    /// Connections that the client could not open.
    pub failed: u64,
    /// CPU time of the server's process since the workers started, ns.
    pub cpu_ns: u64,
}

/// A running server and its client. Dropping it ends both.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    pool: Pool,
    client: Client,
    cpu_before_ns: u64,
}

impl Server {
    /// Starts the workers in this process, and the client in another. The caller must have only one
    /// thread, because the client is forked.
    ///
    /// # Errors
    /// A port, the process or a thread cannot be created.
    pub fn start(options: &Options) -> Result<Server, Refusal> {
        if !(options.rate > 0.0 && options.rate.is_finite()) {
            let rate = options.rate;
            return Err(Refusal::Other(format!(
                "{rate} connections per second: give a rate above 0"
            )));
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Refusal::other)?;
        listener.set_nonblocking(true).map_err(Refusal::other)?;
        let port = listener.local_addr().map_err(Refusal::other)?.port();
        let client = Client::start(port, options.rate).map_err(Refusal::other)?;
        let pool = Pool::start(options.threads, options.wake)?;
        let cpu_before_ns = work::nanoseconds(ClockId::ProcessCPUTime);
        Ok(Server { listener, pool, client, cpu_before_ns })
    }

    /// Readable when a connection waits.
    pub fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Accepts the waiting connections and passes each to the workers.
    ///
    /// # Errors
    /// Those of accept(2).
    pub fn accept(&self) -> io::Result<()> {
        loop {
            match self.listener.accept() {
                Ok((connection, _)) => self.pool.put(connection),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Counts so far.
    pub fn totals(&self) -> Totals {
        let cpu_ns = work::nanoseconds(ClockId::ProcessCPUTime);
        Totals {
            connected: self.client.counters.at(client::CONNECTED).load(Relaxed),
            failed: self.client.counters.at(client::FAILED).load(Relaxed),
            cpu_ns: cpu_ns.saturating_sub(self.cpu_before_ns),
            ..self.pool.totals()
        }
    }

    /// Ends the client, serves the open connections, and ends the workers.
    pub fn stop(mut self) -> Totals {
        self.client.end();
        // Connections in the backlog were opened, so they are served.
        let _ = self.accept();
        let totals = self.totals();
        self.pool.end();
        Totals { cpu_ns: totals.cpu_ns, ..self.totals() }
    }
}

/// The client's process, and its counters.
#[derive(Debug)]
struct Client {
    process: Option<Pid>,
    counters: Counters,
}

impl Client {
    fn start(port: u16, rate: f64) -> io::Result<Client> {
        let (counters, descriptor) = Counters::new()?;
        crate::counters::close(descriptor);
        let pid = children::fork(|| client::run(port, rate, &counters))?;
        Ok(Client { process: Pid::from_raw(pid as i32), counters })
    }

    fn end(&mut self) {
        if let Some(process) = self.process.take() {
            let _ = kill_process(process, Signal::KILL);
            // Already reaped if SIGCHLD is ignored.
            let _ = waitpid(Some(process), WaitOptions::empty());
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.end();
    }
}
