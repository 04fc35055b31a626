//! Loads an object with two threads. The kernel verifies the programs of an object one after the
//! other, and some take longer than all others together. So a second thread loads these (`beside.rs`).
//! A third thread does what needs only the maps: the kernel lets it wait for grace periods.

use super::beside::{self, FreeProgram};
use super::refusal::{self, Refusal};
use super::skeleton::{Builder, Loaded, Open};
use crate::kernel_programs::Program;
use exactop_cgroups::memory_left;
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{libbpf_sys, AsRawLibbpf, OpenObject, OpenProgramMut};
use std::ffi::OsString;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::thread;

/// Maps by their names.
pub type Maps = [(OsString, OwnedFd)];

/// What the programs are attached to that the second thread loads, by object. They take about half
/// of the time of all, also without the programs that an option leaves out.
const BESIDE: &[(&str, &[&str])] =
    &[("ledger", &["tp_btf/sched_switch", "tp_btf/sched_process_free", "tp_btf/sys_exit"])];

/// True if the second thread loads this program of an object.
pub fn is_beside(object: &str, program: &Program) -> bool {
    BESIDE.iter().any(|(of, sections)| *of == object && sections.contains(&program.section))
}

/// Memory for verifying two programs at once, with a margin for other processes of the group. The
/// ledger took 80 to 92 MiB in measurements, and 56 MiB when they were verified one after the other.
const ROOM_FOR_TWO: u64 = 128 << 20;

/// True if the memory limit of our control groups leaves room to verify two programs at once.
pub fn has_room_for_two() -> bool {
    memory_left().is_none_or(|left| left.bytes >= ROOM_FOR_TWO)
}

/// A loaded object, the programs that the second thread loaded, and the result of the work done
/// meanwhile.
pub type Parts<B, R> = (Loaded<B>, Vec<FreeProgram>, R);

/// Loads an object, and the programs that are `beside` in a second thread. Calls `meanwhile` with
/// the maps, if there are such programs while the kernel verifies them. `None`: the kernel refused a
/// program of the second thread.
pub fn in_parts<B: Builder, R: Send>(
    mut open: Open<B>,
    beside: impl Fn(&OpenProgramMut) -> Option<&'static Program>,
    meanwhile: impl FnOnce(&Maps) -> R + Send,
) -> Result<Option<Parts<B, R>>, Refusal> {
    let maps = &*refusal::attempt(|| maps_of(open.open_object()))?;
    let beside = &*refusal::attempt(|| beside::take(open.open_object_mut(), beside))?;
    if beside.is_empty() {
        let meanwhile = meanwhile(maps);
        return refusal::attempt(|| open.load()).map(|skel| Some((skel, Vec::new(), meanwhile)));
    }
    let named = |name: &str| thread::Builder::new().name(name.into());
    thread::scope(|scope| {
        let meanwhile = named("exactop-maps").spawn_scoped(scope, move || meanwhile(maps));
        let beside = named("exactop-loading").spawn_scoped(scope, || beside::load(beside));
        let skel = refusal::attempt(|| open.load());
        let (meanwhile, beside) = (joined(meanwhile), joined(beside));
        let (skel, meanwhile, beside) = (skel?, meanwhile?, beside?);
        Ok(beside.ok().map(|beside| (skel, beside, meanwhile)))
    })
}

/// The result of a thread that could be started.
fn joined<T>(thread: io::Result<thread::ScopedJoinHandle<'_, T>>) -> Result<T, Refusal> {
    thread.map_err(Refusal::from).map(|t| t.join().unwrap_or_else(|panic| resume_unwind(panic)))
}

/// Prepares an object: makes its maps, and fits its programs to the kernel. Returns the maps' names
/// and duplicates of their descriptors, because the object closes its own as soon as loading fails.
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
