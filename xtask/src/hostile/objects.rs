//! BPF programs, maps and links in the kernel, by their ids.

use libbpf_rs::query::{LinkInfoIter, MapInfoIter, ProgInfoIter};
use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

/// The kernel frees programs and maps a while after the last reference.
const PATIENCE: Duration = Duration::from_secs(60);

/// Kind and id.
type Object = (&'static str, u32);

pub fn all() -> BTreeSet<Object> {
    let programs = ProgInfoIter::default().map(|info| ("program", info.id));
    let maps = MapInfoIter::default().map(|info| ("map", info.id));
    let links = LinkInfoIter::default().map(|info| ("link", info.id));
    programs.chain(maps).chain(links).collect()
}

/// Waits until all objects newer than `before` are gone, except those that a living process holds.
pub fn none_left(before: &BTreeSet<Object>) -> Result<(), String> {
    let begin = Instant::now();
    loop {
        // Reads the holders second: a new object has a holder by then.
        let now = all();
        let held = kernel_objects();
        let orphans: Vec<_> =
            now.iter().filter(|o| !before.contains(o) && !held.contains(o)).collect();
        if orphans.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > PATIENCE {
            return Err(format!("left in the kernel: {orphans:?}"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Objects that processes have open.
fn kernel_objects() -> BTreeSet<Object> {
    let mut held = BTreeSet::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes {
        let infos = fs::read_dir(process.path().join("fdinfo")).into_iter().flatten().flatten();
        for info in infos {
            // A process or descriptor that is gone holds nothing.
            let Ok(text) = fs::read_to_string(info.path()) else { continue };
            held.extend(text.lines().filter_map(object));
        }
    }
    held
}

fn object(line: &str) -> Option<Object> {
    let (name, id) = line.split_once(':')?;
    let kind = match name {
        "prog_id" => "program",
        "map_id" => "map",
        "link_id" => "link",
        _ => return None,
    };
    Some((kind, id.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_in_fdinfo() {
        assert_eq!(object("prog_id:\t77"), Some(("program", 77)));
        assert_eq!(object("map_id:\t8"), Some(("map", 8)));
        assert_eq!(object("pos:\t0"), None);
    }
}
