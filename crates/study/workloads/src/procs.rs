//! The processes of a workload, from /proc.

use std::fs;

/// The processes of a process group, including zombies. A workload's group has the number of its
/// first process.
///
/// A process that ends during the read may be missing.
pub fn group_members(group: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid| stat_field(*pid, 5) == Some(u64::from(group)))
        .collect()
}

/// A field of /proc/PID/stat, counted from 1 as in proc(5), from the fourth on; `None` if the
/// process has ended.
pub fn stat_field(pid: u32, number: usize) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, field 2, may hold spaces and parentheses; the state, field 3, follows the last one.
    let (_, rest) = stat.rsplit_once(") ")?;
    rest.split(' ').nth(number.checked_sub(3)?)?.parse().ok()
}

/// Number of threads of a process; `None` if it has ended.
pub fn thread_count(pid: u32) -> Option<usize> {
    Some(fs::read_dir(format!("/proc/{pid}/task")).ok()?.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_this_process_in_its_group() {
        let me = std::process::id();
        let group = stat_field(me, 5).unwrap() as u32;
        assert!(group_members(group).contains(&me));
        assert!(thread_count(me).unwrap() >= 1);
        assert_eq!(stat_field(u32::MAX, 5), None);
    }
}
