//! Texts. Each is stored once between two keyframes; rows refer to it by number.

use crate::bounds::check_texts;
use crate::error::FrameError;
use crate::values::{put, put_bytes, Bytes};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Texts by number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strings {
    list: Vec<Arc<[u8]>>,
    numbers: FxHashMap<Arc<[u8]>, u64>,
    told: usize,
    bytes: usize,
    /// Texts stored with the keyframe.
    first: usize,
}

/// Texts that may follow a keyframe before the next is due, or as many as came with it if that is
/// more. The limit keeps programs with ever new names from filling memory.
const MORE: usize = 32_768;

impl Strings {
    /// Number of a text; adds the text if it is new.
    pub fn number(&mut self, text: &[u8]) -> u64 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let (number, text): (u64, Arc<[u8]>) = (self.list.len() as u64, text.into());
        self.bytes += text.len();
        self.list.push(text.clone());
        self.numbers.insert(text, number);
        number
    }

    pub fn text(&self, number: u64) -> Result<&[u8], FrameError> {
        let number = usize::try_from(number).map_err(|_| FrameError::Text)?;
        self.list.get(number).map(|text| &**text).ok_or(FrameError::Text)
    }

    /// Writes the texts that are not written yet: the count before, the count of new ones, the new
    /// ones.
    pub fn put_new(&mut self, out: &mut Vec<u8>) -> Result<(), FrameError> {
        check_texts(self.list.len(), self.bytes)?;
        put(out, self.told as u64);
        let new = &self.list[self.told..];
        put(out, new.len() as u64);
        new.iter().for_each(|text| put_bytes(out, text));
        if self.told == 0 {
            self.first = new.len();
        }
        self.told = self.list.len();
        Ok(())
    }

    /// True if a keyframe is due because too many texts were added since the last.
    pub fn is_long(&self) -> bool {
        let came = self.list.len() - self.first;
        let half_full = check_texts(self.list.len() * 2, self.bytes * 2).is_err();
        half_full || came > MORE.max(self.first)
    }

    /// Reads the new texts.
    pub fn get_new(&mut self, bytes: &mut Bytes) -> Result<(), FrameError> {
        if bytes.number()? != self.list.len() as u64 {
            return Err(FrameError::Text);
        }
        for _ in 0..bytes.number()? {
            let text = bytes.bytes()?;
            self.bytes += text.len();
            check_texts(self.list.len() + 1, self.bytes)?;
            self.list.push(text.into());
        }
        Ok(())
    }
}
