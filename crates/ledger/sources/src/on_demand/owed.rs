//! Sums waits for a CPU beside idle CPUs (bpf/on_demand/owed.bpf.c).

use crate::bpf::plain::{bytes_of, plain};
use crate::bpf::refusal::failed;
use crate::bpf::skeleton::Open;
use crate::bpf::sums::{sums, WindowSums};
use crate::bpf::{iterator, task};
use crate::cpu_list;
use crate::error::SourceError;
use crate::on_demand::attached::{load, object, Attached, ExitedTasks, Room};
use crate::on_demand::Counts;
use exactop_cgroups::{cpu_controller_is_v1, Hierarchy};
use exactop_model::ledger::named::UNKNOWN;
use exactop_model::on_demand::owed::{Cause, GroupWait, OwedRow, OwedWindow};
use exactop_model::on_demand::Choice;
use exactop_model::text::escape::escape;
use exactop_model::TaskRef;
use libbpf_rs::{MapCore, MapFlags};
use rustc_hash::FxHashMap;
use skel::types::{ex_cpus, ex_owed_key, ex_owed_sum};
use skel::OwedSkelBuilder;

object!("owed", "the idle CPUs'", OwedSkelBuilder);
plain! { ex_owed_key ex_cpus }
sums! {
    ex_owed_sum: bookings, ns, times;
}

/// As of the end of a window: its time and the sums so far, ns.
#[derive(Clone, Copy, Default)]
struct Totals {
    at_ns: u64,
    idle_ns: u64,
    owed_ns: u64,
}

/// Attached programs.
pub struct Owed {
    /// The programs sum odd and even windows apart: a wait after a window's end may end before the
    /// sums are read.
    sums: [WindowSums<ex_owed_key, ex_owed_sum>; 2],
    windows: usize,
    before: Totals,
    hierarchy: Option<Hierarchy>,
    /// Paths of control groups by id, escaped.
    groups: FxHashMap<u64, String>,
    programs: Attached<OwedSkelBuilder>,
}

impl Owed {
    /// Attaches the programs for these waiting processes and begins the first window; with no
    /// `pids`, for all. For tests, `hide_one_in` hides one in this number of ends of waits; 0:
    /// none.
    ///
    /// # Errors
    /// [`SourceError::Unavailable`] with the reason and what to do.
    pub fn open_with(pids: &[u32], hide_one_in: u32) -> Result<Owed, SourceError> {
        let set_up = set_up(hide_one_in)?;
        let nodes = nodes(&cpu_list::of_nodes()?, libbpf_rs::num_possible_cpus().unwrap_or(1));
        let programs = Attached::<OwedSkelBuilder>::open(pids, Room::default(), set_up)?;
        for (cpu, node) in (0u32..).zip(&nodes) {
            let map = &programs.skel.maps.nodes;
            map.update(&cpu.to_ne_bytes(), bytes_of(node), MapFlags::ANY)
                .map_err(failed("cannot write the NUMA nodes"))?;
        }
        iterator::run(&programs.skel.progs.settle_waits)?;
        let hierarchy = Hierarchy::of_this_machine().ok();
        let (sums, groups) = (Default::default(), FxHashMap::default());
        let mut owed =
            Owed { sums, windows: 1, before: Totals::default(), hierarchy, groups, programs };
        owed.before = owed.totals();
        Ok(owed)
    }

    fn totals(&self) -> Totals {
        let bss = self.programs.skel.maps.bss_data.as_ref().expect("the object has globals");
        // The programs write these words only in the iterator, which has ended.
        Totals { at_ns: bss.ended_at, idle_ns: bss.idle_until_end, owed_ns: bss.owed_until_end }
    }

    /// Learns the paths of groups, if one is not known.
    fn learn(&mut self, mut ids: impl Iterator<Item = u64>) {
        if ids.all(|id| self.groups.contains_key(&id)) {
            return;
        }
        let there = self.hierarchy.as_ref().map_or(Vec::new(), Hierarchy::ids);
        self.groups = there.into_iter().map(|(id, path)| (id, escape(&path))).collect();
    }

    fn rows(&self, sums: &[(ex_owed_key, ex_owed_sum)], bank: usize) -> Vec<OwedRow> {
        let row = |key: &ex_owed_key, sum: &ex_owed_sum, cause: Cause| {
            let (ns, times) = (sum.ns[bank][cause as usize], sum.times[bank][cause as usize]);
            let name = task::comm(sum.process);
            let who = TaskRef::thread(key.tgid, key.tgid, name, name).process();
            let group = self.groups.get(&key.group).map_or(UNKNOWN, String::as_str).into();
            (times > 0).then_some(OwedRow { who, wait: GroupWait { group, cause, ns, times } })
        };
        let causes = |(key, sum)| Cause::ALL.iter().filter_map(move |cause| row(key, sum, *cause));
        sums.iter().map(|(key, sum)| (key, sum)).flat_map(causes).collect()
    }
}

impl Counts for Owed {
    type Window = OwedWindow;
    const NEEDED_BY: &'static str = "exactop owed";

    fn open(choice: &Choice) -> Result<Owed, SourceError> {
        Owed::open_with(&choice.pids, 0)
    }

    fn try_to_load() -> Result<(), SourceError> {
        load::<OwedSkelBuilder>(&[], Room::default(), set_up(0)?).map(drop)
    }

    fn began_ns(&self) -> u64 {
        self.before.at_ns
    }

    fn window(&mut self) -> Result<OwedWindow, SourceError> {
        let bank = self.windows & 1;
        iterator::run(&self.programs.skel.progs.settle_waits)?;
        let (maps, gone) = (&self.programs.skel.maps, ExitedTasks::default());
        let maps = [&maps.waits, &maps.waits_more];
        let sums = self.sums[bank].window(maps, |key| gone.has(key.tgid, 0))?;
        self.windows += 1;
        self.learn(sums.iter().map(|(key, _)| key.group));
        let (now, before) = (self.totals(), self.before);
        self.before = now;
        Ok(OwedWindow {
            t0_ns: before.at_ns,
            t1_ns: now.at_ns,
            idle_ns: now.idle_ns - before.idle_ns,
            owed_ns: now.owed_ns - before.owed_ns,
            rows: self.rows(&sums, bank),
            losses: self.programs.losses(),
        })
    }
}

/// For each possible CPU: the CPUs of its node; without a node, all CPUs.
fn nodes(lists: &[Vec<u32>], possible: usize) -> Vec<ex_cpus> {
    let mut nodes = vec![ex_cpus { word: [u64::MAX; 16] }; possible];
    for list in lists {
        let mut node = ex_cpus { word: [0; 16] };
        for cpu in list {
            if let Some(word) = node.word.get_mut(*cpu as usize / 64) {
                *word |= 1 << (cpu % 64);
            }
        }
        for cpu in list {
            if let Some(of_cpu) = nodes.get_mut(*cpu as usize) {
                *of_cpu = node;
            }
        }
    }
    nodes
}

fn set_up(
    hide_one_in: u32,
) -> Result<impl Fn(&mut Open<OwedSkelBuilder>) -> libbpf_rs::Result<()> + Sync, SourceError> {
    let of_v1 = cpu_controller_is_v1()?;
    Ok(move |open: &mut Open<OwedSkelBuilder>| {
        let cpus = libbpf_rs::num_possible_cpus()? as u32;
        let Some(rodata) = open.maps.rodata_data.as_mut() else {
            return Err(std::io::Error::other("cannot find .rodata in the BPF object").into());
        };
        rodata.hide_one_in = hide_one_in;
        rodata.cgroup_of_cpu_controller = of_v1;
        rodata.cpu_words = cpus.div_ceil(64).min(16);
        open.maps.cpus.set_max_entries(cpus)?;
        open.maps.nodes.set_max_entries(cpus)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_knows_the_cpus_of_its_node() {
        let nodes = nodes(&[vec![0, 1, 64], vec![2, 3]], 66);
        assert_eq!([nodes[0].word[0], nodes[0].word[1], nodes[64].word[0]], [0b11, 1, 0b11]);
        assert_eq!([nodes[2].word[0], nodes[3].word[0], nodes[2].word[1]], [0b1100, 0b1100, 0]);
        assert_eq!((nodes.len(), nodes[65].word), (66, [u64::MAX; 16]));
    }
}
