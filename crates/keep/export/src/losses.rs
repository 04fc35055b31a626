//! Checks if a day's files may be replaced: only by files with all of their windows.

use bytes::Bytes;
use exactop_model::text::escape::harmless;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

/// Columns of `accounts` that identify a window.
const COLUMNS: [&str; 3] = ["host", "boot_id", "t1_ns"];

/// Ends of windows, sorted, by host and boot.
type Windows = BTreeMap<(String, String), Vec<u64>>;

/// Windows that would be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub windows: u64,
    /// Host of the first of them, escaped.
    pub host: String,
}

/// The windows of `old` that `new` lacks; `None` if there are none.
pub(crate) fn lost(old: Bytes, new: Bytes) -> Result<Option<Lost>, ParquetError> {
    // An empty file has no windows.
    if old.is_empty() {
        return Ok(None);
    }
    let (old, new) = (windows(old)?, windows(new)?);
    let mut lost: Option<Lost> = None;
    for (whose, ends) in &old {
        let has = new.get(whose).map_or(&[][..], Vec::as_slice);
        let gone = ends.iter().filter(|end| has.binary_search(end).is_err()).count() as u64;
        if gone > 0 {
            let none = || Lost { windows: 0, host: harmless(&whose.0) };
            lost.get_or_insert_with(none).windows += gone;
        }
    }
    Ok(lost)
}

/// The library panics on some damaged files.
fn windows(accounts: Bytes) -> Result<Windows, ParquetError> {
    let read = AssertUnwindSafe(|| read(accounts));
    catch_unwind(read).unwrap_or_else(|_| Err(ParquetError::General("it is damaged".into())))
}

fn read(accounts: Bytes) -> Result<Windows, ParquetError> {
    let reader = SerializedFileReader::new(accounts)?;
    let schema = reader.metadata().file_metadata().schema();
    let wanted = |name: &&str| {
        let found = schema.get_fields().iter().find(|field| field.name() == *name);
        let none = || ParquetError::General(format!("it has no column '{name}'"));
        found.map(Arc::clone).ok_or_else(none)
    };
    let wanted = COLUMNS.iter().map(wanted).collect::<Result<_, _>>()?;
    let wanted = Type::group_type_builder(schema.name()).with_fields(wanted).build()?;
    let mut windows = Windows::new();
    for row in reader.get_row_iter(Some(wanted))? {
        let (mut whose, mut end) = ((String::new(), String::new()), 0);
        for (name, field) in row?.into_columns() {
            match (&*name, field) {
                ("host", Field::Str(host)) => whose.0 = host,
                ("boot_id", Field::Str(boot_id)) => whose.1 = boot_id,
                ("t1_ns", Field::ULong(t1_ns)) => end = t1_ns,
                // The recording did not name its host.
                ("host" | "boot_id", Field::Null) => {}
                _ => {
                    let why = format!("its column '{name}' is of another kind");
                    return Err(ParquetError::General(why));
                }
            }
        }
        windows.entry(whose).or_default().push(end);
    }
    windows.values_mut().for_each(|ends| ends.sort_unstable());
    Ok(windows)
}
