//! Decodes payloads of frames into snapshots.

use crate::bounds::{Payload, Room};
use crate::error::FrameError;
use crate::rows::{
    blame_of, cpu_of, detail_of, exit_of, group_move_of, group_name_of, leader_name_of, machine_of,
    task_of, ticks_of_cpu, DetailKey, Details, Facts, PageData,
};
use crate::schema::{Table, TableId};
use crate::state::State;
use crate::values::{get_table, Bytes, Row};
use exactop_model::{AccountId, CpuSample, Snapshot};

/// Decodes payloads in order.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    /// For each table of the file: the table here, and for each of its columns the column here.
    places: Vec<Option<(TableId, Vec<Option<usize>>)>>,
    state: State,
}

impl Decoder {
    /// Decodes a file with these tables.
    pub fn new(tables: &[Table]) -> Decoder {
        let places = tables
            .iter()
            .map(|theirs| {
                let which =
                    TableId::ALL.iter().copied().find(|w| w.table().table == theirs.table)?;
                let ours = &which.table().columns;
                let place = |theirs: &(String, _)| ours.iter().position(|ours| ours == theirs);
                Some((which, theirs.columns.iter().map(place).collect()))
            })
            .collect();
        Decoder { places, state: State::default() }
    }

    /// Decodes a keyframe: all tasks at one instant.
    pub fn keyframe(&mut self, payload: &Payload) -> Result<Snapshot, FrameError> {
        self.state = State::default();
        let whole = self.snapshot(payload)?;
        self.state.forget(false, &whole.gone);
        Ok(whole)
    }

    /// Decodes a window: the changes since the instant before.
    pub fn window(&mut self, payload: &Payload) -> Result<Snapshot, FrameError> {
        let now = self.snapshot(payload)?;
        self.state.forget(now.complete, &now.gone);
        Ok(now)
    }

    fn snapshot(&mut self, payload: &Payload) -> Result<Snapshot, FrameError> {
        let tables = self.tables(payload)?;
        let strings = &self.state.strings;
        let rows = |which| tables[which as usize].iter();
        let mut now =
            machine_of(rows(TableId::Machine).next().ok_or(FrameError::Missing)?, strings)?;
        now.cpus = rows(TableId::Cpu).map(|r| cpu_of(r, strings)).collect::<Result<_, _>>()?;
        let ticks = rows(TableId::CpuTicks).map(|r| ticks_of_cpu(r, strings));
        now.system.cpu_ticks = ticks.collect::<Result<_, _>>()?;
        // Their samples are large: a list that grows as it is collected copies each several times.
        now.tasks.reserve_exact(rows(TableId::Task).len());
        for row in rows(TableId::Task) {
            now.tasks.push(task_of(row, strings)?);
        }
        now.gone = rows(TableId::Gone).map(|r| AccountId(r.key)).collect();
        now.exited.reserve_exact(rows(TableId::Exit).len());
        for row in rows(TableId::Exit) {
            now.exited.push(exit_of(row, strings)?);
        }
        let moves = rows(TableId::GroupMove).map(|r| group_move_of(r, strings));
        now.moves = moves.collect::<Result<_, _>>()?;
        let groups = rows(TableId::GroupName).map(|r| group_name_of(r, strings));
        now.groups = groups.collect::<Result<_, _>>()?;
        let leader_names = rows(TableId::LeaderName).map(|r| leader_name_of(r, strings));
        now.leader_names = leader_names.collect::<Result<_, _>>()?;
        if now.blame.is_some() {
            now.blame = Some(blame_of(|which| &tables[which as usize], strings)?);
        }
        Ok(now)
    }

    /// Decodes the details of the last window's rows, and what was measured on demand.
    pub fn details(&mut self, payload: &Payload) -> Result<(Details, PageData), FrameError> {
        let tables = self.tables(payload)?;
        let mut details = Details::default();
        for (which, is_task) in [(TableId::TaskDetail, true), (TableId::ProcessDetail, false)] {
            for row in &tables[which as usize] {
                let facts = detail_of(row, &self.state.strings)?;
                details.insert(DetailKey { is_task, account: row.key }, facts);
            }
        }
        let page = PageData::from_tables(|which| &tables[which as usize], &self.state.strings)?;
        Ok((details, page))
    }

    /// Details that were read in an earlier window and still hold.
    pub fn lasting(&self, key: DetailKey) -> Option<Facts> {
        let row = self.state.details(key).row(key.account)?;
        Some(detail_of(row, &self.state.strings).ok()?.lasting())
    }

    /// Decodes only the CPUs of a keyframe or a window.
    pub fn cpus(
        &mut self,
        payload: &Payload,
        keyframe: bool,
    ) -> Result<Vec<CpuSample>, FrameError> {
        if keyframe {
            self.state = State::default();
        }
        let mut bytes = Bytes(&payload.bytes);
        // Skip new texts: no figure of a CPU refers to one.
        bytes.number()?;
        for _ in 0..bytes.number()? {
            bytes.bytes()?;
        }
        let tables = self.tables_of(bytes, payload.cells, |which| which == TableId::Cpu)?;
        self.state.before_mut(TableId::Cpu).keep_listed();
        let rows = tables[TableId::Cpu as usize].iter();
        rows.map(|row| cpu_of(row, &self.state.strings)).collect()
    }

    fn tables(&mut self, payload: &Payload) -> Result<[Vec<Row>; TableId::ALL.len()], FrameError> {
        let mut bytes = Bytes(&payload.bytes);
        self.state.strings.get_new(&mut bytes)?;
        self.tables_of(bytes, payload.cells, |_| true)
    }

    fn tables_of(
        &mut self,
        mut bytes: Bytes,
        cells: usize,
        wanted: impl Fn(TableId) -> bool,
    ) -> Result<[Vec<Row>; TableId::ALL.len()], FrameError> {
        let mut tables: [Vec<Row>; TableId::ALL.len()] = Default::default();
        let mut room = Room::new(cells);
        while !bytes.is_empty() {
            let number = usize::try_from(bytes.number()?).map_err(|_| FrameError::Number)?;
            let table = bytes.bytes()?;
            let Some(Some((which, places))) = self.places.get(number) else { continue };
            if !wanted(*which) {
                continue;
            }
            let of = (which.table().columns.len(), which.most());
            let before = self.state.before_mut(*which);
            tables[*which as usize] = get_table(table, places, of, before, &mut room)?;
            self.state.check()?;
        }
        Ok(tables)
    }
}
