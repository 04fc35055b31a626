//! The time of a report, in pieces.

use super::Piece;

const PIECES: i128 = 120;
/// A time in pieces of one length.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub(super) from: i128,
    pub(super) length: i128,
    count: usize,
}

impl Cut {
    pub(super) fn from_span(from: i128, to: i128) -> Cut {
        // Use whole minutes if there are enough: then all pieces have the same number of windows.
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
    pub(super) fn at(&self, end_ns: i128) -> usize {
        usize::try_from((end_ns - 1 - self.from).max(0) / self.length).unwrap_or(usize::MAX)
    }

    pub(super) fn pieces(&self) -> Vec<Piece> {
        let piece = |n: usize| {
            let from_ns = self.from + n as i128 * self.length;
            Piece { from_ns, to_ns: from_ns + self.length, ..Piece::default() }
        };
        (0..self.count).map(piece).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_time_without_a_gap() {
        let second = 1_000_000_000;
        for length in [1, 10, 3600, 86_400, 7 * 86_400] {
            let cut = Cut::from_span(5, 5 + length * second);
            let pieces = cut.pieces();
            assert!(pieces.len() <= 241, "{length}: {}", pieces.len());
            assert!(pieces.windows(2).all(|pair| pair[0].to_ns == pair[1].from_ns));
            assert_eq!((cut.at(6), cut.at(5 + length * second)), (0, pieces.len() - 1), "{length}");
        }
    }
}
