//! Rows of the blame book: its parties, their waits, and pairs.

use super::cells::{Cells, Fields};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::blame::{Blame, Booked, Culprit, Party, Waits};
use exactop_model::Comm;
use std::collections::BTreeMap;

/// Names of culprits that are no party.
const OTHERS: [(&str, Culprit); 8] = [
    ("interrupts", Culprit::Interrupts),
    ("steal", Culprit::Steal),
    ("idle", Culprit::Idle),
    ("throttled", Culprit::Throttled),
    ("brief", Culprit::Brief),
    ("older", Culprit::Older),
    ("other", Culprit::Other),
    ("hidden", Culprit::Hidden),
];
/// Name of a culprit that is a party.
const TASK: &str = "task";

/// The rows of a book, ordered: equal books have equal rows.
pub(crate) fn blame(book: &Blame, strings: &mut Strings) -> Vec<(TableId, Vec<Row>)> {
    let culprits = book.pairs.keys().filter_map(|(_, culprit)| match culprit {
        Culprit::Task(party) => Some(*party),
        _ => None,
    });
    let victims = book.pairs.keys().map(|(victim, _)| *victim);
    let named = book.waits.keys().copied().chain(victims).flatten().chain(culprits);
    let mut places: BTreeMap<Party, u64> = named.map(|party| (party, 0)).collect();
    places.values_mut().zip(1..).for_each(|(place, n)| *place = n);
    let place = |party: &Option<Party>| party.map_or(0, |party| places[&party]);
    let parties = places.iter().map(|(party, n)| party_row(*n, party, strings)).collect();
    let mut waits: Vec<(u64, &Waits)> =
        book.waits.iter().map(|(party, waits)| (place(party), waits)).collect();
    waits.sort_by_key(|(place, _)| *place);
    let waits = waits.into_iter().map(|(place, waits)| wait_row(place, waits, strings)).collect();
    let mut pairs: Vec<_> = book.pairs.iter().collect();
    pairs.sort_by_key(|(pair, _)| *pair);
    let pairs = (0..).zip(pairs).map(|(n, ((victim, culprit), booked))| {
        let (kind, culprit) = match culprit {
            Culprit::Task(party) => (TASK, Some(places[party])),
            other => (OTHERS.iter().find(|(_, o)| o == other).expect("a name").0, None),
        };
        let mut cells = Cells::new(TableId::Blame.table(), strings);
        cells.uint(place(victim)).text(Some(kind.as_bytes()));
        cells.uint(culprit).uint(booked.ns).uint(booked.times);
        cells.row(n)
    });
    let pairs = pairs.collect();
    vec![(TableId::Party, parties), (TableId::PartyWait, waits), (TableId::Blame, pairs)]
}

fn party_row(place: u64, party: &Party, strings: &mut Strings) -> Row {
    let Party { cgroup_id, uid, session, comm, kthread } = party;
    let mut cells = Cells::new(TableId::Party.table(), strings);
    cells.uint(*cgroup_id).uint(u64::from(*uid)).uint(u64::from(*session));
    cells.text(Some(comm.bytes())).bool(*kthread);
    cells.row(place)
}

fn wait_row(place: u64, waits: &Waits, strings: &mut Strings) -> Row {
    let Waits { lat_ns, dispatches, in_flight_delta_ns } = *waits;
    let mut cells = Cells::new(TableId::PartyWait.table(), strings);
    cells.int(lat_ns).int(dispatches).int(in_flight_delta_ns);
    cells.row(place)
}

/// The book of a window.
pub(crate) fn blame_of<'a>(
    rows: impl Fn(TableId) -> &'a [Row],
    strings: &Strings,
) -> Result<Blame, FrameError> {
    let mut parties: BTreeMap<u64, Party> = BTreeMap::new();
    for row in rows(TableId::Party) {
        parties.insert(row.key, party_of(row, strings)?);
    }
    let party = |place: u64| match place {
        0 => Ok(None),
        place => parties.get(&place).copied().map(Some).ok_or(FrameError::Missing),
    };
    let mut book = Blame::default();
    for row in rows(TableId::PartyWait) {
        let mut f = Fields::new(row, strings);
        let mut int = || f.int().ok_or(FrameError::Missing);
        let waits = Waits { lat_ns: int()?, dispatches: int()?, in_flight_delta_ns: int()? };
        book.wait(party(row.key)?, waits);
    }
    for row in rows(TableId::Blame) {
        let mut f = Fields::new(row, strings);
        let (victim, kind, culprit) = (party(f.known()?)?, f.text()?, f.uint());
        let kind = kind.ok_or(FrameError::Missing)?;
        let culprit = match OTHERS.iter().find(|(name, _)| name.as_bytes() == kind) {
            Some((_, other)) => *other,
            None if kind == TASK.as_bytes() => {
                let place = culprit.ok_or(FrameError::Missing)?;
                Culprit::Task(party(place)?.ok_or(FrameError::Missing)?)
            }
            // A kind of a later version.
            None => Culprit::Other,
        };
        book.book(victim, culprit, Booked { ns: f.known()?, times: f.known()? });
    }
    Ok(book)
}

fn party_of(row: &Row, strings: &Strings) -> Result<Party, FrameError> {
    let mut f = Fields::new(row, strings);
    Ok(Party {
        cgroup_id: f.known()?,
        uid: f.known_small()?,
        session: f.known_small()?,
        comm: Comm::new(f.text()?.ok_or(FrameError::Missing)?),
        kthread: f.bool()?,
    })
}
