//! The environment of a process (proc_pid_environ(5)).

use super::why;
use crate::procfs::files::open_at;
use exactop_model::frame::holdings::{Environment, Refusal};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{pread, retry_on_intr};

/// Most bytes to read. A process may declare an environment as large as its memory.
const MOST_BYTES: usize = 256 * 1024;

pub(super) fn read(dir: &OwnedFd) -> Result<Environment, Refusal> {
    let fd = open_at(dir.as_fd(), "environ").map_err(why)?;
    let mut bytes = vec![0; MOST_BYTES];
    let mut filled = 0;
    // The kernel returns one page for each read.
    while filled < bytes.len() {
        let n = retry_on_intr(|| pread(&fd, &mut bytes[filled..], filled as u64)).map_err(why)?;
        if n == 0 {
            break;
        }
        filled += n;
    }
    Ok(parsed(&bytes[..filled], filled == MOST_BYTES))
}

/// Splits at NUL bytes. The last variable of a cut environment is incomplete and left out.
pub(super) fn parsed(bytes: &[u8], is_cut: bool) -> Environment {
    let end = match is_cut {
        true => bytes.iter().rposition(|&b| b == 0).unwrap_or(0),
        false => bytes.len(),
    };
    let all = bytes[..end].split(|&b| b == 0).filter(|text| !text.is_empty());
    let mut variables: Vec<Vec<u8>> = all.map(<[u8]>::to_vec).collect();
    variables.sort_unstable();
    Environment { variables, is_cut }
}
