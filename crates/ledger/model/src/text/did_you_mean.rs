//! Finds the name that a user probably meant.

/// Longest name to compare, in characters. A longer one is no typo, and comparing takes time.
const LONGEST: usize = 64;

/// The candidate with the fewest typing errors, ignoring case, if they are few enough for a typo.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: String = name.to_lowercase().chars().take(LONGEST).collect();
    let slips = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&name, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= slips)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_found_and_nonsense_is_not() {
        let names = ["pid", "command", "cpu_pct"];
        assert_eq!(nearest("comand", names), Some("command"));
        assert_eq!(nearest("CPU_PTC", names), Some("cpu_pct"));
        assert_eq!(nearest("%CUP", ["%CPU"]), Some("%CPU"));
        assert_eq!(nearest("zzz", names), None);
    }
}
