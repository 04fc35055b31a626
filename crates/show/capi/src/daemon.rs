//! A daemon as a source: its ledger, without programs or root of one's own.

use crate::{exactop_source, exactop_status, fail, guarded, measured, null};
use exactop_service::{Remote, ServiceError, SOCKET};
use exactop_status::{EXACTOP_OK, EXACTOP_READ, EXACTOP_UNAVAILABLE};
use std::ffi::{c_char, CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens the ledger of 'exactop daemon' on its socket; null is /run/exactop/socket. It takes no
/// programs and no root, but the leave to use the socket, which the group exactop has. A thread of
/// the library reads what comes until exactop_close ends it. After a fork it stays the parent's: in the
/// child it takes no snapshots (EXACTOP_UNAVAILABLE), closing it there ends nothing of the parent's, and
/// whoever wants figures there opens anew. A daemon that ends is waited for: exactop_take tries to connect for
/// 10 s to the one that comes after it, and says EXACTOP_GAP when it has.
/// EXACTOP_UNAVAILABLE: nobody serves there, or this user is refused. What it yields must be given to
/// exactop_close.
///
/// # Safety
/// `path` must be null or a C string; `out` must be valid for writing a pointer.
#[no_mangle]
pub unsafe extern "C" fn exactop_open_daemon(
    path: *const c_char,
    out: *mut *mut exactop_source,
) -> exactop_status {
    guarded(|| {
        if out.is_null() {
            return null();
        }
        let path = match path.is_null() {
            true => Path::new(SOCKET),
            // SAFETY: not null; the caller guarantees that it is valid.
            false => Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes())),
        };
        match Remote::connect(path, env!("CARGO_PKG_VERSION")) {
            Err(error) => refused(&error),
            Ok(remote) => {
                // SAFETY: not null; the caller guarantees that it is valid.
                unsafe { out.write(measured(Box::new(remote))) };
                EXACTOP_OK
            }
        }
    })
}

fn refused(error: &ServiceError) -> exactop_status {
    let status = match error {
        ServiceError::Nobody { .. }
        | ServiceError::NotAllowed { .. }
        | ServiceError::Refused { .. } => EXACTOP_UNAVAILABLE,
        _ => EXACTOP_READ,
    };
    fail(status, error)
}
