//! Loads an object in two parts. The kernel verifies the programs of an object one after the other,
//! and the program at sched_switch takes as long as all others. So a second thread loads that
//! program in an object of its own, which uses the maps of the first. A third thread does what needs
//! only the maps: the kernel lets it wait for grace periods.

use super::refusal::{self, Refusal};
use super::skeleton::{Builder, Loaded, Open};
use crate::kernel_programs::Program;
use exactop_cgroups::memory_left;
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{libbpf_sys, AsRawLibbpf, OpenObject};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::thread;

/// Maps by their names.
pub type Maps = [(OsString, OwnedFd)];

/// A part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The part that makes the maps.
    Main,
    /// The part that a second thread loads at the same time.
    Beside,
}

impl Part {
    /// True if a program of an object belongs to this part. Small objects have one part only.
    pub fn has(self, object: &str, program: &Program) -> bool {
        let beside = object == "ledger" && program.section == "tp_btf/sched_switch";
        beside == (self == Part::Beside)
    }
}

/// Memory for verifying both parts at once, with a margin for other processes of the group. The
/// ledger took 80 to 92 MiB in measurements, and 56 MiB when the parts were verified one after the
/// other.
const ROOM_FOR_TWO: u64 = 128 << 20;

/// True if the memory limit of our control groups leaves room to verify two parts at once.
pub fn has_room_for_two() -> bool {
    memory_left().is_none_or(|left| left.bytes >= ROOM_FOR_TWO)
}

/// The loaded parts of an object, and the result of the work done meanwhile.
pub type Parts<B, R> = (Loaded<B>, Option<Loaded<B>>, R);

/// Loads an object and its second part at the same time; `again` opens the second part. Calls
/// `meanwhile` with the maps, for an object in two parts while the kernel verifies the programs.
pub fn in_parts<B: Builder, R: Send>(
    open: Open<B>,
    again: Option<impl FnOnce() -> libbpf_rs::Result<Open<B>> + Send>,
    meanwhile: impl FnOnce(&Maps) -> R + Send,
) -> Result<Parts<B, R>, Refusal> {
    let maps = &*refusal::attempt(|| maps_of(open.open_object()))?;
    let Some(again) = again else {
        let meanwhile = meanwhile(maps);
        return refusal::attempt(|| open.load()).map(|skel| (skel, None, meanwhile));
    };
    let beside = move || {
        refusal::attempt(|| {
            let mut open = again()?;
            share(maps, &mut open)?;
            open.load()
        })
    };
    let named = |name: &str| thread::Builder::new().name(name.into());
    thread::scope(|scope| {
        let meanwhile = named("exactop-maps").spawn_scoped(scope, move || meanwhile(maps));
        let beside = named("exactop-loading").spawn_scoped(scope, beside);
        let skel = refusal::attempt(|| open.load());
        let (meanwhile, beside) = (joined(meanwhile), joined(beside));
        Ok((skel?, Some(beside??), meanwhile?))
    })
}

/// The result of a thread that could be started.
fn joined<T>(thread: io::Result<thread::ScopedJoinHandle<'_, T>>) -> Result<T, Refusal> {
    thread.map_err(Refusal::from).map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Makes an object's maps and returns their names and duplicates of their descriptors. The object
/// closes its own descriptors as soon as loading fails, and the other part may open them later.
fn maps_of(open: &OpenObject) -> libbpf_rs::Result<Vec<(OsString, OwnedFd)>> {
    // SAFETY: the object is open and not loaded yet.
    match unsafe { libbpf_sys::bpf_object__prepare(open.as_libbpf_object().as_ptr()) } {
        0 => {}
        error => return Err(libbpf_rs::Error::from_raw_os_error(-error)),
    }
    let described = open.maps().map(|map| {
        // SAFETY: the map belongs to this object.
        let fd = unsafe { libbpf_sys::bpf_map__fd(map.as_libbpf_object().as_ptr()) };
        // SAFETY: the object is borrowed, so it keeps the map's descriptor open.
        let own = (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned());
        own.map(|own| Ok((map.name().to_owned(), own?)))
    });
    described.flatten().collect()
}

/// Gives a second object the maps of the first instead of maps of its own.
fn share<'a, O: OpenSkel<'a>>(maps: &Maps, open: &mut O) -> libbpf_rs::Result<()> {
    for mut map in open.open_object_mut().maps_mut() {
        if let Some((_, fd)) = maps.iter().find(|(name, _)| name == map.name()) {
            map.reuse_fd(fd.as_fd())?;
        }
    }
    Ok(())
}
