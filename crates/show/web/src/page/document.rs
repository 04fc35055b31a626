//! The page's content as JSON: figures in nanoseconds, times in microseconds since the epoch.

use crate::page::accounts::{Account, Accounts, Peak, ACCOUNTS, COUNT, IRQ, STEAL};
use crate::page::cells::Columns;
use crate::page::columns::ColumnInfo;
use crate::page::entities::OtherRows;
use crate::page::gaps::Gap;
use crate::page::marks::Mark;
use crate::page::pairs::Pair;
use crate::page::sizes::SizedOwner;
use exactop_model::blame::sizes::{end_ns, BUCKETS};
use exactop_model::ledger::named::Named;
use exactop_model::text::escape::escape_str;
use serde::Serialize;

const SCHEMA: &str = "exactop.page";
/// Its version: the page and the document are made together.
const VERSION: u32 = 1;

/// Figures of a group, in this order: the ledger's of its own tasks, then the kernel's of the whole
/// subtree.
pub(crate) const GROUP_COLUMNS: [&str; 9] = [
    "run_ns",
    "lat_ns",
    "throttle_ns",
    "exited",
    "usage_ns",
    "throttled_ns",
    "nr_periods",
    "nr_throttled",
    "pressure_some_ns",
];

/// A time range for the page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Document {
    schema: Schema,
    pub(crate) about: DocumentInfo,
    #[serde(skip_serializing_if = "<[Account]>::is_empty")]
    pub(crate) accounts: &'static [Account],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) columns: Vec<ColumnInfo>,
    pub(crate) slots: Slots,
    pub(crate) cpus: Vec<Cpu>,
    /// CPUs without figures, in the window that had most of them.
    pub(crate) cpus_left_out: usize,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) gaps_left_out: usize,
    pub(crate) marks: Vec<Mark>,
    pub(crate) marks_left_out: usize,
    pub(crate) rows: Vec<Row>,
    pub(crate) rows_left_out: OtherRows,
    /// Names of the groups' figures.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub(crate) group_columns: &'static [&'static str],
    pub(crate) groups: Vec<Group>,
    pub(crate) groups_left_out: OtherRows,
    pub(crate) threads: Vec<Thread>,
    pub(crate) threads_left_out: OtherRows,
    pub(crate) pairs: Vec<Pair>,
    /// Ends of the sizes of waits, ns; null: it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) size_ends_ns: Vec<Option<u64>>,
    pub(crate) sizes: Vec<SizedOwner>,
}

/// A control group, or all those that have no row of their own. All text is escaped.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Group {
    /// Its name in the page's address.
    pub key: String,
    /// Path below the root of its hierarchy, if known.
    pub path: Option<String>,
    /// Meaning of the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    #[serde(flatten)]
    pub names: GroupNames,
    /// Its limits, each from a slot on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitOf>,
    #[serde(flatten)]
    pub cells: Columns,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct GroupNames {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// From this slot on: the weight, the CPUs that its own quota allows (none: no quota), cpu.max.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct LimitOf(pub u32, pub Option<u64>, pub Option<f64>, pub Option<String>);

/// A thread of a process that has several. All text is escaped.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Thread {
    pub key: String,
    /// Key of its process.
    pub process: String,
    pub tid: u32,
    pub comm: String,
    #[serde(flatten)]
    pub cells: Columns,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Schema {
    name: &'static str,
    version: u32,
}

/// The machine of the figures. All text is escaped.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct DocumentInfo {
    pub host: String,
    pub kernel: String,
    pub exactop: String,
    pub source: String,
    pub anonymous: bool,
    pub cpus: usize,
    pub windows: u64,
    pub repaired: u64,
    pub inexact: u64,
}

/// Figures by slot.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Slots {
    pub from_us: Vec<i64>,
    pub to_us: Vec<i64>,
    /// Sum over all its windows, by CLOCK_MONOTONIC.
    pub length_ns: Vec<u64>,
    pub windows: Vec<u32>,
    /// 0 exact, 1 repaired, 2 inexact: the worst of its windows.
    pub state: Vec<u8>,
    pub capacity_ns: Vec<u64>,
    /// Length of its windows with a blame book.
    pub blame_ns: Vec<u64>,
    /// Length of its windows with histograms of waits.
    pub sizes_ns: Vec<u64>,
    /// Number of its windows that measured interrupts separately.
    pub irq_windows: Vec<u32>,
    /// Number of its windows that measured steal separately.
    pub steal_windows: Vec<u32>,
    /// A list for each account.
    pub parts_ns: [Vec<Option<i64>>; COUNT],
    /// Single windows of slots with more than one: slot, then `Peak`.
    pub peaks: Vec<(u32, Peak)>,
}

/// A CPU by slot; null: it was not there.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Cpu {
    pub cpu: u32,
    pub busy_ns: Vec<Option<u64>>,
    /// The busy part in its busiest window, per mille.
    pub most_permille: Vec<Option<u16>>,
}

/// A row, or all other rows together. All text is escaped.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// Its name in the page's address.
    pub key: String,
    pub kind: &'static str,
    #[serde(flatten)]
    pub words: Words,
    /// Its living threads, each from a slot on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<(u32, u32)>,
    #[serde(flatten)]
    pub cells: Columns,
}

/// Identity of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Words {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ppid: Option<u32>,
    /// Name of the process with that PID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    pub comm: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Start of a process by the wall clock, to about 10 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_us: Option<i64>,
    #[serde(flatten)]
    pub names: GroupNames,
}

impl GroupNames {
    /// The names, escaped.
    pub fn new(named: &Named) -> GroupNames {
        let text = |name: &Option<String>| name.as_deref().map(escape_str);
        GroupNames {
            unit: text(&named.unit),
            container: text(&named.container),
            pod: text(&named.pod),
            namespace: text(&named.namespace),
        }
    }

    /// These names, with earlier ones where these are unknown.
    pub fn or(self, before: GroupNames) -> GroupNames {
        GroupNames {
            unit: self.unit.or(before.unit),
            container: self.container.or(before.container),
            pod: self.pod.or(before.pod),
            namespace: self.namespace.or(before.namespace),
        }
    }
}

impl Document {
    pub(crate) fn new(columns: Vec<ColumnInfo>) -> Document {
        Document {
            schema: Schema { name: SCHEMA, version: VERSION },
            accounts: &ACCOUNTS,
            columns,
            group_columns: &GROUP_COLUMNS,
            size_ends_ns: (0..BUCKETS).map(end_ns).collect(),
            ..Document::default()
        }
    }

    /// Number of windows.
    pub fn windows(&self) -> u64 {
        self.about.windows
    }

    /// Name of the host, escaped.
    pub fn host(&self) -> &str {
        &self.about.host
    }

    /// The document as JSON.
    ///
    /// # Errors
    /// None is known: all keys of the document are strings.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

impl Slots {
    /// Starts another slot, or continues the last.
    pub fn add(&mut self, begins: bool, span_us: (i64, i64), window: (u64, u8), sums: &Accounts) {
        if begins {
            self.from_us.push(span_us.0);
            self.to_us.push(span_us.1);
            self.length_ns.push(0);
            self.windows.push(0);
            self.state.push(0);
            self.capacity_ns.push(0);
            self.blame_ns.push(0);
            self.sizes_ns.push(0);
            self.irq_windows.push(0);
            self.steal_windows.push(0);
            self.parts_ns.iter_mut().for_each(|parts| parts.push(None));
        }
        let Some(last) = self.from_us.len().checked_sub(1) else { return };
        self.to_us[last] = span_us.1;
        self.length_ns[last] = self.length_ns[last].saturating_add(window.0);
        self.windows[last] += 1;
        self.irq_windows[last] += u32::from(sums.parts[IRQ].is_some());
        self.steal_windows[last] += u32::from(sums.parts[STEAL].is_some());
        self.state[last] = self.state[last].max(window.1);
        let mut all = Accounts { capacity_ns: self.capacity_ns[last], ..Accounts::default() };
        for (part, parts) in all.parts.iter_mut().zip(&self.parts_ns) {
            *part = parts[last];
        }
        all.add(sums);
        self.capacity_ns[last] = all.capacity_ns;
        for (part, parts) in all.parts.iter().zip(&mut self.parts_ns) {
            parts[last] = *part;
        }
    }
}
