//! The tables: their columns, and the rows of a window.

use crate::names::Names;
use crate::table::{Field, FieldType, Row, Table};
use crate::ExportError;
use exactop_model::ledger::exactness::WindowState;
use exactop_model::ledger::window::{ExitDelta, TaskDelta};
use exactop_model::owner::{charge, Charge, Grouping, Labels, Owner, Usage, WAITS};
use exactop_model::text::escape::escape;
use exactop_model::{Book, Books, Counter, SourceKind, Window};
use exactop_recording::Span;
use std::collections::BTreeMap;

/// The tables; each is one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum TableName {
    /// The balance of the CPUs' time: one row for each window.
    Accounts,
    /// Tasks: one row for each task that had an event in a window or waited throughout it, and for
    /// each exited group.
    Rows,
    /// Control groups: one row for each group that used CPU time in a window.
    Groups,
    /// Names (namespace, pod, container, unit, command): the largest of a window, and `~other`.
    Charges,
    /// Waits in the blame book: one row for each party that waited in a window.
    Waits,
    /// Pairs in the blame book: one row for each pair of a party and a culprit.
    Pairs,
    /// Histograms of waits: one row for each party and kind of waits that had any.
    Histograms,
    /// The same by name, as in `charges`: the largest pairs of a window, and `~other`.
    Blame,
}

impl TableName {
    /// All tables.
    pub const ALL: &[TableName] = <TableName as strum::VariantArray>::VARIANTS;

    /// The tables of many machines, in the order of writing: a row of `accounts` marks its window as
    /// complete.
    pub const FLEET: [TableName; 3] = [TableName::Blame, TableName::Charges, TableName::Accounts];

    /// Name of the table, without `.parquet`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

const OF_GROUPS: [Counter; 5] =
    [Counter::RunNs, Counter::StealNs, Counter::IrqNs, Counter::LatNs, Counter::ThrottleNs];

/// Columns of a table.
pub fn fields(which: TableName) -> Vec<Field> {
    let of = |kind, optional: bool, names: &str| -> Vec<Field> {
        let field = |name: &str| Field { name: name.into(), kind, optional };
        names.split_whitespace().map(field).collect()
    };
    let (there, perhaps) = (false, true);
    let window = || {
        [of(FieldType::Instant, there, "window_end"), of(FieldType::Unsigned, there, "t1_ns")]
            .concat()
    };
    let own = match which {
        TableName::Accounts => vec![
            of(FieldType::Unsigned, there, "length_ns"),
            of(FieldType::Text, perhaps, "host boot_id"),
            of(FieldType::Unsigned, there, "cpus capacity_ns tasks_ns"),
            of(FieldType::Unsigned, perhaps, "exited_ns"),
            of(FieldType::Unsigned, there, "unnamed_ns"),
            of(FieldType::Unsigned, perhaps, "irq_ns steal_ns"),
            of(FieldType::Unsigned, there, "idle_ns offline_ns"),
            of(FieldType::Signed, there, "residual_ns"),
            of(FieldType::Flag, there, "exact"),
            of(FieldType::Text, there, "source"),
            of(FieldType::Unsigned, perhaps, "missed_switches"),
            of(FieldType::Unsigned, there, "inexact_events"),
        ],
        TableName::Rows => vec![
            of(FieldType::Text, there, "kind comm"),
            of(FieldType::Unsigned, perhaps, "pid tid start_ns uid"),
            of(FieldType::Text, perhaps, "user"),
            of(FieldType::Unsigned, perhaps, "session ppid cgroup_id"),
            of(FieldType::Text, perhaps, "cgroup"),
            of(FieldType::Unsigned, perhaps, "exited_processes exited_tasks"),
            of(FieldType::Unsigned, there, "life_ns"),
            Counter::ALL
                .iter()
                .flat_map(|c| of(FieldType::Unsigned, perhaps, c.info().id))
                .collect(),
        ],
        TableName::Groups => vec![
            of(FieldType::Unsigned, perhaps, "cgroup_id"),
            of(FieldType::Text, perhaps, "cgroup"),
            of(FieldType::Unsigned, there, "tasks"),
            of(FieldType::Unsigned, perhaps, "exited_processes"),
            OF_GROUPS.iter().flat_map(|c| of(FieldType::Unsigned, perhaps, c.info().id)).collect(),
        ],
        TableName::Charges => vec![
            of(FieldType::Unsigned, there, "length_ns"),
            of(FieldType::Text, perhaps, "host boot_id"),
            of(FieldType::Text, there, "namespace pod container unit command"),
            of(FieldType::Unsigned, there, "run_ns"),
            WAITS.iter().flat_map(|(_, c)| of(FieldType::Unsigned, perhaps, c.info().id)).collect(),
            of(FieldType::Unsigned, perhaps, "exited_processes"),
        ],
        TableName::Waits => {
            vec![party(""), of(FieldType::Signed, there, "lat_ns dispatches in_flight_delta_ns")]
        }
        TableName::Pairs => vec![
            party(""),
            of(FieldType::Text, there, "kind"),
            party("culprit_"),
            of(FieldType::Unsigned, there, "ns times"),
        ],
        TableName::Histograms => vec![
            party(""),
            of(FieldType::Text, there, "began"),
            of(FieldType::Numbers, there, "counts ns"),
            of(FieldType::Unsigned, perhaps, "max_ns"),
        ],
        TableName::Blame => vec![
            of(FieldType::Unsigned, there, "length_ns"),
            of(FieldType::Text, perhaps, "host boot_id"),
            of(FieldType::Text, there, "namespace pod container unit command kind"),
            of(FieldType::Text, there, "culprit_namespace culprit_pod culprit_container"),
            of(FieldType::Text, there, "culprit_unit culprit_command"),
            of(FieldType::Unsigned, there, "ns times"),
        ],
    };
    window().into_iter().chain(own.into_iter().flatten()).collect()
}

/// Columns of a party in the blame book, which are null together.
fn party(prefix: &str) -> Vec<Field> {
    let columns = [
        ("comm", FieldType::Text),
        ("uid", FieldType::Unsigned),
        ("user", FieldType::Text),
        ("session", FieldType::Unsigned),
        ("cgroup_id", FieldType::Unsigned),
        ("cgroup", FieldType::Text),
        ("kthread", FieldType::Flag),
    ];
    let field = |(name, kind)| Field { name: format!("{prefix}{name}"), kind, optional: true };
    columns.map(field).into()
}

pub(crate) struct WindowFacts<'a> {
    pub window: &'a Window,
    /// The book that made the window.
    pub book: &'a Book,
    pub span: Span,
    /// Host name, escaped.
    pub host: Option<String>,
    pub boot_id: Option<String>,
    pub names: &'a Names,
    /// Tasks that waited throughout the window.
    pub waiting: &'a [TaskDelta],
    /// Groups of the window by name.
    pub named: &'a [(Labels, Usage)],
    /// Most pairs of names with a row of their own.
    pub most: usize,
}

impl WindowFacts<'_> {
    pub(crate) fn end(&self) -> i64 {
        i64::try_from(self.span.wall_t1_ns()).unwrap_or(i64::MAX)
    }

    /// The source of the window.
    pub(crate) fn source(&self) -> SourceKind {
        self.window.end.provenance.source
    }

    /// Writes the first columns of the fleet's tables.
    pub(crate) fn begin(&self, row: &mut Row<'_>) {
        row.instant(self.end())
            .unsigned(self.window.t1_ns)
            .unsigned(self.window.length_ns())
            .text(self.host.as_deref())
            .text(self.boot_id.as_deref());
    }

    /// Writes the window's rows of a table.
    pub fn put(&self, which: TableName, table: &mut Table) -> Result<(), ExportError> {
        match which {
            TableName::Accounts => self.accounts(table),
            TableName::Rows => self.rows(table),
            TableName::Groups => self.groups(table),
            TableName::Charges => self.charges(table),
            TableName::Waits => self.waits(table),
            TableName::Pairs => self.pairs(table),
            TableName::Histograms => self.histograms(table),
            TableName::Blame => self.blame(table),
        }
    }

    /// Writes the balance.
    fn accounts(&self, table: &mut Table) -> Result<(), ExportError> {
        let books = Books::from_window(self.window);
        let exact = self.window.state() != WindowState::Inexact;
        let mut row = table.row()?;
        self.begin(&mut row);
        row.unsigned(self.window.cpus.len() as u64)
            .unsigned(books.total_ns)
            .unsigned(books.tasks_ns)
            .unsigned(self.source().exited(books.exited_ns))
            .unsigned(books.unnamed_ns)
            .unsigned(books.irq_ns)
            .unsigned(books.steal_ns)
            .unsigned(books.idle_ns)
            .unsigned(books.offline_ns)
            .signed(books.residual_ns)
            .flag(exact)
            .text(self.source().name())
            .unsigned(self.window.missed_switches())
            .unsigned(self.window.errors.inexact());
        Ok(())
    }

    /// Writes the tasks that had an event or waited throughout the window.
    fn rows(&self, table: &mut Table) -> Result<(), ExportError> {
        for task in self.window.tasks.iter().chain(self.waiting) {
            self.task(table, task)?;
        }
        for exit in &self.window.exited {
            self.exit(table, exit)?;
        }
        Ok(())
    }

    fn task(&self, table: &mut Table, task: &TaskDelta) -> Result<(), ExportError> {
        let (key, ident) = (task.sample.key, &task.sample.ident);
        let mut row = table.row()?;
        row.instant(self.end())
            .unsigned(self.window.t1_ns)
            .text("task")
            .text(&*ident.comm.to_string())
            .unsigned(u64::from(key.tgid))
            .unsigned(u64::from(key.tid))
            .unsigned(key.start_ns)
            .unsigned(u64::from(ident.uid))
            .text(self.names.user(ident.uid))
            .unsigned(ident.session.map(u64::from))
            .unsigned(u64::from(ident.ppid))
            .unsigned(ident.cgroup_id)
            .text(self.path(ident.cgroup_id).as_deref())
            .unsigned(self.source().exited(0))
            .unsigned(self.source().exited(0))
            .unsigned(task.life_ns);
        for &counter in Counter::ALL {
            row.unsigned(task.delta.get(counter));
        }
        Ok(())
    }

    fn exit(&self, table: &mut Table, exit: &ExitDelta) -> Result<(), ExportError> {
        let sample = &exit.sample;
        let parent = sample.ancestors[0].tgid;
        let mut row = table.row()?;
        row.instant(self.end())
            .unsigned(self.window.t1_ns)
            .text("exited")
            .text(&*sample.comm.to_string())
            .unsigned((sample.of.tgid != 0).then_some(u64::from(sample.of.tgid)))
            .unsigned(None)
            .unsigned((sample.of.tgid != 0).then_some(sample.of.start_ns))
            .unsigned(sample.uid.map(u64::from))
            .text(sample.uid.and_then(|uid| self.names.user(uid)))
            .unsigned(sample.session.map(u64::from))
            .unsigned((parent != 0).then_some(u64::from(parent)))
            .unsigned(sample.cgroup_id)
            .text(self.path(sample.cgroup_id).as_deref())
            .unsigned(exit.processes)
            .unsigned(exit.tasks)
            .unsigned(exit.life_ns);
        for &counter in Counter::ALL {
            row.unsigned(exit.delta.get(counter));
        }
        Ok(())
    }

    /// Writes the sums by control group.
    fn groups(&self, table: &mut Table) -> Result<(), ExportError> {
        let mut groups: BTreeMap<Owner, Group> = BTreeMap::new();
        charge(self.window, self.book, Grouping::Cgroup, &mut |owner, charge| {
            groups.entry(owner).or_default().add(&charge);
        });
        for (owner, group) in groups {
            let Owner::Group(id) = owner else { continue };
            let mut row = table.row()?;
            row.instant(self.end())
                .unsigned(self.window.t1_ns)
                .unsigned(id)
                .text(self.path(id).as_deref())
                .unsigned(group.tasks)
                .unsigned(self.source().exited(group.exited));
            for sum in group.sums {
                row.unsigned(sum);
            }
        }
        Ok(())
    }

    /// Path of a control group: from the window, else from the details of a row.
    pub fn path(&self, id: Option<u64>) -> Option<String> {
        let told = self.book.group(id?).map(|group| escape(&group.path));
        told.or_else(|| self.names.path(id).map(String::from))
    }
}

/// Sums of a group. CPU time is the sum of the known figures, as in the window's books. Any other
/// sum is unknown if a part is unknown.
struct Group {
    tasks: u64,
    exited: u64,
    sums: [Option<u64>; OF_GROUPS.len()],
}

impl Default for Group {
    fn default() -> Group {
        Group { tasks: 0, exited: 0, sums: [Some(0); OF_GROUPS.len()] }
    }
}

impl Group {
    fn add(&mut self, charge: &Charge<'_>) {
        self.tasks += charge.tasks;
        self.exited += charge.exited;
        for (sum, &counter) in self.sums.iter_mut().zip(&OF_GROUPS) {
            let known = charge.counters.get(counter);
            let part = if counter == Counter::RunNs { known.or(Some(0)) } else { known };
            *sum = sum.zip(part).map(|(sum, part)| sum.saturating_add(part));
        }
    }
}
