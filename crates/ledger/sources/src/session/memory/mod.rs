//! Memory that is used once: the allocator keeps what is freed, for more of the same, and the kernel keeps
//! what of the program was read for the start.

mod own_file;

/// Looks that pass before what is kept is looked at: that is not for nothing.
const LOOKS: u32 = 64;

/// When what was freed is given back.
#[derive(Debug, Default)]
pub(super) struct Spare {
    looks: u32,
    is_urgent: bool,
}

impl Spare {
    /// After each look: the first is of everyone, later ones are of those who did something. And whoever
    /// looks for days has seen storms, of which nothing is left but what the allocator keeps.
    pub fn looked(&mut self) {
        if self.looks == 1 || (self.looks.is_multiple_of(LOOKS) && is_much(kept_bytes())) {
            give_back();
        }
        if self.looks == 1 {
            own_file::give_back();
        }
        if std::mem::take(&mut self.is_urgent) {
            give_back();
        }
        self.looks = self.looks.wrapping_add(1);
    }

    /// The next look gives back what is free, however little that is.
    pub fn give_back_next(&mut self) {
        self.is_urgent = true;
    }
}

fn is_much(bytes: u32) -> bool {
    bytes > 16 << 20
}

/// What is free and not the kernel's, modulo 4 GiB (mallinfo(3)).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn kept_bytes() -> u32 {
    // SAFETY: only reads what the allocator knows. Its successor is not in every C library.
    #[allow(deprecated)]
    let info = unsafe { libc::mallinfo() };
    info.fordblks.cast_unsigned()
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn kept_bytes() -> u32 {
    0
}

/// For a program that runs for months: what is large goes back to the kernel when it is freed, and threads share
/// what is kept for more. Without it the allocator takes each large piece that was freed for a sign that more will
/// come, keeps ever larger ones, and after each load of programs holds twice what is in use. To be called before there
/// are threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep_little() {
    // SAFETY: takes numbers (mallopt(3)); one that is refused changes nothing.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

/// Other allocators do so by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_little() {}

/// Gives the kernel back what was freed. Loading programs takes several times what a session holds on
/// to.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    // SAFETY: takes a number and touches only what nobody holds.
    unsafe { libc::malloc_trim(0) };
}

/// Other allocators do so by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn what_a_storm_left_is_given_back_in_time() {
        let mut spare = Spare::default();
        // Every other one is kept, so that none of it goes back by itself.
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
        (0..=LOOKS).for_each(|_| spare.looked());
        let less = resident();
        assert!(less + (16 << 20) < much, "{much} bytes, then {less}; {} are left", left.len());
    }
}
