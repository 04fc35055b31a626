//! Asks a store for sums instead of rows, so that a fleet's day does not cross the network.

use super::cut::Cut;
use super::figures::{Figures, Group, GroupSums, ReportQuery};
use crate::by::{columns, BRIEF};
use crate::store::{unescaped, Store, WINDOWS};
use crate::FleetError;

impl Figures for Store {
    fn groups(&self, query: &ReportQuery, tell: &mut dyn FnMut(Group)) -> Result<(), FleetError> {
        let told = |column| {
            format!("if(countIf(isNull({column})) > 0, NULL, sum(toUInt128(ifNull({column}, 0))))")
        };
        let (lat, throttle, exited) = (told("lat"), told("throttle"), told("exited"));
        let columns = columns(query.by)?;
        let sql = |which: &str| {
            format!(
                "SELECT host, name, sum(toUInt128(once_ns)), sum(all_ns), {lat}, {throttle}, {exited} \
                 FROM ({}) GROUP BY host, name FORMAT TSV",
                self.rows(query, columns, which)
            )
        };
        let names = columns.join(", ");
        let names = if query.by_boot() { format!("{names}, boot_id") } else { names };
        // Columns that identify the rows of an answer, to keep it below its limit.
        let parts =
            if query.doubled.is_empty() { names } else { format!("{names}, boot_id, t1_ns") };
        let keys = keys('s', query.shared.len());
        let given = parameters(&keys, query.shared.iter().map(String::as_str));
        self.each(("charges", &parts), query.when, &given, &mut |line| group(line, tell), &sql)
    }

    fn drawn(
        &self,
        query: &ReportQuery,
        names: &[&str],
        cut: &Cut,
        tell: &mut dyn FnMut(usize, usize, u128),
    ) -> Result<(), FleetError> {
        if names.is_empty() {
            return Ok(());
        }
        let (drawn_keys, shared_keys) = (keys('d', names.len()), keys('s', query.shared.len()));
        let shared = parameters(&shared_keys, query.shared.iter().map(String::as_str));
        let given = [parameters(&drawn_keys, names.iter().copied()), shared].concat();
        let any = any(&drawn_keys);
        let columns = columns(query.by)?;
        // As in `Cut::at`; a forged row may have any length.
        let piece = format!(
            "intDiv(greatest(toInt128(toUnixTimestamp64Nano(end)) - 1 - toInt128('{}'), toInt128(0)), toInt128('{}'))",
            cut.from, cut.length
        );
        let sql = |which: &str| {
            format!(
                "SELECT {piece} AS piece, indexOf([{any}], toString(name)) - 1 AS at, sum(toUInt128(once_ns)) FROM ({}) \
                 WHERE at >= 0 GROUP BY piece, at FORMAT TSV",
                self.rows(query, columns, which)
            )
        };
        let mut row = |line: &str| drawn(line, tell);
        self.each(("charges", WINDOWS), query.when, &given, &mut row, &sql)
    }

    fn tells_strays(&self) -> bool {
        false
    }
}

impl Store {
    /// Query for rows of `charges`; if there are duplicates, each window counts once, beside the
    /// sum of all its rows.
    fn rows(&self, query: &ReportQuery, columns: &[&str], which: &str) -> String {
        let (name, known) = (name(query, columns), self.known(which));
        if query.doubled.is_empty() {
            return format!(
                "SELECT host, {name} AS name, window_end AS end, run_ns AS once_ns, toUInt128(run_ns) AS all_ns, \
                 lat_ns AS lat, throttle_ns AS throttle, exited_processes AS exited FROM charges WHERE {known}"
            );
        }
        format!(
            "SELECT host, {name} AS name, any(window_end) AS end, any(run_ns) AS once_ns, sum(toUInt128(run_ns)) AS all_ns, \
             any(lat_ns) AS lat, any(throttle_ns) AS throttle, any(exited_processes) AS exited FROM charges WHERE {known} \
             GROUP BY host, boot_id, t1_ns, length_ns, namespace, pod, container, unit, command"
        )
    }
}

/// Names of query parameters.
fn keys(letter: char, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{letter}{at}")).collect()
}

/// Pairs each parameter with its value.
fn parameters<'a>(
    keys: &'a [String],
    values: impl Iterator<Item = &'a str>,
) -> Vec<(&'a str, &'a str)> {
    keys.iter().map(String::as_str).zip(values).collect()
}

/// A list of parameters in SQL.
fn any(keys: &[String]) -> String {
    let keys: Vec<String> = keys.iter().map(|key| format!("{{{key}:String}}")).collect();
    keys.join(", ")
}

/// SQL for a row's name, as [`crate::by::join`] and [`crate::by::with_boot`] make it.
fn name(query: &ReportQuery, columns: &[&str]) -> String {
    if query.by_boot() {
        return format!(
            "if(host IN ({}), concat(host, ' (boot ', substringUTF8(boot_id, 1, {BRIEF}), ')'), host)",
            any(&keys('s', query.shared.len()))
        );
    }
    let Some((last, before)) = columns.split_last().filter(|(_, before)| !before.is_empty()) else {
        return columns.concat();
    };
    let before: Vec<String> =
        before.iter().map(|part| format!("if({part} = '', '', concat({part}, '/'))")).collect();
    format!(
        "if({last} = '' OR startsWith({last}, '~'), {last}, concat({}, {last}))",
        before.join(", ")
    )
}

/// Parses a line of an answer; `None` if it is invalid.
fn group(line: &str, tell: &mut dyn FnMut(Group)) -> Option<()> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [host, name, run, rows, lat, throttle, exited] = cells[..] else { return None };
    let number = |cell: &str| cell.parse::<u128>().ok();
    let perhaps = |cell: &str| match cell {
        "\\N" => Some(None),
        cell => number(cell).map(Some),
    };
    let once = GroupSums {
        run_ns: number(run)?,
        lat_ns: perhaps(lat)?,
        throttle_ns: perhaps(throttle)?,
        exited: perhaps(exited)?,
    };
    let (host, name) = (unescaped(host)?, unescaped(name)?);
    tell(Group { host: &host, name: &name, once: Some(once), rows_ns: number(rows)? });
    Some(())
}

fn drawn(line: &str, tell: &mut dyn FnMut(usize, usize, u128)) -> Option<()> {
    let cells: Vec<&str> = line.split('\t').collect();
    let [piece, at, run] = cells[..] else { return None };
    tell(piece.parse().ok()?, at.parse().ok()?, run.parse().ok()?);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_sum_or_nothing() {
        let mut told = Vec::new();
        let line = "h\\\\x1b\tshop/a\\tb\t7\t14\t\\N\t0\t3";
        let done = group(line, &mut |row| {
            told.push((row.host.to_string(), row.name.to_string(), row.once, row.rows_ns))
        });
        let did = GroupSums { run_ns: 7, lat_ns: None, throttle_ns: Some(0), exited: Some(3) };
        assert_eq!(
            (done, told),
            (Some(()), vec![("h\\x1b".into(), "shop/a\tb".into(), Some(did), 14)])
        );
        for wrong in
            ["", "Code: 60. DB::Exception", &line.replace("14", "many"), &line[..line.len() - 2]]
        {
            assert_eq!(group(wrong, &mut |_| panic!("{wrong}")), None);
        }
        let mut told = Vec::new();
        assert_eq!(drawn("3\t1\t9", &mut |piece, at, ns| told.push((piece, at, ns))), Some(()));
        assert_eq!(told, [(3, 1, 9)]);
        for wrong in ["", "-1\t1\t9", "3\t1", "3\t1\tmany"] {
            assert_eq!(drawn(wrong, &mut |_, _, _| panic!("{wrong}")), None);
        }
    }
}
