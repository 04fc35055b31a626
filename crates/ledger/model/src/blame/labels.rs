//! The blame book under labels, for the fleet's tables.

use super::rows::CulpritKind;
use super::{Blame, Booked, Culprit, Party};
use crate::ledger::book::Book;
use crate::owner::{Grouping, Labels, Names, Naming, LABEL_OTHER};
use rustc_hash::FxHashMap;

/// A victim and its culprit. A culprit that is no task has no labels.
pub type LabelledPair = (Labels, CulpritKind, Labels);

/// Distinct labels of parties, each with its number. A window has more pairs than parties, and fewer
/// labels.
struct Distinct<'a> {
    naming: Naming<'a>,
    parties: FxHashMap<Party, usize>,
    numbers: FxHashMap<Labels, usize>,
}

impl Distinct<'_> {
    fn number(&mut self, labels: Labels) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(labels).or_insert(next)
    }

    fn party(&mut self, party: &Party) -> usize {
        if let Some(number) = self.parties.get(party) {
            return *number;
        }
        let labels = self.naming.process(&party.ident());
        let number = self.number(labels);
        self.parties.insert(*party, number);
        number
    }
}

/// All pairs, by labels. `by` is a part of [`Grouping::LABELS`]. `book` yielded the window of the
/// blame book.
pub fn labelled_pairs(
    blame: &Blame,
    book: &Book,
    by: &[Grouping],
    names: &dyn Names,
) -> Vec<(LabelledPair, Booked)> {
    let naming = Naming::new(by, names, book);
    let mut labels =
        Distinct { naming, parties: FxHashMap::default(), numbers: FxHashMap::default() };
    let unknown = labels.number(Labels::all(by, LABEL_OTHER));
    let no_task = labels.number(Labels(vec![None; by.len()]));
    let mut sums: FxHashMap<(usize, CulpritKind, usize), Booked> = FxHashMap::default();
    for ((victim, culprit), booked) in &blame.pairs {
        let number = victim.as_ref().map_or(unknown, |party| labels.party(party));
        let (kind, culprit) = match culprit {
            Culprit::Task(party) => {
                let culprit = labels.party(party);
                let is_own = culprit == number && party.may_be_own_of(victim);
                let kind = match party.kthread {
                    _ if is_own => CulpritKind::Own,
                    true => CulpritKind::Kernel,
                    false => CulpritKind::Group,
                };
                (kind, culprit)
            }
            other => (other.kind(), no_task),
        };
        sums.entry((number, kind, culprit)).or_default().add(booked);
    }
    let numbers = labels.numbers.into_iter();
    let by_number: FxHashMap<usize, Labels> = numbers.map(|(labels, n)| (n, labels)).collect();
    let pair =
        |(victim, kind, culprit)| (by_number[&victim].clone(), kind, by_number[&culprit].clone());
    sums.into_iter().map(|(numbers, booked)| (pair(numbers), booked)).collect()
}
