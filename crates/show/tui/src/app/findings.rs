//! The page of findings: what is notable in the window, and from each finding the way to its
//! details.

use super::help::HelpText;
use super::{Action, App, Page, ProcessPage};
use crate::keys::KeyCommand;
use crate::settings::AutoSwitch;
use exactop_model::findings::{Finding, Leads, Subject};
use exactop_model::owner::Grouping;

/// Selection on the page of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindingsPage {
    /// Subject of the selected finding; the worst one at first.
    pub selected: Option<Subject>,
}

impl App {
    fn findings(&self) -> &[Finding] {
        self.frame().map_or(&[], |frame| &frame.findings)
    }

    /// Index of the selected finding; `None` if it is over, or nothing was drawn yet.
    pub(crate) fn selected_finding(&self) -> Option<usize> {
        let Page::Findings(page) = &self.page else { return None };
        let subject = page.selected?;
        self.findings().iter().position(|finding| finding.subject() == subject)
    }

    /// Selects the worst finding until the user selects one.
    pub(super) fn mark_first_finding(&mut self) {
        let first = self.findings().first().map(Finding::subject);
        if let Page::Findings(page) = &mut self.page {
            page.selected = page.selected.or(first);
        }
    }

    pub(super) fn open_findings(&mut self) -> Action {
        (self.page, self.came_from) = (Page::Findings(FindingsPage::default()), None);
        self.rearranged()
    }

    /// Keys on this page; `None`: the key does what it does on every page that can be left.
    pub(super) fn on_findings(&mut self, command: KeyCommand) -> Option<Action> {
        match command {
            KeyCommand::Up => self.move_finding(-1),
            KeyCommand::Down => self.move_finding(1),
            KeyCommand::PageUp | KeyCommand::Home => self.move_finding(isize::MIN / 2),
            KeyCommand::PageDown | KeyCommand::End => self.move_finding(isize::MAX / 2),
            KeyCommand::Open => return Some(self.follow_finding()),
            _ => return None,
        }
        Some(Action::Draw)
    }

    /// Selects the n-th finding.
    pub(super) fn select_finding(&mut self, n: usize) {
        let to = self.findings().get(n).map(Finding::subject);
        if let Page::Findings(page) = &mut self.page {
            page.selected = to.or(page.selected);
        }
    }

    pub(super) fn move_finding(&mut self, by: isize) {
        let last = self.findings().len().saturating_sub(1) as isize;
        let at = self.selected_finding().map_or(0, |at| (at as isize).saturating_add(by));
        self.select_finding(at.clamp(0, last) as usize);
    }

    /// Opens the page with details of the selected finding.
    fn follow_finding(&mut self) -> Action {
        let Some(finding) = self.selected_finding().and_then(|at| self.findings().get(at)) else {
            self.complain(match self.findings().is_empty() {
                true => "this window has no findings",
                false => "no finding is selected: ↑ ↓ select one",
            });
            return Action::Draw;
        };
        let leads = finding.leads();
        if let (Page::Findings(page), false) = (&self.page, leads == Leads::Cpus) {
            self.came_from = Some(*page);
        }
        match leads {
            Leads::Groups(id) => self.open_groups_at(id),
            Leads::Totals(comm) => self.open_sums_at(Grouping::Command, comm.to_string()),
            Leads::Process(key) => {
                self.page = Page::Process(ProcessPage::new(key));
                self.attaching()
            }
            Leads::Cpus => {
                self.settings.per_cpu = AutoSwitch::Always;
                self.close_page_on(KeyCommand::Back)
            }
            Leads::Quality => self.open_help(HelpText::Quality),
        }
    }
}
