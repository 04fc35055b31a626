//! What a reader says to the service: lines of JSON.
//!
//! ```text
//! {"hello":{"exactop":"0.1.0","format":1}}
//! {"window":{"interval_ns":1000000000,"after_ns":86400000000000,"needs":["split"]}}
//! ```
//!
//! The first line is a hello. Each of the others asks for a window's end; one of what is counted only
//! while somebody looks is `{"look":{"what":"syscalls"}}`, and `{"follow":{}}` has the asker's children followed. Keys that are not known are
//! passed by, so that a later reader can say more.

use exactop_model::on_demand::syscalls::SyscallsBy;
use exactop_model::on_demand::{Choice, Subject, SubjectWindow, SyscallNr};
use exactop_model::Needs;
use serde::{Deserialize, Serialize};

/// The longest line that is read, bytes.
pub const LONGEST: usize = 4096;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// Who reads.
    Hello(Hello),
    /// A window is to end.
    Window(Window),
    /// A window of programs that are attached while somebody looks is to end.
    Look(Look),
    /// Children of the process that connected are to be followed, with all who descend from them.
    Follow(Follow),
}

/// The answer comes after the next window's end ([`Answer::Follows`]); what it is done for ends with the
/// connection. Nothing is to be said of it yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Follow {}

/// Who reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its version of exactop.
    pub exactop: String,
    /// The last form of a recording that it reads.
    pub format: u32,
}

/// What a window is wanted for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// How often its reader looks, ns; unknown where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// An end before this instant (CLOCK_MONOTONIC ns) does not serve; without it now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ns: Option<u64>,
    /// So many ends are wanted, each `interval_ns` after the one before, of which only the first is asked
    /// for; 1 where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<u32>,
    /// What costs extra and is wanted all the same, by the names of [`NEEDS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The process whose time on each CPU is to be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<u32>,
}

/// What of their windows is wanted. The first one is answered when they count; what comes after it
/// goes from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Which programs: the same in all that one connection says.
    pub what: Subject,
    /// How often its reader looks, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// As in [`Window`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ns: Option<u64>,
    /// What rows of system calls sum: `call`, `process` or `thread`.
    #[serde(default)]
    pub by: SyscallsBy,
    /// Only these processes; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pids: Vec<u32>,
    /// Only system calls of these numbers; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<SyscallNr>,
}

impl Look {
    /// Everything of these programs, whenever it is there.
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

    /// What of each window that is.
    pub fn choice(&self) -> Choice {
        Choice { by: self.by, pids: self.pids.clone(), calls: self.calls.clone() }
    }
}

/// What whoever looks is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What comes counts from this instant, CLOCK_MONOTONIC ns.
    Begun(u64),
    /// What was counted since the answer before.
    Looked(SubjectWindow),
    /// From the window on that begins after this, children of whoever asked begin the tree of this number.
    Follows(u32),
}

/// An [`Answer`] as it is written: of what stays with who answers.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Told<'a> {
    /// As [`Answer::Looked`].
    Looked(&'a SubjectWindow),
    /// As [`Answer::Follows`].
    Follows(u32),
}

/// What a ledger measures only while somebody asks for it. What is read from files, readers read
/// themselves.
pub const NEEDS: [(&str, Needs); 3] =
    [("split", Needs::SPLIT), ("interrupts", Needs::INTERRUPTS), ("cpu_shares", Needs::CPU_SHARES)];

impl Window {
    /// For these needs.
    pub fn of(interval_ns: Option<u64>, after_ns: u64, needs: Needs, watch: Option<u32>) -> Window {
        let wanted = NEEDS.into_iter().filter(|&(_, need)| needs.has(need));
        let after_ns = Some(after_ns);
        Window {
            interval_ns,
            after_ns,
            ends: None,
            needs: wanted.map(|(name, _)| name.into()).collect(),
            watch,
        }
    }

    /// Whether it wants the same as another, at another instant.
    pub fn is_for_the_same(&self, other: &Window) -> bool {
        let same_pace = (self.interval_ns, self.ends) == (other.interval_ns, other.ends);
        same_pace && (&self.needs, self.watch) == (&other.needs, other.watch)
    }

    /// What it needs, as far as this version knows it.
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
    fn a_line_is_what_the_document_says() {
        let window = Window::of(Some(5), 9, Needs::SPLIT | Needs::STAT, None);
        let line = serde_json::to_string(&Said::Window(window.clone())).unwrap();
        assert_eq!(line, r#"{"window":{"interval_ns":5,"after_ns":9,"needs":["split"]}}"#);
        assert_eq!(window.needs(), Needs::SPLIT);
        let later = r#"{"window":{"needs":["split","later"],"more":[1]}}"#;
        let Said::Window(said) = serde_json::from_str(later).unwrap() else { panic!("a window") };
        assert_eq!((said.needs(), said.interval_ns), (Needs::SPLIT, None));
        let follow = serde_json::to_string(&Said::Follow(Follow {})).unwrap();
        assert_eq!(follow, r#"{"follow":{}}"#);
        assert!(serde_json::from_str::<Said>(r#"{"other":{}}"#).is_err());
    }
}
