//! The kernel's type information (BTF) as bytes. Linux 6.16 lets a process map the file; before that
//! it reads a page a call, 1,600 calls in all.

use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::{ptr, slice};

/// The file.
const PATH: &str = "/sys/kernel/btf/vmlinux";

/// All bytes of the file.
pub enum KernelTypes {
    /// In memory of the kernel.
    Mapped(Mapping),
    /// Read.
    Read(Vec<u8>),
}

/// A private, read-only mapping.
pub struct Mapping {
    at: *const u8,
    bytes: usize,
}

impl KernelTypes {
    /// Maps the file, or reads it if the kernel does not let it be mapped.
    ///
    /// # Errors
    /// The file cannot be opened or read.
    pub fn open() -> io::Result<KernelTypes> {
        let mut file = File::open(PATH)?;
        let bytes = usize::try_from(file.metadata()?.len()).unwrap_or(0);
        // SAFETY: a new mapping at an address of the kernel's choice. The kernel never changes the
        // file.
        let at =
            unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::READ, MapFlags::PRIVATE, &file, 0) };
        if let Ok(at) = at {
            return Ok(KernelTypes::Mapped(Mapping { at: at.cast_const().cast(), bytes }));
        }
        let mut read = Vec::with_capacity(bytes);
        file.read_to_end(&mut read)?;
        Ok(KernelTypes::Read(read))
    }
}

impl Deref for KernelTypes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            // SAFETY: mapped for as long as the value lives.
            KernelTypes::Mapped(mapping) => unsafe {
                slice::from_raw_parts(mapping.at, mapping.bytes)
            },
            KernelTypes::Read(bytes) => bytes,
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping of exactly this size.
        let _ = unsafe { munmap(self.at.cast_mut().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_file() {
        let Ok(read) = std::fs::read(PATH) else { return };
        assert!(*KernelTypes::open().expect("it can be read") == *read);
    }
}
