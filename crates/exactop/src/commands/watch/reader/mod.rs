//! Environments and open files, read for the live view by a process that is not fenced in.
//!
//! Landlock lets who is fenced in look into nobody, so this process is made before that and does
//! nothing else: it is asked for one part of one process at a time, reads it with the rights of
//! whoever started exactop, and keeps no others ([`apart`]). Being another process it can also be
//! left waiting, where a process's memory or files lie on a file system that does not answer.

mod apart;

use exactop_model::holdings::{DiskBytes, DiskOf, Holdings, Refusal, Wanted};
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
        Reader { socket, come: Vec::new(), asked: 0, answered: 0 }
    }

    /// Asks, and waits a moment for the answer.
    ///
    /// # Errors
    /// Why it is not told.
    pub fn read(&mut self, wanted: Wanted) -> Result<Holdings, Refusal> {
        match self.ask(Asked::Holdings(wanted)).map_err(refusal)? {
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
                Err(error) => refusal(error),
            };
            found.extend(some.iter().map(|_| Err(why.clone())));
        }
        found
    }

    fn ask(&mut self, asked: Asked) -> io::Result<Told> {
        while self.answered < self.asked {
            self.next_answer(NO_PATIENCE)?;
        }
        let question = Question { number: self.asked + 1, asked };
        let mut line = serde_json::to_vec(&question)?;
        line.push(b'\n');
        self.socket.write_all(&line)?;
        self.asked += 1;
        loop {
            let answer = self.next_answer(PATIENCE)?;
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

fn refusal(error: io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Refusal::Because(
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
    use exactop_model::holdings::{Environment, Part};
    use exactop_model::TaskKey;
    use std::io::{BufRead, BufReader};

    fn wanted() -> Wanted {
        Wanted { key: TaskKey { tgid: 7, tid: 7, start_ns: 1 }, part: Part::Environment }
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
        let mut reader = Reader::of(ours);
        let late = reader.read(wanted());
        assert!(
            matches!(&late, Err(Refusal::Because(why)) if why.contains("no answer")),
            "{late:?}"
        );
        let before = Instant::now();
        assert!(reader.read(wanted()).is_err(), "still none");
        assert_eq!(reader.asked, 1, "who has not answered is asked nothing more");
        assert!(before.elapsed() < PATIENCE, "nor waited for");
        may.send(()).expect("it waits");
        may.send(()).expect("it waits");
        let told = std::iter::repeat_with(|| reader.read(wanted())).find(Result::is_ok);
        assert_eq!(told, Some(Ok(environment(2))), "the second question's own");
        drop(may);
        let ended = reader.read(wanted());
        assert!(matches!(&ended, Err(Refusal::Because(why)) if why.contains("ended")), "{ended:?}");
        other.join().expect("no panic");
    }
}
