//! Loads and attaches an object's programs, by the table in `kernel_programs.rs`.

use crate::bpf::beside::FreeProgram;
use crate::bpf::fentry;
use crate::bpf::kernel_types::KernelTypes;
use crate::bpf::parts::{has_room_for_two, in_parts, is_beside, Maps};
use crate::bpf::refusal::{self, NotAttached};
use crate::bpf::skeleton::{Builder, Loaded, Open};
use crate::btf::Names;
use crate::error::SourceError;
use crate::kernel_programs::{self, Attach, Kernels, Program};
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{Link, Object, OpenProgramMut, ProgramMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

/// The choice of programs for one attempt to load; the kernel's answer decides between attempts.
#[derive(Clone, Copy)]
struct Attempt {
    /// Include the programs of which only loading can tell if the kernel accepts them.
    tried: bool,
    /// Use the programs for a sched_switch without the task's state.
    old_switch: bool,
}

const ATTEMPTS: [Attempt; 3] = [
    Attempt { tried: true, old_switch: false },
    Attempt { tried: false, old_switch: false },
    Attempt { tried: false, old_switch: true },
];

impl Attempt {
    /// True if the object has a program that only this attempt loads.
    fn is_for(self, object: &str) -> bool {
        let kernels = |program: &Program| program.kernels;
        (!self.tried || kernel_programs::by_object(object).map(kernels).any(Kernels::is_tried))
            && (!self.old_switch
                || kernel_programs::by_object(object)
                    .map(kernels)
                    .any(|k| k == Kernels::Before5_18))
    }

    fn takes(self, program: &Program, types: Option<&Names>) -> bool {
        match program.kernels {
            Kernels::All => true,
            Kernels::WithItsTracepoint => types
                .zip(program.tracepoint())
                .is_some_and(|(types, name)| types.has_tracepoint(name)),
            Kernels::WithFentry | Kernels::From6_7 => self.tried,
            Kernels::From5_18 => !self.old_switch,
            Kernels::Before5_18 => self.old_switch,
        }
    }
}

/// An object in the kernel.
pub struct InKernel<B: Builder, R> {
    /// Its maps and most of its programs.
    pub skel: Loaded<B>,
    /// The programs that a second thread loaded.
    pub beside: Vec<FreeProgram>,
    /// Why the programs of which only loading can tell are missing, if they are.
    pub without: Option<String>,
    /// The result of the work done meanwhile.
    pub meanwhile: R,
}

/// Loads an object with all programs that the kernel accepts, without attaching them. `whose` names
/// the programs in errors, such as "the ledger's". `set_up` sets globals and map sizes once the
/// choice of programs is known.
///
/// # Errors
/// [`SourceError::Unavailable`] with the kernel's answer to the attempt with the fewest programs.
pub fn load<B: Builder>(
    object: &str,
    whose: &str,
    set_up: impl Fn(&mut Open<B>) -> libbpf_rs::Result<()> + Sync,
) -> Result<Loaded<B>, SourceError> {
    load_those::<B, ()>(object, whose, |_| true, set_up, |_| Ok(()), |_| ())
        .map(|loaded| loaded.skel)
}

/// Like [`load`], but only with programs whose `Attach` is `wanted`. `has_room` may refuse the
/// object before it is loaded. `meanwhile` works on the maps while the kernel verifies the programs.
///
/// # Errors
/// As [`load`], and the error of `has_room`.
pub fn load_those<B: Builder, R: Send>(
    object: &str,
    whose: &str,
    wanted: impl Fn(Attach) -> bool + Sync,
    set_up: impl Fn(&mut Open<B>) -> libbpf_rs::Result<()> + Sync,
    has_room: impl Fn(&Open<B>) -> Result<(), SourceError>,
    meanwhile: impl Fn(&Maps) -> R + Sync,
) -> Result<InKernel<B, R>, SourceError> {
    refusal::check_before()?;
    let btf = KernelTypes::open();
    let types = btf.as_deref().ok().and_then(|btf| Names::parse(btf, &[]));
    let without = fentry::refused(object, &btf);
    drop(btf);
    let without = without.map_err(|error| refusal::refused(whose, &error.into()));
    let (mut first, mut without) = (None, without?);
    for attempt in ATTEMPTS.into_iter().filter(|attempt| attempt.is_for(object)) {
        if attempt.tried && without.is_some() {
            continue;
        }
        let takes =
            |program: &Program| wanted(program.attach) && attempt.takes(program, types.as_ref());
        let open = || refusal::attempt(|| prepare::<B>(object, takes, &set_up));
        let opened = open();
        if let Ok(open) = &opened {
            has_room(open)?;
        }
        let are_beside =
            kernel_programs::by_object(object).any(|row| takes(row) && is_beside(object, row));
        let in_two = are_beside && has_room_for_two();
        let row = |program: &OpenProgramMut| {
            let row = row_of(object, program).filter(|row| in_two && takes(row));
            row.filter(|row| is_beside(object, row))
        };
        let mut loaded = opened.and_then(|open| in_parts::<B, R>(open, row, &meanwhile));
        if let Ok(None) = loaded {
            // libbpf says more about a refused program.
            loaded = open().and_then(|open| in_parts::<B, R>(open, |_| None, &meanwhile));
        }
        match loaded {
            Ok(loaded) => {
                let (skel, beside, meanwhile) = loaded.expect("only a second thread's fails so");
                return Ok(InKernel { skel, beside, without, meanwhile });
            }
            // Some kernels refuse a tried program with any error. A user without the right to load
            // these programs cannot load the others either.
            Err(error) if attempt.tried && !error.is_for_want_of_room() => {
                without = Some(error.to_string());
            }
            Err(error) if attempt.tried => return Err(refusal::refused(whose, &error)),
            Err(error) if error.is_for_want_of_rights() => {
                return Err(refusal::not_permitted(&error));
            }
            Err(error) => first = first.or(Some(error)),
        }
    }
    let error = first.expect("one attempt tries nothing");
    Err(refusal::refused(whose, &error))
}

/// Opens an object with the programs that `takes` selects.
fn prepare<B: Builder>(
    object: &str,
    takes: impl Fn(&Program) -> bool,
    set_up: impl Fn(&mut Open<B>) -> libbpf_rs::Result<()>,
) -> libbpf_rs::Result<Open<B>> {
    // The skeleton borrows its storage; its users live about as long as the process does.
    let mut open = B::default().open(Box::leak(Box::new(MaybeUninit::uninit())))?;
    for mut program in open.open_object_mut().progs_mut() {
        program.set_autoload(row_of(object, &program).is_some_and(&takes));
    }
    set_up(&mut open)?;
    Ok(open)
}

/// The row of an object's program.
fn row_of(object: &str, program: &OpenProgramMut) -> Option<&'static Program> {
    kernel_programs::by_object(object).find(|row| program.name() == row.name)
}

/// A program in the kernel.
enum InUse<'a> {
    OfObject(ProgramMut<'a>),
    Free(&'a FreeProgram),
}

/// Keeps a program attached until it is dropped.
#[derive(Debug)]
pub enum Attachment {
    /// Of a program of an object.
    OfObject(#[expect(dead_code)] Link),
    /// Of a program that no object owns.
    Free(#[expect(dead_code)] OwnedFd),
}

/// The programs of an object, and those beside it, in the order of the table.
fn in_use<'a>(
    name: &str,
    object: &'a Object,
    beside: &'a [FreeProgram],
) -> Vec<(&'static Program, InUse<'a>)> {
    let programs = object.progs_mut().filter(|program| program.autoload());
    let mut programs: Vec<_> = programs.collect();
    let mut take = |row: &'static Program| {
        if let Some(free) = beside.iter().find(|free| free.row.name == row.name) {
            return Some((row, InUse::Free(free)));
        }
        let at = programs.iter().position(|program| program.name() == row.name)?;
        Some((row, InUse::OfObject(programs.swap_remove(at))))
    };
    kernel_programs::by_object(name).filter_map(&mut take).collect()
}

/// The descriptors of the programs of an object, and of those beside it, in the order of the table.
pub fn descriptors(
    name: &str,
    object: &Object,
    beside: &[FreeProgram],
) -> Vec<(&'static Program, RawFd)> {
    let programs = in_use(name, object, beside).into_iter();
    let descriptor = |program: &InUse| match program {
        InUse::OfObject(program) => program.as_fd().as_raw_fd(),
        InUse::Free(program) => program.as_raw_fd(),
    };
    programs.map(|(row, program)| (row, descriptor(&program))).collect()
}

/// Attaches the programs of an object, and those beside it, whose `Attach` is `wanted`.
///
/// # Errors
/// The first program that could not be attached.
pub fn attach(
    name: &str,
    object: &Object,
    beside: &[FreeProgram],
    when: impl Fn(Attach) -> bool,
) -> Result<Vec<Attachment>, NotAttached> {
    let programs = in_use(name, object, beside).into_iter();
    let attach = |(row, program): (&'static Program, InUse<'_>)| {
        let attached = match program {
            InUse::OfObject(program) => program.attach().map(Attachment::OfObject),
            InUse::Free(program) => program.attach().map(Attachment::Free),
        };
        attached.map_err(|error| NotAttached { name: row.name, error })
    };
    programs.filter(|(row, _)| when(row.attach)).map(attach).collect()
}
