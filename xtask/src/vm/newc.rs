//! The archive an initramfs is: cpio in its "newc" format, uncompressed.
//!
//! Written here rather than by cpio(1), because it needs no staging tree and no root for the
//! console's device node.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

const DIRECTORY: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive being written.
pub struct Archive<W> {
    out: W,
    written: u64,
    inode: u32,
    names: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    /// Starts an archive.
    pub fn new(out: W) -> Self {
        Self { out, written: 0, inode: 1, names: BTreeSet::new() }
    }

    /// Adds a directory and the ones above it.
    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        let mut above: Vec<&Path> = Path::new(path).ancestors().collect();
        above.reverse();
        for dir in above {
            let name = dir.to_string_lossy();
            if name != "/" && !name.is_empty() {
                self.entry(&name, DIRECTORY | 0o755, (0, 0), &[])?;
            }
        }
        Ok(())
    }

    /// Adds a file, and the directories above it. The first of two with one name stays.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> io::Result<()> {
        if let Some(dir) = Path::new(path).parent() {
            self.directory(&dir.to_string_lossy())?;
        }
        self.entry(path, FILE | (mode & 0o7777), (0, 0), content)
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        self.entry(path, CHARACTER_DEVICE | 0o600, (major, minor), &[])
    }

    /// True if the archive has an entry of this name.
    pub fn has(&self, path: &str) -> bool {
        self.names.contains(path)
    }

    /// Writes the trailer and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.raw("TRAILER!!!", 0, (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, path: &str, mode: u32, dev: (u32, u32), content: &[u8]) -> io::Result<()> {
        if !self.names.insert(path.to_owned()) {
            return Ok(());
        }
        self.raw(path.trim_start_matches('/'), mode, dev, content)
    }

    fn raw(&mut self, name: &str, mode: u32, dev: (u32, u32), content: &[u8]) -> io::Result<()> {
        let size = u32::try_from(content.len())
            .map_err(|_| io::Error::other(format!("{name}: 4 GiB and more don't fit")))?;
        let inode = self.inode;
        self.inode += 1;
        // ino, mode, uid, gid, nlink, mtime, size, device (2), rdevice (2), name size, checksum
        let name_size = name.len() as u32 + 1;
        let fields = [inode, mode, 0, 0, 1, 0, size, 0, 0, dev.0, dev.1, name_size, 0];
        let mut header = String::from("070701");
        for field in fields {
            header.push_str(&format!("{field:08x}"));
        }
        header.push_str(name);
        header.push('\0');
        self.padded(header.as_bytes())?;
        self.padded(content)
    }

    fn padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        let padding = (4 - self.written % 4) % 4;
        self.out.write_all(&[0; 4][..padding as usize])?;
        self.written += padding;
        Ok(())
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
