//! A process, or several of one name, in words.

use super::units::thousands;
use crate::on_demand::namesakes::Party;
use std::fmt;

impl fmt::Display for Party {
    /// `sh × 312` for several processes, else as the one it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.processes {
            0 | 1 => self.who.fmt(f),
            many => f.pad(&format!("{} × {}", self.who, thousands(many))),
        }
    }
}
