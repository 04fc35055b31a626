//! Details: figures and names that were read from files for a row.

use super::cells::{Cells, Fields};
use super::group_name::{get_named, put_named};
use super::words;
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row as Values;
use exactop_model::ledger::named::Named;
use exactop_model::{Detail, Missing, Row, RowKind};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Key of details: the account of a thread (`is_task`) or of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DetailKey {
    pub is_task: bool,
    pub account: u64,
}

impl DetailKey {
    /// Key of a row; `None` for exited groups, which have no details.
    pub fn from_row(row: &Row) -> Option<DetailKey> {
        let is_task = match row.kind {
            RowKind::Task => true,
            RowKind::Process => false,
            RowKind::Exited => return None,
        };
        Some(DetailKey { is_task, account: row.account?.0 })
    }
}

/// Details of a row, and the identity fields that were refreshed with them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Facts {
    pub detail: Detail,
    pub ppid: u32,
    pub nice: i32,
    pub prio: i32,
    pub policy: u32,
}

impl Facts {
    pub fn from_row(row: &Row) -> Facts {
        let ident = &row.ident;
        // Names of a group with an id are recorded by group.
        let named = match ident.cgroup_id {
            None => row.detail.named.clone(),
            Some(_) => Err(Missing::NotRead),
        };
        Facts {
            // Disk figures belong to the moment of reading, not to a window.
            detail: Detail { named, disk: Err(Missing::NotRead), ..row.detail.clone() },
            ppid: ident.ppid,
            nice: ident.nice,
            prio: ident.prio,
            policy: ident.policy,
        }
    }

    /// The details that hold without being read again. Memory does not.
    pub fn lasting(&self) -> Facts {
        let not = || Err(Missing::NotRead);
        let detail = Detail {
            virt: not(),
            res: not(),
            shr: not(),
            time_ns: Err(Missing::NotRead),
            ..self.detail.clone()
        };
        Facts { detail, ..self.clone() }
    }
}

pub(crate) type Details = FxHashMap<DetailKey, Facts>;

fn number(cells: &mut Cells, value: Result<u64, Missing>) {
    cells.uint(value.ok());
    cells.text(value.err().map(|why| words::reason(why).as_bytes()));
}

fn text(cells: &mut Cells, value: Result<&[u8], Missing>) {
    cells.text(value.ok());
    cells.text(value.err().map(|why| words::reason(why).as_bytes()));
}

pub(crate) fn detail(key: DetailKey, facts: &Facts, strings: &mut Strings) -> Values {
    let which = if key.is_task { TableId::TaskDetail } else { TableId::ProcessDetail };
    let mut cells = Cells::new(which.table(), strings);
    let detail = &facts.detail;
    for value in [detail.virt, detail.res, detail.shr, detail.time_ns] {
        number(&mut cells, value);
    }
    let why = |why: &Missing| *why;
    text(&mut cells, detail.cmdline.as_deref().map_err(why));
    text(&mut cells, detail.user.as_ref().map(|user| user.as_bytes()).map_err(why));
    text(&mut cells, detail.cgroup.as_deref().map_err(why));
    cells
        .uint(u64::from(facts.ppid))
        .int(i64::from(facts.nice))
        .int(i64::from(facts.prio))
        .uint(u64::from(facts.policy));
    put_named(&mut cells, detail.named.as_deref().ok());
    cells.row(key.account)
}

pub(crate) fn detail_of(row: &Values, strings: &Strings) -> Result<Facts, FrameError> {
    let mut fields = Fields::new(row, strings);
    let f = &mut fields;
    let detail = Detail {
        virt: get_number(f)?,
        res: get_number(f)?,
        shr: get_number(f)?,
        time_ns: get_number(f)?,
        cmdline: get_text(f)?.map(<[u8]>::to_vec),
        user: get_text(f)?.map(|text| String::from_utf8_lossy(text).into_owned()),
        cgroup: get_text(f)?.map(<[u8]>::to_vec),
        named: Err(Missing::NotRead),
        disk: Err(Missing::NotRead),
    };
    let mut facts = Facts {
        detail,
        ppid: f.known_small()?,
        nice: f.small_int()?.ok_or(FrameError::Missing)?,
        prio: f.small_int()?.ok_or(FrameError::Missing)?,
        policy: f.known_small()?,
    };
    let named = get_named(f)?;
    if named != Named::default() {
        facts.detail.named = Ok(Arc::new(named));
    }
    Ok(facts)
}

fn get_number(f: &mut Fields) -> Result<Result<u64, Missing>, FrameError> {
    let (value, why) = (f.uint(), words::reason_of(f.text()?));
    Ok(value.ok_or(why))
}

fn get_text<'a>(f: &mut Fields<'a>) -> Result<Result<&'a [u8], Missing>, FrameError> {
    let (value, why) = (f.text()?, words::reason_of(f.text()?));
    Ok(value.ok_or(why))
}
