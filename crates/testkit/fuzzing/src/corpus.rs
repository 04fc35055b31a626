//! The corpus: inputs that failed, kept as files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The inputs in a corpus directory, sorted by name; none if it does not exist.
///
/// # Panics
/// If one cannot be read: a finding that is silently skipped is no longer tested.
pub fn kept(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => panic!("cannot read {}: {error}", directory.display()),
    };
    let read = |entry: io::Result<fs::DirEntry>| {
        let path = entry?.path();
        let bytes = fs::read(&path)?;
        Ok::<_, io::Error>((path, bytes))
    };
    let mut inputs = entries
        .map(read)
        .collect::<Result<Vec<_>, _>>()
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", directory.display()));
    inputs.sort();
    inputs
}

/// Writes an input under its hash (FNV-1a); returns the path, or why it was not written.
pub fn keep(directory: &Path, input: &[u8]) -> String {
    let name = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let path = directory.join(format!("{name:016x}"));
    let written = fs::create_dir_all(directory).and_then(|()| fs::write(&path, input));
    match written {
        Ok(()) => format!("kept as {}", path.display()),
        Err(error) => format!("not kept: {}: {error}: {input:02x?}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_inputs_are_read_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let corpus = directory.path().join("corpus");
        assert!(kept(&corpus).is_empty());
        assert!(keep(&corpus, b"one").starts_with("kept as"));
        keep(&corpus, b"one");
        keep(&corpus, b"two");
        let mut inputs: Vec<_> = kept(&corpus).into_iter().map(|(_, bytes)| bytes).collect();
        inputs.sort();
        assert_eq!(inputs, [b"one".to_vec(), b"two".to_vec()]);
    }
}
