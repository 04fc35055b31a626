//! Our own file. Opening options, loading programs and reading everyone once takes code that no
//! look takes again: three quarters of what of the file is in memory. The kernel does not take it back before
//! memory is short. It is given up here, and what is needed again comes back from the page cache, page by
//! page.

use std::ffi::{c_int, c_void};

/// Gives up what of the file that this code is in is in memory: of the program's, or of the library's.
pub(super) fn give_back() {
    // SAFETY: it calls `segments` for each object, and returns.
    unsafe { libc::dl_iterate_phdr(Some(segments), std::ptr::null_mut()) };
}

/// Of the object that holds this function: its segments that nothing writes to, relocations neither, so that they
/// are what the file holds.
unsafe extern "C" fn segments(
    object: *mut libc::dl_phdr_info,
    _: libc::size_t,
    _: *mut c_void,
) -> c_int {
    // SAFETY: dl_iterate_phdr(3) gives an object with as many headers as it says.
    let object = unsafe { &*object };
    if object.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the same.
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

/// A segment in memory: whole pages of it. The kernel's refusal is no harm.
fn give_up(at: u64, length: u64) {
    let page = rustix::param::page_size() as u64;
    let from = at.next_multiple_of(page);
    let to = (at + length) / page * page;
    if from < to {
        // SAFETY: a private mapping of a file, which nobody wrote to: what is read again is the same.
        let _ = unsafe {
            libc::madvise(from as *mut c_void, (to - from) as libc::size_t, libc::MADV_DONTNEED)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the program's text in memory, by its line in smaps (proc_pid_smaps(5)), kB.
    fn text_kb() -> u64 {
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("it is there");
        let own = std::env::current_exe().expect("a file").display().to_string();
        let mut lines =
            maps.lines().skip_while(|line| !(line.contains(" r-xp ") && line.ends_with(&own)));
        let rss = lines.find_map(|line| line.strip_prefix("Rss:")).expect("its memory");
        rss.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    #[test]
    fn what_the_start_took_is_given_up_and_the_program_runs_on() {
        // What other tests run meanwhile comes back at once: the least of some tries counts.
        let before = text_kb();
        let after = (0..20).map(|_| {
            give_back();
            text_kb()
        });
        let after = after.min().expect("some");
        assert!(after < before, "{before} kB, then {after}");
    }
}
