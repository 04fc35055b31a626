//! Row of a CPU: its accounts and its ticks.

use super::cells::{all, Cells, Fields};
use crate::bounds::CPUS;
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::ledger::system::StatTicks;
use exactop_model::CpuSample;

pub(crate) fn cpu(cpu: &CpuSample, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::Cpu.table(), strings);
    cells
        .bool(cpu.online)
        .uint(cpu.task_ns)
        .uint(cpu.unnamed_ns)
        .uint(cpu.idle_ns)
        .uint(cpu.irq_ns)
        .uint(cpu.irq_idle_ns)
        .uint(cpu.steal_ns)
        .uint(cpu.steal_idle_ns)
        .uint(cpu.no_name_ns)
        .uint(cpu.no_name_processes)
        .uint(cpu.offline_ns)
        .uint(cpu.switches)
        .uint(cpu.missed_switches)
        .uint(cpu.watched_ns)
        .uint(cpu.watched_dispatches);
    cells.row(cpu.cpu.into())
}

pub(crate) fn cpu_of(row: &Row, strings: &Strings) -> Result<CpuSample, FrameError> {
    let mut fields = Fields::new(row, strings);
    let f = &mut fields;
    Ok(CpuSample {
        cpu: number(row)?,
        online: f.bool()?,
        task_ns: f.known()?,
        unnamed_ns: f.known()?,
        idle_ns: f.known()?,
        irq_ns: f.uint(),
        irq_idle_ns: f.uint(),
        steal_ns: f.uint(),
        steal_idle_ns: f.uint(),
        no_name_ns: f.known()?,
        no_name_processes: f.known()?,
        offline_ns: f.known()?,
        switches: f.uint(),
        missed_switches: f.uint(),
        watched_ns: f.uint(),
        watched_dispatches: f.uint(),
    })
}

fn number(row: &Row) -> Result<u32, FrameError> {
    u32::try_from(row.key).ok().filter(|&cpu| (cpu as usize) < CPUS).ok_or(FrameError::Number)
}

pub(crate) fn ticks_row(cpu: u32, ticks: &StatTicks, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::CpuTicks.table(), strings);
    put_ticks(&mut cells, Some(ticks));
    cells.row(cpu.into())
}

pub(crate) fn ticks_of_cpu(row: &Row, strings: &Strings) -> Result<(u32, StatTicks), FrameError> {
    let ticks = get_ticks(&mut Fields::new(row, strings)).ok_or(FrameError::Missing)?;
    Ok((number(row)?, ticks))
}

pub(crate) fn put_ticks(cells: &mut Cells, ticks: Option<&StatTicks>) {
    let fields = ticks.map(StatTicks::fields);
    for n in 0..8 {
        cells.uint(fields.map(|fields| fields[n]));
    }
}

/// Reads all ticks, or `None` if one is missing.
pub(crate) fn get_ticks(fields: &mut Fields) -> Option<StatTicks> {
    all(std::array::from_fn(|_| fields.uint())).map(StatTicks::from_fields)
}
