//! The page of totals: the time of all tasks by command, user, group, unit, container, pod or
//! namespace, one after the other.

use super::{ordering, Action, App, Page};
use crate::keys::KeyCommand;
use exactop_model::frame::belonging::Belonging;
use exactop_model::frame::named_sums::{NamedSum, NamedSums};
use exactop_model::owner::Grouping;
use exactop_model::words::named_sums::{heading, ordered, FIGURES, FIRST_ORDER};
use exactop_model::words::order::Order;
use exactop_model::{Counter, Quality};

/// The dimension, and the selected row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SumsPage {
    /// The dimension of the rows.
    pub by: Grouping,
    /// Name of the selected row; `None`: the first.
    pub selected: Option<String>,
    /// The order, if it was opened for those who wait.
    pub starved: Option<Order>,
}

impl App {
    /// The sums on the page, if the frame has those of its dimension.
    pub(crate) fn sums(&self) -> Option<&NamedSums> {
        let Page::Sums(page) = &self.page else { return None };
        self.frame()?.sums.as_ref().filter(|sums| sums.by == page.by)
    }

    /// The sort order.
    pub(crate) fn order_of_sums(&self) -> Order {
        self.starved_order().or(self.sums_order).unwrap_or(FIRST_ORDER)
    }

    /// The order of the page of those who wait; `None`: another page.
    pub(crate) fn starved_order(&self) -> Option<Order> {
        let Page::Sums(page) = &self.page else { return None };
        page.starved
    }

    /// The rows in the order on the screen.
    pub(crate) fn sum_rows(&self) -> Vec<&NamedSum> {
        self.sums().map_or(Vec::new(), |sums| ordered(sums, self.order_of_sums()))
    }

    /// Line of the selected row.
    pub(crate) fn selected_sum(&self) -> usize {
        let Page::Sums(SumsPage { selected: Some(name), .. }) = &self.page else { return 0 };
        let at = self.sum_rows().iter().position(|row| row.name == *name);
        at.map_or(0, |at| at)
    }

    pub(super) fn open_sums(&mut self) -> Action {
        self.open_sums_by(self.sums_by)
    }

    pub(super) fn open_sums_by(&mut self, by: Grouping) -> Action {
        self.sums_by = by;
        self.show_sums(by, None)
    }

    fn show_sums(&mut self, by: Grouping, starved: Option<Order>) -> Action {
        let had_groups = self.ask().groups;
        self.table.members_of = None;
        self.page = Page::Sums(SumsPage { by, selected: None, starved });
        // A group's files are read at both ends of a window.
        match self.ask().groups && !had_groups {
            true => self.attaching(),
            false => self.rearranged(),
        }
    }

    /// Opens the totals with the row of this name selected.
    pub(super) fn open_sums_at(&mut self, by: Grouping, name: String) -> Action {
        let action = self.open_sums_by(by);
        if let Page::Sums(page) = &mut self.page {
            page.selected = Some(name);
        }
        action
    }

    /// Control groups by their wait, each with who had the CPU meanwhile; if they are shown, leaves.
    pub(super) fn open_starved(&mut self) -> Action {
        if self.starved_order().is_some() {
            return self.close_page_on(KeyCommand::Back);
        }
        let provenance = self.frame().map(|frame| &frame.provenance);
        let lacking = provenance.filter(|p| p.quality(Counter::LatPreemptNs) == Quality::Missing);
        if let Some(source) = lacking.map(|provenance| provenance.source.name()) {
            self.complain(format!(
                "who starves whom: the source {source} does not measure it: run as root"
            ));
            return Action::Draw;
        }
        let keeps_blame = self.frame().is_some_and(|frame| frame.keeps_blame);
        let column = FIGURES.iter().position(|(title, ..)| *title == "LAT%").unwrap_or(0);
        let order = Order { column, descending: true };
        let action = self.show_sums(Grouping::Cgroup, Some(order));
        self.say(match keeps_blame {
            true => "who starves whom: K sums by other keys, 3 or Esc goes back",
            false => "who starves whom: rows that wait; no blame book names their culprits",
        });
        action
    }

    /// Keys on this page; `None`: the key does what it does on every page that can be left.
    pub(super) fn on_sums(&mut self, command: KeyCommand) -> Option<Action> {
        let screen = isize::from(self.size.1 as i16) / 2;
        match command {
            KeyCommand::Sums => return Some(self.sum_by_next()),
            KeyCommand::Up => self.move_sum(-1),
            KeyCommand::Down => self.move_sum(1),
            KeyCommand::PageUp => self.move_sum(-screen),
            KeyCommand::PageDown => self.move_sum(screen),
            KeyCommand::Home => self.move_sum(isize::MIN / 2),
            KeyCommand::End => self.move_sum(isize::MAX / 2),
            KeyCommand::Open => return Some(self.enter_sum()),
            KeyCommand::Groups => return Some(self.open_groups()),
            _ => return self.order_sums(command),
        }
        Some(Action::Draw)
    }

    /// The same page by the next key.
    fn sum_by_next(&mut self) -> Action {
        let Page::Sums(SumsPage { by, starved, .. }) = self.page else { return self.open_sums() };
        let at = Grouping::PAGES.iter().position(|other| *other == by).map_or(0, |at| at + 1);
        let next = Grouping::PAGES[at % Grouping::PAGES.len()];
        match starved {
            Some(_) => self.show_sums(next, starved),
            None => self.open_sums_by(next),
        }
    }

    /// Opens the table of the processes in the selected row.
    fn enter_sum(&mut self) -> Action {
        let row = self.sum_rows().get(self.selected_sum()).copied();
        let belonging = row.zip(self.sums()).map(|(row, sums)| Belonging::Sum {
            by: sums.by,
            name: row.name.clone(),
            is_rest: row.is_rest,
        });
        match belonging {
            Some(whose) => self.enter_members(whose),
            None => {
                self.complain("no totals yet: the next window has them");
                Action::Draw
            }
        }
    }

    fn order_sums(&mut self, command: KeyCommand) -> Option<Action> {
        let titles = self.sums().map(heading);
        let shown = titles.as_ref().map(|titles| (self.order_of_sums(), &titles[..]));
        match ordering::on_key(command, shown)? {
            Ok((order, text)) => self.set_order_of_sums(order, text),
            Err(why) => self.complain(why),
        }
        Some(Action::Draw)
    }

    fn set_order_of_sums(&mut self, order: Order, text: String) {
        match &mut self.page {
            Page::Sums(SumsPage { starved: Some(now), .. }) => *now = order,
            _ => self.sums_order = Some(order),
        }
        self.say(text);
    }

    /// Sorts by the column of a clicked heading; again: in the other order.
    pub(super) fn sort_sums(&mut self, column: usize) {
        let Some(titles) = self.sums().map(heading) else { return };
        let (order, text) = ordering::by(column, self.order_of_sums(), &titles);
        self.set_order_of_sums(order, text);
    }

    pub(super) fn move_sum(&mut self, by: isize) {
        let rows = self.sum_rows();
        let last = rows.len().saturating_sub(1) as isize;
        let at = (self.selected_sum() as isize).saturating_add(by).clamp(0, last);
        self.select_sum(at as usize);
    }

    /// Selects the n-th row.
    pub(super) fn select_sum(&mut self, n: usize) {
        let name = self.sum_rows().get(n).map(|row| row.name.clone());
        if let Page::Sums(page) = &mut self.page {
            page.selected = name;
        }
    }
}
