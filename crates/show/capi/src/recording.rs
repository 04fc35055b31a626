//! A recording as a source: its windows, one after the other.

use crate::{exactop_source, exactop_status, fail, guarded, null, Origin};
use exactop_recording::{Gap, Reader, Recording, Replay, ReplayStep};
use exactop_status::EXACTOP_UNKNOWN;
use exactop_status::{EXACTOP_ARGUMENT, EXACTOP_END, EXACTOP_GAP, EXACTOP_OK, EXACTOP_READ};
use std::ffi::{c_char, CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A recording and the position in it.
pub(crate) struct Played {
    pub replay: Replay,
    /// True while the window that was sought has not been taken.
    is_there: bool,
    /// True if the last take reached a window.
    pub is_at_window: bool,
}

impl Played {
    fn open(
        path: &Path,
        from_ns: i64,
    ) -> Result<Option<Played>, exactop_recording::RecordingError> {
        let mut replay = Replay::new(Reader::new(Recording::open(path)?));
        if from_ns != 0 && !replay.seek(from_ns.into())? {
            return Ok(None);
        }
        Ok(Some(Played { replay, is_there: from_ns != 0, is_at_window: false }))
    }

    pub fn take(&mut self) -> exactop_status {
        self.is_at_window = std::mem::take(&mut self.is_there);
        if self.is_at_window {
            return EXACTOP_OK;
        }
        match self.replay.forward() {
            Err(error) => fail(EXACTOP_READ, error),
            Ok(ReplayStep::End) => fail(EXACTOP_END, "the recording ends here"),
            Ok(ReplayStep::Gap(gap)) => {
                let Gap { why, from_wall_ns, to_wall_ns, .. } = gap;
                let why = why.text();
                fail(
                    EXACTOP_GAP,
                    format!("not recorded from {from_wall_ns} to {to_wall_ns}: {why}"),
                )
            }
            Ok(ReplayStep::Window) => {
                self.is_at_window = true;
                EXACTOP_OK
            }
        }
    }
}

/// Opens a recording: a file, or a directory of 'exactop record'. Each exactop_take goes to the
/// next window. The first goes to the window that holds `from_ns` (ns since the epoch), or to the
/// first after it; 0 means the beginning. exactop_take returns EXACTOP_GAP where time is not
/// recorded, and EXACTOP_END at the end; a recording that is still written may have more windows
/// later. The caller must close the source with exactop_close.
///
/// # Safety
/// `path` must be null or a C string; `out` must be valid for writing a pointer.
#[no_mangle]
pub unsafe extern "C" fn exactop_open_recording(
    path: *const c_char,
    from_ns: i64,
    out: *mut *mut exactop_source,
) -> exactop_status {
    guarded(|| {
        if path.is_null() || out.is_null() {
            return null();
        }
        // SAFETY: not null; the caller guarantees that it is valid.
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
        match Played::open(path, from_ns) {
            Err(error) => fail(EXACTOP_READ, error),
            Ok(None) => fail(EXACTOP_ARGUMENT, "the recording ends before that time"),
            Ok(Some(played)) => {
                let name = c"recording".into();
                let opened = exactop_source { origin: Origin::Recording(Box::new(played)), name };
                // SAFETY: not null; the caller guarantees that it is valid.
                unsafe { out.write(Box::into_raw(Box::new(opened))) };
                EXACTOP_OK
            }
        }
    })
}

/// End of the last taken window of a recording by the wall clock of that time, ns since the epoch.
/// Other sources return EXACTOP_UNKNOWN.
///
/// # Safety
/// `source` must come from exactop_open_recording; `out` must be valid for writing a number.
#[no_mangle]
pub unsafe extern "C" fn exactop_window_end(
    source: *const exactop_source,
    out: *mut i64,
) -> exactop_status {
    guarded(|| {
        // SAFETY: null or made by exactop_open_recording.
        let Some(source) = (unsafe { source.as_ref() }).filter(|_| !out.is_null()) else {
            return null();
        };
        let ends_ns = match &source.origin {
            Origin::Recording(played) if played.is_at_window => played.replay.ends_wall_ns(),
            _ => None,
        };
        let Some(ends_ns) = ends_ns.and_then(|ns| i64::try_from(ns).ok()) else {
            return fail(EXACTOP_UNKNOWN, "there is no window of a recording");
        };
        // SAFETY: not null; the caller guarantees that it is valid.
        unsafe { out.write(ends_ns) };
        EXACTOP_OK
    })
}
