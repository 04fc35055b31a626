//! Names of a fleet's rows, for each way to sum them.

use crate::{FleetError, Grouping};

/// Columns of `charges` that form a row's name, joined by a slash.
///
/// # Errors
/// `by` is not in [`Grouping::FLEET`].
pub(crate) fn columns(by: Grouping) -> Result<&'static [&'static str], FleetError> {
    Ok(match by {
        Grouping::Host => &["host"],
        Grouping::Namespace => &["namespace"],
        Grouping::Pod => &["namespace", "pod"],
        Grouping::Container => &["namespace", "pod", "container"],
        Grouping::Unit => &["unit"],
        Grouping::Command => &["command"],
        _ => return Err(FleetError::NotSummed { by }),
    })
}

/// A row's name for display; rows without one get `(no NAMESPACE)` or the like.
pub(crate) fn shown(by: Grouping, name: &str) -> String {
    match name {
        "" => format!("(no {by})"),
        name => name.into(),
    }
}

/// Start of a boot id, enough to tell a host's boots apart.
pub(crate) fn brief(boot_id: &str) -> &str {
    boot_id.get(..BRIEF).unwrap_or(boot_id)
}

/// Characters of that start.
pub(crate) const BRIEF: usize = 8;

/// Adds the boot to a host name that two machines share.
pub(crate) fn with_boot(name: &mut String, boot_id: &str) {
    for part in [" (boot ", brief(boot_id), ")"] {
        name.push_str(part);
    }
}

/// Joins the parts of a name; the name is empty if the last part is.
pub(crate) fn join<'a>(name: &mut String, parts: impl ExactSizeIterator<Item = &'a str> + Clone) {
    name.clear();
    let last = parts.clone().last().unwrap_or_default();
    // ~other and ~unknown stand in all parts.
    if parts.len() > 1 && last.starts_with('~') {
        name.push_str(last);
        return;
    }
    for part in parts.filter(|part| !last.is_empty() && !part.is_empty()) {
        // Containers of Docker have no pod.
        name.push_str(if name.is_empty() { "" } else { "/" });
        name.push_str(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_have_columns_for_exactly_the_ways_to_sum_a_fleet() {
        for by in Grouping::MACHINE.into_iter().chain([Grouping::Host]) {
            assert_eq!(columns(by).is_ok(), Grouping::FLEET.contains(&by), "{by}");
        }
    }

    #[test]
    fn names_have_the_parts_that_exist() {
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
