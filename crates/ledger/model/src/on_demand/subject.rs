//! The common interface of all subjects. One set of programs serves many readers: each reader gets
//! its choice of the common rows. If other readers end windows in between, the windows merge into
//! one.

use super::counted::{Choice, Counted, Panel, Shown};
use super::losses::Losses;
use crate::ledger::key::TaskRef;
use crate::subjects;
use serde::{Deserialize, Serialize};

/// A window of one subject, as in the list of subjects.
pub trait Listed: Counted + Into<SubjectWindow> {
    /// The subject.
    const SUBJECT: Subject;

    /// The window of this subject; `None` if it belongs to another subject.
    fn from_window(window: &SubjectWindow) -> Option<&Self>;
}

/// The programs of a subject; dropping this detaches them.
pub trait Programs {
    /// Start of the open window, CLOCK_MONOTONIC ns.
    fn began_ns(&self) -> u64;

    /// Ends the open window and begins the next.
    ///
    /// # Errors
    /// The message of the kernel or the daemon.
    fn window(&mut self) -> Result<SubjectWindow, String>;
}

macro_rules! list {
    ($($file:ident $Name:ident $Window:ident;)+) => {
        /// A subject of on-demand programs.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs)] // Their names say it.
        pub enum Subject {
            $($Name),+
        }

        impl Subject {
            /// All subjects.
            pub const ALL: &[Subject] = &[$(Subject::$Name),+];

            /// Name of its command.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Subject::$Name => stringify!($file)),+
                }
            }

            /// Place on the page of a process.
            pub const fn panel(self) -> Option<Panel> {
                match self {
                    $(Subject::$Name => <super::$file::$Window as Counted>::PANEL),+
                }
            }
        }

        /// A window of on-demand programs.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(missing_docs)] // Their names say it.
        pub enum SubjectWindow {
            $($Name(super::$file::$Window)),+
        }

        impl SubjectWindow {
            /// The subject of this window.
            pub const fn subject(&self) -> Subject {
                match self {
                    $(SubjectWindow::$Name(_) => Subject::$Name),+
                }
            }

            /// Start and end, CLOCK_MONOTONIC ns.
            pub fn span_ns(&self) -> (u64, u64) {
                match self {
                    $(SubjectWindow::$Name(window) => (window.t0_ns, window.t1_ns)),+
                }
            }

            /// Number of rows.
            pub fn rows(&self) -> usize {
                match self {
                    $(SubjectWindow::$Name(window) => window.rows()),+
                }
            }

            /// Memory of its rows, bytes.
            pub fn bytes(&self) -> usize {
                match self {
                    $(SubjectWindow::$Name(window) => window.bytes()),+
                }
            }

            /// The part that a reader chose and may see.
            pub fn visible_to(&self, choice: &Choice, shown: Shown) -> SubjectWindow {
                let is_asked = |tgid| choice.pids.is_empty() || choice.pids.contains(&tgid);
                let is_theirs = |who: &TaskRef| is_asked(who.tgid) && shown(who.tgid);
                match self {
                    $(SubjectWindow::$Name(window) => {
                        SubjectWindow::$Name(window.visible_to(choice, &is_theirs))
                    }),+
                }
            }

            /// Merges the next window into this one. If the subjects differ, the later window
            /// replaces this one.
            pub fn then(&mut self, later: SubjectWindow) {
                match (self, later) {
                    $((SubjectWindow::$Name(window), SubjectWindow::$Name(later)) => {
                        window.then(later);
                    })+
                    (window, later) => *window = later,
                }
            }

            /// Keeps `keep` of each `of` rows, those with the largest figures; the losses count the
            /// rest.
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

            /// Losses of the window.
            pub fn losses(&self) -> &Losses {
                match self {
                    $(SubjectWindow::$Name(window) => &window.losses),+
                }
            }
        }

        $(
            impl Listed for super::$file::$Window {
                const SUBJECT: Subject = Subject::$Name;

                fn from_window(window: &SubjectWindow) -> Option<&Self> {
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

                /// Merges the next window into this one. Calls and waits without an end are those
                /// of the later window.
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

/// The windows of the watched process by subject, each with its result or its error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SubjectWindows([Option<Result<SubjectWindow, String>>; Subject::ALL.len()]);

impl SubjectWindows {
    /// Sets the window of a subject.
    pub fn tell(&mut self, subject: Subject, told: Option<Result<SubjectWindow, String>>) {
        self.0[subject as usize] = told;
    }

    /// The window of a subject or its error; `None` if no reader asked for it or none has ended
    /// yet.
    pub fn get<W: Listed>(&self) -> Option<Result<&W, &str>> {
        Some(match self.0[W::SUBJECT as usize].as_ref()? {
            Ok(window) => W::from_window(window)
                .ok_or("cannot show what the programs returned, which is another subject"),
            Err(why) => Err(why),
        })
    }
}
