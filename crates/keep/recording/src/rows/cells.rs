//! Values of a row, in the order of the schema.

use crate::error::FrameError;
use crate::packed::{Packer, Values};
use crate::schema::{Table, Type};
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::{Counter, Counters};

/// Writes a row.
pub(crate) struct Cells<'a> {
    table: &'static Table,
    strings: &'a mut Strings,
    values: Packer,
}

impl<'a> Cells<'a> {
    pub fn new(table: &'static Table, strings: &'a mut Strings) -> Cells<'a> {
        Cells { table, strings, values: Packer::with_columns(table.columns.len()) }
    }

    fn push(&mut self, kind: Type, value: Option<u64>) {
        debug_assert_eq!(self.table.columns[self.values.columns()].1, kind);
        self.values.push(value);
    }

    pub fn uint(&mut self, value: impl Into<Option<u64>>) -> &mut Self {
        self.push(Type::Uint, value.into());
        self
    }

    pub fn int(&mut self, value: impl Into<Option<i64>>) -> &mut Self {
        self.push(Type::Int, value.into().map(|v| v as u64));
        self
    }

    pub fn float(&mut self, value: Option<f64>) -> &mut Self {
        self.push(Type::Float, value.map(f64::to_bits));
        self
    }

    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.push(Type::Bool, Some(value.into()));
        self
    }

    pub fn text(&mut self, value: Option<&[u8]>) -> &mut Self {
        let number = value.map(|text| self.strings.number(text));
        self.push(Type::Text, number);
        self
    }

    pub fn counters(&mut self, counters: &Counters) -> &mut Self {
        for &counter in Counter::ALL {
            self.uint(counters.get(counter));
        }
        self
    }

    pub fn row(self, key: u64) -> Row {
        debug_assert_eq!(self.values.columns(), self.table.columns.len(), "{}", self.table.table);
        Row { key, values: self.values.packed() }
    }
}

/// Reads a row.
pub(crate) struct Fields<'a> {
    values: Values<'a>,
    strings: &'a Strings,
}

impl<'a> Fields<'a> {
    pub fn new(row: &'a Row, strings: &'a Strings) -> Fields<'a> {
        Fields { values: row.values.iter(), strings }
    }

    pub fn uint(&mut self) -> Option<u64> {
        self.values.next().flatten()
    }

    /// A required value.
    pub fn known(&mut self) -> Result<u64, FrameError> {
        self.uint().ok_or(FrameError::Missing)
    }

    /// A 32-bit value.
    pub fn small(&mut self) -> Result<Option<u32>, FrameError> {
        self.uint().map(|v| u32::try_from(v).map_err(|_| FrameError::Number)).transpose()
    }

    /// A required 32-bit value.
    pub fn known_small(&mut self) -> Result<u32, FrameError> {
        self.small()?.ok_or(FrameError::Missing)
    }

    pub fn int(&mut self) -> Option<i64> {
        self.uint().map(|v| v as i64)
    }

    /// A signed 32-bit value.
    pub fn small_int(&mut self) -> Result<Option<i32>, FrameError> {
        self.int().map(|v| i32::try_from(v).map_err(|_| FrameError::Number)).transpose()
    }

    pub fn float(&mut self) -> Option<f64> {
        self.uint().map(f64::from_bits)
    }

    pub fn bool(&mut self) -> Result<bool, FrameError> {
        match self.known()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(FrameError::Number),
        }
    }

    pub fn text(&mut self) -> Result<Option<&'a [u8]>, FrameError> {
        let strings = self.strings;
        self.uint().map(|number| strings.text(number)).transpose()
    }

    pub fn counters(&mut self) -> Counters {
        let mut counters = Counters::unknown();
        for &counter in Counter::ALL {
            if let Some(value) = self.uint() {
                counters.set(counter, value);
            }
        }
        counters
    }
}

/// All values, or `None` if one is missing.
pub(crate) fn all<T: Copy + Default, const N: usize>(values: [Option<T>; N]) -> Option<[T; N]> {
    let mut known = [T::default(); N];
    for (known, value) in known.iter_mut().zip(values) {
        *known = value?;
    }
    Some(known)
}
