//! Pages as JSON: one object per window, each on one line. docs/reference/json.md describes the
//! schema.
//!
//! The keys of rows are the ids of the column registry. Times are integers in nanoseconds; a
//! missing figure is `null`.

use crate::csv::kind;
use crate::header::quality;
use crate::plan::Page;
use exactop_model::columns::{Context, Unit, COLUMNS};
use exactop_model::ledger::audit::{Audit, AuditFigure, Worst};
use exactop_model::ledger::exactness::Repairs;
use exactop_model::ledger::system::{Memory, StatTicks};
use exactop_model::ledger::window::Census;
use exactop_model::{
    Column, ColumnId, Counter, CpuRow, Datum, ErrorKind, Frame, Needs, Provenance, Row, RowKind,
    SourceKind, Value,
};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{json, Map, Value as Json};
use std::io::{self, Write};

/// Name of the schema.
pub const SCHEMA: &str = "exactop.window";
/// Version of the schema; raised when a key changes its meaning or is removed, not for a new key.
pub const VERSION: u32 = 1;

/// Default columns of output for programs: every raw figure. Left out are percentages, which follow
/// from raw figures, and the command, which is another form of `comm`. Also left out are names of
/// containers and disk I/O: exactop reads their files only on request.
pub fn default_columns() -> Vec<&'static Column> {
    let wanted = |c: &&Column| {
        c.unit != Unit::Pct
            && c.id != ColumnId::Command
            && !c.needs.has(Needs::NAMES)
            && !c.needs.has(Needs::DISK)
    };
    COLUMNS.iter().filter(wanted).collect()
}

/// Writes one window as one line.
pub fn write(out: &mut dyn Write, page: &Page) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &Object(page))?;
    writeln!(out)
}

/// Writes rows directly to the output, because a window may hold many thousands.
struct Object<'a>(&'a Page);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let page = self.0;
        let frame = &page.frame;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema", &json!({ "name": SCHEMA, "version": VERSION }))?;
        map.serialize_entry("window", &window(frame))?;
        map.serialize_entry("books", &books(frame))?;
        map.serialize_entry("cost", &cost(frame))?;
        map.serialize_entry("source", &source(&frame.provenance))?;
        let cpus = frame.cpus.iter().map(|row| cpu(row, frame.provenance.source));
        map.serialize_entry("cpus", &cpus.collect::<Vec<_>>())?;
        map.serialize_entry("tasks", &Rows { page, rows: &page.rows })?;
        map.serialize_entry("exited", &Rows { page, rows: &page.exited })?;
        map.serialize_entry("system", &system(frame))?;
        map.end()
    }
}

struct Rows<'a> {
    page: &'a Page,
    rows: &'a [Row],
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.rows.len()))?;
        for row in self.rows {
            let (columns, context) = (&self.page.columns, &self.page.context);
            seq.serialize_element(&OneRow { row, columns, context })?;
        }
        seq.end()
    }
}

struct OneRow<'a> {
    row: &'a Row,
    columns: &'a [&'static Column],
    context: &'a Context,
}

impl Serialize for OneRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", kind(self.row.kind))?;
        if self.row.kind == RowKind::Exited {
            map.serialize_entry("exited_processes", &self.row.exited_processes)?;
            // The column has the same name and figure.
            if !self.columns.iter().any(|column| column.name == "exited_tasks") {
                map.serialize_entry("exited_tasks", &self.row.exited_tasks)?;
            }
        }
        for column in self.columns {
            map.serialize_entry(column.name, &Cell((column.value)(self.row, self.context)))?;
        }
        map.end()
    }
}

pub(crate) struct Cell(pub(crate) Value);

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Value::Missing(_) => serializer.serialize_none(),
            Value::Known(Datum::Ns(n) | Datum::Count(n) | Datum::Bytes(n)) => {
                serializer.serialize_u64(*n)
            }
            Value::Known(Datum::Int(i)) => serializer.serialize_i64(*i),
            Value::Known(Datum::Pct(n) | Datum::Real(n)) => serializer.serialize_f64(*n),
            Value::Known(Datum::Text(text)) => serializer.serialize_str(text),
        }
    }
}

pub(crate) fn window(frame: &Frame) -> Json {
    let errors: Map<String, Json> =
        ErrorKind::ALL.iter().map(|&k| (k.id().into(), frame.errors.get(k).into())).collect();
    json!({
        "t0_ns": frame.t0_ns,
        "t1_ns": frame.t1_ns,
        "cpus": frame.cpus.len(),
        "exact": frame.exact,
        "unlisted_ns": frame.unlisted_ns,
        "state": frame.state.name(),
        "missed_switches": frame.missed_switches,
        "repaired": repaired(&frame.repaired),
        "audit": audit(&frame.audit),
        "residual_ns": frame.books.residual_ns,
        "errors": errors,
    })
}

pub(crate) fn repaired(repairs: &Repairs) -> Json {
    json!({
        "events": repairs.events,
        "tasks": repairs.tasks,
        "ns": repairs.ns,
        "wait_ns": repairs.wait_ns,
    })
}

pub(crate) fn audit(audit: &Audit) -> Json {
    let figure = |held: Option<AuditFigure>, of: fn(&AuditFigure) -> u64| held.as_ref().map(of);
    let worst = |held: Option<AuditFigure>| {
        held.and_then(|held| held.worst).map(|worst| worst_json(&worst))
    };
    json!({
        "run_max_ns": figure(audit.run, |held| held.max_ns),
        "run_sum_ns": figure(audit.run, |held| held.sum_ns),
        "run_bias_ns": figure(audit.run, |held| held.bias_ns),
        "run_worst": worst(audit.run),
        "lat_max_ns": figure(audit.lat, |held| held.max_ns),
        "lat_sum_ns": figure(audit.lat, |held| held.sum_ns),
        "lat_bias_ns": figure(audit.lat, |held| held.bias_ns),
        "lat_worst": worst(audit.lat),
    })
}

/// The process of a worst figure; `null` for an exited group, whose single tasks are unknown.
fn worst_json(worst: &Worst) -> Json {
    let lives = |id: u32| Some(id).filter(|_| !worst.exited);
    json!({
        "pid": lives(worst.key.tgid),
        "tid": lives(worst.key.tid),
        "comm": worst.comm.to_string(),
        "exited": worst.exited,
    })
}

pub(crate) fn books(frame: &Frame) -> Json {
    let books = &frame.books;
    let mut json = json!({
        "total_ns": books.total_ns,
        "tasks_ns": books.tasks_ns,
        "exited_ns": frame.provenance.source.exited(books.exited_ns),
        "unnamed_ns": books.unnamed_ns,
        "irq_ns": books.irq_ns,
        "steal_ns": books.steal_ns,
        "idle_ns": books.idle_ns,
        "offline_ns": books.offline_ns,
    });
    // Only a daemon's reader in a PID namespace has this figure.
    if let Some(outside_ns) = books.outside_ns {
        json["outside_ns"] = outside_ns.into();
    }
    json
}

fn cost(frame: &Frame) -> Json {
    json!({
        "user_ns": frame.cost.user_ns,
        "bpf_ns": frame.cost.bpf_ns,
        "bpf_events": frame.cost.bpf_events,
    })
}

pub(crate) fn source(provenance: &Provenance) -> Json {
    let mut qualities: Map<String, Json> = Counter::ALL
        .iter()
        .map(|&c| (c.info().id.into(), quality(provenance.quality(c)).into()))
        .collect();
    // Interrupt and steal time of the machine. The tasks' counters of these names stand elsewhere.
    qualities.insert("cpu_irq_ns".into(), quality(provenance.irq).into());
    qualities.insert("cpu_steal_ns".into(), quality(provenance.steal).into());
    qualities.insert("audit_run".into(), quality(provenance.audit_run).into());
    qualities.insert("audit_lat".into(), quality(provenance.audit_lat).into());
    let reason = provenance.reason.as_deref().map(exactop_model::text::escape::harmless);
    json!({
        "name": provenance.source.name(),
        "reason": reason,
        "degraded": provenance.degraded.map(|lacks| lacks.names().collect::<Vec<_>>()),
        "quality": qualities,
    })
}

/// Without the ledger, nothing tells which CPU unknown tasks used: `task_ns` contains them.
fn cpu(row: &CpuRow, source: SourceKind) -> Json {
    let time = &row.account.time;
    json!({
        "cpu": time.cpu,
        "online": time.online,
        "task_ns": time.task_ns,
        "unnamed_ns": source.keeps_books().then_some(time.unnamed_ns),
        "irq_ns": time.irq_ns,
        "steal_ns": time.steal_ns,
        "idle_ns": time.idle_ns,
        "offline_ns": time.offline_ns,
        "residual_ns": row.account.residual_ns,
        "switches": time.switches,
        "missed_switches": time.missed_switches,
        "ticks": row.ticks.as_ref().map(ticks),
    })
}

fn system(frame: &Frame) -> Json {
    let system = &frame.system;
    json!({
        "wall_s": system.wall_s,
        "local_time": system.local_time,
        "uptime_s": system.uptime_s,
        "users": system.users,
        "load": system.load,
        "memory": system.memory.as_ref().map(memory),
        "ticks": frame.ticks.as_ref().map(ticks),
        "processes": census(&frame.processes),
        "threads": census(&frame.tasks),
        "born": frame.born,
        "exited": frame.died,
    })
}

fn ticks(ticks: &StatTicks) -> Json {
    json!({
        "user": ticks.user,
        "nice": ticks.nice,
        "system": ticks.system,
        "idle": ticks.idle,
        "iowait": ticks.iowait,
        "irq": ticks.irq,
        "softirq": ticks.softirq,
        "steal": ticks.steal,
    })
}

fn memory(memory: &Memory) -> Json {
    json!({
        "total_bytes": memory.total,
        "free_bytes": memory.free,
        "available_bytes": memory.available,
        "cache_bytes": memory.cache,
        "swap_total_bytes": memory.swap_total,
        "swap_free_bytes": memory.swap_free,
    })
}

fn census(census: &Census) -> Json {
    json!({
        "total": census.total,
        "running": census.running,
        "sleeping": census.sleeping,
        "blocked": census.blocked,
        "stopped": census.stopped,
        "zombie": census.zombie,
    })
}
