//! Tables of numbers as bytes, delta encoded: a value is stored as its difference from the last row
//! of the same key. A column without differences is left out.
//!
//! A table is: its number, the length of the rest, the number of rows, their keys, and for each
//! stored column its number, its length and its values. All numbers are varints (LEB128). Keys and
//! values are stored as codes: 0 as predicted; 1 missing; 2 a plain number follows; 3 + n, where n
//! (zigzag) is the difference from the prediction.
//!
//! The predicted key is the one that followed the last key in the list before. The predicted value
//! is that of the last row of the key, else missing. A missing prediction counts as 0 in a
//! difference. A key is never missing.

use crate::bounds::{cells, Room};
use crate::error::FrameError;
use crate::packed::{Packed, Packer, Values};
use integer_encoding::VarInt;
use rustc_hash::FxHashMap;

const SAME: u64 = 0;
const MISSING: u64 = 1;
const PLAIN: u64 = 2;
const DIFFERENCE: u64 = 3;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub key: u64,
    pub values: Packed,
}

impl Row {
    /// Packs a row.
    pub fn new(key: u64, values: &[Option<u64>]) -> Row {
        let mut packer = Packer::with_columns(values.len());
        values.iter().for_each(|&value| packer.push(value));
        Row { key, values: packer.packed() }
    }
}

/// A map is shrunk when its capacity exceeds this many times its rows.
const ROOM: usize = 8;
/// A map of at most this capacity is never shrunk.
const SMALL: usize = 1024;

/// Last rows of a table, from which the next list is predicted.
#[derive(Clone, Debug, Default)]
pub(crate) struct PreviousRows {
    order: Vec<u64>,
    rows: FxHashMap<u64, Row>,
    /// Values in each row.
    columns: usize,
}

impl PreviousRows {
    /// Last row of a key.
    pub fn row(&self, key: u64) -> Option<&Row> {
        self.rows.get(&key)
    }

    /// Last rows of all keys.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.values()
    }

    /// Figures in memory.
    pub fn cells(&self) -> usize {
        cells(self.rows.len(), self.columns)
    }

    /// Predicted values of a row, from the first column on.
    fn predicted(&self, key: u64) -> Option<Values<'_>> {
        self.row(key).map(|row| row.values.iter())
    }

    pub fn forget(&mut self, key: u64) {
        self.rows.remove(&key);
    }

    /// Forgets all keys for which `keep` is false.
    pub fn keep(&mut self, keep: impl Fn(u64) -> bool) {
        self.rows.retain(|&key, _| keep(key));
    }

    /// Forgets all keys that are not in the last list, which has been taken just now.
    pub fn keep_listed(&mut self) {
        if self.rows.len() == self.order.len() {
            return;
        }
        let listed: rustc_hash::FxHashSet<u64> = self.order.iter().copied().collect();
        self.rows.retain(|key, _| listed.contains(key));
    }

    fn take(&mut self, rows: Vec<Row>) {
        self.columns = rows.first().map_or(self.columns, |row| row.values.columns());
        self.order.clear();
        self.order.extend(rows.iter().map(|row| row.key));
        self.rows.extend(rows.into_iter().map(|row| (row.key, row)));
        // Return the memory that a burst of tasks took.
        if self.rows.capacity() > (ROOM * self.rows.len()).max(SMALL) {
            self.rows.shrink_to(2 * self.rows.len());
        }
    }
}

pub(crate) fn put(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; 10];
    let n = value.encode_var(&mut bytes);
    out.extend_from_slice(&bytes[..n]);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Reads bytes from their beginning.
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn number(&mut self) -> Result<u64, FrameError> {
        let (value, n) = u64::decode_var(self.0).ok_or(FrameError::Short)?;
        self.0 = &self.0[n..];
        Ok(value)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], FrameError> {
        let length = usize::try_from(self.number()?).map_err(|_| FrameError::Short)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(FrameError::Short)?;
        self.0 = rest;
        Ok(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn value(&mut self, predicted: Option<u64>) -> Result<Option<u64>, FrameError> {
        Ok(match self.number()? {
            SAME => predicted,
            MISSING => None,
            PLAIN => Some(self.number()?),
            code => {
                let n = code - DIFFERENCE;
                let difference = (n >> 1) ^ (n & 1).wrapping_neg();
                Some(predicted.unwrap_or(0).wrapping_add(difference))
            }
        })
    }
}

fn put_value(out: &mut Vec<u8>, value: Option<u64>, predicted: Option<u64>) {
    let Some(now) = value.filter(|_| value != predicted) else {
        return put(out, if value == predicted { SAME } else { MISSING });
    };
    let difference = now.wrapping_sub(predicted.unwrap_or(0)) as i64;
    let zigzag = ((difference << 1) ^ (difference >> 63)) as u64;
    match zigzag.checked_add(DIFFERENCE) {
        Some(code) => put(out, code),
        None => {
            put(out, PLAIN);
            put(out, now);
        }
    }
}

/// Predicts keys from the list before.
struct Keys<'a> {
    order: &'a [u64],
    places: FxHashMap<u64, usize>,
    next: usize,
    last: u64,
}

impl<'a> Keys<'a> {
    fn new(order: &'a [u64]) -> Keys<'a> {
        let places = order.iter().enumerate().map(|(at, &key)| (key, at)).collect();
        Keys { order, places, next: 0, last: 0 }
    }

    fn predicted(&self) -> Option<u64> {
        self.order.get(self.next).copied()
    }

    fn is(&mut self, key: u64) {
        if let Some(at) = self.places.get(&key) {
            self.next = at + 1;
        }
        self.last = key;
    }

    fn put(&mut self, out: &mut Vec<u8>, key: u64) {
        match self.predicted() == Some(key) {
            true => put(out, SAME),
            false => {
                // The code is never `SAME`, whatever the last key was.
                let difference = key.wrapping_sub(self.last) as i64;
                let zigzag = ((difference << 1) ^ (difference >> 63)) as u64;
                match zigzag.checked_add(DIFFERENCE) {
                    Some(code) => put(out, code),
                    None => {
                        put(out, PLAIN);
                        put(out, key);
                    }
                }
            }
        }
        self.is(key);
    }

    fn get(&mut self, bytes: &mut Bytes) -> Result<u64, FrameError> {
        let key = match bytes.number()? {
            SAME => self.predicted().ok_or(FrameError::Number)?,
            MISSING => return Err(FrameError::Missing),
            PLAIN => bytes.number()?,
            code => {
                let n = code - DIFFERENCE;
                self.last.wrapping_add((n >> 1) ^ (n & 1).wrapping_neg())
            }
        };
        self.is(key);
        Ok(key)
    }
}

/// Writes a table; all rows have the same number of values.
pub(crate) fn put_table(
    out: &mut Vec<u8>,
    number: usize,
    rows: Vec<Row>,
    before: &mut PreviousRows,
) {
    let mut table = Vec::new();
    put(&mut table, rows.len() as u64);
    let mut keys = Keys::new(&before.order);
    rows.iter().for_each(|row| keys.put(&mut table, row.key));
    let columns = rows.first().map_or(0, |row| row.values.columns());
    // Iterate column by column; remember each row's position.
    let mut left: Vec<_> =
        rows.iter().map(|row| (row.values.iter(), before.predicted(row.key))).collect();
    let (mut pairs, mut values) = (Vec::with_capacity(rows.len()), Vec::new());
    for column in 0..columns {
        pairs.clear();
        values.clear();
        pairs.extend(left.iter_mut().map(|(values, predicted)| {
            let predicted = predicted.as_mut().and_then(Iterator::next);
            (values.next().flatten(), predicted.flatten())
        }));
        if pairs.iter().all(|(value, predicted)| value == predicted) {
            continue;
        }
        pairs.iter().for_each(|&(value, predicted)| put_value(&mut values, value, predicted));
        put(&mut table, column as u64);
        put_bytes(&mut table, &values);
    }
    drop(left);
    put(out, number as u64);
    put_bytes(out, &table);
    before.take(rows);
}

/// Reads what [`put_table`] wrote after the length. `places` maps the file's columns to ours,
/// `columns` is the number of ours, `most` is the most rows allowed.
pub(crate) fn get_table(
    bytes: &[u8],
    places: &[Option<usize>],
    (columns, most): (usize, usize),
    before: &mut PreviousRows,
    room: &mut Room,
) -> Result<Vec<Row>, FrameError> {
    let mut bytes = Bytes(bytes);
    let count = usize::try_from(bytes.number()?).map_err(|_| FrameError::TooMuch)?;
    room.take(count, columns, most)?;
    // A key takes at least one byte.
    if count > bytes.0.len() {
        return Err(FrameError::TooMuch);
    }
    let mut keys = Keys::new(&before.order);
    let mut rows = Vec::new();
    for _ in 0..count {
        let key = keys.get(&mut bytes)?;
        let values = before.predicted(key);
        let values: Vec<_> = values.map_or_else(|| vec![None; columns], Iterator::collect);
        rows.push((key, values));
    }
    while !bytes.is_empty() {
        let number = usize::try_from(bytes.number()?).map_err(|_| FrameError::Number)?;
        let mut values = Bytes(bytes.bytes()?);
        let Some(&Some(column)) = places.get(number) else { continue };
        for (_, row) in &mut rows {
            row[column] = values.value(row[column])?;
        }
    }
    let rows: Vec<_> = rows.into_iter().map(|(key, values)| Row::new(key, &values)).collect();
    before.take(rows.clone());
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::CELLS;

    fn row(key: u64, values: &[Option<u64>]) -> Row {
        Row::new(key, values)
    }

    fn read(
        bytes: &[u8],
        places: &[Option<usize>],
        columns: usize,
        before: &mut PreviousRows,
    ) -> Result<Vec<Row>, FrameError> {
        let mut room = Room::new(CELLS);
        get_table(bytes, places, (columns, usize::MAX), before, &mut room)
    }

    /// Writes lists in order and reads them back; returns the length of the last.
    fn round_trip(lists: &[Vec<Row>]) -> usize {
        let (mut ours, mut theirs) = (PreviousRows::default(), PreviousRows::default());
        let mut length = 0;
        for list in lists {
            let mut out = Vec::new();
            put_table(&mut out, 0, list.clone(), &mut ours);
            length = out.len();
            let mut bytes = Bytes(&out);
            assert_eq!(bytes.number(), Ok(0));
            let table = bytes.bytes().unwrap();
            let columns = list.first().map_or(0, |row| row.values.columns());
            let places: Vec<_> = (0..columns).map(Some).collect();
            assert_eq!(read(table, &places, columns, &mut theirs).as_ref(), Ok(list));
        }
        length
    }

    #[test]
    fn every_number_round_trips_and_an_unchanged_row_costs_a_byte() {
        let extremes = [Some(0), None, Some(u64::MAX), Some(1 << 63), Some(1), Some(u64::MAX - 1)];
        let mut lists = Vec::new();
        for a in extremes {
            for b in extremes {
                lists.push(vec![row(u64::MAX, &[a, b]), row(0, &[b, a]), row(1 << 63, &[a, a])]);
            }
        }
        lists.push(Vec::new());
        lists.push(vec![row(7, &[Some(1), Some(2)]); 1]);
        round_trip(&lists);
        let many: Vec<Row> = (0..1000).map(|n| row(n * 3, &[Some(n), None])).collect();
        let mut fewer = many.clone();
        fewer.remove(500);
        assert!(round_trip(&[many.clone(), many.clone()]) < 1010);
        assert!(round_trip(&[many, fewer.clone(), fewer]) < 1010);
    }

    #[test]
    fn unknown_columns_are_skipped_and_absent_ones_are_missing() {
        let mut out = Vec::new();
        let rows = vec![row(5, &[Some(1), Some(2), Some(3)])];
        put_table(&mut out, 0, rows, &mut PreviousRows::default());
        let mut bytes = Bytes(&out);
        bytes.number().unwrap();
        let places = [Some(1), None, Some(2)];
        let rows = read(bytes.bytes().unwrap(), &places, 4, &mut PreviousRows::default());
        assert_eq!(rows, Ok(vec![row(5, &[None, Some(1), Some(3), None])]));
    }

    #[test]
    fn a_table_returns_the_memory_of_a_burst() {
        let mut before = PreviousRows::default();
        let storm: Vec<Row> = (0..50_000).map(|key| row(key, &[Some(key)])).collect();
        put_table(&mut Vec::new(), 0, storm.clone(), &mut before);
        let most = before.rows.capacity();
        before.keep(|key| key < 10);
        put_table(&mut Vec::new(), 0, storm[..10].to_vec(), &mut before);
        assert!(before.rows.capacity() < most / 10, "{} of {most}", before.rows.capacity());
        assert_eq!(before.row(7), Some(&storm[7]));
    }
}
