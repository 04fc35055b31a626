//! Figures of one row, by slot, for slots that have any.

use serde::Serialize;

/// Figures of a row, summed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    slots: Vec<u32>,
    figures: Vec<Vec<Option<u64>>>,
}

/// The same by column, as the document holds it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Columns {
    /// The first slot, then the distance to each next one.
    slots: Vec<u32>,
    figures: Vec<Figures>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Figures {
    /// The same value in all slots; `None`: unknown in all.
    Same(Option<u64>),
    Each(Vec<Option<u64>>),
}

impl Cells {
    /// Adds to the current slot. A sum is unknown if one of its parts is.
    pub fn add(&mut self, slot: u32, figures: &[Option<u64>]) {
        if self.slots.last() != Some(&slot) {
            self.slots.push(slot);
            self.figures.push(figures.to_vec());
            return;
        }
        let Some(sums) = self.figures.last_mut() else { return };
        for (sum, figure) in sums.iter_mut().zip(figures) {
            *sum = sum.zip(*figure).map(|(sum, figure)| sum.saturating_add(figure));
        }
    }

    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    pub fn columns(&self, columns: usize) -> Columns {
        let mut before = 0;
        let slots = self.slots.iter().map(|&slot| slot - std::mem::replace(&mut before, slot));
        Columns {
            slots: slots.collect(),
            figures: (0..columns).map(|column| self.column(column)).collect(),
        }
    }

    fn column(&self, column: usize) -> Figures {
        let figures: Vec<Option<u64>> =
            self.figures.iter().map(|of| of.get(column).copied().flatten()).collect();
        match figures.first() {
            Some(&first) if figures.iter().all(|&figure| figure == first) => Figures::Same(first),
            None => Figures::Same(None),
            _ => Figures::Each(figures),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_of_a_slot_add_up_and_what_is_unknown_stays_so() {
        let mut cells = Cells::default();
        cells.add(3, &[Some(1), Some(5), None]);
        cells.add(3, &[Some(2), None, None]);
        cells.add(7, &[Some(3), Some(1), None]);
        let written = serde_json::to_string(&cells.columns(3)).expect("JSON");
        assert_eq!(written, r#"{"slots":[3,4],"figures":[3,[null,1],null]}"#);
    }
}
