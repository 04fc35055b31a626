//! Programs that a second thread loads. libbpf loads the programs of an object one after the other,
//! after it has prepared them all: it has made the maps, and fitted the instructions to the kernel's
//! structures. A prepared program needs only the call that loads it.

use super::kernel_types::KernelTypes;
use crate::btf;
use crate::kernel_programs::Program;
use libbpf_rs::{libbpf_sys, AsRawLibbpf, Error, OpenObject, OpenProgramMut, Result};
use std::ffi::{CStr, CString};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::{io, ptr, slice};

/// The license of all objects, as in their sources.
const LICENSE: &CStr = c"Dual BSD/GPL";

/// A prepared program.
pub struct Prepared {
    row: &'static Program,
    kind: libbpf_sys::bpf_prog_type,
    attach: libbpf_sys::bpf_attach_type,
    /// The object's type information in the kernel.
    types: OwnedFd,
    code: Vec<libbpf_sys::bpf_insn>,
    functions: Vec<libbpf_sys::bpf_func_info>,
    lines: Vec<libbpf_sys::bpf_line_info>,
}

/// A program in the kernel that no object owns.
#[derive(Debug)]
pub struct FreeProgram {
    /// Its row in the table.
    pub row: &'static Program,
    file: OwnedFd,
}

/// Takes the programs of these rows out of a prepared object, which does not load them afterwards.
///
/// # Errors
/// No descriptor is left.
pub fn take(
    open: &mut OpenObject,
    row: impl Fn(&OpenProgramMut) -> Option<&'static Program>,
) -> Result<Vec<Prepared>> {
    // SAFETY: the object is open; a prepared one has its type information in the kernel.
    let types = unsafe { libbpf_sys::bpf_object__btf_fd(open.as_libbpf_object().as_ptr()) };
    if types < 0 {
        return Ok(Vec::new());
    }
    // SAFETY: the object is borrowed, so it keeps the descriptor open.
    let types = unsafe { BorrowedFd::borrow_raw(types) };
    let mut taken = Vec::new();
    for mut program in open.progs_mut() {
        let Some(row) = row(&program) else { continue };
        let types = types.try_clone_to_owned()?;
        taken.push(Prepared::copy(row, &program, types));
        program.set_autoload(false);
    }
    Ok(taken)
}

impl Prepared {
    /// Copies a program of a prepared object, so that loading the object cannot change it.
    fn copy(row: &'static Program, program: &OpenProgramMut, types: OwnedFd) -> Prepared {
        let of = program.as_libbpf_object().as_ptr();
        // SAFETY: the program belongs to an open object. Each pointer is null, or that of an array
        // of the length beside it.
        unsafe {
            let code = libbpf_sys::bpf_program__insn_cnt(of) as usize;
            let functions = libbpf_sys::bpf_program__func_info_cnt(of) as usize;
            let lines = libbpf_sys::bpf_program__line_info_cnt(of) as usize;
            Prepared {
                row,
                kind: libbpf_sys::bpf_program__type(of),
                attach: libbpf_sys::bpf_program__expected_attach_type(of),
                types,
                code: copied(libbpf_sys::bpf_program__insns(of), code),
                functions: copied(libbpf_sys::bpf_program__func_info(of), functions),
                lines: copied(libbpf_sys::bpf_program__line_info(of), lines),
            }
        }
    }

    /// Loads it. `kernel`: the kernel's type information.
    fn load(&self, kernel: &KernelTypes) -> io::Result<FreeProgram> {
        let name = CString::new(self.row.name)?;
        let tracepoint = self.row.tracepoint().and_then(|name| btf::tracepoint(kernel, name));
        let mut options = libbpf_sys::bpf_prog_load_opts {
            sz: size_of::<libbpf_sys::bpf_prog_load_opts>() as libbpf_sys::size_t,
            expected_attach_type: self.attach,
            attach_btf_id: tracepoint.ok_or(io::ErrorKind::NotFound)?,
            prog_btf_fd: self.types.as_raw_fd() as u32,
            func_info: self.functions.as_ptr().cast(),
            func_info_cnt: self.functions.len() as u32,
            func_info_rec_size: size_of::<libbpf_sys::bpf_func_info>() as u32,
            line_info: self.lines.as_ptr().cast(),
            line_info_cnt: self.lines.len() as u32,
            line_info_rec_size: size_of::<libbpf_sys::bpf_line_info>() as u32,
            ..libbpf_sys::bpf_prog_load_opts::default()
        };
        // SAFETY: names that end with a zero, instructions of this length, and options of the size
        // that they say, whose arrays live until the call is over.
        let file = unsafe {
            libbpf_sys::bpf_prog_load(
                self.kind,
                name.as_ptr(),
                LICENSE.as_ptr(),
                self.code.as_ptr(),
                self.code.len() as libbpf_sys::size_t,
                &mut options,
            )
        };
        Ok(FreeProgram { row: self.row, file: owned(file)? })
    }
}

/// Loads programs, in this order.
///
/// # Errors
/// The kernel's first refusal. The object's own attempt to load the program says the reason.
pub fn load(programs: &[Prepared]) -> io::Result<Vec<FreeProgram>> {
    let kernel = KernelTypes::open()?;
    programs.iter().map(|program| program.load(&kernel)).collect()
}

impl FreeProgram {
    /// Its descriptor.
    pub fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Attaches it to its tracepoint until the result is dropped.
    ///
    /// # Errors
    /// The kernel's.
    pub fn attach(&self) -> Result<OwnedFd> {
        let program = self.file.as_raw_fd();
        // SAFETY: a program that is open, and no options.
        let link = unsafe {
            libbpf_sys::bpf_link_create(program, 0, libbpf_sys::BPF_TRACE_RAW_TP, ptr::null())
        };
        owned(link).map_err(Error::from)
    }
}

/// A copy of an array; an empty one has no address.
///
/// # Safety
/// `at` is null or points to this many items.
unsafe fn copied<T: Copy>(at: *const T, items: usize) -> Vec<T> {
    match at.is_null() {
        true => Vec::new(),
        // SAFETY: the caller's promise.
        false => unsafe { slice::from_raw_parts(at, items) }.to_vec(),
    }
}

/// The new descriptor that a call of libbpf returned, or the error in errno.
fn owned(returned: i32) -> io::Result<OwnedFd> {
    match returned {
        // SAFETY: a new descriptor.
        0.. => Ok(unsafe { OwnedFd::from_raw_fd(returned) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::test_object::built;
    use crate::kernel_programs::{Attach, Kernels};
    use libbpf_rs::{MapCore, MapFlags, ObjectBuilder};
    use std::ffi::OsStr;

    /// One program that counts new tasks in a function of its own, and one that reads a field with
    /// a type that fits no kernel.
    const PROGRAMS: &str = r#"
        struct task_struct { int utime; } __attribute__((preserve_access_index));
        unsigned long long seen;
        __attribute__((noinline)) int count(int by)
        {
            __sync_fetch_and_add(&seen, by);
            return 0;
        }
        __attribute__((section("tp_btf/task_newtask"), used))
        int fits(unsigned long long *ctx)
        {
            return count(1);
        }
        __attribute__((section("tp_btf/task_newtask"), used))
        int misfit(unsigned long long *ctx)
        {
            return count(((struct task_struct *)ctx[0])->utime);
        }
        char LICENSE[] __attribute__((section("license"), used)) = "GPL";
    "#;

    const fn row(name: &'static str) -> Program {
        let (attach, kernels) = (Attach::Always, Kernels::All);
        let section = "tp_btf/task_newtask";
        Program { name, section, objects: &[], attach, kernels, loses: None }
    }

    static ROWS: [Program; 2] = [row("fits"), row("misfit")];

    #[test]
    fn a_program_runs_without_its_object_or_is_refused() {
        let (_dir, object) = built(PROGRAMS);
        let mut open = ObjectBuilder::default().open_file(&object).expect("an object");
        let prepare = unsafe { libbpf_sys::bpf_object__prepare(open.as_libbpf_object().as_ptr()) };
        assert_eq!(prepare, 0, "{}", io::Error::last_os_error());
        let of = |program: &OpenProgramMut| ROWS.iter().find(|row| program.name() == row.name);
        let mut taken = take(&mut open, of).expect("descriptors");
        taken.sort_by_key(|program| program.row.name);
        let loaded = open.load().expect("an object without programs");
        let [fits, misfit] = &taken[..] else { panic!("both were taken") };

        assert!(load(std::slice::from_ref(misfit)).is_err());
        let fits = load(std::slice::from_ref(fits)).expect("the kernel accepts it");
        let seen = || {
            let is_bss = |name: &OsStr| name.to_string_lossy().ends_with(".bss");
            let bss = loaded.maps().find(|map| is_bss(map.name())).expect("globals");
            let bytes = bss.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).unwrap().expect("one item");
            u64::from_ne_bytes(bytes[..8].try_into().unwrap())
        };
        let born = || std::thread::spawn(|| ()).join().expect("a thread");
        born();
        assert_eq!(seen(), 0, "it is not attached");
        let attached = fits[0].attach().expect("attached");
        born();
        let once = seen();
        assert!(once >= 1, "{once}");
        drop(attached);
        let then = seen();
        born();
        assert_eq!(seen(), then, "it is detached");
    }
}
