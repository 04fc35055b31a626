//! Requests of a reader to the daemon: lines of JSON.
//!
//! ```text
//! {"hello":{"exactop":"0.1.0","format":1}}
//! {"window":{"interval_ns":1000000000,"after_ns":86400000000000,"needs":["split"]}}
//! ```
//!
//! The first line is a hello. Each later line is a request. `window` asks for a window's end.
//! `{"look":{"what":"syscalls"}}` asks for a window of on-demand programs, which count only while a
//! reader displays them. `{"follow":{}}` asks the daemon to follow the reader's children. The
//! daemon ignores unknown keys, so later readers may send more.

use exactop_model::on_demand::syscalls::SyscallsBy;
use exactop_model::on_demand::{Choice, Subject, SubjectWindow, SyscallNr};
use exactop_model::Needs;
use serde::{Deserialize, Serialize};

/// Longest line, bytes.
pub const LONGEST: usize = 4096;

/// One line of a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReaderMessage {
    /// Greeting: the reader's version.
    Hello(Hello),
    /// Request for a window's end.
    Window(Window),
    /// Request for a window of on-demand programs.
    Look(Look),
    /// Request to follow the children of the connected process, and all their descendants.
    Follow(Follow),
}

/// Request to follow children. The answer ([`Answer::Follows`] or [`Answer::Followed`]) comes after
/// the next window's end; the daemon stops when the connection ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {
    /// Children are followed from the answer on, which is then [`Answer::Followed`]. A daemon that
    /// does not know this key answers [`Answer::Follows`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_once: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Greeting of a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The reader's version of exactop.
    pub exactop: String,
    /// Latest recording format that the reader can decode.
    pub format: u32,
}

/// Request for window ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Interval at which the reader asks, ns; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Earliest end that serves the reader, CLOCK_MONOTONIC ns; `None`: now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ns: Option<u64>,
    /// Number of ends requested with this line, each `interval_ns` after the one before; `None`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<u32>,
    /// Figures that cost extra, by the names in [`NEEDS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// PID of the process whose time on each CPU the ledger counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<u32>,
    /// End the first window now, not at a point that readers share. The daemon does so for at most
    /// 20 requests a second, after a burst of 50.
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_once: bool,
}

/// Request for a window of on-demand programs. The first answer says when counting begins; each
/// later answer continues from the one before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// The programs; the same in all requests of one connection.
    pub what: Subject,
    /// Interval at which the reader asks, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// Earliest end that serves the reader, as in [`Window`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ns: Option<u64>,
    /// Grouping of system calls: `call`, `process` or `thread`.
    #[serde(default)]
    pub by: SyscallsBy,
    /// Only these processes; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// Only these system call numbers; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<SyscallNr>,
}

impl Look {
    /// Requests everything of these programs, at any interval.
    pub fn at(what: Subject) -> Look {
        Look {
            what,
            interval_ns: None,
            after_ns: None,
            by: SyscallsBy::default(),
            pids: Vec::new(),
            calls: Vec::new(),
        }
    }

    /// The part of each window that is requested.
    pub fn choice(&self) -> Choice {
        Choice { by: self.by, pids: self.pids.clone(), calls: self.calls.clone() }
    }
}

/// Answer to an on-demand or follow request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The next window begins at this instant, CLOCK_MONOTONIC ns.
    Begun(u64),
    /// Figures since the answer before.
    Looked(SubjectWindow),
    /// Number of the tree of the asker's children, from the next window on.
    Follows(u32),
    /// Number of the tree of the asker's children, from now on.
    Followed(u32),
}

/// An [`Answer`] as it is written, by reference.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerRef<'a> {
    /// As [`Answer::Looked`].
    Looked(&'a SubjectWindow),
    /// As [`Answer::Follows`].
    Follows(u32),
    /// As [`Answer::Followed`].
    Followed(u32),
}

/// Figures that a ledger measures only on request. Readers read figures in files themselves.
pub const NEEDS: [(&str, Needs); 3] =
    [("split", Needs::SPLIT), ("interrupts", Needs::INTERRUPTS), ("cpu_shares", Needs::CPU_SHARES)];

impl Window {
    /// Requests one end with these needs.
    pub fn new(
        interval_ns: Option<u64>,
        after_ns: u64,
        needs: Needs,
        watch: Option<u32>,
    ) -> Window {
        let wanted = NEEDS.into_iter().filter(|&(_, need)| needs.has(need));
        let after_ns = Some(after_ns);
        Window {
            interval_ns,
            after_ns,
            ends: None,
            needs: wanted.map(|(name, _)| name.into()).collect(),
            watch,
            at_once: false,
        }
    }

    /// True if `other` asks for the same, at another instant.
    pub fn is_for_the_same(&self, other: &Window) -> bool {
        let same_pace = (self.interval_ns, self.ends) == (other.interval_ns, other.ends);
        same_pace && (&self.needs, self.watch) == (&other.needs, other.watch)
    }

    /// The needs that this version knows.
    pub fn needs(&self) -> Needs {
        let known =
            NEEDS.into_iter().filter(|(name, _)| self.needs.iter().any(|said| said == name));
        known.fold(Needs::NONE, |needs, (_, need)| needs | need)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_line_is_what_the_document_says() {
        let window = Window::new(Some(5), 9, Needs::SPLIT | Needs::STAT, None);
        let line = serde_json::to_string(&ReaderMessage::Window(window.clone())).unwrap();
        assert_eq!(line, r#"{"window":{"interval_ns":5,"after_ns":9,"needs":["split"]}}"#);
        assert_eq!(window.needs(), Needs::SPLIT);
        let later = r#"{"window":{"needs":["split","later"],"more":[1]}}"#;
        let ReaderMessage::Window(said) = serde_json::from_str(later).unwrap() else {
            panic!("a window")
        };
        assert_eq!((said.needs(), said.interval_ns), (Needs::SPLIT, None));
        let follow = serde_json::to_string(&ReaderMessage::Follow(Follow::default())).unwrap();
        assert_eq!(follow, r#"{"follow":{}}"#);
        assert!(serde_json::from_str::<ReaderMessage>(r#"{"other":{}}"#).is_err());
    }
}
