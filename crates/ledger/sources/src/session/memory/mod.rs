//! Returns memory that is needed only once. The allocator keeps freed memory for later allocations,
//! and the kernel keeps the pages of the program that only the start needs.

mod own_file;

/// Number of snapshots between two checks of the allocator, because a check costs time.
const LOOKS: u32 = 64;

/// Decides when freed memory goes back to the kernel.
#[derive(Debug, Default)]
pub(super) struct Spare {
    looks: u32,
    is_urgent: bool,
}

impl Spare {
    /// Called after each snapshot. The first one reads all tasks, later ones only changed tasks. A
    /// session of several days also meets storms of tasks, which leave freed memory with the
    /// allocator.
    pub fn after_look(&mut self) {
        match self.looks {
            0 | 1 => end_phase(),
            n if n.is_multiple_of(LOOKS) && is_much(kept_bytes()) => give_back(),
            _ => {}
        }
        if std::mem::take(&mut self.is_urgent) {
            give_back();
        }
        self.looks = self.looks.wrapping_add(1);
    }

    /// Returns freed memory of any amount after the next snapshot.
    pub fn give_back_next(&mut self) {
        self.is_urgent = true;
    }
}

/// Returns what only the phase of the start needed that ends here. Else the largest memory of the
/// start would be the sum of its phases.
pub(super) fn end_phase() {
    give_back();
    own_file::give_back();
}

fn is_much(bytes: u32) -> bool {
    bytes > 16 << 20
}

/// Freed memory that the allocator keeps, bytes modulo 4 GiB (mallinfo(3)).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn kept_bytes() -> u32 {
    // SAFETY: only reads the allocator's figures. Not every C library has its successor.
    #[allow(deprecated)]
    let info = unsafe { libc::mallinfo() };
    info.fordblks.cast_unsigned()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn kept_bytes() -> u32 {
    0
}

/// Sets up the allocator for a program that runs for months: large pieces go back to the kernel
/// when freed, and threads share the kept memory. Otherwise the allocator keeps ever larger pieces
/// for reuse, and holds twice the memory in use after each load of programs. Call it before other
/// threads start.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep_little() {
    // SAFETY: takes numbers (mallopt(3)); a refused one changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Other allocators need no setup.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_little() {}

/// Returns freed memory to the kernel. Loading programs takes several times the memory that a
/// session keeps.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    // SAFETY: takes a number and touches only freed memory.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators return it by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_storm_is_returned_in_time() {
        let mut spare = Spare::default();
        // Some pieces are kept, so that none of the memory goes back by itself.
        let storm: Vec<Vec<u8>> = (0..40_000).map(|n| vec![n as u8; 2_000]).collect();
        let left: Vec<Vec<u8>> = storm.into_iter().step_by(50).collect();
        let before = kept_bytes();
        assert!(is_much(before), "{before}");
        let resident = || {
            let text = std::fs::read_to_string("/proc/self/statm").expect("it is there");
            let pages = text.split(' ').nth(1).expect("proc_pid_statm(5)");
            pages.parse::<usize>().expect("a number") * rustix::param::page_size()
        };
        let much = resident();
        (0..=LOOKS).for_each(|_| spare.after_look());
        let less = resident();
        assert!(less + (16 << 20) < much, "{much} bytes, then {less}; {} are left", left.len());
    }
}
