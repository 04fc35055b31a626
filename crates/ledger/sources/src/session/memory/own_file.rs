//! Drops the pages of our own program file. Parsing options, loading programs and the first read of
//! all tasks use code that later reads never use: three quarters of the file's pages in memory. The
//! kernel keeps them until memory is short. Dropped pages that are needed again come back from the
//! page cache.

use std::ffi::{c_int, c_void};

/// Drops the pages of the file that contains this code: the program or the library.
pub(super) fn give_back() {
    // SAFETY: it calls `segments` for each object, and returns.
    unsafe { libc::dl_iterate_phdr(Some(segments), std::ptr::null_mut()) };
}

/// Drops the object's segments that nothing writes to, relocations included, so that memory equals
/// the file. Only the object with this function counts.
unsafe extern "C" fn segments(
    object: *mut libc::dl_phdr_info,
    _: libc::size_t,
    _: *mut c_void,
) -> c_int {
    // SAFETY: dl_iterate_phdr(3) passes an object with the declared number of headers.
    let object = unsafe { &*object };
    if object.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: as above.
    let headers =
        unsafe { std::slice::from_raw_parts(object.dlpi_phdr, usize::from(object.dlpi_phnum)) };
    let begin = |header: &libc::Elf64_Phdr| object.dlpi_addr.wrapping_add(header.p_vaddr);
    let here = give_back as fn() as usize as u64;
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    if !loaded().any(|header| here.wrapping_sub(begin(header)) < header.p_memsz) {
        return 0;
    }
    for header in loaded().filter(|header| header.p_flags & libc::PF_W == 0) {
        give_up(begin(header), header.p_memsz);
    }
    1
}

/// Drops the whole pages of a segment. A refusal by the kernel does no harm.
fn give_up(at: u64, length: u64) {
    let page = rustix::param::page_size() as u64;
    let from = at.next_multiple_of(page);
    let to = (at + length) / page * page;
    if from < to {
        // SAFETY: a private mapping of a file without writes: the pages that come back are the
        // same.
        let _ = unsafe {
            libc::madvise(from as *mut c_void, (to - from) as libc::size_t, libc::MADV_DONTNEED)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size of the program's text in memory, kB, by its line in smaps (proc_pid_smaps(5)).
    fn text_kb() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("it is there");
        let own = std::env::current_exe().expect("a file").display().to_string();
        let mut lines =
            maps.lines().skip_while(|line| !(line.contains(" r-xp ") && line.ends_with(&own)));
        let rss = lines.find_map(|line| line.strip_prefix("Rss:")).expect("its memory");
        rss.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Reads a byte of each page of the program's text. Otherwise the page cache may lack some at
    /// first, and have them later.
    fn touch_text() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("it is there");
        let own = std::env::current_exe().expect("a file").display().to_string();
        for line in maps.lines().filter(|line| line.contains(" r-xp ") && line.ends_with(&own)) {
            let (from, rest) = line.split_once('-').expect("a range");
            let (to, _) = rest.split_once(' ').expect("its end");
            let [from, to] = [from, to].map(|at| usize::from_str_radix(at, 16).expect("a number"));
            for at in (from..to).step_by(rustix::param::page_size()) {
                // SAFETY: the program's own text, which stays mapped and readable.
                unsafe { std::ptr::read_volatile(at as *const u8) };
            }
        }
    }

    #[test]
    fn pages_of_the_start_are_dropped_and_the_program_runs_on() {
        // Pages that other tests use come back at once, so the smallest of several tries counts.
        touch_text();
        let before = text_kb();
        let after = (0..20).map(|_| {
            give_back();
            text_kb()
        });
        let after = after.min().expect("some");
        assert!(after < before, "{before} kB, then {after}");
    }
}
