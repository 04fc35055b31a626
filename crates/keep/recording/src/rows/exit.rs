//! Row of a group of exited tasks.

use super::cells::{Cells, Fields};
use super::{audit, words};
use crate::error::FrameError;
use crate::schema::{TableId, ANCESTORS};
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::ledger::snapshot::ProcessRef;
use exactop_model::{AccountId, ExitSample};

pub(crate) fn exit(exit: &ExitSample, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::Exit.table(), strings);
    cells.uint(u64::from(exit.of.tgid)).uint(exit.of.start_ns);
    for ancestor in exit.ancestors {
        cells.uint(u64::from(ancestor.tgid)).uint(ancestor.start_ns);
    }
    cells
        .text(Some(words::comm(&exit.comm)))
        .uint(exit.cgroup_id)
        .uint(exit.uid.map(u64::from))
        .bool(exit.tree != 0)
        .uint(exit.processes)
        .uint(exit.tasks)
        .uint(exit.life_ns)
        .counters(&exit.counters);
    audit::put_exit(&mut cells, &exit.audit);
    cells.uint(words::tree(exit.tree)).uint(exit.session.map(u64::from));
    cells.row(exit.account.0)
}

pub(crate) fn exit_of(row: &Row, strings: &Strings) -> Result<ExitSample, FrameError> {
    let mut fields = Fields::new(row, strings);
    let f = &mut fields;
    let mut process =
        || Ok::<_, FrameError>(ProcessRef { tgid: f.known_small()?, start_ns: f.known()? });
    let of = process()?;
    let mut ancestors = [ProcessRef::default(); ANCESTORS];
    for ancestor in &mut ancestors {
        *ancestor = process()?;
    }
    let mut exit = ExitSample {
        account: AccountId(row.key),
        of,
        ancestors,
        comm: words::comm_of(f.text()?)?,
        cgroup_id: f.uint(),
        uid: f.small()?,
        session: None,
        tree: u32::from(f.bool()?),
        processes: f.known()?,
        tasks: f.known()?,
        life_ns: f.known()?,
        counters: f.counters(),
        audit: audit::get_exit(f)?,
    };
    exit.tree = words::tree_of(exit.tree, f.small()?);
    exit.session = f.small()?;
    Ok(exit)
}
