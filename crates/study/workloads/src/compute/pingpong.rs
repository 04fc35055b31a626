//! Two threads that pass one byte back and forth: as many context switches as the machine can do.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// The threads; they end with the program.
pub struct PingPong {
    rounds: Arc<AtomicU64>,
}

impl PingPong {
    /// Starts the two threads.
    ///
    /// # Errors
    /// Pipes or threads cannot be created.
    pub fn start() -> io::Result<PingPong> {
        let ((mut ping, mut to_ping), (mut pong, mut to_pong)) = (io::pipe()?, io::pipe()?);
        let rounds = Arc::new(AtomicU64::new(0));
        let count = rounds.clone();
        std::thread::Builder::new().name("ping".into()).spawn(move || {
            let mut byte = [0];
            while to_pong.write_all(&byte).is_ok() && ping.read_exact(&mut byte).is_ok() {
                count.fetch_add(1, Ordering::Relaxed);
            }
        })?;
        std::thread::Builder::new().name("pong".into()).spawn(move || {
            let mut byte = [0];
            while pong.read_exact(&mut byte).is_ok() && to_ping.write_all(&byte).is_ok() {}
        })?;
        Ok(PingPong { rounds })
    }

    /// Round trips so far.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_byte_comes_back() {
        let pingpong = PingPong::start().unwrap();
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(30);
        while pingpong.rounds() < 10 {
            assert!(std::time::Instant::now() < patience);
            std::thread::yield_now();
        }
    }
}
