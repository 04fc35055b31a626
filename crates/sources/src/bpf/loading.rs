//! Loading and attaching an object's programs, as the table of programs has them.

use crate::bpf::refusal;
use crate::btf::Names;
use crate::error::SourceError;
use crate::kernel_programs::{self, Attach, Kernels, Program};
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, Object, ProgramMut};
use std::fs;
use std::mem::MaybeUninit;

/// An object that a builder of skeletons opens.
pub type Open<B> = <B as SkelBuilder<'static>>::Output;
/// The same in the kernel.
pub type Loaded<B> = <Open<B> as OpenSkel<'static>>::Output;

/// Which of the programs to load: the kernel decides, by what it accepts.
#[derive(Clone, Copy)]
struct Attempt {
    /// Those of which only a try tells whether the kernel takes them.
    tried: bool,
    /// Those for a sched_switch that does not tell the state.
    old_switch: bool,
}

const ATTEMPTS: [Attempt; 3] = [
    Attempt { tried: true, old_switch: false },
    Attempt { tried: false, old_switch: false },
    Attempt { tried: false, old_switch: true },
];

impl Attempt {
    /// Whether there is a program for which this one is made.
    fn is_for(self, object: &str) -> bool {
        let kernels = |program: &Program| program.kernels;
        (!self.tried || kernel_programs::of(object).map(kernels).any(Kernels::is_tried))
            && (!self.old_switch
                || kernel_programs::of(object).map(kernels).any(|k| k == Kernels::Before5_18))
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

/// Loads an object with all of its programs that the kernel takes; nothing is attached. `whose`
/// are they, such as "the ledger's"; `set_up` sets globals and the sizes of maps, when it is known
/// which programs are to be loaded; `has_room` may still refuse then.
///
/// # Errors
/// [`SourceError::Unavailable`] with what the kernel says to the attempt that asks for nothing that
/// is only tried; what `has_room` says.
pub fn load<B: SkelBuilder<'static> + Default>(
    object: &str,
    whose: &str,
    set_up: impl Fn(&mut Open<B>) -> libbpf_rs::Result<()>,
    has_room: impl Fn(&Open<B>) -> Result<(), SourceError>,
) -> Result<Loaded<B>, SourceError> {
    refusal::check_before()?;
    let btf = fs::read("/sys/kernel/btf/vmlinux").ok();
    let types = btf.and_then(|btf| Names::parse(&btf, &[]));
    let mut first = None;
    for attempt in ATTEMPTS.into_iter().filter(|attempt| attempt.is_for(object)) {
        let prepare = || {
            // The skeleton borrows its storage; who uses it lives about as long as the process does.
            let mut open = B::default().open(Box::leak(Box::new(MaybeUninit::uninit())))?;
            for mut program in open.open_object_mut().progs_mut() {
                let row = kernel_programs::of(object).find(|row| program.name() == row.name);
                program.set_autoload(row.is_some_and(|row| attempt.takes(row, types.as_ref())));
            }
            set_up(&mut open)?;
            Ok(open)
        };
        let opened = refusal::attempt(prepare);
        if let Ok(open) = &opened {
            has_room(open)?;
        }
        match opened.and_then(|open| refusal::attempt(|| open.load())) {
            Ok(skel) => return Ok(skel),
            // Some kernels answer so to what is only tried.
            Err(_) if attempt.tried => {}
            Err(error) if error.is_for_want_of_rights() => {
                return Err(refusal::not_permitted(&error));
            }
            Err(error) => first = first.or(Some(error)),
        }
    }
    let error = first.expect("one attempt tries nothing");
    Err(refusal::refused(whose, &error))
}

/// The programs of an object that were loaded, as the table has them and in its order.
pub fn loaded<'a>(name: &str, object: &'a Object) -> Vec<(&'static Program, ProgramMut<'a>)> {
    let mut programs: Vec<_> = object.progs_mut().filter(|program| program.autoload()).collect();
    let mut take = |row: &'static Program| {
        let at = programs.iter().position(|program| program.name() == row.name)?;
        Some((row, programs.swap_remove(at)))
    };
    kernel_programs::of(name).filter_map(&mut take).collect()
}

/// Attaches those of an object's programs that are attached then.
///
/// # Errors
/// The first that could not be attached.
pub fn attach(
    name: &str,
    object: &Object,
    when: impl Fn(Attach) -> bool,
) -> Result<Vec<Link>, SourceError> {
    let attached = loaded(name, object).into_iter().filter(|(row, _)| when(row.attach));
    let attach = |(row, program): (&Program, ProgramMut<'_>)| {
        program.attach().map_err(|error| refusal::not_attached(row.name, &error))
    };
    attached.map(attach).collect()
}
