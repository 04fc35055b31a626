//! The name someone probably meant.

/// Longer names than this are no slips, and comparing them takes time.
const LONGEST: usize = 64;

/// The candidate with the fewest typing errors between it and `name`, regardless of case, if that
/// is few enough to be a slip.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: String = name.to_lowercase().chars().take(LONGEST).collect();
    let slips = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that turn one into the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let replaced = rows[i][j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_nonsense_is_not() {
        let names = ["pid", "command", "cpu_pct"];
        assert_eq!(nearest("comand", names), Some("command"));
        assert_eq!(nearest("CPU_PTC", names), Some("cpu_pct"));
        assert_eq!(nearest("%CUP", ["%CPU"]), Some("%CPU"));
        assert_eq!(nearest("zzz", names), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
