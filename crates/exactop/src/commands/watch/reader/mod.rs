//! Reads environments, open files and disk I/O for the live view, in a process without landlock.
//!
//! Landlock does not let a restricted process read others. So this process starts before landlock
//! and seccomp apply. It takes a request for one part of one process at a time, and reads it with
//! the rights of the user. It keeps no other rights ([`apart`]). A read of a file system that does
//! not answer blocks only this process.

mod apart;

use exactop_model::frame::holdings::{DiskBytes, DiskOf, Holdings, HoldingsRequest, Refusal};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest wait for one part of the screen.
const PATIENCE: Duration = Duration::from_millis(700);
/// Wait for an answer that was late once.
const NO_PATIENCE: Duration = Duration::from_millis(1);
/// Most bytes of an answer. The read is bounded, and each byte takes at most four bytes in JSON.
const LONGEST: usize = 8 << 20;

/// Most processes in one request for disk I/O.
const MOST: usize = 1024;

/// A question, with a number that its answer repeats.
#[derive(Serialize, Deserialize)]
struct Question {
    number: u64,
    request: ReaderRequest,
}

#[derive(Serialize, Deserialize)]
enum ReaderRequest {
    Holdings(HoldingsRequest),
    Disk(Vec<DiskOf>),
}

#[derive(Serialize, Deserialize)]
struct Answer {
    number: u64,
    reply: ReaderReply,
}

#[derive(Serialize, Deserialize)]
enum ReaderReply {
    Holdings(Result<Holdings, Refusal>),
    /// Disk I/O in the order of the request.
    Disk(Vec<Result<DiskBytes, Refusal>>),
}

/// The connection to that process, which ends when this value is dropped.
pub struct Reader {
    socket: UnixStream,
    /// Bytes of the next answer so far.
    come: Vec<u8>,
    sent: u64,
    answered: u64,
    /// The process of the last question.
    of: String,
    patience: Duration,
}

impl Reader {
    /// Starts the process; `root` is the /proc that it reads. Call it while this process has one
    /// thread and all its rights, and before it opens files that the other must not have.
    ///
    /// # Errors
    /// No more processes or descriptors can be had.
    pub fn start(root: &Path) -> io::Result<Reader> {
        let (ours, theirs) = UnixStream::pair()?;
        apart::start(theirs, root)?;
        Ok(Reader::from_socket(ours))
    }

    fn from_socket(socket: UnixStream) -> Reader {
        Reader {
            socket,
            come: Vec::new(),
            sent: 0,
            answered: 0,
            of: String::new(),
            patience: PATIENCE,
        }
    }

    /// Asks, and waits a moment for the answer.
    ///
    /// # Errors
    /// The reason why there is no answer.
    pub fn read(&mut self, request: HoldingsRequest) -> Result<Holdings, Refusal> {
        match self.ask(ReaderRequest::Holdings(request))? {
            ReaderReply::Holdings(holdings) => holdings,
            ReaderReply::Disk(_) => Err(Refusal::Because(ANOTHER.into())),
        }
    }

    /// Disk I/O of these processes, in their order.
    pub fn disk(&mut self, all: &[DiskOf]) -> Vec<Result<DiskBytes, Refusal>> {
        let mut found = Vec::with_capacity(all.len());
        for some in all.chunks(MOST) {
            let why = match self.ask(ReaderRequest::Disk(some.to_vec())) {
                Ok(ReaderReply::Disk(bytes)) if bytes.len() == some.len() => {
                    found.extend(bytes);
                    continue;
                }
                Ok(_) => Refusal::Because(ANOTHER.into()),
                Err(why) => why,
            };
            found.extend(some.iter().map(|_| Err(why.clone())));
        }
        found
    }

    /// Sends a question. While an earlier answer is missing, it sends none and returns the process
    /// that blocks the reader.
    fn ask(&mut self, request: ReaderRequest) -> Result<ReaderReply, Refusal> {
        while self.answered < self.sent {
            if let Err(error) = self.next_answer(NO_PATIENCE) {
                let is_anothers = is_late(&error) && subject(&request) != self.of;
                return Err(if is_anothers { self.still_waits() } else { refusal(error) });
            }
        }
        self.of = subject(&request);
        self.tell(request).map_err(refusal)
    }

    fn still_waits(&self) -> Refusal {
        Refusal::Because(format!("still waits for {}; if that lasts, restart exactop", self.of))
    }

    fn tell(&mut self, request: ReaderRequest) -> io::Result<ReaderReply> {
        let question = Question { number: self.sent + 1, request };
        let mut line = serde_json::to_vec(&question)?;
        line.push(b'\n');
        self.socket.write_all(&line)?;
        self.sent += 1;
        loop {
            let answer = self.next_answer(self.patience)?;
            if answer.number == self.sent {
                return Ok(answer.reply);
            }
        }
    }

    /// The next answer, to any question.
    fn next_answer(&mut self, patience: Duration) -> io::Result<Answer> {
        let until = Instant::now() + patience;
        let mut piece = vec![0; 64 * 1024];
        loop {
            if let Some(end) = self.come.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.come.drain(..=end).collect();
                let answer: Answer = serde_json::from_slice(&line)?;
                self.answered = answer.number;
                return Ok(answer);
            }
            if self.come.len() > LONGEST {
                return Err(io::Error::other(format!(
                    "cannot read an answer of more than {LONGEST} bytes"
                )));
            }
            let left = until.saturating_duration_since(Instant::now());
            self.socket.set_read_timeout(Some(left.max(NO_PATIENCE)))?;
            match self.socket.read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.come.extend_from_slice(&piece[..n]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            if left.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }
}

/// The error for an answer to another question.
const ANOTHER: &str = "the process that reads it gave an answer of another kind";

/// The process that a question is about.
fn subject(request: &ReaderRequest) -> String {
    match request {
        ReaderRequest::Holdings(request) => format!("PID {}", request.key.tgid),
        ReaderRequest::Disk(_) => "the disk I/O of rows".into(),
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn refusal(error: io::Error) -> Refusal {
    match error.kind() {
        _ if is_late(&error) => Refusal::Because(
            "no answer yet: it may lie on a file system that does not answer".into(),
        ),
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
            Refusal::Because("the process that reads it has ended: restart exactop".into())
        }
        _ => Refusal::Because(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::frame::holdings::{Environment, Part};
    use exactop_model::TaskKey;
    use std::io::{BufRead, BufReader};

    /// Long enough for a busy machine, but bounded.
    pub(super) const LONG: Duration = Duration::from_secs(60);

    fn request(tgid: u32) -> HoldingsRequest {
        HoldingsRequest { key: TaskKey { tgid, tid: tgid, start_ns: 1 }, part: Part::Environment }
    }

    fn says(told: &Result<Holdings, Refusal>, words: &str) -> bool {
        matches!(told, Err(Refusal::Because(why)) if why.contains(words))
    }

    fn environment(n: usize) -> Holdings {
        Holdings::Environment(Environment { variables: vec![b"A=1".to_vec(); n], is_cut: false })
    }

    /// Answers each question with a number of variables equal to the question's number, after a
    /// permit.
    fn answering(theirs: UnixStream, may: std::sync::mpsc::Receiver<()>) {
        let mut questions = BufReader::new(theirs.try_clone().expect("a descriptor"));
        let mut line = String::new();
        while questions.read_line(&mut line).is_ok_and(|n| n > 0) {
            let Question { number, .. } = serde_json::from_str(&line).expect("a question");
            line.clear();
            if may.recv().is_err() {
                return;
            }
            let reply = ReaderReply::Holdings(Ok(environment(number as usize)));
            let mut answer = serde_json::to_vec(&Answer { number, reply }).expect("an answer");
            answer.push(b'\n');
            (&theirs).write_all(&answer).expect("told");
        }
    }

    #[test]
    fn a_late_answer_is_not_taken_for_the_next_one() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (may, wait) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || answering(theirs, wait));
        let mut reader = Reader { patience: NO_PATIENCE, ..Reader::from_socket(ours) };
        let late = reader.read(request(7));
        assert!(says(&late, "no answer yet"), "{late:?}");
        reader.patience = LONG;
        let before = Instant::now();
        let late = reader.read(request(7));
        assert!(says(&late, "no answer yet"), "{late:?}");
        let still = reader.read(request(9));
        assert!(says(&still, "still waits for PID 7;"), "{still:?}");
        assert_eq!(reader.sent, 1, "who has not answered is asked nothing more");
        assert!(before.elapsed() < LONG / 2, "nor waited for");
        (0..2).for_each(|_| may.send(()).expect("it waits"));
        while reader.answered < 1 && reader.next_answer(NO_PATIENCE).is_err() {
            assert!(before.elapsed() < LONG, "it does not come");
        }
        assert_eq!(reader.read(request(9)), Ok(environment(2)), "the second question's own");
        drop(may);
        let ended = reader.read(request(9));
        assert!(says(&ended, "has ended"), "{ended:?}");
        other.join().expect("no panic");
    }
}
