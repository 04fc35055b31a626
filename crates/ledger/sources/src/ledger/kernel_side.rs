//! The loaded programs and their maps; the other modules read and write through them.

use super::growth::{Growth, GROUPS_PER_CHUNK, SLOTS_PER_CHUNK};
use super::load;
use super::maps::Globals;
use super::skel::{types, LedgerSkel};
use super::Options;
use crate::bpf::beside::FreeProgram;
use crate::bpf::loading::{Attachment, InKernel};
use crate::bpf::mapped::{Chunked, Mapped};
use crate::bpf::plain::{bytes_of, from_bytes, plain};
use crate::bpf::refusal::{self, NotAttached};
use crate::bpf::wire::{ex_cur, ex_error};
use crate::bpf::{batches, iterator, loading};
use crate::clock;
use crate::error::SourceError;
use crate::kernel_programs::Attach;
use libbpf_rs::skel::Skel;
use libbpf_rs::{MapCore, MapFlags, MapHandle, ProgramInput, ProgramMut};
use std::io;
use std::os::fd::{AsFd, RawFd};

plain! { u32 u64 types::ex_zombie types::ex_group_key types::ex_move_key types::ex_cum }
plain! { types::ex_party types::ex_party_key types::ex_party_sum types::ex_unplaced }

/// A party in a window, and its sum.
pub type PartySum = (types::ex_party_key, types::ex_party_sum);

/// Slot index of an idle CPU.
pub const CUR_IDLE: u32 = ex_cur::EX_CUR_IDLE.0;
/// Slot index of an offline CPU.
pub const CUR_OFFLINE: u32 = ex_cur::EX_CUR_OFFLINE.0;
/// Value of `steal_raw` and `kernel_switches` before the first read.
pub const UNREAD: u64 = u64::MAX;

/// BPF_F_TEST_RUN_ON_CPU of include/uapi/linux/bpf.h.
const TEST_RUN_ON_CPU: u32 = 1;

/// Number of requests to a CPU to charge what runs there, if each one meets a running program.
const FLUSH_TRIES: u32 = 1_000;
/// Longest time that a CPU may seem to be inside a program, ns: longer than a hypervisor stops a
/// CPU.
const OUTSIDE_PATIENCE_NS: u64 = 2_000_000_000;

/// Result of flushing a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// The CPU charged its running task.
    Done,
    /// The CPU is offline.
    Offline,
    /// Each request met a running program of ours.
    Busy,
}

/// The loaded programs and their maps.
pub struct KernelSide {
    /// Global variables.
    pub globals: Globals,
    /// Parts of the blame book, by CPU.
    pub books: Mapped<types::ex_book>,
    /// Sizes of waits, by CPU and window.
    pub wait_sizes: Mapped<types::ex_wait_size>,
    /// Task slots.
    pub slots: Chunked<types::ex_slot>,
    /// CPUs, by number.
    pub cpus: Mapped<types::ex_cpu>,
    /// The two lists of changed slots.
    pub dirty: Mapped<u64>,
    /// Exited groups.
    pub groups: Chunked<types::ex_group>,
    /// Capacity of each list of changed slots.
    pub max_listed: usize,
    /// Number of possible CPUs.
    pub possible_cpus: usize,
    /// True if the refill of a quota is seen.
    pub sees_unthrottle: bool,
    /// Why the refill is not seen, if it is not.
    pub no_unthrottle: Option<String>,
    /// The programs with counted cost and skipped runs, by the time of attaching. What stands below
    /// owns the descriptors.
    counted: Vec<(Attach, RawFd)>,
    links: Vec<Attachment>,
    /// Dropped before the object, because its thread writes to the object's globals.
    growth: Growth,
    /// The programs that no object owns.
    beside: Vec<FreeProgram>,
    skel: LedgerSkel<'static>,
}

/// Runs a program that answers a question about a number.
fn ask(program: &ProgramMut<'_>, about: u64, failed: &'static str) -> Result<bool, SourceError> {
    let mut args = about.to_ne_bytes();
    let input = ProgramInput { context_in: Some(&mut args), ..ProgramInput::default() };
    let run = program.test_run(input).map_err(refusal::failed(failed))?;
    Ok(run.return_value != 0)
}

impl KernelSide {
    /// Maps the tables into memory; attaches no program. `without` is the reason why the program
    /// for quota refills is missing.
    pub fn new(
        InKernel { mut skel, beside, without, meanwhile }: load::Loaded,
        options: &Options,
    ) -> Result<KernelSide, SourceError> {
        let max = |map: &dyn MapCore| map.max_entries() as usize;
        let bss = skel.maps.bss_data.take().ok_or(SourceError::Unavailable {
            what: "cannot find the globals of the BPF object".into(),
            advice: "build exactop again".into(),
        })?;
        let (maps, globals) = (&skel.maps, Globals::new(bss));
        let wanted = MapHandle::try_from(&maps.wanted);
        let wanted = wanted.map_err(refusal::failed("cannot open the ledger's maps"))?;
        let mut kernel = KernelSide {
            globals,
            books: Mapped::new(max(&maps.books)),
            wait_sizes: Mapped::new(max(&maps.wait_sizes)),
            slots: Chunked::new(SLOTS_PER_CHUNK as usize),
            cpus: Mapped::new(max(&maps.cpus)),
            dirty: Mapped::new(max(&maps.dirty)),
            groups: Chunked::new(GROUPS_PER_CHUNK as usize),
            growth: Growth::start(meanwhile?, wanted, globals)?,
            max_listed: max(&maps.dirty) / 2,
            possible_cpus: max(&maps.cpus),
            sees_unthrottle: false,
            no_unthrottle: without,
            counted: Vec::new(),
            links: Vec::new(),
            beside,
            skel,
        };
        kernel.counted = loading::descriptors(load::OBJECT, kernel.skel.object(), &kernel.beside)
            .into_iter()
            .filter(|(row, _)| row.is_counted())
            .map(|(row, file)| (row.attach, file))
            .collect();
        let cpus = kernel.possible_cpus;
        kernel
            .cpus
            .grow(kernel.skel.maps.cpus.as_fd(), cpus)
            .map_err(kernel_error("cannot map the CPUs into memory"))?;
        let books = options.blame.map_or(0, |_| cpus);
        kernel
            .books
            .grow(kernel.skel.maps.books.as_fd(), books)
            .map_err(kernel_error("cannot map the blame book into memory"))?;
        let sizes = options.wait_sizes.map_or(0, |_| max(&kernel.skel.maps.wait_sizes));
        kernel
            .wait_sizes
            .grow(kernel.skel.maps.wait_sizes.as_fd(), sizes)
            .map_err(kernel_error("cannot map the histograms of waits into memory"))?;
        Ok(kernel)
    }

    /// Marks every CPU as offline from now on, until an event on it is seen.
    pub fn start_cpus(&mut self, now_ns: u64) {
        for cpu in 0..self.possible_cpus {
            let mut account = self.cpus.read(cpu);
            account.since = now_ns;
            account.cur = CUR_OFFLINE;
            account.steal_raw = UNREAD;
            account.kernel_switches = UNREAD;
            self.cpus.write(cpu, account);
        }
    }

    /// Attaches the programs that are always attached.
    pub fn attach(&mut self) -> Result<(), SourceError> {
        self.links = self.attach_those(Attach::Blame)?;
        self.links.extend(self.attach_those(Attach::Always)?);
        // The kernel refuses this program without ftrace's direct calls; the ledger works without
        // it.
        match self.attach_now(Attach::IfItMay) {
            Ok(unthrottle) => {
                self.sees_unthrottle = !unthrottle.is_empty();
                self.links.extend(unthrottle);
            }
            Err(refused) if refused.is_for_want_of_room() => return Err(refused.into()),
            Err(refused) => self.no_unthrottle = Some(refused.to_string()),
        }
        Ok(())
    }

    /// Attaches the programs with this `Attach`.
    pub fn attach_those(&self, when: Attach) -> Result<Vec<Attachment>, SourceError> {
        self.attach_now(when).map_err(SourceError::from)
    }

    fn attach_now(&self, when: Attach) -> Result<Vec<Attachment>, NotAttached> {
        loading::attach(load::OBJECT, self.skel.object(), &self.beside, |then| then == when)
    }

    /// Runs the iterator that gives every living task a slot.
    pub fn seed(&mut self) -> Result<(), SourceError> {
        iterator::run(&self.skel.progs.seed).map(drop)
    }

    /// Runs the flush program on one CPU.
    pub fn flush(&self, cpu: usize) -> Result<Flushed, SourceError> {
        for _ in 0..FLUSH_TRIES {
            let input =
                ProgramInput { cpu: cpu as u32, flags: TEST_RUN_ON_CPU, ..ProgramInput::default() };
            match self.skel.progs.flush.test_run(input) {
                // The CPU was inside another program, which takes well under 1 us.
                Ok(output) if output.return_value == 1 => {}
                Ok(_) => return Ok(Flushed::Done),
                // ENXIO: bpf_prog_test_run_raw_tp() found the CPU offline.
                Err(error) if raw_os_error(&error) == Some(ENXIO) => return Ok(Flushed::Offline),
                Err(error) => return Err(refusal::failed("cannot flush a CPU")(error)),
            }
        }
        Ok(Flushed::Busy)
    }

    /// Runs the program that publishes the end of the open window.
    pub fn publish(&self) -> Result<(), SourceError> {
        let run = self.skel.progs.publish.test_run(ProgramInput::default());
        run.map(|_| ()).map_err(refusal::failed("cannot publish the end of a window"))
    }

    /// True if the kernel counted a context switch of `cpu` that it did not show to the programs.
    pub fn missed_a_switch(&self, cpu: usize) -> Result<bool, SourceError> {
        ask(&self.skel.progs.peek, cpu as u64, "cannot read the kernel's count of switches")
    }

    /// Ends the wait of a slot's task if the task came onto a CPU and left it unseen, and sleeps.
    /// Returns true if it did.
    pub fn end_wait(&self, slot: usize) -> Result<bool, SourceError> {
        ask(&self.skel.progs.end_wait, slot as u64, "cannot end a wait")
    }

    /// Number of switches that the kernel counted and did not show, or that a repair found.
    pub fn unseen_switches(&self) -> u64 {
        let missed =
            |cpu| -> u64 { self.cpus.field(cpu, |c| unsafe { &raw const (*c).cum.missed }) };
        let repaired = self.globals.errors()[ex_error::EX_ERR_UNSEEN_SWITCH.0 as usize];
        (0..self.possible_cpus).map(missed).fold(repaired, u64::wrapping_add)
    }

    /// Waits until it has seen `cpu` outside of the programs once. From then on the CPU's programs
    /// use clock readings from after the call. Returns false after too long a wait.
    pub fn wait_until_outside(&self, cpu: usize) -> bool {
        let mut spins = 0u32;
        let mut patience_ends = None;
        while self.cpus.field(cpu, |c| unsafe { &raw const (*c).busy }) != 0 {
            spins += 1;
            if spins.is_multiple_of(512) {
                // A hypervisor may stop the virtual CPU inside a program.
                let now = clock::now_ns();
                if now > *patience_ends.get_or_insert(now + OUTSIDE_PATIENCE_NS) {
                    return false;
                }
                clock::sleep_until(now + 20_000);
            }
            std::hint::spin_loop();
        }
        true
    }

    /// Makes all slots and list entries in use readable. Returns the number of slots.
    pub fn grow(&mut self) -> Result<usize, SourceError> {
        let maps = &self.skel.maps;
        let slots = self.globals.next_slot() as usize;
        let failed = kernel_error("cannot map the ledger into memory");
        self.slots.grow(&self.growth.slots.maps(), slots).map_err(&failed)?;
        let groups = self.globals.next_group() as usize;
        self.groups.grow(&self.growth.groups.maps(), groups).map_err(&failed)?;
        // The second list begins in the middle of the map, so all of it is mapped, 8 bytes for each
        // entry.
        self.dirty.grow(maps.dirty.as_fd(), 2 * self.max_listed).map_err(&failed)?;
        Ok(slots)
    }

    /// Processes that exited and were not reaped, by the serial of their account.
    pub fn zombies(&self) -> Result<Vec<(u64, types::ex_zombie)>, SourceError> {
        if self.globals.zombies_now() == 0 {
            return Ok(Vec::new());
        }
        let list = self.skel.maps.zombies.as_fd();
        if iterator::run_over(list, &self.skel.progs.check_zombies).is_err() {
            // An iterator needs two files. If the limit leaves none, the check asks for each
            // process.
            for (serial, _) in self.listed_zombies()? {
                self.is_zombie(serial)?;
            }
        }
        self.listed_zombies()
    }

    /// A zombie by its serial; `None`: it is gone.
    pub fn zombie(&self, serial: u64) -> Result<Option<types::ex_zombie>, SourceError> {
        let found = self.skel.maps.zombies.lookup(bytes_of(&serial), MapFlags::ANY);
        let found = found.map_err(refusal::failed("cannot read a zombie"))?;
        Ok(found.map(|bytes| from_bytes(&bytes)))
    }

    fn listed_zombies(&self) -> Result<Vec<(u64, types::ex_zombie)>, SourceError> {
        // More may be added while the list is read.
        let room = |now: u32| now.saturating_add(now / 4);
        let room = u32::try_from(self.globals.zombies_now()).map_or(batches::BATCH, room);
        batches::all(&self.skel.maps.zombies, room)
    }

    /// True if the process of this account is still a zombie.
    pub fn is_zombie(&self, serial: u64) -> Result<bool, SourceError> {
        ask(&self.skel.progs.check_zombie, serial, "cannot check a zombie")
    }

    /// True if the kernel may still free the ended owner of a slot. If it is freed, the slot is too.
    pub fn is_unfreed(&self, index: usize) -> Result<bool, SourceError> {
        ask(&self.skel.progs.check_ended, index as u64, "cannot check an ended task")
    }

    /// The moves between control groups.
    pub fn moves(&self) -> Result<Vec<(types::ex_move_key, types::ex_cum)>, SourceError> {
        batches::all(&self.skel.maps.moves, 0)
    }

    /// Deletes a move, once its window is over.
    pub fn forget_move(&self, key: &types::ex_move_key) {
        // ENOENT means that it is deleted already; no other error is possible.
        let _ = self.skel.maps.moves.delete(bytes_of(key));
    }

    /// The parties of the blame book, with their numbers.
    pub fn parties(&self) -> Result<Vec<(types::ex_party, u32)>, SourceError> {
        batches::all(&self.skel.maps.parties, batches::BATCH)
    }

    /// Sums of parties in the closed window; they may include those of the open one.
    pub fn party_sums(&self, closed: u32) -> Result<Vec<PartySum>, SourceError> {
        let sums = &self.skel.maps.party_sums;
        let Some(listed) = self.globals.take_new_sums(closed) else {
            return batches::all(sums, batches::BATCH);
        };
        let sum = |listed: u64| {
            let key = types::ex_party_key { party: (listed >> 32) as u32, epoch: listed as u32 };
            let found = sums.lookup(bytes_of(&key), MapFlags::ANY);
            let found = found.map_err(refusal::failed("cannot read a party's sum"));
            found.map(|bytes| Some((key, from_bytes(&bytes?)))).transpose()
        };
        listed.into_iter().filter_map(sum).collect()
    }

    /// Deletes a sum, once its window is over.
    pub fn forget_party_sum(&self, key: &types::ex_party_key) {
        // ENOENT means that it is deleted already; no other error is possible.
        let _ = self.skel.maps.party_sums.delete(bytes_of(key));
    }

    /// Waits without a place in the histogram of their party, by windows; they may include those of
    /// the open one.
    pub fn unplaced(
        &self,
        closed: u32,
    ) -> Result<Vec<(types::ex_party_key, types::ex_unplaced)>, SourceError> {
        if !self.globals.take_unplaced(closed) {
            return Ok(Vec::new());
        }
        batches::all(&self.skel.maps.unplaced, batches::BATCH)
    }

    /// Deletes one of them, once its window is over.
    pub fn forget_unplaced(&self, key: &types::ex_party_key) {
        // ENOENT means that it is deleted already; no other error is possible.
        let _ = self.skel.maps.unplaced.delete(bytes_of(key));
    }

    /// Takes groups out of the index. Programs may still hold them until the next window is closed.
    pub fn unlink_groups(&self, keys: &[types::ex_group_key]) {
        let index = &self.skel.maps.group_index;
        let bytes: Vec<u8> = keys.iter().flat_map(bytes_of).copied().collect();
        let (any, count) = (MapFlags::ANY, keys.len() as u32);
        // The kernel stops at the first missing key and does not try those after it.
        if keys.len() < 2 || index.delete_batch(&bytes, count, any, any).is_err() {
            for key in keys {
                // ENOENT means that the group was not in the index; no other error is possible.
                let _ = index.delete(bytes_of(key));
            }
        }
    }

    /// Frees a zeroed group.
    pub fn free_group(&self, index: u32) -> Result<(), SourceError> {
        let pushed = self.skel.maps.free_groups.update(&[], &index.to_ne_bytes(), MapFlags::ANY);
        pushed.map_err(refusal::failed("cannot free an exited group"))
    }

    /// The programs with counted cost and skipped runs, with the time of attaching.
    pub fn counted(&self) -> &[(Attach, RawFd)] {
        &self.counted
    }
}

/// ENXIO of errno(3).
const ENXIO: i32 = 6;

fn raw_os_error(error: &libbpf_rs::Error) -> Option<i32> {
    let source = std::error::Error::source(error);
    source.and_then(|e| e.downcast_ref::<io::Error>()).and_then(io::Error::raw_os_error).or_else(
        || {
            let text = error.to_string();
            text.contains("os error 6").then_some(ENXIO)
        },
    )
}

fn kernel_error(what: &'static str) -> impl Fn(io::Error) -> SourceError {
    move |error| SourceError::Kernel { what, error }
}
