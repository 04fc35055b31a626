//! Rows of the blame book: its parties, their waits, pairs, and histograms of waits.

use super::cells::{Cells, Fields};
use crate::error::FrameError;
use crate::schema::TableId;
use crate::strings::Strings;
use crate::values::Row;
use exactop_model::blame::sizes::{Sized, Sizes, WaitKind, BUCKETS};
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
    let sized = book.sizes.keys().copied();
    let named = book.waits.keys().copied().chain(victims).chain(sized).flatten().chain(culprits);
    let mut places: BTreeMap<Party, u64> = named.map(|party| (party, 0)).collect();
    places.values_mut().zip(1..).for_each(|(place, n)| *place = n);
    let place = |party: &Option<Party>| party.map_or(0, |party| places[&party]);
    let parties = places.iter().map(|(party, n)| party_row(*n, party, strings)).collect();
    let mut waits: Vec<(u64, &Waits)> =
        book.waits.iter().map(|(party, waits)| (place(party), waits)).collect();
    let waits = wait_rows(TableId::PartyWait, &mut waits, strings);
    let mut sizes: Vec<(u64, &Sizes)> =
        book.sizes.iter().map(|(party, sizes)| (place(party), sizes)).collect();
    sizes.sort_by_key(|(place, _)| *place);
    let mut sized: Vec<(u64, &Waits)> = sizes.iter().map(|(at, of)| (*at, &of.waits)).collect();
    let sized = wait_rows(TableId::PartySize, &mut sized, strings);
    let buckets = (0..).zip(sizes.iter().flat_map(|(place, sizes)| buckets(*place, sizes)));
    let buckets = buckets.map(|(n, bucket)| bucket_row(n, bucket, strings)).collect();
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
    vec![
        (TableId::Party, parties),
        (TableId::PartyWait, waits),
        (TableId::Blame, pairs),
        (TableId::PartySize, sized),
        (TableId::WaitSize, buckets),
    ]
}

/// A party's place, the kind of its waits, and a bucket.
type Bucket = (u64, WaitKind, usize, Sized);

/// The buckets that are not empty.
fn buckets(place: u64, sizes: &Sizes) -> impl Iterator<Item = Bucket> + '_ {
    let of = move |kind| {
        let all = sizes.histogram(kind).buckets().iter().enumerate();
        all.map(move |(bucket, sized)| (place, kind, bucket, *sized))
    };
    WaitKind::ALL.into_iter().flat_map(of).filter(|bucket| bucket.3 != Sized::default())
}

fn bucket_row(n: u64, (place, kind, bucket, sized): Bucket, strings: &mut Strings) -> Row {
    let mut cells = Cells::new(TableId::WaitSize.table(), strings);
    cells.uint(place).bool(kind == WaitKind::Preempted).uint(bucket as u64);
    cells.uint(sized.ns).uint(sized.count).uint(sized.max_ns);
    cells.row(n)
}

/// Rows of waits by party, ordered by place.
fn wait_rows(table: TableId, waits: &mut [(u64, &Waits)], strings: &mut Strings) -> Vec<Row> {
    waits.sort_by_key(|(place, _)| *place);
    waits.iter().map(|(place, waits)| wait_row(table, *place, waits, strings)).collect()
}

fn party_row(place: u64, party: &Party, strings: &mut Strings) -> Row {
    let Party { cgroup_id, uid, session, comm, kthread } = party;
    let mut cells = Cells::new(TableId::Party.table(), strings);
    cells.uint(*cgroup_id).uint(u64::from(*uid)).uint(u64::from(*session));
    cells.text(Some(comm.bytes())).bool(*kthread);
    cells.row(place)
}

fn wait_row(table: TableId, place: u64, waits: &Waits, strings: &mut Strings) -> Row {
    let Waits { lat_ns, dispatches, in_flight_delta_ns } = *waits;
    let mut cells = Cells::new(table.table(), strings);
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
        book.wait(party(row.key)?, waits_of(row, strings)?);
    }
    for row in rows(TableId::PartySize) {
        book.sizes.entry(party(row.key)?).or_default().waits = waits_of(row, strings)?;
    }
    for row in rows(TableId::WaitSize) {
        let mut f = Fields::new(row, strings);
        let (party, preempted, bucket) = (party(f.known()?)?, f.bool()?, f.known()?);
        let bucket = usize::try_from(bucket).ok().filter(|&bucket| bucket < BUCKETS);
        let sized = Sized { ns: f.known()?, count: f.known()?, max_ns: f.known()? };
        let kind = if preempted { WaitKind::Preempted } else { WaitKind::Woken };
        let histogram = book.sizes.entry(party).or_default().histogram_mut(kind);
        histogram.add_to(bucket.ok_or(FrameError::Missing)?, sized);
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

fn waits_of(row: &Row, strings: &Strings) -> Result<Waits, FrameError> {
    let mut f = Fields::new(row, strings);
    let mut int = || f.int().ok_or(FrameError::Missing);
    Ok(Waits { lat_ns: int()?, dispatches: int()?, in_flight_delta_ns: int()? })
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
