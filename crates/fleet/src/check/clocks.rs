//! Compares the hosts' clocks: hosts that are ahead of the others, and silent hosts.
//!
//! The tables do not say which clock is right; only that no window ends after now. Most hosts' last
//! windows end at about the same time, the fleet's end. A host that ends later was exported later,
//! or its clock is ahead. A host that ends long before is silent, or its clock is behind.

use super::tolerance::{ns, Tolerance};
use super::Host;

/// Sets the clock findings of hosts; returns the fleet's end.
pub(super) fn judge(hosts: &mut [Host], tolerance: &Tolerance, now_ns: i128) -> Option<i64> {
    let (clock, silent) = (ns(tolerance.clock), ns(tolerance.silent));
    // Ends in the future do not count. Hosts with charges only have no windows.
    let is_past = |end: &i64| i128::from(*end) <= now_ns + clock;
    let known = hosts.iter().filter(|host| host.windows > 0);
    let mut ends: Vec<i64> = known.map(|host| host.last_ns).filter(is_past).collect();
    ends.sort_unstable();
    let fleet = most(&ends, clock);
    for host in hosts.iter_mut().filter(|host| host.windows > 0) {
        let last = i128::from(host.last_ns);
        if last > now_ns + clock {
            host.ahead_ns = Some(last - now_ns);
        }
        let Some(fleet) = fleet.map(i128::from) else { continue };
        if host.ahead_ns.is_none() && last > fleet + clock {
            host.later_ns = Some(last - fleet);
        }
        if last < fleet - silent {
            host.silent_ns = Some(fleet - last);
        }
    }
    fleet
}

/// Last of the largest group of ends within `clock`; of equal groups the later.
fn most(ends: &[i64], clock: i128) -> Option<i64> {
    let (mut from, mut best) = (0, (0, None));
    for (to, &end) in ends.iter().enumerate() {
        while i128::from(end) - i128::from(ends[from]) > clock {
            from += 1;
        }
        let count = to + 1 - from;
        if count >= best.0 {
            best = (count, Some(end));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fleets_end_is_where_most_hosts_end() {
        assert_eq!(most(&[], 10), None);
        assert_eq!(most(&[7], 10), Some(7));
        assert_eq!(most(&[1, 100, 105, 110, 300], 10), Some(110));
        assert_eq!(most(&[1, 100], 10), Some(100), "of two the later");
        assert_eq!(most(&[1, 2, 3, 100, 101], 10), Some(3), "many stopped at once");
        assert_eq!(most(&[i64::MIN, i64::MAX], 10), Some(i64::MAX));
    }
}
