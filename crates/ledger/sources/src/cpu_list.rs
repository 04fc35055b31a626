//! Parses lists of CPUs in the kernel's format: `0-3,8`.

use crate::error::SourceError;
use std::path::Path;

/// All possible CPUs.
pub(crate) fn possible() -> Result<Vec<u32>, SourceError> {
    read("/sys/devices/system/cpu/possible")
}

/// All online CPUs.
pub(crate) fn online() -> Result<Vec<u32>, SourceError> {
    read("/sys/devices/system/cpu/online")
}

fn read(path: &str) -> Result<Vec<u32>, SourceError> {
    let path = Path::new(path);
    let text = std::fs::read_to_string(path)
        .map_err(|error| SourceError::Read { path: path.into(), error })?;
    parse(text.trim()).ok_or_else(|| SourceError::Parse {
        path: path.into(),
        expected: "a list of CPUs",
        found: exactop_model::text::escape::escape_str(&text),
    })
}

fn parse(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_numbers_and_ranges() {
        assert_eq!((parse("0-2,5"), parse("x")), (Some(vec![0, 1, 2, 5]), None));
    }
}
