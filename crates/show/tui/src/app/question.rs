//! Questions on the status line, and their answers.

use super::placement::Placement;
use super::target::{all, Limit, ProcessAction, Target};
use crate::editor::Editor;
use crate::settings::parse_interval;
use crate::signals;
use exactop_model::cgroups::limits::{self, Max};

/// Kind of a question.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // Their names say it.
pub enum Question {
    /// Seconds between looks.
    Interval,
    /// The user to show.
    User,
    /// A filter expression.
    Filter,
    /// Text to search.
    Search,
    /// Text to search among the columns.
    Column,
    /// The action to do.
    Command,
    /// A time in the recording.
    Time,
    /// The process for an action; an empty answer means the offered one.
    Pid(ProcessAction, Option<Target>),
    KillSignal(Target),
    /// Confirm this signal.
    KillConfirm(Target, i32),
    /// The signal for all of these.
    KillTagged(Vec<Target>),
    /// Confirm it.
    KillTaggedConfirm(Vec<Target>, i32),
    ReniceValue(Target),
    /// The nice value for all of these.
    ReniceTagged(Vec<Target>),
    /// Confirm it.
    ReniceTaggedConfirm(Vec<Target>, i32),
    /// Confirm this nice value.
    ReniceConfirm(Target, i32),
    /// The CPUs or the group of these processes.
    Placement(ProcessAction, Vec<Target>),
    /// Confirm this place.
    PlacementConfirm(Vec<Target>, Placement),
    /// The weight of this group.
    GroupWeight(String, Option<u64>),
    /// The quota of this group.
    GroupMax(String, Option<u64>),
    /// Confirm this limit.
    GroupConfirm(Limit),
}

/// An open question.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// Kind of the question.
    pub question: Question,
    /// Text of the question.
    pub label: String,
    /// The same for a narrow screen: what must stay stands first.
    pub short: String,
    /// Meaning of an empty answer.
    pub default: Option<String>,
    /// The answer so far.
    pub editor: Editor,
    /// The selected action; for other questions the earlier answer that is recalled, 1 the newest.
    pub at: usize,
    /// The text that Tab completes, and the completion that stands in its place.
    pub completed: Option<(String, String)>,
}

/// Meaning of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// Ask this next.
    Ask(Prompt),
    /// A new interval.
    Interval(f64),
    /// A user, with `!` in front for all others; empty: all users.
    User(String),
    /// A filter expression.
    Filter(String),
    /// Text to search; empty: none.
    Search(String),
    /// Text to search among the columns.
    Column(String),
    /// A time in the recording.
    Time(String),
    /// Act on the offered process.
    Offered(ProcessAction, Target),
    /// Act on the process with the typed number.
    Typed(ProcessAction, u32),
    /// Send this signal.
    Signal(Target, i32),
    /// Set this nice value.
    Renice(Target, i32),
    /// Send it to all.
    SignalAll(Vec<Target>, i32),
    /// Set it for all.
    ReniceAll(Vec<Target>, i32),
    /// Give them this place.
    Place(Vec<Target>, Placement),
    /// Set this limit.
    Limit(Limit),
    /// The user cancelled.
    Nothing,
    /// The answer is invalid.
    Bad(String),
}

impl Prompt {
    /// A question without an answer yet.
    pub fn new(question: Question, label: impl Into<String>, default: Option<String>) -> Prompt {
        let (label, editor) = (label.into(), Editor::default());
        let short = label.clone();
        Prompt { question, label, short, default, editor, at: 0, completed: None }
    }

    /// The question with a text for a narrow screen.
    fn or_short(self, short: String) -> Prompt {
        Prompt { short, ..self }
    }

    /// Asks for the process of an action. `offered`: the process of an empty answer.
    pub fn for_target(deed: ProcessAction, offered: Option<Target>) -> Prompt {
        let label = match deed {
            ProcessAction::Kill => "PID to signal",
            ProcessAction::Renice => "PID to renice",
            ProcessAction::Affinity => "PID to bind to CPUs",
            ProcessAction::Move => "PID to move to a group",
        };
        let default = offered.as_ref().map(|target| format!("{} {}", target.pid, target.name));
        Prompt::new(Question::Pid(deed, offered), label, default)
    }

    /// Asks for the CPUs or the group of these processes.
    pub fn for_placement(deed: ProcessAction, targets: Vec<Target>) -> Prompt {
        let whom = in_words(&targets);
        let label = match deed {
            ProcessAction::Affinity => format!("CPUs for {whom}, as in 0-3,5"),
            _ => format!("group for {whom}, as in /a/b"),
        };
        Prompt::new(Question::Placement(deed, targets), label, None)
    }

    /// Asks for the signal, the nice value or the place.
    pub fn for_action(deed: ProcessAction, target: Target) -> Prompt {
        match deed {
            ProcessAction::Kill => Prompt::kill_signal(target),
            ProcessAction::Renice => Prompt::renice_value(target),
            ProcessAction::Affinity | ProcessAction::Move => {
                Prompt::for_placement(deed, vec![target])
            }
        }
    }

    /// Asks for the signal.
    fn kill_signal(target: Target) -> Prompt {
        let label = format!("signal for {}", target.shown());
        let short = format!("signal {} ({})", target.pid, target.name);
        Prompt::new(Question::KillSignal(target), label, Some("15 TERM".into())).or_short(short)
    }

    /// Asks for the nice value.
    fn renice_value(target: Target) -> Prompt {
        let label = format!("nice value for {}, -20 to 19", target.shown());
        let short = format!("renice {} ({})", target.pid, target.name);
        let nice = target.nice.to_string();
        Prompt::new(Question::ReniceValue(target), label, Some(nice)).or_short(short)
    }

    /// True if one key answers it.
    pub fn is_yes_no(&self) -> bool {
        matches!(
            self.question,
            Question::KillConfirm(..)
                | Question::KillTaggedConfirm(..)
                | Question::ReniceConfirm(..)
                | Question::ReniceTaggedConfirm(..)
                | Question::PlacementConfirm(..)
                | Question::GroupConfirm(..)
        )
    }

    /// The text left of the answer.
    pub fn head(&self) -> String {
        format!("{}{}", self.label, self.tail())
    }

    /// The end of that text: the meaning of an empty answer.
    pub fn tail(&self) -> String {
        match (&self.default, self.is_yes_no()) {
            (_, true) => " [y/N] ".into(),
            (Some(default), _) => format!(" [{default}]: "),
            (None, _) => ": ".into(),
        }
    }

    /// The answer, after Enter.
    pub fn answer(&self) -> Answer {
        let text = self.editor.text().trim();
        let or_default = || match (&self.default, text.is_empty()) {
            (Some(default), true) => default.split(' ').next().unwrap_or("").to_string(),
            _ => text.to_string(),
        };
        match &self.question {
            Question::Interval if text.is_empty() => Answer::Nothing,
            Question::Interval => parse_interval(text).map_or_else(Answer::Bad, Answer::Interval),
            Question::User => Answer::User(text.into()),
            Question::Filter if text.is_empty() => Answer::Nothing,
            Question::Filter => Answer::Filter(text.into()),
            Question::Search => Answer::Search(text.into()),
            Question::Column if text.is_empty() => Answer::Nothing,
            Question::Column => Answer::Column(text.into()),
            Question::Command => Answer::Nothing,
            Question::Time if text.is_empty() => Answer::Nothing,
            Question::Time => Answer::Time(text.into()),
            Question::Pid(deed, Some(target)) if text.is_empty() => {
                Answer::Offered(*deed, target.clone())
            }
            Question::Pid(deed, offered) => pid(*deed, offered.as_ref(), text),
            Question::KillSignal(target) => kill_confirm(target, &or_default()),
            Question::KillTagged(targets) => kill_tagged(targets, &or_default()),
            Question::ReniceTagged(targets) => renice_tagged(targets, &or_default()),
            Question::ReniceValue(target) => renice_confirm(target, &or_default()),
            Question::Placement(deed, targets) => confirm_placement(*deed, targets, text),
            Question::GroupWeight(group, id) => group_weight(group, *id, &or_default()),
            Question::GroupMax(group, id) => group_max(group, *id, &or_default()),
            Question::KillConfirm(..)
            | Question::KillTaggedConfirm(..)
            | Question::ReniceConfirm(..)
            | Question::ReniceTaggedConfirm(..)
            | Question::PlacementConfirm(..)
            | Question::GroupConfirm(..) => self.decide(false),
        }
    }

    /// The answer to a yes-or-no question.
    pub fn decide(&self, yes: bool) -> Answer {
        match &self.question {
            Question::KillConfirm(target, signal) if yes => Answer::Signal(target.clone(), *signal),
            Question::KillTaggedConfirm(targets, signal) if yes => {
                Answer::SignalAll(targets.clone(), *signal)
            }
            Question::ReniceTaggedConfirm(targets, nice) if yes => {
                Answer::ReniceAll(targets.clone(), *nice)
            }
            Question::ReniceConfirm(target, nice) if yes => Answer::Renice(target.clone(), *nice),
            Question::PlacementConfirm(targets, placement) if yes => {
                Answer::Place(targets.clone(), placement.clone())
            }
            Question::GroupConfirm(limit) if yes => Answer::Limit(limit.clone()),
            _ => Answer::Nothing,
        }
    }
}

/// A PID. kill(2) takes 0 and negative numbers as groups of processes, which are too easily
/// mistyped.
fn pid(deed: ProcessAction, offered: Option<&Target>, text: &str) -> Answer {
    match (text.parse::<u32>(), offered) {
        // A number on the screen means the process that the screen shows.
        (Ok(pid), Some(target)) if pid == target.pid => Answer::Offered(deed, target.clone()),
        (Ok(pid), _) if (1..=4_194_304).contains(&pid) => Answer::Typed(deed, pid),
        _ if text.is_empty() => Answer::Nothing,
        _ => Answer::Bad(format!("'{text}' is not a PID")),
    }
}

fn kill_confirm(target: &Target, text: &str) -> Answer {
    match signals::parse(text) {
        Ok(signal) => {
            let label = format!("send {} to {}?", signals::name(signal), target.shown());
            Answer::Ask(Prompt::new(Question::KillConfirm(target.clone(), signal), label, None))
        }
        Err(why) => Answer::Bad(why),
    }
}

/// The targets in words: one with its PID, several with their count.
fn in_words(targets: &[Target]) -> String {
    match targets {
        [target] => target.shown(),
        targets => all(targets),
    }
}

/// Asks to confirm the typed place.
fn confirm_placement(deed: ProcessAction, targets: &[Target], text: &str) -> Answer {
    let placement = match Placement::parse(deed, text) {
        Some(Ok(placement)) => placement,
        Some(Err(why)) => return Answer::Bad(why),
        None => return Answer::Nothing,
    };
    let whom = in_words(targets);
    let label = match &placement {
        Placement::Cpus(cpus) => format!("run {whom} only on CPUs {cpus}?"),
        Placement::Group(group) => format!("move {whom} to group {group}?"),
    };
    Answer::Ask(Prompt::new(Question::PlacementConfirm(targets.to_vec(), placement), label, None))
}

fn kill_tagged(targets: &[Target], text: &str) -> Answer {
    match signals::parse(text) {
        Ok(signal) => {
            let label = format!("send {} to {}?", signals::name(signal), all(targets));
            let question = Question::KillTaggedConfirm(targets.to_vec(), signal);
            Answer::Ask(Prompt::new(question, label, None))
        }
        Err(why) => Answer::Bad(why),
    }
}

fn renice_tagged(targets: &[Target], text: &str) -> Answer {
    match nice_value(text) {
        Some(Ok(nice)) => {
            let label = format!("set the nice value of {} to {nice}?", all(targets));
            let question = Question::ReniceTaggedConfirm(targets.to_vec(), nice);
            Answer::Ask(Prompt::new(question, label, None))
        }
        Some(Err(why)) => Answer::Bad(why),
        None => Answer::Nothing,
    }
}

/// A nice value; `None`: nothing was typed.
fn nice_value(text: &str) -> Option<Result<i32, String>> {
    match text.parse::<i32>() {
        Ok(nice) if (-20..=19).contains(&nice) => Some(Ok(nice)),
        _ if text.is_empty() => None,
        _ => Some(Err(format!("'{text}' is not a nice value: write -20 to 19"))),
    }
}

fn group_weight(group: &str, id: Option<u64>, text: &str) -> Answer {
    match limits::weight(text) {
        Ok(weight) => {
            limit_confirm(Limit { group: group.into(), id, weight: Some(weight), max: None })
        }
        Err(_) if text.is_empty() => Answer::Nothing,
        Err(why) => Answer::Bad(why),
    }
}

fn group_max(group: &str, id: Option<u64>, text: &str) -> Answer {
    match text.parse::<Max>() {
        Ok(_) => {
            limit_confirm(Limit { group: group.into(), id, weight: None, max: Some(text.into()) })
        }
        Err(_) if text.is_empty() => Answer::Nothing,
        Err(why) => Answer::Bad(why.to_string()),
    }
}

fn limit_confirm(limit: Limit) -> Answer {
    let label = format!("set {} for {}?", limit.in_words(), limit.group);
    Answer::Ask(Prompt::new(Question::GroupConfirm(limit), label, None))
}

fn renice_confirm(target: &Target, text: &str) -> Answer {
    match nice_value(text) {
        Some(Ok(nice)) => {
            let (whom, now) = (target.shown(), target.nice);
            let label = format!("set the nice value of {whom} from {now} to {nice}?");
            let Target { pid, name, .. } = target;
            let short = format!("renice {pid} from {now} to {nice}? ({name})");
            let question = Question::ReniceConfirm(target.clone(), nice);
            Answer::Ask(Prompt::new(question, label, None).or_short(short))
        }
        Some(Err(why)) => Answer::Bad(why),
        None => Answer::Nothing,
    }
}
