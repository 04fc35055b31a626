//! Environments and open files, read for the live view by a process that is not fenced in.
//!
//! Landlock lets who is fenced in look into nobody, so this process is made before that and does
//! nothing else: it is asked for one part of one process at a time, reads it with the rights of
//! whoever started exactop, and keeps no others ([`apart`]). Being another process it can also be
//! left waiting, where a process's memory or files lie on a file system that does not answer.

mod apart;

use exactop_model::frame::holdings::{DiskBytes, DiskOf, Holdings, Refusal, Wanted};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Who looks at a screen waits no longer for a part of it.
const PATIENCE: Duration = Duration::from_millis(700);
/// For an answer that was late once.
const NO_PATIENCE: Duration = Duration::from_millis(1);
/// An answer is shorter: what is read is bounded, and a byte takes four at most here.
const LONGEST: usize = 8 << 20;

/// Of how many disk I/O is asked at once.
const MOST: usize = 1024;

/// A question, with a number that its answer bears.
#[derive(Serialize, Deserialize)]
struct Question {
    number: u64,
    asked: Asked,
}

#[derive(Serialize, Deserialize)]
enum Asked {
    Holdings(Wanted),
    Disk(Vec<DiskOf>),
}

#[derive(Serialize, Deserialize)]
struct Answer {
    number: u64,
    told: Told,
}

#[derive(Serialize, Deserialize)]
enum Told {
    Holdings(Result<Holdings, Refusal>),
    /// In the order in which they were asked for.
    Disk(Vec<Result<DiskBytes, Refusal>>),
}

/// The way to that process, which ends when this is dropped.
pub struct Reader {
    socket: UnixStream,
    /// What has come of the next answer.
    come: Vec<u8>,
    asked: u64,
    answered: u64,
    /// Of whom it was asked last.
    of: String,
    patience: Duration,
}

impl Reader {
    /// Starts it; `root` is the /proc it reads. To be called while this process has one thread, all of
    /// its rights, and nothing open yet that another should not have.
    ///
    /// # Errors
    /// There can be no more processes, or no more descriptors.
    pub fn start(root: &Path) -> io::Result<Reader> {
        let (ours, theirs) = UnixStream::pair()?;
        apart::start(theirs, root)?;
        Ok(Reader::of(ours))
    }

    fn of(socket: UnixStream) -> Reader {
        Reader {
            socket,
            come: Vec::new(),
            asked: 0,
            answered: 0,
            of: String::new(),
            patience: PATIENCE,
        }
    }

    /// Asks, and waits a moment for the answer.
    ///
    /// # Errors
    /// Why it is not told.
    pub fn read(&mut self, wanted: Wanted) -> Result<Holdings, Refusal> {
        match self.ask(Asked::Holdings(wanted))? {
            Told::Holdings(told) => told,
            Told::Disk(_) => Err(Refusal::Because(ANOTHER.into())),
        }
    }

    /// Disk I/O of all these, in their order.
    pub fn disk(&mut self, all: &[DiskOf]) -> Vec<Result<DiskBytes, Refusal>> {
        let mut found = Vec::with_capacity(all.len());
        for some in all.chunks(MOST) {
            let why = match self.ask(Asked::Disk(some.to_vec())) {
                Ok(Told::Disk(told)) if told.len() == some.len() => {
                    found.extend(told);
                    continue;
                }
                Ok(_) => Refusal::Because(ANOTHER.into()),
                Err(why) => why,
            };
            found.extend(some.iter().map(|_| Err(why.clone())));
        }
        found
    }

    /// Whoever still waits for somebody is asked of nobody else, and it is said who that is.
    fn ask(&mut self, asked: Asked) -> Result<Told, Refusal> {
        while self.answered < self.asked {
            if let Err(error) = self.next_answer(NO_PATIENCE) {
                let is_anothers = is_late(&error) && whose(&asked) != self.of;
                return Err(if is_anothers { self.still_waits() } else { refusal(error) });
            }
        }
        self.of = whose(&asked);
        self.tell(asked).map_err(refusal)
    }

    fn still_waits(&self) -> Refusal {
        Refusal::Because(format!("still waits for {}; if that lasts, start exactop anew", self.of))
    }

    fn tell(&mut self, asked: Asked) -> io::Result<Told> {
        let question = Question { number: self.asked + 1, asked };
        let mut line = serde_json::to_vec(&question)?;
        line.push(b'\n');
        self.socket.write_all(&line)?;
        self.asked += 1;
        loop {
            let answer = self.next_answer(self.patience)?;
            if answer.number == self.asked {
                return Ok(answer.told);
            }
        }
    }

    /// The next answer, whichever question it is to.
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
                return Err(io::Error::other("an answer without an end"));
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

/// An answer that is not to what was asked.
const ANOTHER: &str = "the process that reads it says something else";

/// Of whom that is asked.
fn whose(asked: &Asked) -> String {
    match asked {
        Asked::Holdings(wanted) => format!("PID {}", wanted.key.tgid),
        Asked::Disk(_) => "the disk I/O of rows".into(),
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
            Refusal::Because("the process that reads it has been ended: start exactop anew".into())
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

    /// However busy the machine is, and yet not for ever.
    pub(super) const LONG: Duration = Duration::from_secs(60);

    fn wanted(tgid: u32) -> Wanted {
        Wanted { key: TaskKey { tgid, tid: tgid, start_ns: 1 }, part: Part::Environment }
    }

    fn says(told: &Result<Holdings, Refusal>, words: &str) -> bool {
        matches!(told, Err(Refusal::Because(why)) if why.contains(words))
    }

    fn environment(n: usize) -> Holdings {
        Holdings::Environment(Environment { variables: vec![b"A=1".to_vec(); n], is_cut: false })
    }

    /// Answers questions with as many variables as the question's number, once it may.
    fn answering(theirs: UnixStream, may: std::sync::mpsc::Receiver<()>) {
        let mut questions = BufReader::new(theirs.try_clone().expect("a descriptor"));
        let mut line = String::new();
        while questions.read_line(&mut line).is_ok_and(|n| n > 0) {
            let Question { number, .. } = serde_json::from_str(&line).expect("a question");
            line.clear();
            if may.recv().is_err() {
                return;
            }
            let told = Told::Holdings(Ok(environment(number as usize)));
            let mut answer = serde_json::to_vec(&Answer { number, told }).expect("an answer");
            answer.push(b'\n');
            (&theirs).write_all(&answer).expect("told");
        }
    }

    #[test]
    fn a_late_answer_is_not_taken_for_the_next_one() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (may, wait) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || answering(theirs, wait));
        let mut reader = Reader { patience: NO_PATIENCE, ..Reader::of(ours) };
        let late = reader.read(wanted(7));
        assert!(says(&late, "no answer yet"), "{late:?}");
        reader.patience = LONG;
        let before = Instant::now();
        let late = reader.read(wanted(7));
        assert!(says(&late, "no answer yet"), "{late:?}");
        let still = reader.read(wanted(9));
        assert!(says(&still, "still waits for PID 7;"), "{still:?}");
        assert_eq!(reader.asked, 1, "who has not answered is asked nothing more");
        assert!(before.elapsed() < LONG / 2, "nor waited for");
        (0..2).for_each(|_| may.send(()).expect("it waits"));
        while reader.answered < 1 && reader.next_answer(NO_PATIENCE).is_err() {
            assert!(before.elapsed() < LONG, "it does not come");
        }
        assert_eq!(reader.read(wanted(9)), Ok(environment(2)), "the second question's own");
        drop(may);
        let ended = reader.read(wanted(9));
        assert!(says(&ended, "has been ended"), "{ended:?}");
        other.join().expect("no panic");
    }
}
