//! A report is read in passes: sums first, then what only the rows that turned out to be the largest need.

use super::once::{doubled, Once, TOLD_BY};
use super::{By, Piece, Report, Row};
use crate::by::join;
use crate::check::{check, Tolerance};
use crate::chunks::Chunk;
use crate::parquet::{ends_in, Parquet};
use crate::rows::{Account, Books};
use crate::sums::Sums;
use crate::FleetError;
use exactop_export::Which;
use exactop_recording::When;
use rustc_hash::{FxHashMap, FxHashSet};

/// Pieces of time.
const PIECES: i128 = 120;
/// Rows whose pieces are kept.
const DRAWN: usize = 5;
/// The first columns that are read of `charges`; those that make a name follow, then, where windows are there twice, [`TOLD_BY`].
const FIGURES: [&str; 6] =
    ["window_end", "host", "run_ns", "lat_ns", "throttle_ns", "exited_processes"];

impl Report {
    /// Reads a stretch of time; `None`: no window ends in it.
    ///
    /// # Errors
    /// [`FleetError`]
    pub fn read(
        books: &Parquet,
        when: When,
        by: By,
        now_ns: i128,
    ) -> Result<Option<Report>, FleetError> {
        let balance = check(books, when, &Tolerance::default(), now_ns)?;
        let (mut from, mut to) = (i128::MAX, i128::MIN);
        books.accounts(when, &mut |row| {
            from = from.min(begins_ns(&row));
            to = to.max(row.end_ns.into());
        })?;
        if from > to {
            return Ok(None);
        }
        let cut = Cut::of(from, to);
        let doubled = doubled(&balance);
        let mut pieces = cut.pieces();
        // All that is there, as the balance has it.
        let mut there = Sums::default();
        let mut once = Once::of(&doubled);
        books.accounts(when, &mut |row| {
            there.add(&row);
            if let Some(piece) = pieces.get_mut(cut.at(row.end_ns.into())) {
                if once.is_first(&row) {
                    piece.sums.add(&row);
                }
            }
        })?;
        let mut groups = Groups::default();
        of_charges(books, when, (by, &doubled), &mut |chunk, row, name, is_first| {
            there.charged_ns += u128::from(chunk.unsigned(2, row).unwrap_or(0));
            if is_first {
                groups.add(chunk, row, name);
            }
        })?;
        if there != balance.sums {
            return Err(FleetError::Changed);
        }
        let rows = groups.rows();
        let drawn: FxHashMap<&str, usize> =
            rows.iter().take(DRAWN).enumerate().map(|(at, row)| (&*row.name, at)).collect();
        pieces.iter_mut().for_each(|piece| piece.run_ns = vec![0; drawn.len()]);
        of_charges(books, when, (by, &doubled), &mut |chunk, row, name, is_first| {
            let Some(end) = chunk.number(0, row).filter(|_| is_first) else { return };
            let Some((piece, &at)) = pieces.get_mut(cut.at(end.into())).zip(drawn.get(name)) else {
                return;
            };
            piece.run_ns[at] += u128::from(chunk.unsigned(2, row).unwrap_or(0));
        })?;
        pieces.retain(|piece| piece.sums.windows > 0);
        let sums = pieces.iter().fold(Sums::default(), |mut all, piece| {
            all.and(&piece.sums);
            all
        });
        let sums = Sums { charged_ns: rows.iter().map(|row| row.run_ns).sum(), ..sums };
        Ok(Some(Report { by, from_ns: from, to_ns: to, sums, rows, pieces, balance }))
    }
}

fn begins_ns(row: &Account) -> i128 {
    i128::from(row.end_ns) - i128::from(row.length_ns)
}

/// A time in pieces of one length.
struct Cut {
    from: i128,
    length: i128,
    count: usize,
}

impl Cut {
    fn of(from: i128, to: i128) -> Cut {
        // Whole minutes where there are enough of them: no piece has a window more than the next one.
        let minute = 60_000_000_000;
        let fine = ((to - from) / PIECES).max(1);
        let length = if fine > minute / 4 {
            (fine + minute - 1) / minute * minute
        } else {
            fine.max(minute / 6)
        };
        let count = usize::try_from((to - from + length - 1) / length).unwrap_or(1);
        Cut { from, length, count: count.max(1) }
    }

    /// The piece in which a window ends.
    fn at(&self, end_ns: i128) -> usize {
        usize::try_from((end_ns - 1 - self.from).max(0) / self.length).unwrap_or(usize::MAX)
    }

    fn pieces(&self) -> Vec<Piece> {
        let piece = |n: usize| {
            let from_ns = self.from + n as i128 * self.length;
            Piece { from_ns, to_ns: from_ns + self.length, ..Piece::default() }
        };
        (0..self.count).map(piece).collect()
    }
}

/// Tells each row of `charges` of a time with the name that it has here, and whether it is the first of its window's.
fn of_charges(
    books: &Parquet,
    when: When,
    (by, doubled): (By, &FxHashSet<String>),
    tell: &mut dyn FnMut(&Chunk, usize, &str, bool),
) -> Result<(), FleetError> {
    let mut wanted = FIGURES.to_vec();
    wanted.extend(by.columns());
    let (mut name, parts) = (String::new(), FIGURES.len()..wanted.len());
    if !doubled.is_empty() {
        wanted.extend(TOLD_BY);
    }
    let mut once = Once::of(doubled);
    books.each(Which::Charges, &wanted, &mut |chunk| {
        for row in (0..chunk.rows).filter(|&row| ends_in(chunk, row, when)) {
            join(&mut name, parts.clone().map(|column| chunk.text(column, row)));
            tell(chunk, row, &name, once.is_charged_first(chunk, row, parts.end));
        }
    })
}

/// Sums by name.
#[derive(Default)]
struct Groups {
    places: FxHashMap<String, usize>,
    rows: Vec<Row>,
    hosts: FxHashMap<String, u32>,
    on: FxHashSet<(usize, u32)>,
}

impl Groups {
    fn add(&mut self, chunk: &Chunk, at: usize, name: &str) {
        let place = match self.places.get(name) {
            Some(&place) => place,
            None => {
                let row = Row {
                    name: name.into(),
                    lat_ns: Some(0),
                    throttle_ns: Some(0),
                    ..Row::default()
                };
                self.places.insert(name.into(), self.rows.len());
                self.rows.push(row);
                self.rows.len() - 1
            }
        };
        let host = chunk.text(1, at);
        let number = match self.hosts.get(host) {
            Some(&number) => number,
            None => {
                let number = self.hosts.len() as u32;
                self.hosts.insert(host.into(), number);
                number
            }
        };
        self.on.insert((place, number));
        let known = |column| chunk.unsigned(column, at).map(u128::from);
        let row = &mut self.rows[place];
        row.run_ns += known(2).unwrap_or(0);
        row.lat_ns = row.lat_ns.zip(known(3)).map(|(sum, ns)| sum + ns);
        row.throttle_ns = row.throttle_ns.zip(known(4)).map(|(sum, ns)| sum + ns);
        row.exited += known(5).unwrap_or(0);
    }

    /// The largest first.
    fn rows(mut self) -> Vec<Row> {
        for (place, _) in self.on {
            self.rows[place].hosts += 1;
        }
        self.rows.sort_by(|a, b| b.run_ns.cmp(&a.run_ns).then_with(|| a.name.cmp(&b.name)));
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_cut_into_pieces_without_a_gap() {
        let second = 1_000_000_000;
        for length in [1, 10, 3600, 86_400, 7 * 86_400] {
            let cut = Cut::of(5, 5 + length * second);
            let pieces = cut.pieces();
            assert!(pieces.len() <= 241, "{length}: {}", pieces.len());
            assert!(pieces.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
            assert_eq!((cut.at(6), cut.at(5 + length * second)), (0, pieces.len() - 1), "{length}");
        }
    }
}
