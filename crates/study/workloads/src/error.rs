//! Why a workload could not be started, or stopped answering.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What can go wrong with a workload.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no worker program to run the workload in.
    #[error(
        "the program exactop-workload-worker was not found at {looked:?}: \
         build it with `cargo build -p exactop-workloads`, or name it in EXACTOP_WORKLOAD_WORKER"
    )]
    WorkerNotFound {
        /// Where it was looked for.
        looked: Vec<PathBuf>,
    },
    /// The worker program could not be run.
    #[error("running {}", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The worker runs, but the load could not be started.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The worker is gone, or speaks another language: one of another version, perhaps.
    #[error("the {role} worker ended, or its answer made no sense: {answer:?}")]
    BadAnswer {
        /// The workload.
        role: &'static str,
        /// What it said last.
        answer: String,
    },
    /// The worker did not answer.
    #[error("the {role} worker did not answer for {seconds} s")]
    Silent {
        /// The workload.
        role: &'static str,
        /// How long it was waited for.
        seconds: u64,
    },
}

/// Why a worker can't run the load it was asked for. Crosses the pipe as a line of text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The limit of open files is too small, and could not be raised.
    #[error(
        "{needed} open files are needed but the limit is {found}: \
         run `ulimit -n {needed}` first (as root, `ulimit -Hn {needed}` too), or start fewer"
    )]
    TooFewFiles {
        /// The limit as it is.
        found: u64,
        /// What the load needs.
        needed: u64,
    },
    /// Not all processes or threads could be made.
    #[error(
        "only {made} of {wanted} tasks could be made ({}): look at `ulimit -u`, pids.max of the \
         cgroup and /proc/sys/kernel/pid_max, or start fewer", io::Error::from_raw_os_error(*errno)
    )]
    TooFewTasks {
        /// How many there were.
        made: u64,
        /// How many were asked for.
        wanted: u64,
        /// The error of the first that failed.
        errno: i32,
    },
    /// Something else, in words.
    #[error("the load could not be started: {0}")]
    Other(String),
}

impl Refusal {
    /// A refusal with the words of `error`.
    pub fn other(error: impl fmt::Display) -> Self {
        Self::Other(error.to_string().replace('\n', " "))
    }

    pub(crate) fn to_line(&self) -> String {
        match self {
            Self::TooFewFiles { found, needed } => format!("files {found} {needed}"),
            Self::TooFewTasks { made, wanted, errno } => format!("tasks {made} {wanted} {errno}"),
            Self::Other(text) => format!("other {text}"),
        }
    }

    pub(crate) fn from_line(line: &str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        Self::typed(&words)
            .unwrap_or_else(|| Self::Other(line.strip_prefix("other ").unwrap_or(line).to_owned()))
    }

    fn typed(words: &[&str]) -> Option<Self> {
        match words {
            ["files", found, needed] => {
                Some(Self::TooFewFiles { found: found.parse().ok()?, needed: needed.parse().ok()? })
            }
            ["tasks", made, wanted, errno] => Some(Self::TooFewTasks {
                made: made.parse().ok()?,
                wanted: wanted.parse().ok()?,
                errno: errno.parse().ok()?,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Refusal;

    #[test]
    fn refusals_cross_the_pipe() {
        for refusal in [
            Refusal::TooFewFiles { found: 1024, needed: 4100 },
            Refusal::TooFewTasks { made: 3, wanted: 9, errno: 11 },
            Refusal::Other("no true in PATH".into()),
        ] {
            assert_eq!(Refusal::from_line(&refusal.to_line()), refusal);
        }
    }
}
