//! Scheduling conditions of a command.

use crate::failure::Failure;
use clap::Args;
use exactop_model::cgroups::limits::{weight, Max};
use exactop_model::text::cpu_list::{CpuList, MOST_CPUS};
use std::path::PathBuf;
use std::str::FromStr;

/// Scheduling conditions.
#[derive(Clone, Debug, Default, Args)]
pub struct Condition {
    /// Set the niceness, -20 to 19; values beyond are clamped, as in nice(1)
    #[arg(long, value_name = "N", value_parser = niceness, allow_hyphen_values = true)]
    pub nice: Option<i64>,
    /// Run only on these CPUs, as in taskset -c: 0,2,4-7 or 0-10:2
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<CpuList>,
    /// Set the scheduling policy: other, batch, idle, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, value_name = "POLICY")]
    pub sched: Option<Sched>,
    /// Run in a new control group with this cpu.weight, 1 to 10000
    #[arg(long, value_name = "W", value_parser = weight, conflicts_with = "cgroup")]
    pub weight: Option<u64>,
    /// Run in a new control group with this quota: 40%, 400000/1000000 (microseconds) or max
    #[arg(long, value_name = "QUOTA[/PERIOD]", conflicts_with = "cgroup")]
    pub max: Option<Max>,
    /// Run in this existing control group
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<PathBuf>,
}

fn niceness(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "write a whole number, such as 5 or -5".into())
}

/// A scheduling policy (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sched {
    /// SCHED_OTHER
    Other,
    /// SCHED_BATCH
    Batch,
    /// SCHED_IDLE
    Idle,
    /// SCHED_FIFO with its priority
    Fifo(i32),
    /// SCHED_RR with its priority
    RoundRobin(i32),
}

impl FromStr for Sched {
    type Err = String;

    fn from_str(text: &str) -> Result<Sched, String> {
        let (policy, priority) = match text.split_once(':') {
            Some((policy, priority)) => (policy, Some(priority)),
            None => (text, None),
        };
        let real_time = || match priority.map(str::parse) {
            Some(Ok(priority @ 1..=99)) => Ok(priority),
            _ => Err(format!("write {policy}:PRIORITY with a priority of 1 to 99")),
        };
        match (policy, priority) {
            ("other", None) => Ok(Sched::Other),
            ("batch", None) => Ok(Sched::Batch),
            ("idle", None) => Ok(Sched::Idle),
            ("fifo", _) => real_time().map(Sched::Fifo),
            ("rr", _) => real_time().map(Sched::RoundRobin),
            _ => Err("write other, batch, idle, fifo:PRIORITY or rr:PRIORITY".into()),
        }
    }
}

impl Sched {
    /// The policy's number and the static priority.
    pub fn numbers(self) -> (i32, i32) {
        match self {
            Sched::Other => (libc::SCHED_OTHER, 0),
            Sched::Batch => (libc::SCHED_BATCH, 0),
            Sched::Idle => (libc::SCHED_IDLE, 0),
            Sched::Fifo(priority) => (libc::SCHED_FIFO, priority),
            Sched::RoundRobin(priority) => (libc::SCHED_RR, priority),
        }
    }
}

impl Condition {
    /// The niceness that the kernel accepts, and whether it differs from the requested one.
    pub fn niceness(&self) -> Option<(i32, bool)> {
        let asked = self.nice?;
        let clamped = asked.clamp(-20, 19);
        Some((clamped as i32, clamped != asked))
    }

    /// True if the condition needs a control group of its own.
    pub fn wants_group(&self) -> bool {
        self.weight.is_some() || self.max.is_some()
    }

    /// Checks that a requested CPU is allowed.
    ///
    /// # Errors
    /// None of the CPUs is allowed; the text lists those that are.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(cpus) = &self.cpus else { return Ok(()) };
        let allowed = rustix::thread::sched_getaffinity(None);
        let allowed = allowed.map_err(Failure::cannot("ask which CPUs may be used"))?;
        if cpus.numbers().iter().any(|&cpu| allowed.is_set(cpu)) {
            return Ok(());
        }
        let there: Vec<String> =
            (0..MOST_CPUS).filter(|&cpu| allowed.is_set(cpu)).map(|cpu| cpu.to_string()).collect();
        Err(Failure::usage(format!(
            "--cpus: cannot use any of these CPUs here: choose among {}",
            there.join(",")
        )))
    }
}

/// A condition with its original text.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// The text.
    pub label: String,
    /// The condition.
    pub condition: Condition,
}

/// Parses a condition such as `nice=5 cpus=0`.
///
/// # Errors
/// The word that cannot be parsed.
pub fn parse(text: &str) -> Result<Labelled, String> {
    let mut condition = Condition::default();
    for word in text.split_whitespace() {
        let unknown =
            || format!("'{word}': write nice, cpus, sched, weight, max or cgroup, = and a value");
        let (name, value) = word.split_once('=').ok_or_else(unknown)?;
        let wrong = |why: String| format!("'{word}': {why}");
        match name {
            "nice" => {
                let nice =
                    value.parse().map_err(|_| wrong("write a whole number, -20 to 19".into()))?;
                condition.nice = Some(nice);
            }
            "cpus" => condition.cpus = Some(value.parse().map_err(wrong)?),
            "sched" => condition.sched = Some(value.parse().map_err(wrong)?),
            "weight" => condition.weight = Some(weight(value).map_err(wrong)?),
            "max" => {
                let max = value.parse::<Max>().map_err(|why| wrong(why.to_string()))?;
                condition.max = Some(max);
            }
            "cgroup" => condition.cgroup = Some(value.into()),
            _ => return Err(unknown()),
        }
    }
    match condition.cgroup.is_some() && condition.wants_group() {
        true => Err(format!(
            "'{text}': cgroup conflicts with weight and max, which make a new group: leave one out"
        )),
        false => Ok(Labelled { label: text.into(), condition }),
    }
}

impl Condition {
    /// This condition, with values from `other` where this one has none.
    pub fn or(&self, other: &Condition) -> Condition {
        Condition {
            nice: self.nice.or(other.nice),
            cpus: self.cpus.clone().or_else(|| other.cpus.clone()),
            sched: self.sched.or(other.sched),
            weight: self.weight.or(other.weight),
            max: self.max.or(other.max),
            cgroup: self.cgroup.clone().or_else(|| other.cgroup.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_and_niceness_are_read() {
        assert_eq!("batch".parse(), Ok(Sched::Batch));
        assert_eq!("fifo:99".parse::<Sched>().map(Sched::numbers), Ok((libc::SCHED_FIFO, 99)));
        assert_eq!("rr:1".parse(), Ok(Sched::RoundRobin(1)));
        for wrong in ["", "fifo", "rr:0", "fifo:100", "idle:1", "deadline"] {
            assert!(wrong.parse::<Sched>().is_err(), "{wrong}");
        }
        let nice = |n| Condition { nice: Some(n), ..Condition::default() }.niceness();
        assert_eq!(nice(5), Some((5, false)));
        assert_eq!((nice(20), nice(-21)), (Some((19, true)), Some((-20, true))));
        assert!(weight("0").is_err() && weight("10001").is_err() && weight("10000") == Ok(10_000));
    }

    #[test]
    fn conditions_are_read_and_completed() {
        let read = |text: &str| parse(text).map(|l| l.condition);
        let both = read("nice=5 cpus=0 max=40%").unwrap();
        assert_eq!((both.nice, both.max.and_then(|m| m.quota_us)), (Some(5), Some(40_000)));
        let other = Condition { nice: Some(1), sched: Some(Sched::Batch), ..Condition::default() };
        let sum = both.or(&other);
        assert_eq!((sum.nice, sum.sched), (Some(5), Some(Sched::Batch)));
        assert!(read("").is_ok(), "nothing else than what holds for all");
        for wrong in ["nice", "nice=x", "speed=1", "cpus=x", "weight=0", "max=1", "cgroup=/ max=1%"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
