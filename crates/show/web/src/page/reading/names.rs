//! Identity of a row as escaped text.

use crate::page::document::{GroupNames, Words};
use crate::page::entities::EntityId;
use crate::page::moment::Moment;
use exactop_model::text::escape::{escape, escape_str};
use exactop_model::{AccountId, Book, Detail, Ident};

/// Most bytes of a command line.
const COMMAND_LINE: usize = 400;
/// Most bytes of a path.
const PATH: usize = 1000;

/// Known names of a row; the account is that of a process's leader.
pub(super) fn words(
    who: &EntityId,
    ident: &Ident,
    account: Option<AccountId>,
    moment: &dyn Moment,
) -> Words {
    let book = moment.book();
    let mut words = match who {
        EntityId::Process { tgid, .. } => process(*tgid, ident, account, moment),
        EntityId::Exited { parent, uid, .. } => Words {
            ppid: Some(*parent).filter(|&parent| parent != 0),
            comm: ident.comm.to_string(),
            user: uid.map(|uid| user(uid, moment)),
            ..Words::default()
        },
    };
    words.began_us = began_us(who, moment);
    words.parent = words.ppid.and_then(|ppid| name(ppid, book));
    if let Some(id) = ident.cgroup_id {
        if let Some(group) = book.group(id) {
            words.cgroup = Some(shortened(&group.path, PATH));
        }
        if let Some(named) = book.named(Some(id)) {
            words.names = GroupNames::new(&named);
        }
    }
    words
}

/// The clock of start times goes on in suspend, so the window's end is on both clocks.
fn began_us(who: &EntityId, moment: &dyn Moment) -> Option<i64> {
    let EntityId::Process { start_ns, .. } = *who else { return None };
    let age_ns = moment.window().end.system.boottime_ns()?.checked_sub(start_ns)?;
    i64::try_from((moment.span().wall_t1_ns() - i128::from(age_ns)) / 1000).ok()
}

fn process(tgid: u32, ident: &Ident, account: Option<AccountId>, moment: &dyn Moment) -> Words {
    let detail = account.and_then(|account| moment.known(account)).unwrap_or_default();
    let Detail { cmdline, user, cgroup, .. } = detail;
    let command =
        cmdline.ok().filter(|line| !line.is_empty()).map(|line| shortened(&line, COMMAND_LINE));
    Words {
        pid: Some(tgid),
        ppid: Some(ident.ppid).filter(|&ppid| ppid != 0),
        comm: ident.comm.to_string(),
        command,
        user: Some(user.map_or_else(|_| ident.uid.to_string(), |user| escape_str(&user))),
        cgroup: cgroup.ok().map(|path| shortened(&path, PATH)),
        ..Words::default()
    }
}

/// A user's name; else the id.
fn user(uid: u32, moment: &dyn Moment) -> String {
    moment.user(uid).map_or_else(|| uid.to_string(), |name| escape_str(&name))
}

pub(super) fn shortened_path(path: &[u8]) -> String {
    shortened(path, PATH)
}

/// The beginning of a long text, with a mark that distinguishes it from others.
fn shortened(text: &[u8], most: usize) -> String {
    match text.get(..most) {
        None => escape(text),
        Some(begin) => format!("{} …", escape(begin)),
    }
}

fn name(pid: u32, book: &Book) -> Option<String> {
    Some(book.leader_of(pid)?.ident.comm.to_string())
}

/// Updates names; known ones stay known.
pub(super) fn update(known: &mut Words, now: Words) {
    let before = std::mem::take(known);
    *known = Words {
        pid: now.pid.or(before.pid),
        ppid: now.ppid.or(before.ppid),
        parent: now.parent.or(before.parent),
        comm: now.comm,
        command: now.command.or(before.command),
        user: now.user.or(before.user),
        cgroup: now.cgroup.or(before.cgroup),
        began_us: before.began_us.or(now.began_us),
        names: now.names.or(before.names),
    };
}
