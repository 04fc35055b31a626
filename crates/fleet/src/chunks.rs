//! Reads columns of a Parquet file by name, some thousand rows at a time.

use parquet::basic::{LogicalType, TimeUnit, Type};
use parquet::column::reader::{get_typed_column_reader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;
use std::fs::File;
use std::panic::{catch_unwind, AssertUnwindSafe};

use exactop_export::{Field, FieldType};

/// Rows per chunk.
const ROWS: usize = 8192;
/// Replacement for bytes that are not UTF-8.
const NO_TEXT: &str = "\u{fffd}";

/// Values of a column; `None` is null.
#[derive(Debug)]
pub(crate) enum Cells {
    Numbers(Vec<Option<i64>>),
    Texts(Vec<Option<ByteArray>>),
    Flags(Vec<Option<bool>>),
}

/// Some rows of the wanted columns, in the wanted order.
#[derive(Debug)]
pub(crate) struct Chunk {
    columns: Vec<Cells>,
    pub rows: usize,
    /// Index of the file.
    pub file: usize,
}

impl Chunk {
    /// A signed number, or the bits of an unsigned one.
    pub fn number(&self, column: usize, row: usize) -> Option<i64> {
        match self.columns.get(column) {
            Some(Cells::Numbers(cells)) => *cells.get(row)?,
            _ => None,
        }
    }

    pub fn unsigned(&self, column: usize, row: usize) -> Option<u64> {
        self.number(column, row).map(|bits| bits as u64)
    }

    pub fn flag(&self, column: usize, row: usize) -> Option<bool> {
        match self.columns.get(column) {
            Some(Cells::Flags(cells)) => *cells.get(row)?,
            _ => None,
        }
    }

    /// A text; null is empty, and invalid UTF-8 is [`NO_TEXT`].
    pub fn text(&self, column: usize, row: usize) -> &str {
        let Some(Cells::Texts(cells)) = self.columns.get(column) else { return "" };
        match cells.get(row).and_then(Option::as_ref) {
            Some(bytes) => std::str::from_utf8(bytes.data()).unwrap_or(NO_TEXT),
            None => "",
        }
    }
}

/// Passes all rows of file number `at` to `tell`.
pub(crate) fn each(
    (at, file): (usize, File),
    wanted: &[Field],
    tell: &mut dyn FnMut(&Chunk),
) -> Result<(), ParquetError> {
    let reader = guarded(|| SerializedFileReader::new(file))?;
    let places = places(reader.metadata().file_metadata().schema_descr(), wanted)?;
    for group in 0..reader.num_row_groups() {
        let group = guarded(|| reader.get_row_group(group))?;
        let mut columns = guarded(|| open(&*group, wanted, &places))?;
        let mut left = group.metadata().num_rows();
        loop {
            let columns =
                guarded(|| columns.iter_mut().map(Column::next).collect::<Result<Vec<_>, _>>())?;
            let lengths: Vec<usize> = columns.iter().map(Cells::len).collect();
            let rows = lengths.first().copied().unwrap_or(0);
            if lengths.iter().any(|&length| length != rows) {
                return Err(wrong("its columns are not equally long"));
            }
            left -= rows as i64;
            if rows == 0 {
                break;
            }
            let null =
                wanted.iter().zip(&columns).find(|(f, cells)| !f.optional && cells.has_null());
            if let Some((field, _)) = null {
                return Err(wrong(format!("its column '{}' has nulls", field.name)));
            }
            tell(&Chunk { columns, rows, file: at });
        }
        if left != 0 {
            return Err(wrong("it has not as many rows as it says"));
        }
    }
    Ok(())
}

/// The library panics on some damaged files.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(wrong("it is damaged")))
}

fn open(
    group: &dyn RowGroupReader,
    wanted: &[Field],
    places: &[usize],
) -> Result<Vec<Column>, ParquetError> {
    let columns = wanted.iter().zip(places);
    columns.map(|(field, &place)| Column::open(group, field.kind, place)).collect()
}

fn wrong(why: impl Into<String>) -> ParquetError {
    ParquetError::General(why.into())
}

/// Positions of the columns in the file; fails on a missing column or another type.
fn places(schema: &SchemaDescriptor, wanted: &[Field]) -> Result<Vec<usize>, ParquetError> {
    let place = |field: &Field| {
        let found = schema.columns().iter().position(|c| c.path().string() == field.name);
        let at = found.ok_or_else(|| wrong(format!("it has no column '{}'", field.name)))?;
        let column = schema.column(at);
        let flat = column.max_rep_level() == 0 && column.max_def_level() <= 1;
        let kind = match field.kind {
            FieldType::Instant | FieldType::Unsigned | FieldType::Signed | FieldType::Numbers => {
                Type::INT64
            }
            FieldType::Text => Type::BYTE_ARRAY,
            FieldType::Flag => Type::BOOLEAN,
        };
        let nanos = [true, false].map(|utc| LogicalType::timestamp(utc, TimeUnit::NANOS));
        let is_instant = || column.logical_type_ref().is_some_and(|told| nanos.contains(told));
        let fits = field.kind != FieldType::Instant || is_instant();
        match flat && column.physical_type() == kind && fits {
            true => Ok(at),
            false => Err(wrong(format!("its column '{}' is of another kind", field.name))),
        }
    };
    wanted.iter().map(place).collect()
}

/// Reader of a column in a row group, and whether it has nulls.
enum Column {
    Numbers(ColumnReaderImpl<Int64Type>, bool),
    Texts(ColumnReaderImpl<ByteArrayType>, bool),
    Flags(ColumnReaderImpl<BoolType>, bool),
}

impl Column {
    fn open(
        group: &dyn RowGroupReader,
        kind: FieldType,
        place: usize,
    ) -> Result<Column, ParquetError> {
        let nulls = group.metadata().schema_descr().column(place).max_def_level() > 0;
        let reader = group.get_column_reader(place)?;
        // `places` has checked the types.
        Ok(match kind {
            FieldType::Text => Column::Texts(get_typed_column_reader(reader), nulls),
            FieldType::Flag => Column::Flags(get_typed_column_reader(reader), nulls),
            _ => Column::Numbers(get_typed_column_reader(reader), nulls),
        })
    }

    fn next(&mut self) -> Result<Cells, ParquetError> {
        match self {
            Column::Numbers(reader, nulls) => read(reader, *nulls).map(Cells::Numbers),
            Column::Texts(reader, nulls) => read(reader, *nulls).map(Cells::Texts),
            Column::Flags(reader, nulls) => read(reader, *nulls).map(Cells::Flags),
        }
    }
}

impl Cells {
    fn has_null(&self) -> bool {
        match self {
            Cells::Numbers(cells) => cells.iter().any(Option::is_none),
            Cells::Texts(cells) => cells.iter().any(Option::is_none),
            Cells::Flags(cells) => cells.iter().any(Option::is_none),
        }
    }

    fn len(&self) -> usize {
        match self {
            Cells::Numbers(cells) => cells.len(),
            Cells::Texts(cells) => cells.len(),
            Cells::Flags(cells) => cells.len(),
        }
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    nulls: bool,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut values, mut there) = (Vec::new(), Vec::new());
    reader.read_records(ROWS, nulls.then_some(&mut there), None, &mut values)?;
    if !nulls {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    Ok(there.into_iter().map(|level| if level > 0 { values.next() } else { None }).collect())
}
