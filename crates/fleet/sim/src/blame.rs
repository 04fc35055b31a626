//! The blame book of a simulated window.

use exactop_model::blame::{Blame, Booked, Culprit, Party, Waits};
use std::cmp::Reverse;

/// Most services that keep others off the CPU.
const CULPRITS: usize = 6;

/// What a service did in a window, ns.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub party: Party,
    pub run: u64,
    pub steal: u64,
    /// Waits for a CPU.
    pub lat: u64,
    pub throttle: u64,
}

/// Books the waits of each service. A wait for a CPU is behind the services that ran most, and behind
/// the hypervisor, by their share of the used time. The rest of it is brief waits.
pub fn book(all: &[Work]) -> Blame {
    let mut blame = Blame::default();
    let stolen: u64 = all.iter().map(|work| work.steal).sum();
    let used = all.iter().map(|work| work.run).sum::<u64>() + stolen;
    let mut busiest: Vec<&Work> = all.iter().collect();
    busiest.sort_by_key(|work| Reverse((work.run, work.party)));
    let busiest = busiest.into_iter().take(CULPRITS);
    let culprits = busiest.map(|work| (Culprit::Task(work.party), work.run));
    let culprits: Vec<(Culprit, u64)> = culprits.chain([(Culprit::Steal, stolen)]).collect();
    for work in all {
        let lat_ns = (work.lat + work.throttle) as i64;
        let dispatches = (work.run / 300_000) as i64;
        blame.wait(Some(work.party), Waits { lat_ns, dispatches, in_flight_delta_ns: 0 });
        let mut left = work.lat;
        let mut add = |culprit, ns: u64| {
            if ns > 0 {
                let times = ns.div_ceil(4_000_000);
                blame.book(Some(work.party), culprit, Booked { ns, times });
            }
        };
        for &(culprit, had) in &culprits {
            let part = u128::from(work.lat) * u128::from(had) / u128::from(used.max(1));
            left -= part as u64;
            add(culprit, part as u64);
        }
        add(Culprit::Brief, left);
        add(Culprit::Throttled, work.throttle);
    }
    blame
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deliver::Boot;
    use crate::options::Args;
    use crate::plan::Plan;
    use exactop_model::Counter;

    #[test]
    fn books_close_and_have_all_waits_of_the_counters() {
        let plan = Plan::from_args(&Args::sound(12, 0.1, 10, 7, "unused".into())).expect("a plan");
        let mut kinds = [false; 3];
        for host in &plan.hosts {
            let mut boot = Boot::new(&plan, host, 0, 0);
            for n in 0..5 {
                let window = boot.advance(n).expect("a window");
                let blame = window.blame.expect("a book");
                assert_eq!(blame.residual_ns(), 0, "{}", host.name);
                let tasks = window.tasks.iter().map(|task| &task.delta);
                let all = tasks.chain(window.exited.iter().map(|exit| &exit.delta));
                let waited: u64 = all
                    .flat_map(|delta| [Counter::LatNs, Counter::ThrottleNs].map(|c| delta.get(c)))
                    .flatten()
                    .sum();
                let booked: u64 = blame.pairs.values().map(|booked| booked.ns).sum();
                assert_eq!(booked, waited, "{}", host.name);
                for (_, culprit) in blame.pairs.keys() {
                    kinds[0] |= matches!(culprit, Culprit::Task(_));
                    kinds[1] |= *culprit == Culprit::Steal;
                    kinds[2] |= *culprit == Culprit::Throttled;
                }
            }
        }
        assert_eq!(kinds, [true; 3], "neighbours, steal and quotas");
    }
}
