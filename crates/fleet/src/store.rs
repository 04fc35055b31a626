//! A store: ClickHouse with the tables of `crates/fleet/schema.sql`, over HTTP.

use crate::by::{columns, join};
use crate::rows::{Account, Books, Charged, HostBoot, PreviousWindow, Used};
use crate::{FleetError, Grouping};
use exactop_export::clickhouse::{Client, StoreError};
use exactop_model::text::escape::harmless;
use exactop_recording::TimeRange;

/// Most rows of an answer: with long names a row takes some hundred bytes, and an answer at most 16
/// MiB.
const ROWS: u64 = 20_000;
/// Most characters of an invalid answer that are shown.
const SHOWN: usize = 100;

/// A store that keeps accepting rows.
#[derive(Debug)]
pub struct Store {
    client: Client,
    /// Time of the first query by the store's clock, s since the epoch.
    begun: u64,
}

/// Hosts from `first` to `last`, by name, in an hour.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    hour: i128,
    first: String,
    last: String,
}

impl Store {
    /// Opens the store as of now.
    ///
    /// # Errors
    /// [`FleetError::Store`]: the store does not answer.
    pub fn open(client: Client) -> Result<Store, FleetError> {
        let now = client.first("SELECT toUnixTimestamp(now()) FORMAT TSV")?;
        let begun = now.trim().parse().map_err(|_| no_answer(&now))?;
        Ok(Store { client, begun })
    }

    /// Queries a time in parts whose answers fit the limit. `rows` lists the columns that count a
    /// part's rows; `given` are the values of query parameters.
    pub(crate) fn each(
        &self,
        (table, rows): (&str, &str),
        when: TimeRange,
        given: &[(&str, &str)],
        tell: &mut dyn FnMut(&str) -> Option<()>,
        sql: &dyn Fn(&str) -> String,
    ) -> Result<(), FleetError> {
        let of_time = bounds(when.from, when.to);
        let hours = format!(
            "SELECT DISTINCT {HOUR} AS hour FROM {table} WHERE {of_time} ORDER BY hour FORMAT TSV"
        );
        for line in self.client.select(&hours, &[])?.lines() {
            let hour: i128 = line.parse().map_err(|_| no_answer(line))?;
            let (from, to) = (hour * SECOND_NS - 1, (hour + 3600) * SECOND_NS - 1);
            let of_hour = format!("{of_time} AND {}", bounds(Some(from), Some(to)));
            let counts = format!(
                "SELECT host, uniqExact({rows}) FROM {table} WHERE {of_hour} \
                 GROUP BY host ORDER BY host FORMAT TSV"
            );
            for part in parts(hour, &self.client.select(&counts, &[])?)? {
                let of_part =
                    format!("{of_hour} AND host >= {{first:String}} AND host <= {{last:String}}");
                let hosts = [("first", &*part.first), ("last", &*part.last)];
                let given = [&hosts, given].concat();
                for line in self.client.select(&sql(&of_part), &given)?.lines() {
                    tell(line).ok_or_else(|| no_answer(line))?;
                }
            }
        }
        Ok(())
    }
}

impl Store {
    /// SQL for the charges whose accounts were there at the first query.
    pub(crate) fn known(&self, which: &str) -> String {
        format!(
            "{which} AND (host, boot_id, t1_ns) IN (SELECT host, boot_id, t1_ns FROM accounts WHERE {which} AND \
             toUnixTimestamp(received) < {})",
            self.begun
        )
    }
}

const SECOND_NS: i128 = 1_000_000_000;
/// SQL for the beginning of a window's hour.
const HOUR: &str = "toUnixTimestamp(toStartOfHour(toDateTime(window_end, 'UTC')))";
/// Columns that identify a window of a host.
pub(crate) const WINDOWS: &str = "boot_id, t1_ns, window_end";

fn bounds(from: Option<i128>, to: Option<i128>) -> String {
    let instant = |ns: i128| {
        // The column holds no later instant.
        let ns = ns.clamp(0, i128::from(i64::MAX));
        format!("fromUnixTimestamp64Nano(toInt64({ns}), 'UTC')")
    };
    let from = from.map(|ns| format!("window_end > {}", instant(ns)));
    let to = to.map(|ns| format!("window_end <= {}", instant(ns)));
    let both: Vec<String> = from.into_iter().chain(to).collect();
    if both.is_empty() {
        return "1".into();
    }
    both.join(" AND ")
}

/// Parts of hosts with their row counts, in the store's order of names.
fn parts(hour: i128, answer: &str) -> Result<Vec<Part>, FleetError> {
    let (mut parts, mut rows): (Vec<Part>, u64) = (Vec::new(), 0);
    for line in answer.lines() {
        let (host, count) = line.split_once('\t').ok_or_else(|| no_answer(line))?;
        let count: u64 = count.parse().map_err(|_| no_answer(line))?;
        let host = unescaped(host).ok_or_else(|| no_answer(line))?;
        match parts.last_mut().filter(|_| rows + count <= ROWS) {
            Some(part) => {
                part.last = host;
                rows += count;
            }
            None => {
                parts.push(Part { hour, first: host.clone(), last: host });
                rows = count;
            }
        }
    }
    Ok(parts)
}

fn no_answer(line: &str) -> FleetError {
    let text = harmless(line).chars().take(SHOWN).collect();
    FleetError::Store(StoreError::Answer { text })
}

/// Unescapes a text of ClickHouse's TSV format.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            '\\' => match chars.next()? {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                'b' => '\u{8}',
                'f' => '\u{c}',
                '0' => '\0',
                c => c,
            },
            c => c,
        });
    }
    Some(out)
}

impl Books for Store {
    fn accounts(&self, when: TimeRange, tell: &mut dyn FnMut(Account)) -> Result<(), FleetError> {
        let sql = |which: &str| {
            format!(
                "SELECT host, boot_id, toUnixTimestamp64Nano(window_end), t1_ns, length_ns, cpus, capacity_ns, \
                 tasks_ns, exited_ns, unnamed_ns, irq_ns, steal_ns, idle_ns, offline_ns, residual_ns, \
                 missed_switches, toUInt8(exact), toUInt8(toUnixTimestamp(received) >= {}) \
                 FROM accounts WHERE {which} FORMAT TSV",
                self.begun
            )
        };
        let mut row = |line: &str| account(line, tell);
        self.each(("accounts", WINDOWS), when, &[], &mut row, &sql)
    }

    fn charges(&self, when: TimeRange, tell: &mut dyn FnMut(Charged)) -> Result<(), FleetError> {
        let sql = |which: &str| {
            format!(
                "SELECT host, boot_id, t1_ns, sum(toUInt128(run_ns)) FROM charges WHERE {which} \
                 GROUP BY host, boot_id, t1_ns FORMAT TSV"
            )
        };
        let mut row = |line: &str| charged(line, tell);
        self.each(("charges", WINDOWS), when, &[], &mut row, &sql)
    }

    fn before(
        &self,
        wall_ns: i128,
        tell: &mut dyn FnMut(PreviousWindow),
    ) -> Result<(), FleetError> {
        // One line for each host: an answer for 100,000 hosts fits the limit.
        let sql = format!(
            "SELECT host, argMax(boot_id, window_end), argMax(t1_ns, window_end), \
             toUnixTimestamp64Nano(max(window_end)) FROM accounts WHERE {} GROUP BY host FORMAT TSV",
            bounds(None, Some(wall_ns))
        );
        let answer = self.client.select(&sql, &[])?;
        answer.lines().try_for_each(|line| before(line, tell).ok_or_else(|| no_answer(line)))
    }

    fn used(
        &self,
        when: TimeRange,
        by: Grouping,
        tell: &mut dyn FnMut(Used),
    ) -> Result<(), FleetError> {
        let names = columns(by)?.join(", ");
        let sql = |which: &str| {
            format!(
                "SELECT host, sum(toUInt128(run_ns)), {names} FROM charges WHERE {} GROUP BY host, {names} FORMAT TSV",
                self.known(which)
            )
        };
        let mut row = |line: &str| used(line, tell);
        self.each(("charges", &names), when, &[], &mut row, &sql)
    }
}

/// Parses a line of an answer; `None` if it is invalid.
fn account(line: &str, tell: &mut dyn FnMut(Account)) -> Option<()> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [host, boot_id, end, t1, length, cpus, capacity, tasks, exited, unnamed, irq, steal, idle, offline, residual, missed, exact, is_new] =
        cells[..]
    else {
        return None;
    };
    let (host, boot_id) = (unescaped(host)?, unescaped(boot_id)?);
    let number = |cell: &str| cell.parse::<u64>().ok();
    let perhaps = |cell: &str| match cell {
        "\\N" => Some(None),
        cell => number(cell).map(Some),
    };
    tell(Account {
        whose: HostBoot { host: &host, boot_id: &boot_id },
        end_ns: end.parse().ok()?,
        t1_ns: number(t1)?,
        length_ns: number(length)?,
        cpus: number(cpus)?,
        capacity_ns: number(capacity)?,
        tasks_ns: number(tasks)?,
        exited_ns: perhaps(exited)?,
        unnamed_ns: number(unnamed)?,
        irq_ns: perhaps(irq)?,
        steal_ns: perhaps(steal)?,
        idle_ns: number(idle)?,
        offline_ns: number(offline)?,
        residual_ns: residual.parse().ok()?,
        missed_switches: perhaps(missed)?,
        exact: number(exact)? != 0,
        is_new: number(is_new)? != 0,
    });
    Some(())
}

fn charged(line: &str, tell: &mut dyn FnMut(Charged)) -> Option<()> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [host, boot_id, t1, run] = cells[..] else { return None };
    let (host, boot_id) = (unescaped(host)?, unescaped(boot_id)?);
    let whose = HostBoot { host: &host, boot_id: &boot_id };
    tell(Charged { whose, t1_ns: t1.parse().ok()?, run_ns: run.parse().ok()? });
    Some(())
}

fn before(line: &str, tell: &mut dyn FnMut(PreviousWindow)) -> Option<()> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [host, boot_id, t1, end] = cells[..] else { return None };
    let (host, boot_id) = (unescaped(host)?, unescaped(boot_id)?);
    let whose = HostBoot { host: &host, boot_id: &boot_id };
    tell(PreviousWindow { whose, t1_ns: t1.parse().ok()?, end_ns: end.parse().ok()? });
    Some(())
}

fn used(line: &str, tell: &mut dyn FnMut(Used)) -> Option<()> {
    let mut cells = line.split('\t');
    let (host, run) = (unescaped(cells.next()?)?, cells.next()?);
    let parts = cells.map(unescaped).collect::<Option<Vec<String>>>()?;
    let mut name = String::new();
    join(&mut name, parts.iter().map(String::as_str));
    tell(Used { host: &host, name: &name, run_ns: run.parse().ok()? });
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_above_the_limit_is_a_part_alone() {
        let answer = "a\t8000\nb\\tc\t8000\nd\t8000\ne\t90000\nf\t1\n";
        let parts = parts(7, answer).expect("counts");
        let ends: Vec<_> = parts.iter().map(|p| (&*p.first, &*p.last)).collect();
        assert_eq!(ends, [("a", "b\tc"), ("d", "d"), ("e", "e"), ("f", "f")]);
        assert!(parts.iter().all(|part| part.hour == 7));
        assert!(super::parts(7, "a").is_err() && super::parts(7, "a\tmany\n").is_err());
    }

    #[test]
    fn a_line_is_a_row_or_nothing() {
        let line = "h\\\\x1b\tb\t-5\t2\t1\t1\t1\t1\t0\t0\t\\N\t0\t0\t0\t-3\t\\N\t1\t0";
        let mut seen = 0;
        let told = account(line, &mut |row| {
            seen += 1;
            assert_eq!((row.whose.host, row.end_ns, row.residual_ns), ("h\\x1b", -5, -3));
            assert_eq!((row.irq_ns, row.steal_ns, row.missed_switches), (None, Some(0), None));
        });
        assert_eq!((told, seen), (Some(()), 1));
        for wrong in
            ["", "Code: 60. DB::Exception", &line.replace("-5", "soon"), &line[..line.len() - 2]]
        {
            assert_eq!(account(wrong, &mut |_| panic!("{wrong}")), None);
        }
        assert_eq!(
            charged("h\tb\t1\t340282366920938463463374607431768211455", &mut |_| ()),
            Some(())
        );
        assert_eq!(charged("h\tb\t1\t", &mut |_| ()), None);
        assert_eq!(before("h\tb\t1\t-1", &mut |row| assert_eq!(row.end_ns, -1)), Some(()));
        assert_eq!(before("h\tb\t1", &mut |_| ()), None);
        let mut names = Vec::new();
        let mut tell = |row: Used| names.push((row.name.to_string(), row.run_ns));
        for line in ["h\t7\tshop\tcart-1", "h\t8\tshop\t", "h\t9\t~other\t~other"] {
            assert_eq!(used(line, &mut tell), Some(()));
        }
        assert_eq!(names, [("shop/cart-1".into(), 7), (String::new(), 8), ("~other".into(), 9)]);
        assert_eq!((used("h", &mut |_| ()), used("h\tmuch\tx", &mut |_| ())), (None, None));
    }

    #[test]
    fn a_time_has_no_bounds_or_two() {
        assert_eq!(bounds(None, None), "1");
        let both = bounds(Some(-1), Some(i128::MAX));
        assert!(
            both.contains("window_end > fromUnixTimestamp64Nano(toInt64(0)")
                && both.contains(" AND window_end <= ")
        );
    }
}
