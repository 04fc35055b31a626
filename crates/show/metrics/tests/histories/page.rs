//! Reads a page without any knowledge of how it was made.

use std::collections::BTreeMap;

/// One page of OpenMetrics text: values and starts in ns, by name with labels.
#[derive(Debug, Default)]
pub struct Page {
    pub values: BTreeMap<String, i128>,
    pub created: BTreeMap<String, i128>,
}

impl Page {
    pub fn read(page: &[u8]) -> Page {
        let text = std::str::from_utf8(page).expect("UTF-8");
        let mut read = Page::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').expect("a value");
            let (name, labels) = series.split_once('{').map_or((series, ""), |(n, l)| (n, l));
            let (map, name) = match name.strip_suffix("_created") {
                Some(name) => (&mut read.created, format!("{name}_total")),
                None => (&mut read.values, name.to_string()),
            };
            let before = map.insert(format!("{name}{{{labels}"), ns(value));
            assert_eq!(before, None, "{line} twice");
        }
        assert_eq!(text.lines().last(), Some("# EOF"));
        read
    }

    /// The sum of a family over the series with all of these words.
    pub fn sum(&self, family: &str, words: &[&str]) -> i128 {
        let of = |name: &&String| {
            name.split('{').next() == Some(family) && words.iter().all(|word| name.contains(word))
        };
        self.values.iter().filter(|(name, _)| of(name)).map(|(_, value)| value).sum()
    }
}

/// Whole numbers are counts of events, decimals are seconds, here in ns.
fn ns(value: &str) -> i128 {
    let Some((whole, part)) = value.split_once('.') else {
        return value.parse().expect("a number");
    };
    assert_eq!(part.len(), 9, "{value}");
    format!("{whole}{part}").parse().expect("a number")
}
