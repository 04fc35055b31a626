//! Errors of workloads.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A workload could not be started, or stopped answering.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The names of the fields say it.
pub enum Error {
    /// The worker program was not found.
    #[error(
        "cannot find the program exactop-workload-worker at {looked:?}: \
         build it with `cargo build -p exactop-workloads`, or name it in EXACTOP_WORKLOAD_WORKER"
    )]
    WorkerNotFound {
        /// Paths that were searched.
        looked: Vec<PathBuf>,
    },
    /// The worker program could not be started.
    #[error("cannot run {}", program.display())]
    Spawn { program: PathBuf, source: io::Error },
    /// The worker runs, but could not start the load.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The worker ended, or sent an unknown answer, perhaps because it is of another version.
    #[error("cannot read the answer of the {role} worker, {answer:?}: run it again")]
    BadAnswer {
        /// The workload.
        role: &'static str,
        /// Its last answer.
        answer: String,
    },
    /// The worker did not answer.
    #[error("the {role} worker did not answer for {seconds} s: run it on an idle machine")]
    Silent {
        /// The workload.
        role: &'static str,
        /// How long the library waited, s.
        seconds: u64,
    },
}

/// Why a worker cannot run the load. Crosses the pipe as a line of text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The limit of open files is too small and could not be raised.
    #[error(
        "the load needs {needed} open files, and the limit is {found}: \
         run `ulimit -n {needed}` first (as root, `ulimit -Hn {needed}` too), or start fewer"
    )]
    TooFewFiles {
        /// The current limit.
        found: u64,
        /// The limit that the load needs.
        needed: u64,
    },
    /// Not all processes or threads could be created.
    #[error(
        "cannot make more than {made} of {wanted} tasks ({}): raise `ulimit -u`, pids.max of the \
         cgroup and /proc/sys/kernel/pid_max, or start fewer", io::Error::from_raw_os_error(*errno)
    )]
    TooFewTasks {
        /// Number of created tasks.
        made: u64,
        /// Number of requested tasks.
        wanted: u64,
        /// Error of the first that failed.
        errno: i32,
    },
    /// Another cause, as text.
    #[error("cannot start the load: {0}")]
    Other(String),
}

impl Refusal {
    /// A refusal with the text of `error`.
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
