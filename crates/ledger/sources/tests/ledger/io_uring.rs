//! Threads that the kernel makes for a process without a fork event: the workers of io_uring(7).

use crate::books::Books;
use exactop_model::{Counter, Frame, Row, RowKind};
use exactop_sources::ledger::Options;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::io_uring::{
    self, io_uring_params, io_uring_ptr, io_uring_sqe, IoringEnterFlags, IoringFeatureFlags,
    IoringOp, IoringSqeFlags, IORING_OFF_SQES, IORING_OFF_SQ_RING,
};
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::fs::File;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const ENTRIES: u32 = 8;

/// Memory that the ring shares with the kernel.
struct Shared {
    at: *mut u8,
    length: usize,
}

impl Shared {
    fn map(ring: &OwnedFd, length: usize, offset: u64) -> Shared {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { mmap(std::ptr::null_mut(), length, access, flags, ring, offset) };
        Shared { at: at.expect("the ring's memory").cast(), length }
    }

    fn word(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: the kernel gave the offset of a word inside the mapping.
        unsafe { &*self.at.add(offset as usize).cast::<AtomicU32>() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped in `map`, and no pointer into it remains.
        let _ = unsafe { munmap(self.at.cast(), self.length) };
    }
}

/// A ring in which a worker performs every read.
struct Ring {
    ring: OwnedFd,
    rings: Shared,
    entries: Shared,
    params: io_uring_params,
}

impl Ring {
    /// Opens a ring; `None` if io_uring is missing or not permitted.
    fn new() -> Option<Ring> {
        let mut params = io_uring_params::default();
        // SAFETY: no flags, so no pointers in the parameters.
        let ring = match unsafe { io_uring::io_uring_setup(ENTRIES, &mut params) } {
            Ok(ring) => ring,
            Err(error) => {
                eprintln!("left out: no io_uring here ({error})");
                return None;
            }
        };
        assert!(params.features.contains(IoringFeatureFlags::SINGLE_MMAP));
        let (sq, cq) = (&params.sq_off, &params.cq_off);
        let completions = cq.cqes as usize + params.cq_entries as usize * 16;
        let submissions = sq.array as usize + params.sq_entries as usize * 4;
        let rings = Shared::map(&ring, completions.max(submissions), IORING_OFF_SQ_RING);
        let bytes = params.sq_entries as usize * size_of::<io_uring_sqe>();
        let entries = Shared::map(&ring, bytes, IORING_OFF_SQES);
        Some(Ring { ring, rings, entries, params })
    }

    /// Reads from a file into a buffer, `times` at once, each by a worker, and waits for all.
    fn read(&self, file: &impl AsFd, buffer: &mut [u8], times: u32) {
        let tail = self.rings.word(self.params.sq_off.tail);
        let mask = self.rings.word(self.params.sq_off.ring_mask).load(Ordering::Relaxed);
        for _ in 0..times {
            let at = tail.load(Ordering::Relaxed);
            let mut entry = io_uring_sqe {
                opcode: IoringOp::Read,
                flags: IoringSqeFlags::ASYNC,
                fd: file.as_fd().as_raw_fd(),
                ..io_uring_sqe::default()
            };
            entry.addr_or_splice_off_in.addr = io_uring_ptr::new(buffer.as_mut_ptr().cast());
            entry.len.len = buffer.len() as u32;
            // SAFETY: the index is inside the array of entries; the kernel reads the entry only
            // after the tail has moved.
            unsafe {
                let place = self.entries.at.cast::<io_uring_sqe>().add((at & mask) as usize);
                place.write(entry);
            }
            let array = self.params.sq_off.array + (at & mask) * 4;
            self.rings.word(array).store(at & mask, Ordering::Relaxed);
            tail.store(at.wrapping_add(1), Ordering::Release);
        }
        // SAFETY: the buffer outlives the reads, because this waits for them.
        let done = unsafe {
            io_uring::io_uring_enter(&self.ring, times, times, IoringEnterFlags::GETEVENTS)
        };
        assert_eq!(done, Ok(times));
        let (head, tail) = (self.params.cq_off.head, self.params.cq_off.tail);
        let seen = self.rings.word(tail).load(Ordering::Acquire);
        self.rings.word(head).store(seen, Ordering::Release);
    }
}

/// The rows of our io_uring workers.
fn workers(frame: &Frame) -> Vec<&Row> {
    let is_worker = |r: &&Row| {
        let name = r.ident.comm.bytes();
        r.key.tgid == std::process::id() && name.starts_with(b"iou-wrk-")
    };
    frame.rows.iter().filter(|r| r.kind == RowKind::Task).filter(is_worker).collect()
}

#[test]
fn workers_of_io_uring_have_names() {
    let Some(_machine) = crate::machine() else { return };
    let mut books = Books::open(&Options::default());
    let Some(ring) = Ring::new() else { return };
    let random = File::open("/dev/urandom").expect("/dev/urandom");
    let mut buffer = vec![0; 1 << 20];
    let (mut run, mut asleep, mut most) = (0, 0, 0);
    for _ in 0..5 {
        ring.read(&random, &mut buffer, 4);
        let window = books.window(Duration::from_millis(20));
        let faults = books.faults(&window);
        assert!(faults.is_empty(), "{faults:?}");
        let frame = books.threads(&window);
        for row in workers(&frame) {
            run += row.delta.get(Counter::RunNs).expect("run_ns");
            asleep += row.delta.get(Counter::SleepNs).expect("sleep_ns");
            assert_ne!(row.key.tid, row.key.tgid);
        }
        most = most.max(workers(&frame).len());
    }
    println!("{most} workers, {run} ns on a CPU, {asleep} ns asleep");
    assert!(most > 0, "no worker has a row");
    assert!(run > 0 && asleep > 0, "the workers read and waited");
}
