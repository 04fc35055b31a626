//! The balance as one JSON object. Sums are texts: many JSON readers are exact only up to 2^53 or
//! 2^64.

use super::{Balance, Host, Stretches};
use crate::rows::Unread;
use crate::sums::Sums;
use exactop_model::text::escape::{escape, harmless};
use serde_json::{json, Map, Value};
use std::os::unix::ffi::OsStrExt;

const SCHEMA: &str = "exactop.fleet_check";
const VERSION: u32 = 1;

/// The whole balance, on one line.
pub fn json(balance: &Balance) -> String {
    let value = json!({
        "schema": { "name": SCHEMA, "version": VERSION },
        "holds": balance.holds(),
        "ends_wall_ns": balance.ends_ns,
        "windows": balance.windows(),
        "sums": sums(&balance.sums),
        "unread": balance.unread.iter().map(unread).collect::<Vec<_>>(),
        "hosts": balance.hosts.iter().map(host).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}

fn unread(unread: &Unread) -> Value {
    json!({ "path": escape(unread.path.as_os_str().as_bytes()), "error": harmless(&unread.error) })
}

fn sums(sums: &Sums) -> Value {
    let mut all: Map<String, Value> = sums
        .accounts()
        .into_iter()
        .map(|(name, ns)| (format!("{name}_ns"), ns.map(|ns| ns.to_string()).into()))
        .collect();
    for (name, ns) in [
        ("accounts_ns", sums.accounts_ns().to_string()),
        ("cpus_x_time_ns", sums.cpus_x_time_ns.to_string()),
        ("charges_ns", sums.charged_ns.to_string()),
    ] {
        all.insert(name.into(), ns.into());
    }
    all.insert("rows".into(), sums.windows.into());
    all.into()
}

fn host(host: &Host) -> Value {
    let quality = &host.quality;
    let seen = host.windows > 0;
    let jump = |jump: &super::Jump| json!({ "to_wall_ns": i64::try_from(jump.to_ns).ok(), "by_ns": i64::try_from(jump.by_ns).ok() });
    let start = |start: &super::Start| {
        json!({
            "from_wall_ns": i64::try_from(start.from_ns).ok(),
            "length_ns": u64::try_from(start.length_ns).ok(),
            "since_start_ns": u64::try_from(start.since_start_ns).ok(),
        })
    };
    json!({
        "host": harmless(&host.name),
        "is_well": host.is_well(),
        "boots": host.boots,
        "windows": host.windows,
        "first_wall_ns": seen.then_some(host.first_ns),
        "last_wall_ns": seen.then_some(host.last_ns),
        "sums": sums(&host.sums),
        "doubled_rows": host.doubled,
        "different_rows": host.different,
        "doubled_ns": host.doubled_ns.to_string(),
        "overlaps": stretches(&host.overlaps),
        "gaps": stretches(&host.gaps),
        "boots_at_once": boots_at_once(host),
        "starts": { "count": host.starts, "first": host.first_starts.iter().map(start).collect::<Vec<_>>() },
        "clock_jumps": { "count": host.jumps, "first": host.first_jumps.iter().map(jump).collect::<Vec<_>>() },
        "clock_ahead_ns": host.ahead_ns.map(|ns| ns as i64),
        "later_than_most_ns": host.later_ns.map(|ns| ns as i64),
        "absent_since_wall_ns": host.absent_ns,
        "silent_ns": host.silent_ns.map(|ns| ns as i64),
        "open_windows": quality.open,
        "uneven_windows": host.uneven,
        "uneven_ns": host.uneven_ns.to_string(),
        "stray_windows": host.stray,
        "residual_windows": quality.residual,
        "residuals_ns": quality.residual_ns.to_string(),
        "missed_windows": quality.missed,
        "missed_switches": (quality.without_witness < host.windows).then(|| quality.missed_switches.to_string()),
        "windows_without_witness": quality.without_witness,
        "inexact_windows": quality.inexact,
    })
}

fn boots_at_once(host: &Host) -> Value {
    let mut all = stretches(&host.at_once);
    all["boot_ids"] = json!(host.boots_at_once);
    all
}

fn stretches(of: &Stretches) -> Value {
    let one = |stretch: &super::Stretch| json!({ "from_wall_ns": stretch.from_ns as i64, "length_ns": stretch.length_ns as u64 });
    json!({
        "count": of.count,
        "length_ns": of.length_ns.to_string(),
        "first": of.first.iter().map(one).collect::<Vec<_>>(),
    })
}
