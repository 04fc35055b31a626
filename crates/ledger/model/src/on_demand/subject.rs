//! What every subject has, and the windows of one set of programs for many who look: each has what it
//! asked for of what all get, and one window of those that others wanted to end in between.

use super::counted::{Choice, Counted, Panel, Shown};
use super::losses::Losses;
use crate::ledger::key::Who;
use crate::subjects;
use serde::{Deserialize, Serialize};

/// A window of one subject, as the list has it.
pub trait Listed: Counted + Into<SubjectWindow> {
    /// Its subject.
    const SUBJECT: Subject;

    /// This one; `None`: it is another subject's.
    fn of(window: &SubjectWindow) -> Option<&Self>;
}

/// Programs of a subject, attached as long as this lives.
pub trait Programs {
    /// From when on they count what the next window has, CLOCK_MONOTONIC ns.
    fn began_ns(&self) -> u64;

    /// Ends a window; the next begins.
    ///
    /// # Errors
    /// What the kernel or the daemon says.
    fn window(&mut self) -> Result<SubjectWindow, String>;
}

macro_rules! list {
    ($($file:ident $Name:ident $Window:ident;)+) => {
        /// What programs that are attached on demand count.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs)] // Their names say it.
        pub enum Subject {
            $($Name),+
        }

        impl Subject {
            /// Every one.
            pub const ALL: &[Subject] = &[$(Subject::$Name),+];

            /// Its command.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Subject::$Name => stringify!($file)),+
                }
            }

            /// Where the page of a process shows it.
            pub const fn panel(self) -> Option<Panel> {
                match self {
                    $(Subject::$Name => <super::$file::$Window as Counted>::PANEL),+
                }
            }
        }

        /// A window of programs that are attached on demand.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs)] // Their names say it.
        pub enum SubjectWindow {
            $($Name(super::$file::$Window)),+
        }

        impl SubjectWindow {
            /// Its subject.
            pub const fn subject(&self) -> Subject {
                match self {
                    $(SubjectWindow::$Name(_) => Subject::$Name),+
                }
            }

            /// When it began and ended, CLOCK_MONOTONIC ns.
            pub fn span_ns(&self) -> (u64, u64) {
                match self {
                    $(SubjectWindow::$Name(window) => (window.t0_ns, window.t1_ns)),+
                }
            }

            /// How many rows it has.
            pub fn rows(&self) -> usize {
                match self {
                    $(SubjectWindow::$Name(window) => window.rows()),+
                }
            }

            /// Memory that its rows take, bytes.
            pub fn bytes(&self) -> usize {
                match self {
                    $(SubjectWindow::$Name(window) => window.bytes()),+
                }
            }

            /// The part that a reader wants and may see.
            pub fn visible_to(&self, choice: &Choice, shown: Shown) -> SubjectWindow {
                let is_asked = |tgid| choice.pids.is_empty() || choice.pids.contains(&tgid);
                let is_theirs = |who: &Who| is_asked(who.tgid) && shown(who.tgid);
                match self {
                    $(SubjectWindow::$Name(window) => {
                        SubjectWindow::$Name(window.visible_to(choice, &is_theirs))
                    }),+
                }
            }

            /// Goes on with the window after it: one window of both. Of two subjects the later one stays.
            pub fn then(&mut self, later: SubjectWindow) {
                match (self, later) {
                    $((SubjectWindow::$Name(window), SubjectWindow::$Name(later)) => {
                        window.then(later);
                    })+
                    (window, later) => *window = later,
                }
            }

            /// Leaves out rows until it has `keep` of each `of`, those with most; its losses say how many.
            pub fn cut(&mut self, keep: usize, of: usize) {
                let before = self.rows();
                let most = |rows| (rows as u128 * keep as u128 / of.max(1) as u128) as usize;
                match self {
                    $(SubjectWindow::$Name(window) => window.cut(&most)),+
                }
                let gone = (before - self.rows()) as u64;
                match self {
                    $(SubjectWindow::$Name(window) => window.losses.left_out += gone),+
                }
            }

            /// What it is missing.
            pub fn losses(&self) -> &Losses {
                match self {
                    $(SubjectWindow::$Name(window) => &window.losses),+
                }
            }
        }

        $(
            impl Listed for super::$file::$Window {
                const SUBJECT: Subject = Subject::$Name;

                fn of(window: &SubjectWindow) -> Option<&Self> {
                    match window {
                        SubjectWindow::$Name(window) => Some(window),
                        _ => None,
                    }
                }
            }

            impl From<super::$file::$Window> for SubjectWindow {
                fn from(window: super::$file::$Window) -> SubjectWindow {
                    SubjectWindow::$Name(window)
                }
            }

            impl super::$file::$Window {
                /// Length of the window, s.
                pub fn seconds(&self) -> f64 {
                    self.t1_ns.saturating_sub(self.t0_ns) as f64 / 1e9
                }

                /// Goes on with the window after it. What had not ended is as of that one's end.
                pub fn then(&mut self, later: Self) {
                    self.t1_ns = later.t1_ns;
                    self.losses.then(&later.losses);
                    self.merge(later);
                }
            }
        )+
    };
}

subjects!(list);

/// The windows of the watched process, or why they are not known, by subject.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubjectWindows([Option<Result<SubjectWindow, String>>; Subject::ALL.len()]);

impl SubjectWindows {
    /// What there is of a subject from now on.
    pub fn tell(&mut self, subject: Subject, told: Option<Result<SubjectWindow, String>>) {
        self.0[subject as usize] = told;
    }

    /// The window of a subject, or why it is not known; `None`: it was not asked for, or there is none yet.
    pub fn of<W: Listed>(&self) -> Option<Result<&W, &str>> {
        Some(match self.0[W::SUBJECT as usize].as_ref()? {
            Ok(window) => W::of(window).ok_or("programs told what was not asked for"),
            Err(why) => Err(why),
        })
    }
}
