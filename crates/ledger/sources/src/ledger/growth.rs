//! Tables that grow: slots and exited groups come in chunks. A thread adds a chunk when the
//! programs report that places run out, at any time.
//!
//! A chunk is a map in an array of maps; the reader maps it into memory at its next look. Chunks
//! stay until the ledger ends.

use super::maps::{Globals, Table};
use super::skel::types;
use super::{footprint, Options};
use crate::bpf::refusal;
use crate::bpf::wire::ex_chunks;
use crate::error::SourceError;
use crate::own_rights::keep;
use libbpf_rs::{libbpf_sys, MapCore, MapFlags, MapHandle, MapType, RingBufferBuilder};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::thread::CapabilitySet;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Number of slots in a chunk.
pub const SLOTS_PER_CHUNK: u32 = ex_chunks::EX_SLOT_CHUNK.0;
/// Number of groups in a chunk.
pub const GROUPS_PER_CHUNK: u32 = ex_chunks::EX_GROUP_CHUNK.0;
/// Most slots, by the size of the array of maps; they take 384 MiB of kernel memory.
pub const MOST_SLOTS: u32 = ex_chunks::EX_SLOT_CHUNKS.0 * SLOTS_PER_CHUNK;
/// Most groups; they take 105 MiB of kernel memory.
pub const MOST_GROUPS: u32 = ex_chunks::EX_GROUP_CHUNKS.0 * GROUPS_PER_CHUNK;

const _: () = {
    assert!(MOST_SLOTS as usize * size_of::<types::ex_slot>() == 384 << 20);
    assert!(MOST_GROUPS as usize * size_of::<types::ex_group>() == 105 << 20);
};

/// Time after a refused chunk until the programs may ask again.
const AGAIN: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// One table: the array of maps and its chunks so far.
pub struct Chunks {
    table: Table,
    outer: MapHandle,
    value_size: u32,
    per_chunk: u32,
    most: u32,
    maps: Mutex<Vec<MapHandle>>,
}

impl Chunks {
    /// A table without chunks.
    fn new(outer: MapHandle, table: Table, most: u32) -> Chunks {
        let (value_size, per_chunk) = match table {
            Table::Slots => (size_of::<types::ex_slot>(), SLOTS_PER_CHUNK),
            Table::Groups => (size_of::<types::ex_group>(), GROUPS_PER_CHUNK),
        };
        Chunks {
            table,
            outer,
            value_size: value_size as u32,
            per_chunk,
            most,
            maps: Mutex::new(Vec::new()),
        }
    }

    /// The chunks.
    pub fn maps(&self) -> MutexGuard<'_, Vec<MapHandle>> {
        // A poisoned lock is harmless: the vector of descriptors is whole at every instant.
        self.maps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds chunks until `count` entries fit, and tells the programs.
    fn make_room(&self, globals: Globals, count: u32) -> libbpf_rs::Result<()> {
        let mut maps = self.maps();
        let wanted = count.min(self.most).div_ceil(self.per_chunk) as usize;
        let (mut keys, mut fds, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for index in maps.len()..wanted {
            let map = self.chunk()?;
            keys.extend_from_slice(&(index as u32).to_ne_bytes());
            fds.extend_from_slice(&(rustix::fd::AsRawFd::as_raw_fd(&map.as_fd())).to_ne_bytes());
            made.push(map);
        }
        if !made.is_empty() {
            // One call for all: the kernel waits for a grace period in each.
            let n = made.len() as u32;
            self.outer.update_batch(&keys, &fds, n, MapFlags::ANY, MapFlags::ANY)?;
            maps.extend(made);
        }
        globals.set_ready(self.table, (maps.len() as u32 * self.per_chunk).min(self.most));
        Ok(())
    }

    fn chunk(&self) -> libbpf_rs::Result<MapHandle> {
        let options = libbpf_sys::bpf_map_create_opts {
            sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
            map_flags: libbpf_sys::BPF_F_MMAPABLE,
            ..libbpf_sys::bpf_map_create_opts::default()
        };
        // Beyond the control group's limit the kernel would kill this process instead of refusing.
        if !footprint::has_room(u64::from(self.value_size) * u64::from(self.per_chunk)) {
            return Err(std::io::Error::from(rustix::io::Errno::NOMEM).into());
        }
        let name = Some("ex_chunk");
        MapHandle::create(MapType::Array, name, 4, self.value_size, self.per_chunk, &options)
    }

    /// Adds half as many entries again.
    fn grow(&self, globals: Globals) -> libbpf_rs::Result<()> {
        let there = globals.ready(self.table);
        self.make_room(globals, there.saturating_add(self.per_chunk.max(there / 2)))
    }
}

/// Both tables, and the thread that makes them grow.
pub struct Growth {
    /// Slots for tasks.
    pub slots: Arc<Chunks>,
    /// Exited groups.
    pub groups: Arc<Chunks>,
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl Growth {
    /// Makes room for all living tasks, and for the tasks that may be born before the thread
    /// answers. Then starts the thread.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`], mostly for a lack of memory.
    pub fn start(
        [slots, groups, wanted]: [MapHandle; 3],
        globals: Globals,
        options: &Options,
    ) -> Result<Growth, SourceError> {
        let failed = refusal::failed("cannot make room for tasks");
        let slots = Chunks::new(slots, Table::Slots, options.slots);
        let groups = Chunks::new(groups, Table::Groups, options.groups);
        slots.make_room(globals, first_slots()).map_err(&failed)?;
        groups.make_room(globals, 1).map_err(&failed)?;
        let (slots, groups) = (Arc::new(slots), Arc::new(groups));
        let io =
            |error| SourceError::Kernel { what: "cannot start the thread that adds slots", error };
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(|e| io(e.into()))?);
        let thread = std::thread::Builder::new().name("exactop-growth".into());
        let answering = Answering {
            tables: [Arc::clone(&slots), Arc::clone(&groups)],
            stop: Arc::clone(&stop),
            globals,
        };
        let ready = Arc::new(Barrier::new(2));
        let set_up = Arc::clone(&ready);
        let work = move || {
            answering.set_up();
            set_up.wait();
            answering.run(&wanted);
        };
        let thread = thread.spawn(work).map_err(io)?;
        // From here on the caller may rely on the thread.
        ready.wait();
        Ok(Growth { slots, groups, stop, thread: Some(thread) })
    }
}

impl Drop for Growth {
    fn drop(&mut self) {
        // Stop the thread first: it writes to the globals, which belong to the object.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's data.
struct Answering {
    tables: [Arc<Chunks>; 2],
    stop: Arc<OwnedFd>,
    globals: Globals,
}

impl Answering {
    /// Sets up the thread before the caller relies on it.
    fn set_up(&self) {
        // Tasks that fork at full speed must not keep this thread from running.
        let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), -20);
        keep_only_bpf();
    }

    fn run(&self, ring: &MapHandle) {
        let asked = Rc::new(Cell::new([false; 2]));
        let note = Rc::clone(&asked);
        let mut builder = RingBufferBuilder::new();
        let added = builder.add(ring, move |what| {
            let mut tables = note.get();
            if let Some(table) = what.first().and_then(|&table| tables.get_mut(table as usize)) {
                *table = true;
            }
            note.set(tables);
            0
        });
        if added.is_err() {
            return;
        }
        let Ok(ring) = builder.build() else { return };
        // SAFETY: the ring buffer keeps its epoll descriptor open for as long as it lives.
        let readable = unsafe { BorrowedFd::borrow_raw(ring.epoll_fd()) };
        let mut refused = [false; 2];
        while self.wait(readable, refused.contains(&true)) {
            let _ = ring.consume();
            let now = asked.replace([false; 2]);
            for (index, table) in self.tables.iter().enumerate() {
                if now[index] || refused[index] {
                    refused[index] = table.grow(self.globals).is_err();
                }
            }
        }
    }

    /// Waits until there is something to do. Returns false when the ledger ends.
    fn wait(&self, readable: BorrowedFd<'_>, retry: bool) -> bool {
        let mut fds = [
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::from_borrowed_fd(readable, PollFlags::IN),
        ];
        loop {
            match poll(&mut fds, retry.then_some(&AGAIN)) {
                Ok(_) => return fds[0].revents().is_empty(),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

/// Gives up all rights but those for making maps. Capabilities belong to a thread, so this thread
/// gives them up itself. If it may not, it keeps those of the process.
fn keep_only_bpf() {
    let _ = keep(CapabilitySet::BPF | CapabilitySet::PERFMON, CapabilitySet::empty());
}

/// Memory of the first chunks of both tables, bytes.
pub fn first_chunks() -> u64 {
    let slots = u64::from(first_slots().next_multiple_of(SLOTS_PER_CHUNK));
    let groups = u64::from(GROUPS_PER_CHUNK);
    slots * size_of::<types::ex_slot>() as u64 + groups * size_of::<types::ex_group>() as u64
}

/// Number of slots for all living tasks, and for those that may be born before the thread answers.
fn first_slots() -> u32 {
    tasks_now().saturating_add(SLOTS_PER_CHUNK / 2).max(1)
}

/// Number of tasks, from the fourth field of /proc/loadavg (proc_loadavg(5)). Without it the table
/// begins with one chunk and grows at once if that is too small.
fn tasks_now() -> u32 {
    let read = || -> Option<u32> {
        let loadavg = std::fs::read_to_string("/proc/loadavg").ok()?;
        loadavg.split_whitespace().nth(3)?.split('/').nth(1)?.parse().ok()
    };
    read().unwrap_or(1)
}
