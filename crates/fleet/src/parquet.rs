//! Parquet files of many machines: every `accounts.parquet` and `charges.parquet` in or below a
//! directory, and every `accounts-*.parquet` and `charges-*.parquet` that daemons write one after
//! the other.

use crate::by::{columns, join};
use crate::chunks::{each, Chunk};
use crate::rows::{Account, Books, Charged, HostBoot, PreviousWindow, Unread, Used};
use crate::{FleetError, Grouping};
use exactop_export::{fields, Field, TableName};
use exactop_files::Directory;
use exactop_recording::TimeRange;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most levels of directories that are searched.
const DEEPEST: usize = 8;
/// Charges younger than this may belong to a batch whose accounts are still being written.
const UNDER_WAY: Duration = Duration::from_secs(60);

/// Columns of `accounts`, in the order of [`account`].
const ACCOUNTS: [&str; 17] = [
    "window_end",
    "host",
    "boot_id",
    "t1_ns",
    "length_ns",
    "cpus",
    "capacity_ns",
    "tasks_ns",
    "exited_ns",
    "unnamed_ns",
    "irq_ns",
    "steal_ns",
    "idle_ns",
    "offline_ns",
    "residual_ns",
    "missed_switches",
    "exact",
];
/// Columns of `charges`.
const CHARGES: [&str; 5] = ["window_end", "host", "boot_id", "t1_ns", "run_ns"];
/// Columns of `charges` for sums by name; the columns of the name follow.
const USED: [&str; 3] = ["window_end", "host", "run_ns"];

/// Files of a fleet.
#[derive(Clone, Debug)]
pub struct Parquet {
    accounts: Vec<PathBuf>,
    charges: Vec<PathBuf>,
    skipped: u64,
    /// Unreadable files and their errors; `None` if these are fatal.
    passed_by: Option<RefCell<BTreeMap<PathBuf, String>>>,
}

impl Parquet {
    /// Finds the files; reads none yet.
    pub fn open(directory: &Path) -> Result<Parquet, FleetError> {
        Parquet::find(directory, None)
    }

    /// Like [`Parquet::open`], but skips unreadable files ([`Books::unread`]). Of a damaged file,
    /// the rows before the damage count.
    ///
    /// # Errors
    /// [`FleetError`]: the directory itself cannot be read.
    pub fn open_what_is_readable(directory: &Path) -> Result<Parquet, FleetError> {
        Parquet::find(directory, Some(RefCell::default()))
    }

    fn find(
        directory: &Path,
        passed_by: Option<RefCell<BTreeMap<PathBuf, String>>>,
    ) -> Result<Parquet, FleetError> {
        let (accounts, charges) = (Vec::new(), Vec::new());
        let mut found = Parquet { accounts, charges, skipped: 0, passed_by };
        found.look(directory, 0)?;
        // Charges alone are an interrupted export; the balance reports them.
        if found.accounts.is_empty() && found.charges.is_empty() && found.unread().is_empty() {
            return Err(FleetError::Nothing { path: directory.into() });
        }
        Ok(found)
    }

    /// Directories that were not searched: links, and those too deep.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    fn look(&mut self, path: &Path, depth: usize) -> Result<(), FleetError> {
        let mut names = Directory::open_to_read(path)?.names()?;
        names.sort_unstable();
        for name in &names {
            let within = path.join(name);
            match &**name {
                _ if is_of(TableName::Accounts, name) => {
                    self.charges.extend(unlisted(path, name, &names));
                    self.accounts.push(within);
                }
                _ if is_of(TableName::Charges, name) && !is_under_way(&within, &names) => {
                    self.charges.push(within);
                }
                _ if !within.is_dir() => {}
                // Links may form a circle.
                _ if depth >= DEEPEST || within.is_symlink() => self.skipped += 1,
                _ => {
                    let done = self.look(&within, depth + 1);
                    self.or_pass_by(&within, done)?;
                }
            }
        }
        Ok(())
    }

    fn or_pass_by(&self, path: &Path, done: Result<(), FleetError>) -> Result<(), FleetError> {
        let Some((passed_by, error)) = self.passed_by.as_ref().zip(done.as_ref().err()) else {
            return done;
        };
        passed_by.borrow_mut().entry(path.into()).or_insert_with(|| error.to_string());
        Ok(())
    }

    /// Passes the rows of a table to `tell`, with the wanted columns.
    pub(crate) fn each(
        &self,
        which: TableName,
        wanted: &[&str],
        tell: &mut dyn FnMut(&Chunk),
    ) -> Result<(), FleetError> {
        let all = fields(which);
        let field = |name: &&str| all.iter().find(|field| field.name == **name).cloned();
        let wanted: Vec<Field> = wanted.iter().filter_map(field).collect();
        let paths = match which {
            TableName::Charges => &self.charges,
            _ => &self.accounts,
        };
        for (at, path) in paths.iter().enumerate() {
            self.or_pass_by(path, of_file((at, path), &wanted, tell))?;
        }
        Ok(())
    }
}

/// Passes the rows of a file to `tell`.
fn of_file(
    (at, path): (usize, &Path),
    wanted: &[Field],
    tell: &mut dyn FnMut(&Chunk),
) -> Result<(), FleetError> {
    let above = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let file = Directory::open_to_read(above)?.open_file(name)?;
    each((at, file), wanted, tell).map_err(|error| {
        let why = format!("not a table of 'exactop export' ({error}): export it again");
        FleetError::Table { path: path.into(), why }
    })
}

impl Books for Parquet {
    fn accounts(&self, when: TimeRange, tell: &mut dyn FnMut(Account)) -> Result<(), FleetError> {
        self.each(TableName::Accounts, &ACCOUNTS, &mut |chunk| {
            let rows = (0..chunk.rows).filter_map(|row| account(chunk, row));
            rows.filter(|row| when.has(row.end_ns.into())).for_each(&mut *tell);
        })
    }

    fn charges(&self, when: TimeRange, tell: &mut dyn FnMut(Charged)) -> Result<(), FleetError> {
        self.each(TableName::Charges, &CHARGES, &mut |chunk| {
            let rows = (0..chunk.rows).filter(|&row| ends_in(chunk, row, when));
            rows.filter_map(|row| charged(chunk, row)).for_each(&mut *tell);
        })
    }

    fn before(
        &self,
        wall_ns: i128,
        tell: &mut dyn FnMut(PreviousWindow),
    ) -> Result<(), FleetError> {
        self.each(TableName::Accounts, &ACCOUNTS[..4], &mut |chunk| {
            for row in 0..chunk.rows {
                let Some((end_ns, t1_ns)) = chunk.number(0, row).zip(chunk.unsigned(3, row)) else {
                    continue;
                };
                if i128::from(end_ns) <= wall_ns {
                    tell(PreviousWindow { whose: host_boot(chunk, row), t1_ns, end_ns });
                }
            }
        })
    }

    fn unread(&self) -> Vec<Unread> {
        let passed_by = self.passed_by.iter().flat_map(|all| all.borrow().clone());
        passed_by.map(|(path, error)| Unread { path, error }).collect()
    }

    fn used(
        &self,
        when: TimeRange,
        by: Grouping,
        tell: &mut dyn FnMut(Used),
    ) -> Result<(), FleetError> {
        let mut wanted = USED.to_vec();
        wanted.extend(columns(by)?);
        let (mut name, parts) = (String::new(), USED.len()..wanted.len());
        self.each(TableName::Charges, &wanted, &mut |chunk| {
            for row in (0..chunk.rows).filter(|&row| ends_in(chunk, row, when)) {
                join(&mut name, parts.clone().map(|column| chunk.text(column, row)));
                let run_ns = chunk.unsigned(2, row).unwrap_or(0).into();
                tell(Used { host: chunk.text(1, row), name: &name, run_ns });
            }
        })
    }
}

/// True if the file name is one of this table.
fn is_of(which: TableName, name: &str) -> bool {
    let table = name.strip_suffix(".parquet").and_then(|name| name.strip_prefix(which.name()));
    table.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Charges of the batch that came while names were listed: they were written before the accounts,
/// which are in the list.
fn unlisted(directory: &Path, accounts: &str, names: &[String]) -> Option<PathBuf> {
    let charges = format!("charges-{}", accounts.strip_prefix("accounts-")?);
    let path = directory.join(&charges);
    (names.binary_search(&charges).is_err() && path.is_file()).then_some(path)
}

/// True for charges of a batch whose accounts are not written yet; they count the next time.
/// `names` are sorted.
fn is_under_way(charges: &Path, names: &[String]) -> bool {
    let name = charges.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(rest) = name.strip_prefix("charges-") else { return false };
    if names.binary_search(&format!("accounts-{rest}")).is_ok() {
        return false;
    }
    let written = std::fs::metadata(charges).and_then(|file| file.modified());
    written.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < UNDER_WAY))
}

/// True if the row's window (first column) ends in that time.
pub(crate) fn ends_in(chunk: &Chunk, row: usize, when: TimeRange) -> bool {
    chunk.number(0, row).is_some_and(|ns| when.has(ns.into()))
}

/// Host and boot of a row: its second and third column.
pub(crate) fn host_boot(chunk: &Chunk, row: usize) -> HostBoot<'_> {
    HostBoot { host: chunk.text(1, row), boot_id: chunk.text(2, row) }
}

/// Reads a row. Required columns have no nulls, or the file would have been refused.
pub(crate) fn account(chunk: &Chunk, row: usize) -> Option<Account<'_>> {
    let number = |column| chunk.unsigned(column, row);
    Some(Account {
        whose: host_boot(chunk, row),
        end_ns: chunk.number(0, row)?,
        t1_ns: number(3)?,
        length_ns: number(4)?,
        cpus: number(5)?,
        capacity_ns: number(6)?,
        tasks_ns: number(7)?,
        exited_ns: number(8),
        unnamed_ns: number(9)?,
        irq_ns: number(10),
        steal_ns: number(11),
        idle_ns: number(12)?,
        offline_ns: number(13)?,
        residual_ns: chunk.number(14, row)?,
        missed_switches: number(15),
        exact: chunk.flag(16, row)?,
        // Files are written once.
        is_new: false,
    })
}

fn charged(chunk: &Chunk, row: usize) -> Option<Charged<'_>> {
    let run_ns = u128::from(chunk.unsigned(4, row)?);
    Some(Charged { whose: host_boot(chunk, row), t1_ns: chunk.unsigned(3, row)?, run_ns })
}
