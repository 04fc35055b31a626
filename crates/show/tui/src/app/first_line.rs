//! Widths of the parts of the first line, which only grow: figures that get wider and narrower move
//! no part back and forth.

use super::App;

/// Widths of the first line's parts on this screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FirstLine {
    /// What the parts hold besides figures; after a change the widths begin anew.
    form: Form,
    /// The machine.
    pub(crate) about: usize,
    /// The state of the books.
    pub(crate) status: usize,
    /// The cost of looking, without its unit.
    pub(crate) cost: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Form {
    size: (u16, u16),
    is_marked: bool,
    is_past: bool,
    has_failed: bool,
    is_since_boot: bool,
}

impl App {
    /// Notes the widths of a drawn line; returns the largest ones on this screen.
    pub(crate) fn grow_first_line(&self, about: usize, status: usize, cost: usize) -> FirstLine {
        let form = Form {
            size: self.size,
            is_marked: self.table.marked.is_some(),
            is_past: self.past.is_some(),
            has_failed: self.failure.is_some(),
            is_since_boot: self.frame().is_some_and(|frame| frame.is_since_boot()),
        };
        let last = Some(self.first_line.get()).filter(|last| last.form == form).unwrap_or_default();
        let (about, status) = (about.max(last.about), status.max(last.status));
        let grown = FirstLine { form, about, status, cost: cost.max(last.cost) };
        self.first_line.set(grown);
        grown
    }
}
