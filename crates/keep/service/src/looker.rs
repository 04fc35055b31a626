//! Client of a daemon's on-demand programs: asks for a window and waits for the answer.

use crate::ask::{Answer, Hello, Look, ReaderMessage, LONGEST};
use crate::error::ServiceError;
use crate::schedule;
use crate::server::now_ns;
use exactop_model::on_demand::{Programs, SubjectWindow};
use exactop_model::text::escape::harmless;
use exactop_recording::stream::{Incoming, StreamError, StreamItem};
use exactop_recording::FORMAT;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for an answer. The kernel verifies programs before it attaches them, which takes
/// seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes per read.
const CHUNK: usize = 1 << 16;

/// A connection that reads one kind of on-demand programs.
#[derive(Debug)]
pub struct Looker {
    path: PathBuf,
    stream: UnixStream,
    incoming: Incoming,
    ask: Look,
    /// End of the last window.
    has_ns: u64,
}

impl Looker {
    /// Connects and waits until the programs count; `ask.interval_ns` is the interval at which
    /// windows will be requested.
    ///
    /// # Errors
    /// [`ServiceError`]: no daemon listens there, it refuses, or the kernel refuses the programs.
    pub fn connect(path: &Path, exactop: &str, ask: Look) -> Result<Looker, ServiceError> {
        let nobody = |error| ServiceError::unconnected(path, error);
        let stream = UnixStream::connect(path).map_err(nobody)?;
        stream.set_read_timeout(Some(Duration::from_secs(1))).map_err(nobody)?;
        let incoming = Incoming::new();
        let mut looker = Looker { path: path.into(), stream, incoming, ask, has_ns: 0 };
        looker.say(&ReaderMessage::Hello(Hello { exactop: exactop.into(), format: FORMAT }))?;
        looker.say(&ReaderMessage::Look(looker.ask.clone()))?;
        match looker.answer()? {
            Answer::Begun(at_ns) => looker.has_ns = at_ns,
            Answer::Looked(_) | Answer::Follows(_) | Answer::Followed(_) => {
                return Err(looker.nonsense())
            }
        }
        Ok(looker)
    }

    /// Figures since the last window, or since the connection.
    ///
    /// # Errors
    /// [`ServiceError`]: the daemon or the programs have ended.
    pub fn window(&mut self) -> Result<SubjectWindow, ServiceError> {
        let after_ns = schedule::after_ns(self.ask.interval_ns, Some(self.has_ns), now_ns());
        self.ask.after_ns = Some(after_ns);
        self.say(&ReaderMessage::Look(self.ask.clone()))?;
        match self.answer()? {
            Answer::Looked(window) if window.subject() == self.ask.what => {
                self.has_ns = window.span_ns().1;
                Ok(window)
            }
            _ => Err(self.nonsense()),
        }
    }

    fn say(&mut self, said: &ReaderMessage) -> Result<(), ServiceError> {
        let failed = |error| ServiceError::Io { what: "ask the daemon", error };
        let mut line = serde_json::to_vec(said).map_err(|error| failed(error.into()))?;
        if line.len() > LONGEST {
            return Err(ServiceError::TooLong { bytes: line.len(), most: LONGEST });
        }
        line.push(b'\n');
        match self.stream.write_all(&line) {
            // The daemon ended the connection; its last message can still be read.
            Err(error)
                if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
            {
                Ok(())
            }
            written => written.map_err(failed),
        }
    }

    fn answer(&mut self) -> Result<Answer, ServiceError> {
        let begun = Instant::now();
        let mut bytes = vec![0; CHUNK];
        let path = || self.path.clone();
        loop {
            let heard = self.incoming.next_item();
            let heard = heard.map_err(|error| ServiceError::Stream { path: path(), error })?;
            match heard {
                Some(StreamItem::Answer(json)) => {
                    return serde_json::from_slice(&json).map_err(|_| self.nonsense())
                }
                Some(StreamItem::Word(said)) => return Err(self.refused(&said)),
                Some(_) => continue,
                None => {}
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(ServiceError::Closed(path())),
                Ok(n) => self.incoming.push(&bytes[..n]),
                Err(error) if is_for_later(&error) => {}
                Err(_) => return Err(ServiceError::Closed(path())),
            }
            if begun.elapsed() > PATIENCE {
                let seconds = begun.elapsed().as_secs();
                return Err(ServiceError::Silent { path: path(), seconds });
            }
        }
    }

    fn refused(&self, said: &str) -> ServiceError {
        let path = self.path.clone();
        // The reply of a daemon that knows windows of the ledger only.
        match said.contains("unknown variant `look`") {
            true => ServiceError::Older { path },
            false => ServiceError::Refused { path, said: harmless(said) },
        }
    }

    fn nonsense(&self) -> ServiceError {
        ServiceError::Stream { path: self.path.clone(), error: StreamError::Damaged }
    }
}

impl Programs for Looker {
    fn began_ns(&self) -> u64 {
        self.has_ns
    }

    fn window(&mut self) -> Result<SubjectWindow, String> {
        Looker::window(self).map_err(|error| error.to_string())
    }
}

fn is_for_later(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}
