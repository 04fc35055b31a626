//! Parses /proc/stat: the CPUs' time in ticks (proc_stat(5); fs/proc/stat.c).

use super::ticks::number;
use exactop_model::ledger::system::StatTicks;

/// The used parts of the file.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct KernelStat {
    /// The `cpu` line: all CPUs. `None` only before the first read.
    pub total: Option<StatTicks>,
    /// The `cpuN` lines: online CPUs, with N.
    pub cpus: Vec<(u32, StatTicks)>,
    /// `processes`: forks since boot, threads included.
    pub forks: Option<u64>,
}

impl KernelStat {
    /// The expected content, for errors.
    pub const EXPECTED: &str = "lines 'cpu' and 'cpuN' with eight counts of ticks";

    /// Parses the file; `None` if its first lines are invalid.
    ///
    /// The `intr` line in the middle has thousands of numbers on a large machine. CPUs are parsed
    /// from the front and `processes` from the back, so this line is never parsed.
    pub fn parse(text: &[u8]) -> Option<KernelStat> {
        let mut lines = text.split(|&b| b == b'\n');
        let total = Some(ticks(lines.next()?.strip_prefix(b"cpu ")?)?);
        let mut cpus = Vec::new();
        for line in lines.map_while(|line| line.strip_prefix(b"cpu")) {
            let blank = line.iter().position(|&b| b == b' ')?;
            cpus.push((number(&line[..blank])?, ticks(&line[blank..])?));
        }
        let forks = text
            .rsplit(|&b| b == b'\n')
            .take_while(|line| !line.starts_with(b"intr"))
            .find_map(|line| line.strip_prefix(b"processes "))
            .and_then(number);
        Some(KernelStat { total, cpus, forks })
    }
}

/// The eight fields up to steal; user time already contains guest time.
fn ticks(fields: &[u8]) -> Option<StatTicks> {
    let mut fields = fields.split(|&b| b == b' ').filter(|f| !f.is_empty()).map(number);
    let mut known = [0; 8];
    for field in &mut known {
        *field = fields.next().flatten()?;
    }
    Some(StatTicks::from_fields(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"cpu  9 2 3 40 5 6 7 8 1 0\ncpu0 4 1 1 20 2 3 3 4 1 0\n\
        cpu3 5 1 2 20 3 3 4 4 0 0\nintr 123 1 2 3\nctxt 5\nbtime 6\nprocesses 77\n\
        procs_running 1\nprocs_blocked 0\nsoftirq 1 2 3\n";

    #[test]
    fn cpus_and_forks_are_read() {
        let stat = KernelStat::parse(TEXT).unwrap();
        assert_eq!(stat.total.unwrap().in_top_order(), [9, 3, 2, 40, 5, 6, 7, 8]);
        assert_eq!(stat.cpus.iter().map(|c| c.0).collect::<Vec<_>>(), [0, 3]);
        assert_eq!(stat.cpus[1].1.total(), 42);
        assert_eq!(stat.forks, Some(77));
    }

    #[test]
    fn a_cut_or_foreign_file_is_refused() {
        for text in [&b""[..], b"cpu  1 2 3\n", b"cpux 1\n", b"cpu  1 2 3 4 5 6 7 8\ncpu0 1\n"] {
            assert_eq!(KernelStat::parse(text), None);
        }
        assert_eq!(KernelStat::parse(b"cpu  1 2 3 4 5 6 7 8\nintr 1\n").unwrap().forks, None);
    }
}
