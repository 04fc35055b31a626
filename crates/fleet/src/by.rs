//! How the rows of a fleet's tables are called, by what they are summed by.

use crate::{By, FleetError};

/// Columns of `charges` whose values, with a slash between, are a row's name.
///
/// # Errors
/// The tables are not summed by this: it is none of [`By::FLEET`].
pub(crate) fn columns(by: By) -> Result<&'static [&'static str], FleetError> {
    Ok(match by {
        By::Host => &["host"],
        By::Namespace => &["namespace"],
        By::Pod => &["namespace", "pod"],
        By::Container => &["namespace", "pod", "container"],
        By::Unit => &["unit"],
        By::Command => &["command"],
        By::User | By::Cgroup | By::Process => return Err(FleetError::NotSummed { by }),
    })
}

/// A row's name as it is told; what is in no such thing has none.
pub(crate) fn shown(by: By, name: &str) -> String {
    match name {
        "" => format!("(no {by})"),
        name => name.into(),
    }
}

/// The part of a boot's ID that tells it from the few others of a host.
pub(crate) fn brief(boot_id: &str) -> &str {
    boot_id.get(..BRIEF).unwrap_or(boot_id)
}

/// Characters of it.
pub(crate) const BRIEF: usize = 8;

/// The name of a host whose name another machine has, too.
pub(crate) fn with_boot(name: &mut String, boot_id: &str) {
    for part in [" (boot ", brief(boot_id), ")"] {
        name.push_str(part);
    }
}

/// A name of parts; empty where there is no such thing, which the last part says.
pub(crate) fn join<'a>(name: &mut String, parts: impl ExactSizeIterator<Item = &'a str> + Clone) {
    name.clear();
    let last = parts.clone().last().unwrap_or_default();
    // ~other and ~unknown are so in all parts.
    if parts.len() > 1 && last.starts_with('~') {
        name.push_str(last);
        return;
    }
    for part in parts.filter(|part| !last.is_empty() && !part.is_empty()) {
        // Containers of docker are in no pod.
        name.push_str(if name.is_empty() { "" } else { "/" });
        name.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_columns_for_what_a_fleet_is_summed_by_and_for_nothing_else() {
        for by in By::MACHINE.into_iter().chain([By::Host]) {
            assert_eq!(columns(by).is_ok(), By::FLEET.contains(&by), "{by}");
        }
    }

    #[test]
    fn names_have_the_parts_that_there_are() {
        for (parts, expected) in [
            (&["shop", "cart-1", "app"][..], "shop/cart-1/app"),
            (&["", "", "web"], "web"),
            (&["shop", "", ""], ""),
            (&["~other", "~other"], "~other"),
            (&["~unknown"], "~unknown"),
            (&["", ""], ""),
        ] {
            let mut name = "before".to_string();
            join(&mut name, parts.iter().copied());
            assert_eq!(name, expected, "{parts:?}");
        }
    }
}
