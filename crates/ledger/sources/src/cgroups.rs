//! Control groups over windows: the values of the kernel's files, beside a source's tasks summed by
//! group.

use crate::clock::now_ns;
use crate::cpu_list;
use crate::error::SourceError;
use crate::source::{Request, Source};
use exactop_cgroups::{CgroupError, Hierarchy};
use exactop_model::cgroups::{self, GroupRow, GroupSample, GroupUse, Groups};
use exactop_model::findings::Quota;
use exactop_model::{Book, SourceKind, Window};
use rustc_hash::FxHashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What tasks used in a window, by group id.
type Uses = FxHashMap<u64, GroupUse>;

/// Values of the groups' files, one window after the other.
struct GroupFiles {
    hierarchy: Hierarchy,
    before: Vec<GroupSample>,
    /// Values at the start of the last ended window.
    earlier: Vec<GroupSample>,
}

impl GroupFiles {
    fn open() -> Result<GroupFiles, CgroupError> {
        let hierarchy = Hierarchy::of_this_machine()?;
        let before = hierarchy.groups();
        Ok(GroupFiles { hierarchy, before, earlier: Vec::new() })
    }

    /// Ends the window of the files and begins the next.
    fn window(&mut self, uses: Option<&Uses>) -> Vec<GroupRow> {
        let after = self.hierarchy.groups();
        let rows = cgroups::rows(&self.before, &after, uses);
        self.earlier = std::mem::replace(&mut self.before, after);
        rows
    }
}

/// Control groups with the figures of a ledger, if one is available.
pub struct GroupWindows {
    files: GroupFiles,
    t0_ns: u64,
    ledger: Result<Sums, String>,
}

impl GroupWindows {
    /// Opens a ledger for these windows, if one is available, and the first window.
    ///
    /// # Errors
    /// This machine has no control groups. A ledger that is not available is no error.
    pub fn open() -> Result<GroupWindows, CgroupError> {
        let sums = ledger().and_then(|ledger| Sums::start(ledger, None));
        GroupWindows::beside(sums, false)
    }

    /// Uses a shared ledger, which decides when its windows end: these windows end with them.
    /// `interval_ns` is the time between two calls of [`GroupWindows::window`].
    ///
    /// # Errors
    /// This machine has no control groups. A ledger that fails is no error.
    pub fn on(ledger: Box<dyn Source>, interval_ns: u64) -> Result<GroupWindows, CgroupError> {
        GroupWindows::beside(Sums::start(ledger, Some(interval_ns)), true)
    }

    fn beside(sums: Result<Sums, SourceError>, shared: bool) -> Result<GroupWindows, CgroupError> {
        let ledger = sums.map(|sums| Sums { shared, ..sums }).map_err(|error| error.to_string());
        let mut windows = GroupWindows { files: GroupFiles::open()?, t0_ns: 0, ledger };
        windows.t0_ns = windows.ended_ns();
        Ok(windows)
    }

    /// Ends the window and begins the next.
    pub fn window(&mut self) -> Groups {
        let uses = match &mut self.ledger {
            Ok(sums) => sums.window().map_err(|error| error.to_string()),
            Err(why) => Err(why.clone()),
        };
        let rows = self.files.window(uses.as_ref().ok());
        let t1_ns = self.ended_ns();
        Groups {
            t0_ns: std::mem::replace(&mut self.t0_ns, t1_ns),
            t1_ns,
            cpus: cpu_list::online().ok().map(|cpus| cpus.len() as u32),
            no_ledger: uses.err(),
            rows,
        }
    }

    /// End of the window, ns: now, or the last end of a shared ledger's window.
    fn ended_ns(&self) -> u64 {
        let shared = self.ledger.as_ref().ok().filter(|sums| sums.shared);
        let at_ns = shared.and_then(|sums| sums.book.at_ns()).filter(|&at_ns| at_ns > self.t0_ns);
        at_ns.unwrap_or_else(now_ns)
    }
}

/// Reason for missing charges where a daemon shows only the tasks of a PID namespace.
const INSIDE: &str = "control groups are not available inside a PID namespace";

/// A ledger whose tasks are summed by group.
struct Sums {
    ledger: Box<dyn Source>,
    book: Book,
    request: Request,
    /// True for a ledger with other users; it decides when windows end.
    shared: bool,
}

impl Sums {
    /// Opens the first window.
    fn start(ledger: Box<dyn Source>, interval_ns: Option<u64>) -> Result<Sums, SourceError> {
        let request = Request { interval_ns, ..Request::default() };
        let mut sums = Sums { ledger, book: Book::new(), request, shared: false };
        sums.window()?;
        Ok(sums)
    }

    fn window(&mut self) -> Result<Uses, SourceError> {
        let snapshot = self.ledger.snapshot(&self.request)?;
        if snapshot.outside.is_some() {
            let advice = "run exactop outside of the namespace".into();
            return Err(SourceError::Unavailable { what: INSIDE.into(), advice });
        }
        if self.ledger.has_begun_anew() {
            self.book = Book::new();
        }
        let window = self.book.advance(snapshot);
        Ok(window.map_or_else(Uses::default, |window| cgroups::uses(&window, &self.book)))
    }
}

#[cfg(feature = "bpf")]
fn ledger() -> Result<Box<dyn Source>, SourceError> {
    use crate::ledger::{Ledger, Options};
    Ok(Box::new(Ledger::open(&Options { calibrate: false, ..Options::default() })?))
}

#[cfg(not(feature = "bpf"))]
fn ledger() -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::without_bpf())
}

/// Control groups beside the windows of a session, while a view shows groups.
#[derive(Default)]
pub(crate) struct GroupsBeside {
    /// Groups of the last window, or the error; `None` in the first window.
    groups: Option<Result<Groups, String>>,
    files: Option<GroupFiles>,
    /// The last groups shown; they are shown again until a new window ends.
    kept: Option<Groups>,
}

impl GroupsBeside {
    /// Reads the files at the end of a window of this source.
    pub fn advance(&mut self, window: &Window, book: &Book, source: SourceKind) {
        let Some(files) = &mut self.files else {
            let opened = GroupFiles::open();
            self.groups = opened.as_ref().err().map(|error| Err(error.to_string()));
            self.files = opened.ok();
            return;
        };
        let is_inside = window.end.outside.is_some();
        let no_ledger = no_ledger(source).or_else(|| is_inside.then(|| INSIDE.to_string()));
        let uses = no_ledger.is_none().then(|| cgroups::uses(window, book));
        self.groups = Some(Ok(Groups {
            t0_ns: window.t0_ns,
            t1_ns: window.t1_ns,
            cpus: Some(window.cpus.len() as u32),
            rows: files.window(uses.as_ref()),
            no_ledger,
        }));
    }

    /// The groups of the last window, or else the last ones shown before.
    pub fn shown(&self) -> Option<Result<Groups, String>> {
        self.groups.clone().or_else(|| self.kept.clone().map(Ok))
    }

    /// Ends the measurement when no view shows groups any more.
    pub fn leave(&mut self) {
        if let Some(Ok(groups)) = self.groups.take() {
            self.kept = Some(groups);
        }
        self.files = None;
    }

    /// The files' values at both ends of the last window; `None` if the window has no groups.
    pub fn ends(&self) -> Option<[&[GroupSample]; 2]> {
        let files = self.files.as_ref().filter(|_| matches!(self.groups, Some(Ok(_))))?;
        Some([&files.earlier, &files.before])
    }
}

/// The tightest quota of a group and the groups above it, with the group that has it; of equal
/// quotas the outermost. `None` if there is no quota, or if another group now has this path.
pub(crate) fn quota(hierarchy: &Hierarchy, path: &[u8], id: u64) -> Option<Quota> {
    let directory = hierarchy.directory(Path::new(OsStr::from_bytes(path))).ok()?;
    let root = hierarchy.directory(Path::new("/")).ok()?;
    let way = directory.ancestors().take_while(|dir| *dir != root);
    let quotas = way.filter_map(|dir| Some((hierarchy.max(dir)?.cpus()?, dir)));
    let (cpus, dir) = quotas.reduce(|a, b| if b.0 <= a.0 { b } else { a })?;
    let path = hierarchy.name(dir).as_os_str().as_bytes().to_vec();
    let cgroup_id = Hierarchy::id(dir)?;
    (Hierarchy::id(&directory) == Some(id)).then_some(Quota { cgroup_id, path, cpus })
}

/// Why the tasks of this source are not summed; `None` if they are.
fn no_ledger(source: SourceKind) -> Option<String> {
    (source != SourceKind::Ledger).then(|| format!("the source is {}", source.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::{Needs, Provenance, Snapshot};

    /// A shared ledger, which decides when windows end.
    struct Others(Vec<Snapshot>, Provenance);

    impl Source for Others {
        fn snapshot(&mut self, request: &Request) -> Result<Snapshot, SourceError> {
            assert_eq!((request.interval_ns, request.needs), (Some(7), Needs::NONE));
            Ok(self.0.remove(0))
        }

        fn provenance(&self) -> &Provenance {
            &self.1
        }
    }

    #[test]
    fn windows_end_with_those_of_a_shared_ledger() {
        if Hierarchy::of_this_machine().is_err() {
            return eprintln!("left out: no control groups here");
        }
        let told = (1..4).map(|n| exactop_testkit::snapshot(SourceKind::Ledger, n, None));
        let told: Vec<Snapshot> = told.collect();
        let ends: Vec<u64> = told.iter().map(|now| now.at_ns).collect();
        let provenance = told[0].provenance.clone();
        let mut groups = GroupWindows::on(Box::new(Others(told, provenance)), 7).unwrap();
        for pair in ends.windows(2) {
            let window = groups.window();
            assert_eq!(window.no_ledger, None);
            assert_eq!([window.t0_ns, window.t1_ns], pair);
        }
    }

    #[test]
    fn a_quota_belongs_to_the_group_with_the_given_id() {
        let Ok(hierarchy) = Hierarchy::of_this_machine() else {
            return eprintln!("left out: no control groups here");
        };
        let directory = hierarchy.own_directory();
        let (name, id) = (hierarchy.name(&directory), Hierarchy::id(&directory));
        let (path, id) = (name.as_os_str().as_bytes(), id.expect("it is there"));
        let own = hierarchy.max(&directory).and_then(|max| max.cpus());
        let quota = |path: &[u8], id| quota(&hierarchy, path, id);
        let allowed = quota(path, id).map(|quota| quota.cpus);
        assert!(own.is_none() || allowed <= own, "{allowed:?} of {own:?}");
        assert_eq!(quota(path, id + 1), None, "another group has the path");
        assert_eq!(quota(b"/../..", id), None);
        assert_eq!(quota(b"/there/is/no/such\xff", id), None);
    }

    #[test]
    fn a_source_without_a_ledger_is_named() {
        assert_eq!(no_ledger(SourceKind::Ledger), None);
        assert_eq!(no_ledger(SourceKind::Snapshot).as_deref(), Some("the source is snapshot"));
        assert_eq!(no_ledger(SourceKind::Taskstats).as_deref(), Some("the source is taskstats"));
    }
}
