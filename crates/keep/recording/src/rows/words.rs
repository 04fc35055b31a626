//! Words for the enumerations of the model. Files hold words, so the order of an enumeration may
//! change.

use crate::error::FrameError;
use exactop_model::on_demand::waits::WaitKind;
use exactop_model::{Comm, MicroState, Missing, Quality, SourceKind};

const STATES: [(&str, MicroState); 12] = [
    ("unknown", MicroState::Unknown),
    ("run", MicroState::Run),
    ("lat", MicroState::Lat),
    ("lat_preempt", MicroState::LatPreempt),
    ("throttle", MicroState::Throttle),
    ("sleep", MicroState::Sleep),
    ("lock", MicroState::Lock),
    ("text_fault", MicroState::TextFault),
    ("data_fault", MicroState::DataFault),
    ("block", MicroState::Block),
    ("stop", MicroState::Stop),
    ("zombie", MicroState::Zombie),
];

const SOURCES: [SourceKind; 4] =
    [SourceKind::Ledger, SourceKind::Procfs, SourceKind::Snapshot, SourceKind::Taskstats];

const QUALITIES: [(&str, Quality); 3] =
    [("exact", Quality::Exact), ("sampled", Quality::Sampled), ("missing", Quality::Missing)];

const REASONS: [(&str, Missing); 7] = [
    ("source", Missing::Source),
    ("not_permitted", Missing::NotPermitted),
    ("vanished", Missing::Vanished),
    ("no_tick", Missing::NoTick),
    ("not_applicable", Missing::NotApplicable),
    ("not_read", Missing::NotRead),
    ("backwards", Missing::Backwards),
];

const WAIT_KINDS: [(&str, WaitKind); 4] = [
    ("sleep", WaitKind::Sleep),
    ("lock", WaitKind::Lock),
    ("block", WaitKind::Block),
    ("throttle", WaitKind::Throttle),
];

fn word<T: PartialEq>(words: &[(&'static str, T)], of: T) -> &'static str {
    words.iter().find(|(_, value)| *value == of).map_or("", |(word, _)| word)
}

fn value<T: Copy>(words: &[(&str, T)], text: &[u8]) -> Option<T> {
    words.iter().find(|(word, _)| word.as_bytes() == text).map(|&(_, value)| value)
}

pub(crate) fn state(state: MicroState) -> &'static str {
    word(&STATES, state)
}

/// A state of a later version becomes `Unknown`.
pub(crate) fn state_of(text: Option<&[u8]>) -> MicroState {
    text.and_then(|text| value(&STATES, text)).unwrap_or(MicroState::Unknown)
}

pub(crate) fn source_of(text: Option<&[u8]>) -> Result<SourceKind, FrameError> {
    let found = SOURCES.into_iter().find(|source| Some(source.name().as_bytes()) == text);
    found.ok_or(FrameError::Text)
}

pub(crate) fn quality(quality: Quality) -> &'static str {
    word(&QUALITIES, quality)
}

pub(crate) fn quality_of(text: Option<&[u8]>) -> Quality {
    text.and_then(|text| value(&QUALITIES, text)).unwrap_or(Quality::Missing)
}

pub(crate) fn reason(missing: Missing) -> &'static str {
    word(&REASONS, missing)
}

pub(crate) fn reason_of(text: Option<&[u8]>) -> Missing {
    text.and_then(|text| value(&REASONS, text)).unwrap_or(Missing::NotRead)
}

pub(crate) fn wait_kind(kind: WaitKind) -> &'static str {
    word(&WAIT_KINDS, kind)
}

/// Fails on a word that is unknown here.
pub(crate) fn wait_kind_of(text: Option<&[u8]>) -> Result<WaitKind, FrameError> {
    text.and_then(|text| value(&WAIT_KINDS, text)).ok_or(FrameError::Text)
}

/// Tree of a row; tree 0 is stored as missing, which takes no space.
pub(crate) fn tree(tree: u32) -> Option<u64> {
    (tree != 0).then_some(u64::from(tree))
}

/// Tree of a row. Files before 0.2 have one tree, in `told`.
pub(crate) fn tree_of(told: u32, tree: Option<u32>) -> u32 {
    tree.filter(|_| told != 0).unwrap_or(told)
}

/// A command name without its trailing zeros.
pub(crate) fn comm(comm: &Comm) -> &[u8] {
    let end = comm.0.iter().rposition(|&b| b != 0).map_or(0, |at| at + 1);
    &comm.0[..end]
}

pub(crate) fn comm_of(text: Option<&[u8]>) -> Result<Comm, FrameError> {
    let text = text.ok_or(FrameError::Missing)?;
    let mut bytes = [0; 16];
    bytes.get_mut(..text.len()).ok_or(FrameError::Text)?.copy_from_slice(text);
    Ok(Comm(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_comes_back() {
        for (_, value) in STATES {
            assert_eq!(state_of(Some(state(value).as_bytes())), value);
        }
        for (_, value) in QUALITIES {
            assert_eq!(quality_of(Some(quality(value).as_bytes())), value);
        }
        for (_, value) in WAIT_KINDS {
            assert_eq!(wait_kind_of(Some(wait_kind(value).as_bytes())), Ok(value));
        }
        for (_, value) in REASONS {
            assert_eq!(reason_of(Some(reason(value).as_bytes())), value);
        }
        let odd = Comm(*b"a\0b\0\0\0\0\0\0\0\0\0\0\0\0\0");
        for name in [odd, Comm::new(b""), Comm::new(b"0123456789abcde")] {
            assert_eq!(comm_of(Some(comm(&name))), Ok(name));
        }
        assert_eq!(comm_of(Some(b"01234567890123456")), Err(FrameError::Text));
    }
}
