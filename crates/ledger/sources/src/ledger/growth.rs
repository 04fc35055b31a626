//! Tables that grow: slots and exited groups come in chunks. A thread adds a chunk when the
//! programs report that places run out, at any time.
//!
//! A chunk is a map in an array of maps; the reader maps it into memory at its next look. Chunks
//! stay until the ledger ends.

use super::maps::{Globals, Table};
use super::skel::types;
use super::{footprint, Options};
use crate::bpf::parts::Maps;
use crate::bpf::refusal;
use crate::bpf::wire::ex_chunks;
use crate::error::SourceError;
use crate::own_rights::give_up_all_but;
use libbpf_rs::{libbpf_sys, MapHandle, MapType, RingBufferBuilder};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::thread::CapabilitySet;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Number of slots in a chunk.
pub const SLOTS_PER_CHUNK: u32 = ex_chunks::EX_SLOT_CHUNK.0;
/// Number of groups in a chunk.
pub const GROUPS_PER_CHUNK: u32 = ex_chunks::EX_GROUP_CHUNK.0;
/// Most slots, by the size of the array of maps; they take 416 MiB of kernel memory.
pub const MOST_SLOTS: u32 = ex_chunks::EX_SLOT_CHUNKS.0 * SLOTS_PER_CHUNK;
/// Most groups; they take 103 MiB of kernel memory.
pub const MOST_GROUPS: u32 = ex_chunks::EX_GROUP_CHUNKS.0 * GROUPS_PER_CHUNK;

const _: () = {
    assert!(MOST_SLOTS as usize * size_of::<types::ex_slot>() == 416 << 20);
    assert!(MOST_GROUPS as usize * size_of::<types::ex_group>() == 103 << 20);
};

/// Time after a refused chunk until the thread tries again.
const AGAIN: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// One table: the array of maps and its chunks so far.
pub struct Chunks {
    table: Table,
    outer: OwnedFd,
    value_size: u32,
    per_chunk: u32,
    most: u32,
    maps: Mutex<Vec<MapHandle>>,
}

impl Chunks {
    /// A table without chunks.
    fn new(outer: &OwnedFd, table: Table, most: u32) -> std::io::Result<Chunks> {
        let (value_size, per_chunk) = match table {
            Table::Slots => (size_of::<types::ex_slot>(), SLOTS_PER_CHUNK),
            Table::Groups => (size_of::<types::ex_group>(), GROUPS_PER_CHUNK),
        };
        Ok(Chunks {
            table,
            outer: outer.try_clone()?,
            value_size: value_size as u32,
            per_chunk,
            most,
            maps: Mutex::new(Vec::new()),
        })
    }

    /// The chunks.
    pub fn maps(&self) -> MutexGuard<'_, Vec<MapHandle>> {
        // A poisoned lock is harmless: the vector of descriptors is whole at every instant.
        self.maps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds chunks until `count` entries fit.
    fn make_room(&self, count: u32) -> libbpf_rs::Result<()> {
        let mut maps = self.maps();
        let wanted = count.min(self.most).div_ceil(self.per_chunk) as usize;
        let (mut keys, mut made) = (Vec::new(), Vec::new());
        for index in maps.len()..wanted {
            made.push(self.chunk()?);
            keys.push(index as u32);
        }
        if !made.is_empty() {
            // One call for all: the kernel waits for a grace period in each.
            put(&self.outer, &keys, &made)?;
            maps.extend(made);
        }
        Ok(())
    }

    /// Tells the programs the number of entries that fit.
    fn tell(&self, globals: Globals) {
        globals.set_ready(self.table, (self.maps().len() as u32 * self.per_chunk).min(self.most));
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
        self.make_room(there.saturating_add(self.per_chunk.max(there / 2)))?;
        self.tell(globals);
        Ok(())
    }
}

/// Puts maps into an array of maps.
fn put(outer: &OwnedFd, keys: &[u32], maps: &[MapHandle]) -> std::io::Result<()> {
    let fds: Vec<i32> = maps.iter().map(|map| map.as_fd().as_raw_fd()).collect();
    let mut count = keys.len() as u32;
    // SAFETY: both arrays have `count` entries of the map's sizes, 4 bytes each.
    let answer = unsafe {
        libbpf_sys::bpf_map_update_batch(
            outer.as_raw_fd(),
            keys.as_ptr().cast(),
            fds.as_ptr().cast(),
            &raw mut count,
            std::ptr::null(),
        )
    };
    match answer {
        0 => Ok(()),
        errno => Err(std::io::Error::from_raw_os_error(-errno)),
    }
}

/// The first chunks of both tables.
pub struct FirstChunks {
    slots: Chunks,
    groups: Chunks,
}

impl FirstChunks {
    /// Makes room for all living tasks, and for the tasks that may be born before the thread
    /// answers. The kernel waits for grace periods meanwhile.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`], mostly for a lack of memory.
    pub fn make(maps: &Maps, options: &Options) -> Result<FirstChunks, SourceError> {
        let named = |name: &str| maps.iter().find(|(it, _)| it == name).map(|(_, fd)| fd);
        let chunks = |name: &str, table, most, first| {
            let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
            let outer = named(name).ok_or_else(missing)?;
            let chunks = Chunks::new(outer, table, most)?;
            chunks.make_room(first)?;
            Ok::<_, libbpf_rs::Error>(chunks)
        };
        let both = || {
            Ok(FirstChunks {
                slots: chunks("slots", Table::Slots, options.slots, first_slots())?,
                groups: chunks("groups", Table::Groups, options.groups, 1)?,
            })
        };
        both().map_err(refusal::failed("cannot make room for tasks"))
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
    /// Tells the programs of the first chunks, and starts the thread.
    ///
    /// # Errors
    /// [`SourceError::Kernel`]: the thread cannot be started.
    pub fn start(
        FirstChunks { slots, groups }: FirstChunks,
        wanted: MapHandle,
        globals: Globals,
    ) -> Result<Growth, SourceError> {
        slots.tell(globals);
        groups.tell(globals);
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
        give_up_all_but(CapabilitySet::BPF | CapabilitySet::PERFMON);
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
