//! Numbers with the right plural of their noun.

/// `1 migration`, `2 migrations`, `3 processes`.
pub fn counted(n: u64, thing: &str) -> String {
    format!("{n} {}", things(n, thing))
}

/// The noun in the form for this number, without the number.
pub fn things(n: u64, thing: &str) -> String {
    let end = match n {
        1 => "",
        _ if thing.ends_with("ch") || thing.ends_with('s') => "es",
        _ => "s",
    };
    format!("{thing}{end}")
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_not_several() {
        assert_eq!(counted(1, "migration"), "1 migration");
        assert_eq!(counted(0, "wake-up"), "0 wake-ups");
        assert_eq!(counted(2, "process"), "2 processes");
        assert_eq!(counted(30, "switch"), "30 switches");
    }
}
