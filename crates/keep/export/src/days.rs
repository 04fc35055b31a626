//! Export into a directory for each day, by the window's end in UTC.

use crate::charges::{groups, GROUPS};
use crate::losses::{lost, Lost};
use crate::names::Names;
use crate::table::Table;
use crate::tables::{fields, TableName, WindowFacts};
use crate::ExportError;
use bytes::Bytes;
use exactop_files::Directory;
use exactop_model::text::escape::escape_str;
use exactop_model::{Book, Window};
use exactop_recording::{Replay, Span};
use jiff::Timestamp;

/// Summary of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Windows written.
    pub windows: u64,
    /// Days with a directory.
    pub days: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Tables of a day.
struct Day {
    name: String,
    tables: Vec<(TableName, Table)>,
}

/// All days, in memory: if the clock was set back, later windows belong to an earlier day.
pub(crate) struct Days {
    which: &'static [TableName],
    days: Vec<Day>,
    names: Names,
    exported: Exported,
}

/// A window, its time and its book.
#[derive(Clone, Copy, Debug)]
pub struct WindowSource<'a> {
    /// The window.
    pub window: &'a Window,
    /// Time of the window.
    pub span: Span,
    /// The book that made the window, as of its end.
    pub book: &'a Book,
}

/// Largest file that is read, bytes.
const LONGEST: u64 = 1 << 30;

/// Destination of files.
pub trait Files {
    /// Reads a file; `None` if it does not exist.
    fn get(&mut self, day: &str, name: &str) -> Result<Option<Bytes>, ExportError>;

    /// Writes a file into a day's directory, whole or not at all; replaces an existing one.
    fn put(&mut self, day: &str, name: &str, bytes: &[u8]) -> Result<(), ExportError>;
}

/// Replaces existing files without checking their windows.
pub struct Replacing<'a>(pub &'a mut dyn Files);

impl Files for Replacing<'_> {
    fn get(&mut self, _: &str, _: &str) -> Result<Option<Bytes>, ExportError> {
        Ok(None)
    }

    fn put(&mut self, day: &str, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
        self.0.put(day, name, bytes)
    }
}

impl Files for &Directory {
    fn get(&mut self, day: &str, name: &str) -> Result<Option<Bytes>, ExportError> {
        if !self.has(day)? {
            return Ok(None);
        }
        let day = self.within(day)?;
        Ok(if day.has(name)? { Some(day.read(name, LONGEST)?.into()) } else { None })
    }

    fn put(&mut self, day: &str, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
        Ok(self.within(day)?.replace(name, bytes)?)
    }
}

impl Days {
    /// Starts without days; each day will have these tables.
    pub fn new(which: &'static [TableName]) -> Days {
        let (days, names, exported) = (Vec::new(), Names::default(), Exported::default());
        Days { which, days, names, exported }
    }

    /// Adds the replay's current window.
    pub fn window(&mut self, replay: &Replay) -> Result<(), ExportError> {
        let Some((window, span)) = replay.window().zip(replay.span()) else { return Ok(()) };
        self.names.learn(replay);
        let machine = replay.reader().machine();
        let whose = machine.map(|machine| (&*machine.host, &*machine.boot_id));
        self.put(whose, &WindowSource { window, span, book: replay.book() })
    }

    /// Adds a window; `whose` is its host and boot.
    pub fn put(
        &mut self,
        whose: Option<(&str, &str)>,
        had: &WindowSource,
    ) -> Result<(), ExportError> {
        let WindowSource { window, span, book } = *had;
        let at = self.day(span)?;
        let waiting = match self.which.contains(&TableName::Rows) {
            true => book.stood(window).collect(),
            false => Vec::new(),
        };
        let most = GROUPS;
        let named = groups(window, book, most);
        let host = whose.map(|(host, _)| escape_str(host));
        let boot_id = whose.map(|(_, boot_id)| escape_str(boot_id));
        let (names, waiting, named) = (&self.names, &waiting[..], &named[..]);
        let told = WindowFacts { window, book, span, host, boot_id, names, waiting, named, most };
        for (which, table) in &mut self.days[at].tables {
            told.put(*which, table)?;
        }
        self.exported.windows += 1;
        Ok(())
    }

    /// Index of the day in which a window ends.
    fn day(&mut self, span: Span) -> Result<usize, ExportError> {
        let name = day_of(span.wall_t1_ns());
        if let Some(at) = self.days.iter().position(|day| day.name == name) {
            return Ok(at);
        }
        // Compress the rows of the other days.
        let before = self.days.iter_mut().flat_map(|day| &mut day.tables);
        before.map(|(_, table)| table).try_for_each(Table::flush)?;
        self.days.push(Day::new(name, self.which)?);
        Ok(self.days.len() - 1)
    }

    /// Finishes all files.
    pub fn finish(self) -> Result<Finished, ExportError> {
        let mut exported = self.exported;
        let mut files = Vec::new();
        for day in self.days {
            for (which, table) in day.tables {
                let bytes = Bytes::from(table.finish()?);
                exported.bytes += bytes.len() as u64;
                files.push(File { day: day.name.clone(), which, bytes });
            }
            exported.days += 1;
        }
        Ok(Finished { files, exported })
    }
}

/// File of one table and day.
struct File {
    day: String,
    which: TableName,
    bytes: Bytes,
}

impl File {
    fn name(&self) -> String {
        format!("{}.parquet", self.which.name())
    }
}

/// Files that are not written yet.
pub(crate) struct Finished {
    files: Vec<File>,
    exported: Exported,
}

impl Finished {
    /// Fails if an existing file has windows that the new one lacks: a partial day must not replace
    /// a whole one.
    pub fn keeps(&self, files: &mut dyn Files) -> Result<(), ExportError> {
        for file in self.files.iter().filter(|file| file.which == TableName::Accounts) {
            let Some(there) = files.get(&file.day, &file.name())? else { continue };
            let name = format!("{}/{}", file.day, file.name());
            match lost(there, file.bytes.clone()) {
                Ok(None) => {}
                Ok(Some(Lost { windows, host })) => {
                    return Err(ExportError::Loses { name, windows, host });
                }
                Err(why) => return Err(ExportError::Strange { name, why }),
            }
        }
        Ok(())
    }

    /// Writes the files, each whole or not at all.
    pub fn write(self, files: &mut dyn Files) -> Result<Exported, ExportError> {
        for file in &self.files {
            files.put(&file.day, &file.name(), &file.bytes)?;
        }
        Ok(self.exported)
    }
}

impl Day {
    fn new(name: String, which: &[TableName]) -> Result<Day, ExportError> {
        let table = |&which: &TableName| Ok((which, Table::new(which.name(), fields(which))?));
        let tables = which.iter().map(table).collect::<Result<_, ExportError>>()?;
        Ok(Day { name, tables })
    }
}

/// Name of a day's directory, in the style of Hive partitions, as DuckDB reads them.
pub(crate) fn day_of(wall_ns: i128) -> String {
    match Timestamp::from_nanosecond(wall_ns) {
        Ok(instant) => instant.strftime("day=%Y-%m-%d").to_string(),
        Err(_) => "day=unknown".into(),
    }
}
