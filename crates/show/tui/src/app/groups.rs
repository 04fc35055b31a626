//! The page of control groups: the selected group, and questions about it.

use super::ordering;
use super::question::{Prompt, Question};
use super::target::Limit;
use super::{Action, App, Page};
use crate::keys::KeyCommand;
use exactop_model::cgroups::{GroupRow, Groups};
use exactop_model::frame::belonging::Belonging;
use exactop_model::words::cgroups::{first_order, heading, ordered};
use exactop_model::words::order::Order;

/// Identity of a group across frames: its name may pass to a group made later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKey {
    /// Name below the root of its hierarchy.
    pub name: String,
    /// The kernel's id, if known.
    pub id: Option<u64>,
}

impl GroupKey {
    fn from_row(row: &GroupRow) -> GroupKey {
        GroupKey { name: row.sample.name.clone(), id: row.sample.id }
    }

    fn is(&self, row: &GroupRow) -> bool {
        (&row.sample.name, row.sample.id) == (&self.name, self.id)
    }
}

/// Selection on the page of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupsPage {
    /// The selected group; at first `of`, or the first group.
    pub selected: Option<GroupKey>,
    /// The group for which the page was opened, by the kernel's id.
    pub of: Option<u64>,
    /// The order, if only the groups that lost time to their quota are shown.
    pub throttled: Option<Order>,
}

impl App {
    fn groups(&self) -> Option<&Groups> {
        self.frame()?.groups.as_ref()?.as_ref().ok()
    }

    /// Sort order among the groups of one parent.
    pub(crate) fn order_of_groups(&self, groups: &Groups) -> Order {
        self.throttled_order().or(self.groups_order).unwrap_or_else(|| first_order(groups))
    }

    /// The order of the page with only the throttled groups; `None`: another page.
    fn throttled_order(&self) -> Option<Order> {
        let Page::Groups(page) = &self.page else { return None };
        page.throttled
    }

    /// The groups in the order on the screen.
    pub(crate) fn group_rows(&self) -> Vec<&GroupRow> {
        let only = self.throttled_order().is_some();
        let mut rows = self
            .groups()
            .map_or(Vec::new(), |groups| ordered(groups, self.order_of_groups(groups)));
        rows.retain(|row| !only || row.was_throttled());
        rows
    }

    /// Line of the selected group; `None` if it is gone, or nothing was drawn yet.
    pub(crate) fn selected_group(&self) -> Option<usize> {
        let Page::Groups(page) = &self.page else { return None };
        let group = page.selected.as_ref()?;
        self.group_rows().iter().position(|row| group.is(row))
    }

    /// Selects the group for which the page was opened, or the first, until the user selects one.
    pub(super) fn mark_first_group(&mut self) {
        let Page::Groups(GroupsPage { selected: None, of, .. }) = &self.page else { return };
        let rows = self.group_rows();
        let wanted = rows.iter().find(|row| of.is_some() && row.sample.id == *of);
        let first = wanted.or(rows.first()).map(|row| GroupKey::from_row(row));
        if let Page::Groups(page) = &mut self.page {
            page.selected = first;
        }
    }

    /// Opens the page of groups from the table or from a process, whose group is then selected.
    pub(super) fn open_groups(&mut self) -> Action {
        self.table.members_of = None;
        let process = self.process_page().zip(self.frame());
        let row = process.and_then(|(page, frame)| page.row(frame));
        let of = row.and_then(|row| row.ident.cgroup_id);
        self.page = Page::Groups(GroupsPage { of, ..GroupsPage::default() });
        self.attaching()
    }

    /// Opens the page of groups with the group of this id selected.
    pub(super) fn open_groups_at(&mut self, id: u64) -> Action {
        let action = self.open_groups();
        if let Page::Groups(page) = &mut self.page {
            page.of = Some(id);
        }
        action
    }

    /// Opens the page with only the throttled groups, the most throttled first; closes it if it
    /// shows them.
    pub(super) fn open_throttled(&mut self) -> Action {
        if self.throttled_order().is_some() {
            return self.close_page_on(KeyCommand::Back);
        }
        let was_open = matches!(self.page, Page::Groups(_));
        self.table.members_of = None;
        let column = heading().iter().position(|title| *title == "THR%").unwrap_or(0);
        let throttled = Some(Order { column, descending: true });
        self.page = Page::Groups(GroupsPage { throttled, ..GroupsPage::default() });
        self.say("throttled groups: Enter shows a group's processes, 4 or Esc goes back");
        match was_open {
            true => Action::Draw,
            false => self.attaching(),
        }
    }

    /// Keys on this page; `None`: the key does what it does on every page that can be left.
    pub(super) fn on_groups(&mut self, command: KeyCommand) -> Option<Action> {
        let screen = isize::from(self.size.1 as i16) / 2;
        match command {
            KeyCommand::Up => self.move_group(-1),
            KeyCommand::Down => self.move_group(1),
            KeyCommand::PageUp => self.move_group(-screen),
            KeyCommand::PageDown => self.move_group(screen),
            KeyCommand::Home => self.move_group(isize::MIN / 2),
            KeyCommand::End => self.move_group(isize::MAX / 2),
            KeyCommand::Weight | KeyCommand::Limit => return Some(self.ask_limit(command)),
            KeyCommand::Open => return Some(self.enter_group()),
            KeyCommand::Sums => return Some(self.open_sums()),
            _ => return self.order_groups(command),
        }
        Some(Action::Draw)
    }

    /// Opens the table of the selected group's processes.
    fn enter_group(&mut self) -> Action {
        match self.selected_group().and_then(|at| self.group_rows().get(at).copied()) {
            Some(row) => {
                let name = row.sample.name.clone();
                self.enter_members(Belonging::Below(name))
            }
            None => {
                self.complain("no group is selected: ↑ ↓ select one");
                Action::Draw
            }
        }
    }

    fn order_groups(&mut self, command: KeyCommand) -> Option<Action> {
        let titles = heading().map(String::from);
        let now = self.groups().map(|groups| self.order_of_groups(groups));
        match ordering::on_key(command, now.map(|now| (now, &titles[..])))? {
            Ok((order, text)) => self.set_order_of_groups(order, text),
            Err(why) => self.complain(why),
        }
        Some(Action::Draw)
    }

    fn set_order_of_groups(&mut self, order: Order, text: String) {
        match &mut self.page {
            Page::Groups(GroupsPage { throttled: Some(now), .. }) => *now = order,
            _ => self.groups_order = Some(order),
        }
        self.say(text);
    }

    /// Sorts by the column of a clicked heading; again: in the other order.
    pub(super) fn sort_groups(&mut self, column: usize) {
        let Some(now) = self.groups().map(|groups| self.order_of_groups(groups)) else { return };
        let (order, text) = ordering::by(column, now, &heading().map(String::from));
        self.set_order_of_groups(order, text);
    }

    pub(super) fn move_group(&mut self, by: isize) {
        let last = self.group_rows().len().saturating_sub(1) as isize;
        let at = self.selected_group().unwrap_or(0) as isize;
        let at = at.saturating_add(by).clamp(0, last);
        self.select_group(at as usize);
    }

    /// Selects the group of the n-th row.
    pub(super) fn select_group(&mut self, n: usize) {
        let group = self.group_rows().get(n).map(|row| GroupKey::from_row(row));
        if let Page::Groups(page) = &mut self.page {
            page.selected = group;
        }
    }

    fn ask_limit(&mut self, command: KeyCommand) -> Action {
        let Some(row) = self.selected_group().and_then(|at| self.group_rows().get(at).copied())
        else {
            self.complain(match &self.page {
                Page::Groups(GroupsPage { selected: Some(group), .. }) => {
                    format!("group {} does not exist any more: choose another", group.name)
                }
                _ => "no groups yet: the next window has them".into(),
            });
            return Action::Draw;
        };
        let id = row.sample.id;
        let group = row.sample.name.clone();
        let weight = row.sample.weight.map(|weight| weight.to_string());
        let max = row.sample.max.clone().map(|max| max.replace(' ', "/"));
        if weight.is_none() && max.is_none() {
            self.complain(format!("{group} has no limits to set"));
            return Action::Draw;
        }
        self.ask_person(match command {
            KeyCommand::Weight => {
                let label = format!("weight for {group}, 1 to 10000");
                Prompt::new(Question::GroupWeight(group, id), label, weight)
            }
            _ => {
                let label = format!("quota for {group}, as in 40%, 40000/100000, max");
                Prompt::new(Question::GroupMax(group, id), label, max)
            }
        })
    }

    /// Reports the result of setting a limit: before and after.
    pub fn limited(&mut self, limit: &Limit, result: Result<String, String>) {
        match result {
            Ok(change) => self.say(format!("{}: {change}", limit.group)),
            Err(why) => self.complain(why),
        }
    }
}
