//! A directory for each day, by the window's end in UTC.

use crate::charges::{groups, GROUPS};
use crate::names::Names;
use crate::table::Table;
use crate::tables::{fields, waiting, Told, Which};
use crate::ExportError;
use exactop_files::Directory;
use exactop_model::escape::escape_str;
use exactop_recording::Replay;
use jiff::Timestamp;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Windows.
    pub windows: u64,
    /// Days of which there is a directory.
    pub days: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// The tables of a day.
struct Day {
    name: String,
    tables: [Table; Which::ALL.len()],
}

/// All days, in memory: a clock that is set back comes into days that were begun already.
#[derive(Default)]
pub(crate) struct Days {
    days: Vec<Day>,
    names: Names,
    exported: Exported,
}

impl Days {
    pub fn window(&mut self, replay: &Replay) -> Result<(), ExportError> {
        let Some((window, span)) = replay.window().zip(replay.span()) else { return Ok(()) };
        self.names.learn(replay);
        let name = day_of(span.wall_t1_ns());
        let at = match self.days.iter().position(|day| day.name == name) {
            Some(at) => at,
            None => {
                // What those before hold is compressed from now on.
                let before = self.days.iter_mut().flat_map(|day| &mut day.tables);
                before.into_iter().try_for_each(Table::flush)?;
                self.days.push(Day::new(name)?);
                self.days.len() - 1
            }
        };
        let machine = replay.reader().machine();
        let waiting = waiting(window, replay.book());
        let named = groups(window, replay.book(), GROUPS);
        let host = machine.map(|machine| escape_str(&machine.host));
        let boot_id = machine.map(|machine| escape_str(&machine.boot_id));
        let (names, waiting, named) = (&self.names, &waiting[..], &named[..]);
        let told = Told { window, span, host, boot_id, names, waiting, named };
        for (which, table) in Which::ALL.into_iter().zip(&mut self.days[at].tables) {
            told.put(which, table)?;
        }
        self.exported.windows += 1;
        Ok(())
    }

    /// Writes the files, each whole or not at all.
    pub fn write(mut self, directory: &Directory) -> Result<Exported, ExportError> {
        for day in self.days {
            let below = directory.within(&day.name)?;
            for (which, table) in Which::ALL.into_iter().zip(day.tables) {
                let bytes = table.finish()?;
                self.exported.bytes += bytes.len() as u64;
                below.replace(&format!("{}.parquet", which.name()), &bytes)?;
            }
            self.exported.days += 1;
        }
        Ok(self.exported)
    }
}

impl Day {
    fn new(name: String) -> Result<Day, ExportError> {
        let table = |which: Which| Table::new(which.name(), fields(which));
        let [accounts, rows, groups, charges] = Which::ALL;
        Ok(Day { name, tables: [table(accounts)?, table(rows)?, table(groups)?, table(charges)?] })
    }
}

/// As DuckDB and others name partitions.
fn day_of(wall_ns: i128) -> String {
    match Timestamp::from_nanosecond(wall_ns) {
        Ok(instant) => instant.strftime("day=%Y-%m-%d").to_string(),
        Err(_) => "day=unknown".into(),
    }
}
