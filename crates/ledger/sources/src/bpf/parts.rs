//! An object in two parts. The kernel checks its programs one after the other, and the one at
//! sched_switch takes as long as all the others: so it is checked in a thread of its own, as part of a
//! second object that has the first one's maps.

use super::refusal::{self, Refusal};
use super::skeleton::{Builder, Loaded, Open};
use crate::kernel_programs::Program;
use exactop_cgroups::memory_left;
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{libbpf_sys, AsRawLibbpf, OpenObject};
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::thread;

/// Which part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The one that makes the maps.
    Main,
    /// The one that is checked at the same time.
    Beside,
}

impl Part {
    /// Whether a program of an object belongs to it. Small objects are not worth a second one.
    pub fn has(self, object: &str, program: &Program) -> bool {
        let beside = object == "ledger" && program.section == "tp_btf/sched_switch";
        beside == (self == Part::Beside)
    }
}

/// What checking both parts at once may take, and some for everyone else in the group: the ledger took
/// 80 to 92 MiB where it was measured, and 56 when they were checked one after the other.
const ROOM_FOR_TWO: u64 = 128 << 20;

/// Whether the limit of the control groups we are in leaves room to check two parts at once.
pub fn has_room_for_two() -> bool {
    memory_left().is_none_or(|left| left.bytes >= ROOM_FOR_TWO)
}

/// Loads an object, and its other part at the same time; `again` opens that.
pub fn in_parts<B: Builder>(
    open: Open<B>,
    again: Option<impl FnOnce() -> libbpf_rs::Result<Open<B>> + Send>,
) -> Result<(Loaded<B>, Option<Loaded<B>>), Refusal> {
    let Some(again) = again else {
        return refusal::attempt(|| open.load()).map(|skel| (skel, None));
    };
    let maps = refusal::attempt(|| maps_of(open.open_object()))?;
    let beside = move || {
        refusal::attempt(|| {
            let mut open = again()?;
            share(&maps, &mut open)?;
            open.load()
        })
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("exactop-loading".into());
        let thread = thread.spawn_scoped(scope, beside);
        let skel = refusal::attempt(|| open.load());
        let thread = thread.map_err(Refusal::from);
        let beside = thread.and_then(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic)));
        Ok((skel?, Some(beside?)))
    })
}

/// Makes an object's maps; their names and descriptors of our own: the object closes its own at once
/// where it cannot be loaded, and the other part may be open by then or not.
fn maps_of(open: &OpenObject) -> libbpf_rs::Result<Vec<(OsString, OwnedFd)>> {
    // SAFETY: an object that is open, and not loaded yet.
    match unsafe { libbpf_sys::bpf_object__prepare(open.as_libbpf_object().as_ptr()) } {
        0 => {}
        error => return Err(libbpf_rs::Error::from_raw_os_error(-error)),
    }
    let described = open.maps().map(|map| {
        // SAFETY: a map of this object.
        let fd = unsafe { libbpf_sys::bpf_map__fd(map.as_libbpf_object().as_ptr()) };
        // SAFETY: the object is borrowed, so it keeps the map's descriptor open.
        let own = (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned());
        own.map(|own| Ok((map.name().to_owned(), own?)))
    });
    described.flatten().collect()
}

/// Gives a second object the maps of the first, instead of maps of its own.
fn share<'a, O: OpenSkel<'a>>(maps: &[(OsString, OwnedFd)], open: &mut O) -> libbpf_rs::Result<()> {
    for mut map in open.open_object_mut().maps_mut() {
        if let Some((_, fd)) = maps.iter().find(|(name, _)| name == map.name()) {
            map.reuse_fd(fd.as_fd())?;
        }
    }
    Ok(())
}
