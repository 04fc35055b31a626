//! The kernel's figures about a loaded object: skipped program runs and the memory of its maps.

use libbpf_rs::{libbpf_sys, Object};
use std::fs;
use std::os::fd::{AsFd, AsRawFd};

/// Number of runs that the kernel skipped because the same program was running on that CPU. `None`
/// if the kernel does not count them.
pub fn skipped(object: &Object) -> Option<u64> {
    let loaded = object.progs().filter(|program| program.as_fd().as_raw_fd() >= 0);
    loaded.map(|program| skipped_of(program.as_fd().as_raw_fd())).sum()
}

fn skipped_of(fd: i32) -> Option<u64> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut size = size_of_val(&info) as u32;
    // SAFETY: info is a plain struct of `size` bytes that the kernel fills.
    let answer =
        unsafe { libbpf_sys::bpf_obj_get_info_by_fd(fd, (&raw mut info).cast(), &raw mut size) };
    (answer == 0).then_some(info.recursion_misses)
}

/// Memory of all maps of an object, bytes.
pub fn map_bytes(object: &Object) -> Option<u64> {
    object.maps().map(|map| bytes_of(map.as_fd().as_raw_fd())).sum()
}

/// `memlock:` of fdinfo, bytes: the memory in use; before Linux 6.4 the maximum.
fn bytes_of(fd: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("memlock:"))?;
    line.trim().parse().ok()
}
