//! Windows as they are measured, each a document of its own that follows the ones before.

use crate::columns::{columns, Told};
use crate::document::{About, Document};
use crate::entities::choose;
use crate::moment::Moment;
use crate::reading::{survey, Filling};
use crate::slots::Limits;
use exactop_model::escape::escape_str;
use exactop_model::{AccountId, Book, Detail, Window};
use exactop_recording::{Machine, Span};
use rustc_hash::FxHashMap;
use std::collections::HashMap;

/// Rows of a window, at most; the rest is `~other`.
const ROWS: usize = 120;

/// What was just measured.
#[derive(Debug)]
pub struct Measured<'a> {
    /// The window.
    pub window: &'a Window,
    /// The book that yielded it, not advanced since.
    pub book: &'a Book,
    /// Wall clock minus CLOCK_MONOTONIC, ns.
    pub wall_offset_ns: i64,
    /// Of which machine.
    pub machine: &'a Machine,
    /// What was read of processes, by their leaders' accounts.
    pub details: &'a HashMap<AccountId, Detail>,
}

impl Moment for Measured<'_> {
    fn window(&self) -> &Window {
        self.window
    }

    fn book(&self) -> &Book {
        self.book
    }

    fn span(&self) -> Span {
        let (t0_ns, t1_ns) = (self.window.t0_ns, self.window.t1_ns);
        Span { t0_ns, t1_ns, wall_offset_ns: self.wall_offset_ns }
    }

    fn machine(&self) -> Option<&Machine> {
        Some(self.machine)
    }

    fn is_anonymous(&self) -> bool {
        false
    }

    fn known(&self, leader: AccountId) -> Option<Detail> {
        self.details.get(&leader).cloned()
    }
}

/// A document of windows to come: whose, and what there will be to show.
pub fn beginning(machine: &Machine) -> Document {
    let told = columns().into_iter().map(Told::of).collect();
    let mut document = Document::new(told);
    document.about = About {
        host: escape_str(&machine.host),
        kernel: escape_str(&machine.kernel),
        exactop: escape_str(&machine.exactop),
        ..About::default()
    };
    document
}

/// The document of one window, which follows [`beginning`]'s and those of the windows before.
pub fn measured(of: &Measured) -> Document {
    let mut weights = FxHashMap::default();
    survey(&mut weights, of, 0, 0);
    let chosen = choose(&weights, &[0], ROWS);
    let mut filling = Filling::new(columns(), vec![0], chosen);
    filling.take(of, 0, true);
    let mut document = filling.finish(&Limits::default());
    // These are told once.
    document.columns.clear();
    document.accounts = &[];
    document
}
