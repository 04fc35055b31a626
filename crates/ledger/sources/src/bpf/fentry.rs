//! Checks if the kernel accepts programs at the beginning of a function (fentry); only loading one
//! can tell. The check loads an empty program, because the kernel would refuse the other programs
//! of the same object too.

use crate::btf;
use crate::kernel_programs::{self, Kernels};
use libbpf_rs::libbpf_sys;
use std::io;
use std::ops::Deref;
use std::os::fd::{FromRawFd, OwnedFd};

/// Errors for a lack of memory or descriptors. They depend on the moment, not on the kernel.
const NO_ROOM: [i32; 3] = [libc::ENOMEM, libc::ENFILE, libc::EMFILE];

/// Why the kernel refuses the fentry programs of an object; `None` if it accepts them or the object
/// has none. `btf` is the kernel's type information.
///
/// # Errors
/// Memory or descriptors are short, so the check was not possible.
pub fn refused<T: Deref<Target = [u8]>>(
    object: &str,
    btf: &io::Result<T>,
) -> io::Result<Option<String>> {
    let programs = kernel_programs::by_object(object);
    let at_functions = programs.filter(|program| program.kernels == Kernels::WithFentry);
    let mut named = at_functions.filter_map(|program| {
        program.section.strip_prefix("fentry/").map(|function| (program.name, function))
    });
    let refused = named.find_map(|(program, function)| {
        let refused = match btf.as_deref().map(|btf| btf::function(btf, function)) {
            Ok(Some(id)) => verdict(do_nothing_at(id)).transpose()?,
            Ok(None) => Ok("the kernel's type information has no such function".into()),
            Err(error) => Ok(format!("cannot read the kernel's type information: {error}")),
        };
        Some(refused.map(|why| format!("cannot attach program {program} at {function}: {why}")))
    });
    refused.transpose()
}

/// Turns the result of the check into the kernel's refusal, if it refused.
fn verdict(tried: io::Result<()>) -> io::Result<Option<String>> {
    match tried {
        Ok(()) => Ok(None),
        Err(error) if error.raw_os_error().is_some_and(|n| NO_ROOM.contains(&n)) => Err(error),
        Err(error) => Ok(Some(error.to_string())),
    }
}

/// Loads an empty program at this function and unloads it.
fn do_nothing_at(function: u32) -> io::Result<()> {
    let ends = [instruction(BPF_MOV64_IMM_R0_0), instruction(BPF_EXIT)];
    let mut options = libbpf_sys::bpf_prog_load_opts {
        sz: size_of::<libbpf_sys::bpf_prog_load_opts>() as libbpf_sys::size_t,
        expected_attach_type: libbpf_sys::BPF_TRACE_FENTRY,
        attach_btf_id: function,
        ..libbpf_sys::bpf_prog_load_opts::default()
    };
    // SAFETY: two instructions, and options of the size they say.
    let fd = unsafe {
        libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_TRACING,
            c"ex_fentry".as_ptr(),
            c"GPL".as_ptr(),
            ends.as_ptr(),
            ends.len() as libbpf_sys::size_t,
            &raw mut options,
        )
    };
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: the kernel just opened this descriptor for us.
    drop(unsafe { OwnedFd::from_raw_fd(fd) });
    Ok(())
}

/// BPF_ALU64 | BPF_MOV | BPF_K of include/uapi/linux/bpf_common.h: here, r0 = 0.
const BPF_MOV64_IMM_R0_0: u8 = 0xb7;
/// BPF_JMP | BPF_EXIT.
const BPF_EXIT: u8 = 0x95;

fn instruction(code: u8) -> libbpf_sys::bpf_insn {
    libbpf_sys::bpf_insn { code, ..libbpf_sys::bpf_insn::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_memory_is_no_refusal_by_the_kernel() {
        let tried = |number| verdict(Err(io::Error::from_raw_os_error(number)));
        for number in NO_ROOM {
            let error = tried(number).expect_err("it says nothing of the kernel");
            assert_eq!(error.raw_os_error(), Some(number));
        }
        for number in [libc::EPERM, libc::EBUSY, libc::EINVAL, 524] {
            assert!(tried(number).expect("a verdict").is_some(), "{number}");
        }
        assert_eq!(verdict(Ok(())).expect("a verdict"), None);
    }

    #[test]
    fn unreadable_type_information_is_not_reported_as_a_missing_function() {
        let unreadable = || Err::<Vec<u8>, _>(io::Error::from_raw_os_error(libc::EACCES));
        let why =
            refused("ledger", &unreadable()).expect("a verdict").expect("it has such programs");
        assert!(why.contains("cannot read") && why.contains("(os error 13)"), "{why}");
        let why = refused("ledger", &Ok(Vec::new())).expect("a verdict").expect("nothing is there");
        assert!(why.contains("has no such function"), "{why}");
        assert_eq!(refused("waits", &unreadable()).expect("a verdict"), None, "it has none");
    }
}
