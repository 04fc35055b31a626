//! Row of a task.

use super::cells::{Cells, Fields};
use super::{audit, words};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::{AccountId, Ident, TaskKey, TaskSample};

pub(crate) fn task(task: &TaskSample, strings: &mut Strings) -> Row {
    let TaskSample { account, key, ident, state, letter, .. } = task;
    let mut letter_bytes = [0; 4];
    let mut cells = Cells::new(TableId::Task.table(), strings);
    cells
        .uint(u64::from(key.tgid))
        .uint(u64::from(key.tid))
        .uint(key.start_ns)
        .uint(u64::from(ident.ppid))
        .text(Some(words::comm(&ident.comm)))
        .uint(u64::from(ident.uid))
        .uint(ident.cgroup_id)
        .int(i64::from(ident.nice))
        .int(i64::from(ident.prio))
        .uint(u64::from(ident.policy))
        .bool(ident.kthread)
        .text(Some(words::state(*state).as_bytes()))
        .text(Some(letter.encode_utf8(&mut letter_bytes).as_bytes()))
        .uint(task.since_ns)
        .uint(task.last_cpu.map(u64::from))
        .uint(task.threads.map(u64::from))
        .bool(task.tree != 0)
        .counters(&task.counters);
    audit::put_task(&mut cells, &task.audit);
    cells.uint(words::tree(task.tree)).uint(ident.session.map(u64::from));
    cells.row(account.0)
}

pub(crate) fn task_of(row: &Row, strings: &Strings) -> Result<TaskSample, FrameError> {
    let mut fields = Fields::new(row, strings);
    let f = &mut fields;
    let (tgid, tid, start_ns) = (f.known_small()?, f.known_small()?, f.known()?);
    let ident = Ident {
        ppid: f.known_small()?,
        comm: words::comm_of(f.text()?)?,
        uid: f.known_small()?,
        session: None,
        cgroup_id: f.uint(),
        nice: f.small_int()?.ok_or(FrameError::Missing)?,
        prio: f.small_int()?.ok_or(FrameError::Missing)?,
        policy: f.known_small()?,
        kthread: f.bool()?,
    };
    let mut task = TaskSample {
        account: AccountId(row.key),
        key: TaskKey { tgid, tid, start_ns },
        ident,
        state: words::state_of(f.text()?),
        letter: letter(f.text()?)?,
        since_ns: f.known()?,
        last_cpu: f.small()?,
        threads: f.small()?,
        tree: u32::from(f.bool()?),
        counters: f.counters(),
        audit: audit::get_task(f)?,
    };
    task.tree = words::tree_of(task.tree, f.small()?);
    task.ident.session = f.small()?;
    Ok(task)
}

fn letter(text: Option<&[u8]>) -> Result<char, FrameError> {
    let text =
        std::str::from_utf8(text.ok_or(FrameError::Missing)?).map_err(|_| FrameError::Text)?;
    // The letter reaches the screen unescaped, so only letters pass.
    text.chars().next().filter(char::is_ascii_alphabetic).ok_or(FrameError::Text)
}
