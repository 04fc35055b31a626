//! Values of a row in few bytes. A writer or reader remembers one row of every task. Most values
//! are 0 or missing, and few take more than five bytes.

use integer_encoding::VarInt;

const MISSING: u64 = 0;
/// Code: the value follows in eight bytes.
const WHOLE: u64 = 1;
const VALUE: u64 = 2;

/// Values in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    columns: u32,
    bytes: Box<[u8]>,
}

impl Packed {
    /// Number of values.
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    /// The values in order.
    pub fn iter(&self) -> Values<'_> {
        Values { left: self.columns, bytes: &self.bytes }
    }
}

impl FromIterator<Option<u64>> for Packed {
    fn from_iter<I: IntoIterator<Item = Option<u64>>>(values: I) -> Packed {
        let mut packer = Packer::default();
        values.into_iter().for_each(|value| packer.push(value));
        packer.packed()
    }
}

/// Packs values.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    columns: u32,
    bytes: Vec<u8>,
}

impl Packer {
    /// Number of values so far.
    pub fn columns(&self) -> usize {
        self.columns as usize
    }

    /// Reserves two bytes for each of `columns` values.
    pub fn with_columns(columns: usize) -> Packer {
        Packer { columns: 0, bytes: Vec::with_capacity(2 * columns) }
    }

    pub fn push(&mut self, value: Option<u64>) {
        self.columns += 1;
        let code = value.map_or(Some(MISSING), |value| value.checked_add(VALUE));
        let mut bytes = [0; 10];
        let n = code.unwrap_or(WHOLE).encode_var(&mut bytes);
        self.bytes.extend_from_slice(&bytes[..n]);
        if let (None, Some(value)) = (code, value) {
            self.bytes.extend_from_slice(&value.to_le_bytes());
        }
    }

    pub fn packed(self) -> Packed {
        Packed { columns: self.columns, bytes: self.bytes.into_boxed_slice() }
    }
}

/// Iterator over packed values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values<'a> {
    left: u32,
    bytes: &'a [u8],
}

impl Iterator for Values<'_> {
    type Item = Option<u64>;

    fn next(&mut self) -> Option<Option<u64>> {
        self.left = self.left.checked_sub(1)?;
        // Fast path: most values are one byte.
        let (code, n) = match self.bytes {
            [code @ 0..=0x7f, ..] => (u64::from(*code), 1),
            bytes => u64::decode_var(bytes)?,
        };
        self.bytes = &self.bytes[n..];
        Some(match code {
            MISSING => None,
            WHOLE => {
                let (value, rest) = self.bytes.split_first_chunk()?;
                self.bytes = rest;
                Some(u64::from_le_bytes(*value))
            }
            code => Some(code - VALUE),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_largest_and_the_smallest_round_trip() {
        let ends = [0, 1, 125, 126, 1 << 62, (1 << 63) - 1, 1 << 63, u64::MAX - 2, u64::MAX - 1];
        let values: Vec<_> = ends.into_iter().chain([u64::MAX]).map(Some).chain([None]).collect();
        let packed: Packed = values.iter().copied().collect();
        assert_eq!(packed.iter().collect::<Vec<_>>(), values);
        assert_eq!(packed.columns(), values.len());
    }

    #[test]
    fn a_row_that_is_mostly_zero_takes_a_byte_a_value() {
        let packed: Packed = (0..60).map(|n| (n % 3 != 0).then_some(n % 2)).collect();
        assert_eq!(packed.bytes.len(), 60);
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(values in prop::collection::vec(any::<Option<u64>>(), 0..80)) {
            let packed: Packed = values.iter().copied().collect();
            prop_assert_eq!(packed.iter().collect::<Vec<_>>(), values);
        }
    }
}
