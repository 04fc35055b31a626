//! An initramfs archive: cpio in its "newc" format, uncompressed.
//!
//! It needs no staging tree, and no root for the console's device node.

use cpio::newc::{trailer, Builder, ModeFileType};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// An archive being written.
pub struct Archive<W> {
    out: W,
    names: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    /// Starts an archive.
    pub fn new(out: W) -> Self {
        Self { out, names: BTreeSet::new() }
    }

    /// Adds a directory and those above it.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        let mut above: Vec<&Path> = Path::new(path).ancestors().collect();
        above.reverse();
        for dir in above {
            let name = dir.to_string_lossy();
            if name != "/" && !name.is_empty() {
                self.entry(&name, ModeFileType::Directory, 0o755, (0, 0), &[])?;
            }
        }
        Ok(())
    }

    /// Adds a file, and the directories above it. The first of two files with one name stays.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        if let Some(dir) = Path::new(path).parent() {
            self.directory(&dir.to_string_lossy())?;
        }
        self.entry(path, ModeFileType::Regular, mode & 0o7777, (0, 0), content)
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        self.entry(path, ModeFileType::Char, 0o600, (major, minor), &[])
    }

    /// True if the archive has an entry of this name.
    pub fn has(&self, path: &str) -> bool {
        self.names.contains(path)
    }

    /// Writes the trailer and returns the output.
    pub fn finish(self) -> io::Result<W> {
        let mut out = trailer(self.out)?;
        out.flush()?;
        Ok(out)
    }

    fn entry(
        &mut self,
        path: &str,
        kind: ModeFileType,
        mode: u32,
        (major, minor): (u32, u32),
        content: &[u8],
    ) -> io::Result<()> {
        if !self.names.insert(path.to_owned()) {
            return Ok(());
        }
        let size = u32::try_from(content.len())
            .map_err(|_| io::Error::other(format!("{path}: 4 GiB and more don't fit")))?;
        let header = Builder::new(path.trim_start_matches('/')).ino(self.names.len() as u32);
        let header = header.mode(mode).set_mode_file_type(kind);
        let mut entry = header.rdev_major(major).rdev_minor(minor).write(&mut self.out, size);
        entry.write_all(content)?;
        entry.finish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::Archive;

    #[test]
    fn entries_are_aligned_and_directories_come_first() {
        let mut archive = Archive::new(Vec::new());
        archive.file("/a/b/c", 0o644, b"hello").unwrap();
        archive.file("/a/d", 0o644, b"").unwrap();
        let bytes = archive.finish().unwrap();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        let at = |name: &str| text.find(name).unwrap();
        assert!(at("a\0") < at("a/b\0") && at("a/b\0") < at("a/b/c\0"));
        assert_eq!(text.matches("070701").count(), 5);
        assert!(text.contains("hello"));
    }
}
