//! Encodes snapshots as payloads of frames.

use crate::bounds::{Payload, Room, CELLS};
use crate::error::FrameError;
use crate::rows::{
    blame, cpu, detail, detail_of, exit, group_move, group_name, leader_name, machine, task,
    ticks_row, DetailKey, Facts, PageData,
};
use crate::schema::TableId;
use crate::state::State;
use crate::values::{put_table, Row};
use exactop_model::Snapshot;

/// Encodes payloads in order.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    state: State,
}

impl Encoder {
    /// Encodes all tasks at one instant and their lasting details; forgets everything before.
    pub fn keyframe(&mut self, whole: &Snapshot) -> Result<Payload, FrameError> {
        let known = self.lasting_facts();
        self.state = State::default();
        let mut tables = self.snapshot_rows(whole);
        let lives: rustc_hash::FxHashSet<u64> = whole.tasks.iter().map(|t| t.account.0).collect();
        let known = known.into_iter().filter(|(key, _)| lives.contains(&key.account));
        tables.extend(self.detail_rows(known));
        let payload = self.payload(tables)?;
        self.state.forget(false, &whole.gone);
        Ok(payload)
    }

    /// Encodes what changed.
    pub fn window(&mut self, now: &Snapshot) -> Result<Payload, FrameError> {
        let tables = self.snapshot_rows(now);
        let payload = self.payload(tables)?;
        self.state.forget(now.complete, &now.gone);
        Ok(payload)
    }

    /// Encodes the details of the last window's rows, and what was measured on demand.
    pub fn details(
        &mut self,
        facts: impl IntoIterator<Item = (DetailKey, Facts)>,
        page: &PageData,
    ) -> Result<Payload, FrameError> {
        let mut tables = self.detail_rows(facts.into_iter());
        tables.extend(page.rows(&mut self.state.strings));
        self.payload(tables)
    }

    /// True if a keyframe is due because too many texts were added since the last.
    pub fn is_long(&self) -> bool {
        self.state.strings.is_long()
    }

    fn payload(&mut self, tables: Vec<(TableId, Vec<Row>)>) -> Result<Payload, FrameError> {
        let mut room = Room::new(CELLS);
        for (which, rows) in &tables {
            room.take(rows.len(), which.table().columns.len(), which.most())?;
        }
        let mut out = Vec::new();
        self.state.strings.put_new(&mut out)?;
        for (which, rows) in tables {
            put_table(&mut out, which as usize, rows, self.state.before_mut(which));
        }
        self.state.check()?;
        Ok(Payload { bytes: out, cells: room.used() })
    }

    fn snapshot_rows(&mut self, now: &Snapshot) -> Vec<(TableId, Vec<Row>)> {
        let s = &mut self.state.strings;
        let gone = now.gone.iter().map(|account| Row::new(account.0, &[]));
        let mut tables = vec![
            (TableId::Machine, vec![machine(now, s)]),
            (TableId::Cpu, now.cpus.iter().map(|c| cpu(c, s)).collect()),
            (
                TableId::CpuTicks,
                now.system.cpu_ticks.iter().map(|(n, t)| ticks_row(*n, t, s)).collect(),
            ),
            (TableId::Task, now.tasks.iter().map(|t| task(t, s)).collect()),
            (TableId::Gone, gone.collect()),
            (TableId::Exit, now.exited.iter().map(|e| exit(e, s)).collect()),
            (
                TableId::GroupMove,
                (0..).zip(&now.moves).map(|(n, moved)| group_move(n, moved, s)).collect(),
            ),
            (TableId::GroupName, now.groups.iter().map(|group| group_name(group, s)).collect()),
            (
                TableId::LeaderName,
                now.leader_names.iter().map(|name| leader_name(*name, s)).collect(),
            ),
        ];
        tables.extend(now.blame.iter().flat_map(|book| blame(book, s)));
        tables
    }

    fn detail_rows(
        &mut self,
        facts: impl Iterator<Item = (DetailKey, Facts)>,
    ) -> Vec<(TableId, Vec<Row>)> {
        let strings = &mut self.state.strings;
        let (mut tasks, mut processes) = (Vec::new(), Vec::new());
        for (key, facts) in facts {
            let row = detail(key, &facts, strings);
            if key.is_task { &mut tasks } else { &mut processes }.push(row);
        }
        vec![(TableId::TaskDetail, tasks), (TableId::ProcessDetail, processes)]
    }

    fn lasting_facts(&self) -> Vec<(DetailKey, Facts)> {
        let of = |which, is_task| {
            let strings = &self.state.strings;
            self.state.before(which).rows().filter_map(move |row| {
                let facts = detail_of(row, strings).ok()?.lasting();
                Some((DetailKey { is_task, account: row.key }, facts))
            })
        };
        let mut all: Vec<_> =
            of(TableId::TaskDetail, true).chain(of(TableId::ProcessDetail, false)).collect();
        all.sort_by_key(|(key, _)| key.account);
        all
    }
}
