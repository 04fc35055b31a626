//! A Parquet table: typed columns, gathered row by row and written in row groups.

use crate::ExportError;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int64Type};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// Rows of a row group.
const GROUP: usize = 1 << 16;
/// Rows after which a batch is sent: a store accepts fewer than a million at once.
const LONG: usize = 4 * GROUP;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// Nanoseconds since the epoch, UTC.
    Instant,
    /// Unsigned 64-bit number.
    Unsigned,
    /// Signed 64-bit number.
    Signed,
    /// UTF-8 text.
    Text,
    /// Boolean.
    Flag,
    /// Array of unsigned 64-bit numbers, none of them null, with at least one.
    Numbers,
}

impl FieldType {
    /// Physical and logical type in Parquet.
    pub const fn parquet(self) -> (&'static str, &'static str) {
        match self {
            FieldType::Instant => ("INT64", "(TIMESTAMP(NANOS,true))"),
            FieldType::Unsigned | FieldType::Numbers => ("INT64", "(INTEGER(64,false))"),
            FieldType::Signed => ("INT64", "(INTEGER(64,true))"),
            FieldType::Text => ("BYTE_ARRAY", "(UTF8)"),
            FieldType::Flag => ("BOOLEAN", ""),
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Name of the column.
    pub name: String,
    /// Type of the column.
    pub kind: FieldType,
    /// True if a value may be null: unknown, or not measured separately.
    pub optional: bool,
}

/// Values of a column without nulls, and which rows have one.
#[derive(Debug)]
struct Column {
    values: Values,
    there: Vec<i16>,
    /// Of an array, for each value: 0 if it begins a row.
    repeats: Vec<i16>,
    optional: bool,
}

#[derive(Debug)]
enum Values {
    Numbers(Vec<i64>),
    Texts(Vec<ByteArray>),
    Flags(Vec<bool>),
}

impl Column {
    fn new(field: &Field) -> Column {
        let values = match field.kind {
            FieldType::Instant | FieldType::Unsigned | FieldType::Signed | FieldType::Numbers => {
                Values::Numbers(Vec::new())
            }
            FieldType::Text => Values::Texts(Vec::new()),
            FieldType::Flag => Values::Flags(Vec::new()),
        };
        let optional = field.optional || field.kind == FieldType::Numbers;
        Column { values, there: Vec::new(), repeats: Vec::new(), optional }
    }

    fn write(&self, writer: &mut SerializedColumnWriter) -> Result<(), ExportError> {
        let there = self.optional.then_some(&self.there[..]);
        let repeats = Some(&self.repeats[..]).filter(|repeats| !repeats.is_empty());
        match &self.values {
            Values::Numbers(values) => {
                writer.typed::<Int64Type>().write_batch(values, there, repeats)
            }
            Values::Texts(values) => {
                writer.typed::<ByteArrayType>().write_batch(values, there, None)
            }
            Values::Flags(values) => writer.typed::<BoolType>().write_batch(values, there, None),
        }?;
        Ok(())
    }
}

/// A table that is written into memory.
pub(crate) struct Table {
    fields: Vec<Field>,
    columns: Vec<Column>,
    writer: SerializedFileWriter<Vec<u8>>,
    rows: usize,
    /// Rows in earlier row groups.
    written: usize,
}

/// Writer of a row; cells in the order of the columns.
pub(crate) struct Row<'a> {
    table: &'a mut Table,
    at: usize,
}

impl Table {
    pub fn new(name: &str, fields: Vec<Field>) -> Result<Table, ExportError> {
        let schema = Arc::new(parse_message_type(&message(name, &fields))?);
        let writer = SerializedFileWriter::new(Vec::new(), schema, properties())?;
        let columns = fields.iter().map(Column::new).collect();
        Ok(Table { fields, columns, writer, rows: 0, written: 0 })
    }

    /// Starts the next row; each of its cells must be written.
    pub fn row(&mut self) -> Result<Row<'_>, ExportError> {
        if self.rows == GROUP {
            self.flush()?;
        }
        self.rows += 1;
        Ok(Row { table: self, at: 0 })
    }

    /// Ends the row group.
    pub fn flush(&mut self) -> Result<(), ExportError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in &self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(&mut writer)?;
                writer.close()?;
            }
        }
        group.close()?;
        self.columns = self.fields.iter().map(Column::new).collect();
        self.written += self.rows;
        self.rows = 0;
        Ok(())
    }

    /// True if the table has no rows.
    pub fn is_empty(&self) -> bool {
        self.written + self.rows == 0
    }

    /// True if the table has enough rows for a batch.
    pub fn is_long(&self) -> bool {
        self.written + self.rows >= LONG
    }

    /// Bytes of the finished file.
    pub fn finish(mut self) -> Result<Vec<u8>, ExportError> {
        self.flush()?;
        Ok(self.writer.into_inner()?)
    }
}

impl Row<'_> {
    fn put(&mut self, kind: &[FieldType], known: bool) -> &mut Column {
        let field = &self.table.fields[self.at];
        debug_assert!(kind.contains(&field.kind), "{}: {:?}", field.name, field.kind);
        debug_assert!(known || field.optional, "{} is always there", field.name);
        let column = &mut self.table.columns[self.at];
        column.there.push(i16::from(known));
        self.at += 1;
        column
    }

    fn number(&mut self, kind: FieldType, value: Option<i64>) -> &mut Self {
        if let Values::Numbers(values) = &mut self.put(&[kind], value.is_some()).values {
            values.extend(value);
        }
        self
    }

    pub fn instant(&mut self, wall_ns: i64) -> &mut Self {
        self.number(FieldType::Instant, Some(wall_ns))
    }

    /// Writes an unsigned number; the column stores its bits.
    pub fn unsigned(&mut self, value: impl Into<Option<u64>>) -> &mut Self {
        self.number(FieldType::Unsigned, value.into().map(|value| value as i64))
    }

    pub fn signed(&mut self, value: i64) -> &mut Self {
        self.number(FieldType::Signed, Some(value))
    }

    /// Writes an array, which is not empty.
    pub fn numbers(&mut self, values: &[u64]) -> &mut Self {
        let column = self.put(&[FieldType::Numbers], true);
        column.there.resize(column.there.len() - 1 + values.len(), 1);
        column.repeats.extend((0..values.len()).map(|at| i16::from(at > 0)));
        if let Values::Numbers(into) = &mut column.values {
            into.extend(values.iter().map(|&value| value as i64));
        }
        self
    }

    pub fn text<'t>(&mut self, value: impl Into<Option<&'t str>>) -> &mut Self {
        let value = value.into().map(ByteArray::from);
        if let Values::Texts(values) = &mut self.put(&[FieldType::Text], value.is_some()).values {
            values.extend(value);
        }
        self
    }

    pub fn flag(&mut self, value: impl Into<Option<bool>>) -> &mut Self {
        let value = value.into();
        if let Values::Flags(values) = &mut self.put(&[FieldType::Flag], value.is_some()).values {
            values.extend(value);
        }
        self
    }
}

fn message(name: &str, fields: &[Field]) -> String {
    let line = |field: &Field| {
        let (kind, means) = field.kind.parquet();
        let name = &field.name;
        match (field.kind, field.optional) {
            (FieldType::Numbers, _) => format!(
                "  REQUIRED GROUP {name} (LIST) {{ REPEATED GROUP list {{ REQUIRED {kind} element {means}; }} }}\n"
            ),
            (_, true) => format!("  OPTIONAL {kind} {name} {means};\n"),
            (_, false) => format!("  REQUIRED {kind} {name} {means};\n"),
        }
    };
    format!("message {name} {{\n{}}}", fields.iter().map(line).collect::<String>())
}

fn properties() -> WriterPropertiesPtr {
    let zstd = Compression::ZSTD(ZstdLevel::default());
    Arc::new(WriterProperties::builder().set_compression(zstd).build())
}
