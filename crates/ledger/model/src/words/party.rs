//! A process, or several processes of one name, as text.

use super::units::thousands;
use crate::on_demand::namesakes::Party;
use std::fmt;

impl fmt::Display for Party {
    /// `sh × 312` for several processes; a single process or thread as itself.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.processes {
            0 | 1 => self.who.fmt(f),
            many => f.pad(&format!("{} × {}", self.who, thousands(many))),
        }
    }
}
