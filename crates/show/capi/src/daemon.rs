//! A daemon as a source: the caller loads no programs and needs no root.

use crate::{exactop_source, exactop_status, fail, guarded, measured, null};
use exactop_service::{Remote, ServiceError, SOCKET};
use exactop_status::{EXACTOP_OK, EXACTOP_READ, EXACTOP_UNAVAILABLE};
use std::ffi::{c_char, CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens the ledger of 'exactop daemon' on its socket; null is /run/exactop/socket. This loads no
/// programs and needs no root, only access to the socket, which the group exactop has. A thread of
/// the library reads the socket until exactop_close ends it.
/// After a fork the source belongs to the parent. In the child, exactop_take returns
/// EXACTOP_UNAVAILABLE and exactop_close leaves the parent's source open; a child that needs
/// figures opens its own source.
/// If the daemon ends, exactop_take tries for 10 s to connect to its successor, and returns
/// EXACTOP_GAP once it has connected.
/// EXACTOP_UNAVAILABLE: no daemon serves there, or it refuses this user. The caller must close the
/// source with exactop_close.
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
