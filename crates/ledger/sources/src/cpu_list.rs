//! Parses lists of CPUs in the kernel's format: `0-3,8`.

use crate::error::SourceError;
use std::fs;
use std::path::Path;

/// All possible CPUs.
pub(crate) fn possible() -> Result<Vec<u32>, SourceError> {
    read("/sys/devices/system/cpu/possible")
}

/// All online CPUs.
pub(crate) fn online() -> Result<Vec<u32>, SourceError> {
    read("/sys/devices/system/cpu/online")
}

/// The CPUs of each NUMA node that has any; a kernel without NUMA has no nodes.
#[cfg(feature = "bpf")]
pub(crate) fn of_nodes() -> Result<Vec<Vec<u32>>, SourceError> {
    let nodes = fs::read_dir("/sys/devices/system/node").into_iter().flatten().flatten();
    let lists = nodes.map(|node| node.path().join("cpulist")).filter(|list| list.is_file());
    lists
        .filter(|list| fs::read_to_string(list).is_ok_and(|text| text.trim() != ""))
        .map(read)
        .collect()
}

fn read(path: impl AsRef<Path>) -> Result<Vec<u32>, SourceError> {
    let path = path.as_ref();
    let text =
        fs::read_to_string(path).map_err(|error| SourceError::Read { path: path.into(), error })?;
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
