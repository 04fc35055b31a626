//! Lists of CPUs as a person writes them, in the form of taskset(1): `0,2,4-7`.

use std::fmt;
use std::str::FromStr;

/// CPUs by number, ascending, each once. Not empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<usize>);

/// Most CPUs that sched.h knows (CPU_SETSIZE).
pub const MOST_CPUS: usize = 1024;

impl CpuList {
    /// The numbers.
    pub fn numbers(&self) -> &[usize] {
        &self.0
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<CpuList, String> {
        let wrong = || format!("'{text}': write numbers and ranges such as 0,2,4-7 or 0-10:2");
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (range, step) = part.split_once(':').unwrap_or((part, "1"));
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
            let (first, last, step) = (number(first)?, number(last)?, number(step)?);
            if first > last
                || step == 0
                || last >= MOST_CPUS
                || (part.contains(':') && !range.contains('-'))
            {
                return Err(wrong());
            }
            cpus.extend((first..=last).step_by(step));
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(CpuList(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ranges = self.0.chunk_by(|one, next| one + 1 == *next);
        for (n, range) in ranges.enumerate() {
            let comma = if n == 0 { "" } else { "," };
            match (range.first(), range.last()) {
                (Some(first), Some(last)) if first < last => write!(f, "{comma}{first}-{last}")?,
                (Some(first), _) => write!(f, "{comma}{first}")?,
                (None, _) => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_as_tasksets() {
        let cpus = |text: &str| text.parse::<CpuList>().map(|c| c.0);
        assert_eq!(cpus("0"), Ok(vec![0]));
        assert_eq!(cpus("3,1,1"), Ok(vec![1, 3]));
        assert_eq!(cpus("0,2,4-7"), Ok(vec![0, 2, 4, 5, 6, 7]));
        assert_eq!(cpus("0-10:5"), Ok(vec![0, 5, 10]));
        for wrong in ["", "x", "1-", "3-1", "1:2", "0-4:0", "-1", "1024", "1,,2"] {
            assert!(cpus(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_is_shown_as_ranges() {
        for (text, shown) in [("3,1,2,0,5", "0-3,5"), ("7", "7"), ("0-4:2", "0,2,4")] {
            assert_eq!(text.parse::<CpuList>().map(|c| c.to_string()), Ok(shown.into()));
        }
    }
}
