//! `exactop doctor`: reports what this kernel and this user can offer, and whether the ledger
//! opens.

use crate::failure::Failure;
use crate::output;
use crate::rights::{self, Origin, Role};
use exactop_model::text::escape::harmless;
use exactop_model::{Counter, Provenance, Quality};
use exactop_sources::probe::{self, Capability, Object, Report, Status};
use exactop_sources::session::{self, Choice};
use exactop_sources::{MeasurePolicy, SplitOptions};
use serde_json::{json, Value};
use std::fmt::Write;

/// Result of opening a source.
type OpenResult = Result<Provenance, String>;

/// Sources besides the ledger, in the order in which `--source auto` tries them.
const OTHERS: [(&str, Choice); 3] =
    [("snapshot", Choice::Snapshot), ("taskstats", Choice::Taskstats), ("procfs", Choice::Procfs)];

/// Prints the report.
///
/// # Errors
/// The ledger cannot be opened; the report says why.
pub fn run(as_json: bool) -> Result<(), Failure> {
    let mut report = probe::probe();
    // Also asks for the figures that are measured only on demand.
    let all = SplitOptions {
        split: MeasurePolicy::Always,
        irq: MeasurePolicy::Always,
        ..SplitOptions::default()
    };
    let tried = open(Choice::Ledger, all);
    let others = OTHERS.map(|(name, choice)| (name, open(choice, SplitOptions::default())));
    let objects = probe::objects();
    match &tried {
        Ok(provenance) => correct(&mut report, provenance),
        Err(_) => leave_open(&mut report),
    }
    say_whether_it_loads(&mut report, &objects);
    let reduced = rights::reduce(Role::Text, Origin::None, &[]);
    report.capabilities.extend(reduced.capabilities());
    let told = match as_json {
        true => json(&report, &objects, &tried, &others),
        false => text(&report, &objects, &tried, &others),
    };
    output::print(told)?;
    tried.map(|_| ()).map_err(|_| Failure::Reported)
}

fn open(choice: Choice, split: SplitOptions) -> OpenResult {
    session::open(choice, split)
        .map(|session| session.provenance().clone())
        .map_err(|error| harmless(&error.to_string()))
}

/// Corrects the probe's guess on fentry: opening the ledger tried it.
fn correct(report: &mut Report, provenance: &Provenance) {
    let told = |c: &&mut Capability| c.id == "unthrottle";
    let Some(capability) = report.capabilities.iter_mut().find(told) else { return };
    if provenance.unthrottle == Quality::Exact {
        capability.status = Status::Available;
        capability.found = "fentry on unthrottle_cfs_rq".into();
        (capability.loses, capability.remedy) = (String::new(), String::new());
        return;
    }
    let said = provenance.no_unthrottle.as_deref().unwrap_or("no reason given");
    let refused = format!("cannot attach fentry programs ({said})");
    if capability.status == Status::Available {
        capability.found = refused;
        capability.loses = probe::LOST_WITHOUT_UNTHROTTLE.into();
        capability.remedy = "try another kernel".into();
    } else {
        capability.found += &format!("; {refused}");
    }
    capability.status = Status::Degraded;
}

/// Marks fentry as untested: the ledger did not open, and kernel symbols alone are no answer.
fn leave_open(report: &mut Report) {
    let hoped = |c: &&mut Capability| c.id == "unthrottle" && c.status == Status::Available;
    let Some(capability) = report.capabilities.iter_mut().find(hoped) else { return };
    capability.status = Status::Degraded;
    capability.found += ", by the kernel's symbols; not tried, as the ledger does not open";
    capability.loses = format!("if it is refused: {}", probe::LOST_WITHOUT_UNTHROTTLE);
    capability.remedy = "give the ledger what it needs (see the end), then run doctor again".into();
}

/// Reports for an untested kernel version whether the BPF objects load.
fn say_whether_it_loads(report: &mut Report, objects: &[Object]) {
    let untested = |c: &&mut Capability| c.id == "kernel_version" && c.status == Status::Degraded;
    let Some(kernel) = report.capabilities.iter_mut().find(untested) else { return };
    kernel.found += match objects {
        [] => "",
        objects if objects.iter().all(|object| object.refused.is_none()) => ": loads",
        _ => ": does not load",
    };
}

fn text(
    report: &Report,
    objects: &[Object],
    tried: &OpenResult,
    others: &[(&str, OpenResult)],
) -> String {
    let mut out = String::new();
    for capability in &report.capabilities {
        describe(&mut out, capability);
    }
    for object in objects {
        tell(&mut out, object);
    }
    let _ = match tried {
        Ok(provenance) => writeln!(out, "\nThe ledger opens.{}", qualities(provenance)),
        Err(why) => writeln!(out, "\nThe ledger does not open: {why}."),
    };
    let instead = others.iter().find(|(_, tried)| tried.is_ok());
    for (name, tried) in others {
        let _ = match tried {
            Err(why) => writeln!(out, "The source {name} does not open: {why}."),
            Ok(_) if instead.is_some_and(|(first, _)| first == name) => {
                writeln!(out, "The source {name} opens: machines without the ledger use it.")
            }
            Ok(_) => writeln!(out, "The source {name} opens."),
        };
    }
    out
}

fn describe(out: &mut String, capability: &Capability) {
    let mark = match (capability.status, capability.vital) {
        (Status::Available, _) => "ok",
        (Status::Degraded, _) => "partly",
        (Status::Missing, false) => "missing",
        (Status::Missing, true) => "MISSING",
    };
    let found = harmless(&capability.found);
    let _ = writeln!(out, "{mark:<8} {}: {found}", capability.what);
    for (label, text) in [("lost", &capability.loses), ("to do", &capability.remedy)] {
        if !text.is_empty() {
            let _ = writeln!(out, "{:9}{label}: {}", "", harmless(text));
        }
    }
}

fn tell(out: &mut String, object: &Object) {
    let _ = match &object.refused {
        None => writeln!(out, "ok       the programs {}: loaded", object.name),
        Some(why) => writeln!(
            out,
            "missing  the programs {}: {}\n{:9}lost: {}",
            object.name,
            harmless(why),
            "",
            object.needed_by
        ),
    };
}

/// The task counters, grouped by quality.
fn qualities(provenance: &Provenance) -> String {
    let mut out = String::new();
    for (quality, label) in [
        (Quality::Exact, "exact"),
        (Quality::Sampled, "sampled by the kernel's tick"),
        (Quality::Missing, "not available"),
    ] {
        let is = |c: &&Counter| provenance.quality(**c) == quality;
        let ids: Vec<&str> = Counter::ALL.iter().filter(is).map(|c| c.info().id).collect();
        if !ids.is_empty() {
            let _ = write!(out, "\n  {label}: {}", ids.join(", "));
        }
    }
    out
}

fn json(
    report: &Report,
    objects: &[Object],
    tried: &OpenResult,
    others: &[(&str, OpenResult)],
) -> String {
    let objects = objects.iter().map(|object| {
        json!({
            "name": object.name,
            "needed_by": object.needed_by,
            "loads": object.refused.is_none(),
            "error": object.refused.as_deref().map(harmless),
        })
    });
    let capabilities: Vec<Value> = report
        .capabilities
        .iter()
        .map(|c| {
            json!({
                "id": c.id,
                "what": c.what,
                "status": c.status.name(),
                "vital": c.vital,
                "found": harmless(&c.found),
                "loses": some(&c.loses),
                "remedy": some(&c.remedy),
            })
        })
        .collect();
    let report = json!({
        "schema": { "name": "exactop.doctor", "version": 1 },
        "capabilities": capabilities,
        "objects": objects.collect::<Vec<_>>(),
        "ledger": opens(tried),
        "sources": others.iter().map(|(name, tried)| (name.to_string(), opens(tried))).collect::<Value>(),
    });
    format!("{report}\n")
}

fn opens(tried: &OpenResult) -> Value {
    json!({ "opens": tried.is_ok(), "error": tried.as_ref().err() })
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| harmless(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::SourceKind;

    fn said_by_symbols(status: Status) -> Report {
        let capability = Capability {
            id: "unthrottle",
            what: "",
            status,
            vital: false,
            found: "by its symbols".into(),
            loses: "something".into(),
            remedy: "something".into(),
        };
        Report { capabilities: vec![capability] }
    }

    fn corrected(status: Status, unthrottle: Quality, why: Option<&str>) -> Capability {
        let mut report = said_by_symbols(status);
        let no_unthrottle = why.map(String::from);
        let of = Provenance { unthrottle, no_unthrottle, ..Provenance::new(SourceKind::Ledger) };
        correct(&mut report, &of);
        report.capabilities.remove(0)
    }

    #[test]
    fn an_untested_feature_is_not_reported_as_available() {
        for (by_symbols, told) in [(Status::Available, true), (Status::Degraded, false)] {
            let mut report = said_by_symbols(by_symbols);
            leave_open(&mut report);
            let capability = &report.capabilities[0];
            assert_eq!(capability.status, Status::Degraded);
            assert_eq!(capability.found.contains("not tried"), told, "{capability:?}");
            assert!(!capability.loses.is_empty() && !capability.remedy.is_empty());
        }
    }

    #[test]
    fn the_ledgers_result_overrides_kernel_symbols() {
        let taken = corrected(Status::Degraded, Quality::Exact, None);
        assert_eq!((taken.status, taken.loses.as_str()), (Status::Available, ""));
        for symbols in [Status::Available, Status::Degraded] {
            let refused = corrected(symbols, Quality::Missing, Some("Invalid argument"));
            assert_eq!(refused.status, Status::Degraded);
            assert!(refused.found.contains("(Invalid argument)"), "{refused:?}");
            assert!(!refused.loses.is_empty() && !refused.remedy.is_empty());
        }
    }
}
