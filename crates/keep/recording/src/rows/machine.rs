//! Row of the machine and of the snapshot itself.

use super::cells::{all, Cells, Fields};
use super::cpu::{get_ticks, put_ticks};
use super::words;
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::blame::Blame;
use exactop_model::ledger::snapshot::{CostSample, Outside};
use exactop_model::ledger::system::{Memory, System};
use exactop_model::{Counter, Degraded, ErrorCounts, ErrorKind, Provenance, Snapshot};

pub(crate) fn machine(now: &Snapshot, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::Machine.table(), strings);
    cells
        .uint(now.at_ns)
        .bool(now.complete)
        .uint(now.watch.map(u64::from))
        .uint(now.born)
        .uint(now.repaired_ns)
        .uint(now.repaired_wait_ns)
        .uint(now.cost.user_ns)
        .uint(now.cost.bpf_ns)
        .uint(now.cost.bpf_events);
    put_system(&mut cells, &now.system);
    put_provenance(&mut cells, now);
    let outside = now.outside.as_ref();
    cells
        .uint(outside.map(|outside| outside.run_ns))
        .uint(outside.map(|outside| outside.irq_ns))
        .uint(outside.map(|outside| outside.steal_ns));
    let degraded = now.provenance.degraded;
    let degraded = degraded.map(|lacks| lacks.names().collect::<Vec<_>>().join(" "));
    cells.text(degraded.as_deref().map(str::as_bytes)).bool(now.blame.is_some());
    cells.bool(now.irq_again);
    cells.row(0)
}

fn put_system(cells: &mut Cells, system: &System) {
    let memory = system.memory.as_ref();
    cells
        .int(system.wall_s)
        .uint(system.local_time.as_deref().and_then(seconds_of_day))
        .float(system.uptime_s)
        .uint(system.users.map(u64::from));
    for n in 0..3 {
        cells.float(system.load.map(|load| load[n]));
    }
    cells
        .uint(memory.map(|m| m.total))
        .uint(memory.map(|m| m.free))
        .uint(memory.map(|m| m.available))
        .uint(memory.map(|m| m.cache))
        .uint(memory.map(|m| m.swap_total))
        .uint(memory.map(|m| m.swap_free))
        .uint(system.forks);
    put_ticks(cells, system.ticks.as_ref());
}

fn put_provenance(cells: &mut Cells, now: &Snapshot) {
    let Provenance { source, reason, irq, steal, unthrottle, audit_run, audit_lat, .. } =
        &now.provenance;
    cells.text(Some(source.name().as_bytes())).text(reason.as_deref().map(str::as_bytes));
    for quality in [irq, steal, unthrottle, audit_run, audit_lat] {
        cells.text(Some(words::quality(*quality).as_bytes()));
    }
    for &kind in ErrorKind::ALL {
        cells.uint(now.errors.get(kind));
    }
    for &counter in Counter::ALL {
        cells.text(Some(words::quality(now.provenance.quality(counter)).as_bytes()));
    }
}

/// Reads a snapshot without tasks, groups, CPUs and moves, and with an empty blame book.
pub(crate) fn machine_of(row: &Row, strings: &Strings) -> Result<Snapshot, FrameError> {
    let mut fields = Fields::new(row, strings);
    let f = &mut fields;
    let (at_ns, complete, watch) = (f.known()?, f.bool()?, f.small()?);
    let (born, repaired_ns, repaired_wait_ns) = (f.uint(), f.uint(), f.uint());
    let cost = CostSample { user_ns: f.known()?, bpf_ns: f.uint(), bpf_events: f.uint() };
    let system = get_system(f)?;
    let (mut provenance, errors) = get_provenance(f)?;
    let outside = [f.uint(), f.uint(), f.uint()];
    let degraded = f.text()?.map(String::from_utf8_lossy);
    provenance.degraded = degraded.map(|names| Degraded::of_names(names.split(' ')));
    // Its rows are in other tables. A file without the column has no book.
    let blame = f.uint().is_some_and(|kept| kept == 1).then(Blame::default);
    let irq_again = f.uint() == Some(1);
    Ok(Snapshot {
        at_ns,
        provenance,
        irq_again,
        complete,
        tasks: Vec::new(),
        gone: Vec::new(),
        exited: Vec::new(),
        moves: Vec::new(),
        groups: Vec::new(),
        leader_names: Vec::new(),
        cpus: Vec::new(),
        watch,
        born,
        errors,
        repaired_ns,
        repaired_wait_ns,
        system,
        cost,
        outside: all(outside).map(|[run_ns, irq_ns, steal_ns]| Outside {
            run_ns,
            irq_ns,
            steal_ns,
        }),
        blame,
    })
}

fn get_system(f: &mut Fields) -> Result<System, FrameError> {
    let (wall_s, local_time_s, uptime_s) = (f.int(), f.uint(), f.float());
    let users = f.small()?;
    let load = [f.float(), f.float(), f.float()];
    let memory: [Option<u64>; 6] = std::array::from_fn(|_| f.uint());
    Ok(System {
        wall_s,
        local_time: local_time_s.map(time_of_day),
        uptime_s,
        users,
        load: all(load),
        memory: all(memory).map(|[total, free, available, cache, swap_total, swap_free]| Memory {
            total,
            free,
            available,
            cache,
            swap_total,
            swap_free,
        }),
        forks: f.uint(),
        ticks: get_ticks(f),
        cpu_ticks: Vec::new(),
        ..System::default()
    })
}

fn get_provenance(f: &mut Fields) -> Result<(Provenance, ErrorCounts), FrameError> {
    let mut provenance = Provenance::new(words::source_of(f.text()?)?);
    let reason = f.text()?.map(|text| String::from_utf8_lossy(text).into_owned());
    provenance.reason = reason;
    provenance.irq = words::quality_of(f.text()?);
    provenance.steal = words::quality_of(f.text()?);
    provenance.unthrottle = words::quality_of(f.text()?);
    provenance.audit_run = words::quality_of(f.text()?);
    provenance.audit_lat = words::quality_of(f.text()?);
    let mut errors = ErrorCounts::default();
    for &kind in ErrorKind::ALL {
        // A kind that the writer did not know counts 0.
        errors.add(kind, f.uint().map_or(0, |count| count));
    }
    for &counter in Counter::ALL {
        provenance.counters[counter as usize] = words::quality_of(f.text()?);
    }
    Ok((provenance, errors))
}

/// Converts `HH:MM:SS` to seconds.
fn seconds_of_day(text: &str) -> Option<u64> {
    let mut parts = text.split(':').map(str::parse::<u64>);
    let mut next = || parts.next()?.ok();
    let (hours, minutes, seconds) = (next()?, next()?, next()?);
    Some(hours * 3600 + minutes * 60 + seconds)
}

fn time_of_day(seconds: u64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exactop_model::SourceKind;

    #[test]
    fn interrupts_that_are_measured_again_are_recorded() {
        for irq_again in [false, true] {
            let empty = Snapshot::empty(Provenance::new(SourceKind::Ledger), 1);
            let mut strings = Strings::default();
            let row = machine(&Snapshot { irq_again, ..empty }, &mut strings);
            assert_eq!(machine_of(&row, &strings).expect("a row").irq_again, irq_again);
        }
    }
}
