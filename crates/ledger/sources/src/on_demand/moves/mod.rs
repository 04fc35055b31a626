//! Counts moves of tasks to other CPUs with their cause (bpf/on_demand/moves.bpf.c).

mod stacks;

use crate::bpf::plain::plain;
use crate::bpf::skeleton::Open;
use crate::bpf::sums::{sums, WindowSums};
use crate::bpf::{iterator, task};
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, ExitedTasks, Room};
use crate::on_demand::Counts;
use exactop_model::on_demand::moves::{Cause, MoveRow, MoveSums, MoveWindow, Unknown};
use exactop_model::on_demand::Choice;
use rustc_hash::FxHashMap;
use skel::types::{ex_migration, ex_migration_key};
use skel::MovesSkelBuilder;
use stacks::Stacks;
use std::os::fd::AsFd;

object!("moves", "the moves'", MovesSkelBuilder);
plain! { ex_migration_key }
sums! {
    ex_migration: moves ran, queued, before_ns, after_ns, paid, unpaid;
}

/// Options for attaching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Number of keys in the maps.
    pub room: Room,
    /// For tests: hide one in this number of migrations from the programs; 0: none.
    pub hide_one_in: u32,
    /// For tests: most stacks to keep; `None`: the default.
    pub stacks: Option<u32>,
}

/// Attached programs.
pub struct Moves {
    sums: WindowSums<ex_migration_key, ex_migration>,
    stacks: Stacks,
    missed: u64,
    programs: Attached<MovesSkelBuilder>,
}

impl Moves {
    /// Attaches the programs for these processes and begins the first window; with no `pids`, for
    /// all.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open_with(pids: &[u32], options: &Options) -> Result<Moves, SourceError> {
        let programs =
            Attached::<MovesSkelBuilder>::open(pids, options.room, |open| set_up(open, options))?;
        iterator::run(&programs.skel.progs.count_migrations)?;
        let (sums, stacks) = (WindowSums::default(), Stacks::default());
        Ok(Moves { sums, stacks, missed: 0, programs: programs.begins_now() })
    }
}

impl Counts for Moves {
    type Window = MoveWindow;
    const NEEDED_BY: &'static str = "exactop moves";

    fn open(choice: &Choice) -> Result<Moves, SourceError> {
        Moves::open_with(&choice.pids, &Options::default())
    }

    fn try_to_load() -> Result<(), SourceError> {
        load::<MovesSkelBuilder>(&[], Room::default(), |open| set_up(open, &Options::default()))
            .map(drop)
    }

    fn began_ns(&self) -> u64 {
        self.programs.began_ns()
    }

    fn window(&mut self) -> Result<MoveWindow, SourceError> {
        let ended = self.programs.end_window();
        let skel = &self.programs.skel;
        iterator::run(&skel.progs.count_migrations)?;
        let (maps, gone) = (&skel.maps, ExitedTasks::default());
        let sums =
            self.sums.window([&maps.moves, &maps.moves_more], |k| gone.has(k.tgid, k.tid))?;
        if sums.iter().any(|(key, _)| self.stacks.lacks(key)) {
            self.learn_names()?;
        }
        let (rows, unknown) = self.rows(&sums);
        let missed = self.missed_so_far();
        let missed = missed - std::mem::replace(&mut self.missed, missed);
        let losses = self.programs.losses();
        let (t0_ns, t1_ns, whole) = (ended.t0_ns, ended.t1_ns, true);
        Ok(MoveWindow { t0_ns, t1_ns, rows, unknown, missed, losses, whole })
    }
}

impl Moves {
    /// Reads the function names of new stacks.
    fn learn_names(&mut self) -> Result<(), SourceError> {
        let skel = &mut self.programs.skel;
        let told = iterator::run_over(skel.maps.stacks.as_fd(), &skel.progs.name_stacks)?;
        let known = self.stacks.learn(&String::from_utf8_lossy(&told));
        if let Some(bss) = skel.maps.bss_data.as_mut() {
            // SAFETY: a word that the programs only read.
            unsafe { std::ptr::write_volatile(&mut bss.named, known) };
        }
        Ok(())
    }

    fn rows(&self, sums: &[(ex_migration_key, ex_migration)]) -> (Vec<MoveRow>, Vec<Unknown>) {
        let mut rows: FxHashMap<(u32, u32, u32, u32, Cause), MoveRow> = FxHashMap::default();
        let mut unknown: FxHashMap<String, u64> = FxHashMap::default();
        for (key, moved) in sums {
            let cause = self.stacks.cause(key).unwrap_or_else(|why| {
                *unknown.entry(why).or_default() += moved.moves;
                Cause::Unknown
            });
            let who = task::thread!(key.tgid, key.tid, moved.names);
            let none =
                MoveRow { who, from: key.from, to: key.to, cause, sums: MoveSums::default() };
            let row = rows.entry((key.tgid, key.tid, key.from, key.to, cause)).or_insert(none);
            row.sums.add(&move_sums(moved, cause));
        }
        let mut unknown: Vec<_> =
            unknown.into_iter().map(|(why, moves)| Unknown { why, moves }).collect();
        unknown.retain(|unknown| unknown.moves > 0);
        unknown.sort_by(|a, b| (b.moves, &a.why).cmp(&(a.moves, &b.why)));
        (rows.into_values().collect(), unknown)
    }

    fn missed_so_far(&self) -> u64 {
        let missed = self.programs.skel.maps.bss_data.as_ref().map(|bss| &bss.missed);
        let missed = missed.expect("the object has globals");
        // SAFETY: plain data that is always mapped; programs write it.
        unsafe { std::ptr::read_volatile(missed) }
    }
}

/// Sums of a migration. A task that could not stay has no `paid` and `unpaid`.
fn move_sums(moved: &ex_migration, cause: Cause) -> MoveSums {
    let verdict = |n: u64| if cause.could_stay() { n } else { 0 };
    MoveSums {
        moves: moved.moves,
        queued: moved.queued,
        before_ns: moved.before_ns,
        ran: moved.ran,
        after_ns: moved.after_ns,
        paid: verdict(moved.paid),
        unpaid: verdict(moved.unpaid),
    }
}

fn set_up(open: &mut Open<MovesSkelBuilder>, options: &Options) -> libbpf_rs::Result<()> {
    let Some(rodata) = open.maps.rodata_data.as_mut() else {
        return Err(std::io::Error::other("cannot find .rodata in the BPF object").into());
    };
    rodata.hide_one_in = options.hide_one_in;
    // The maps of stacks do not share the room for sums.
    open.maps.stacks.set_max_entries(options.stacks.unwrap_or(STACKS))?;
    open.maps.cpus.set_max_entries(libbpf_rs::num_possible_cpus()? as u32)
}

/// Most stacks to keep; some hundred are usual.
const STACKS: u32 = 4096;
