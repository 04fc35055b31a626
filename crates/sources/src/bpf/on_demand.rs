//! Loading programs that are attached only while someone looks.

use crate::bpf::refusal;
use crate::error::SourceError;
use libbpf_rs::{Link, MapCore, MapFlags, OpenProgramMut, ProgramMut};
use std::path::Path;

/// `struct greatest` of bpf/on_demand/on_demand.h: the value of the window that was open at `epoch`.
pub fn greatest(ns: [u64; 2], epochs: [u32; 2], epoch: u32) -> Option<u64> {
    let i = (epoch & 1) as usize;
    (epochs[i] == epoch).then_some(ns[i])
}

/// Whether a program is for another kernel than this one, or needs something that is not here.
/// `old_switch`: sched_switch does not tell the state (before 5.18).
pub fn choose(program: &mut OpenProgramMut<'_>, interrupts: &[&str], old_switch: bool) {
    let name = program.name().to_string_lossy().into_owned();
    let load = match name.as_str() {
        "on_switch" => !old_switch,
        "on_switch_before_5_18" => old_switch,
        other => crate::bpf::interrupts::wanted(other, interrupts).unwrap_or(true),
    };
    program.set_autoload(load);
}

/// Loads with the newer sched_switch, else with the older one.
///
/// # Errors
/// Why the kernel refuses; `whose` says which programs.
pub fn load_either<S>(
    whose: &str,
    load: impl Fn(bool) -> libbpf_rs::Result<S>,
) -> Result<S, SourceError> {
    refusal::check_before()?;
    refusal::attempt(|| load(false))
        .or_else(|first| refusal::attempt(|| load(true)).map_err(|_| first))
        .map_err(|error| refusal::refused(whose, &error))
}

/// Attaches what was loaded, but not iterators. The ends of interrupts come first: an interrupt
/// whose beginning alone is seen would seem to last.
///
/// # Errors
/// The first that could not be attached.
pub fn attach<'a>(
    programs: impl Iterator<Item = ProgramMut<'a>>,
) -> Result<Vec<Link>, SourceError> {
    let mut links = Vec::new();
    let mut programs: Vec<ProgramMut<'a>> = programs.collect();
    programs.sort_by_key(|p| !p.name().to_string_lossy().ends_with("_ends"));
    for program in programs {
        let name = program.name().to_string_lossy().into_owned();
        // Iterators are run, not attached.
        let iterates = matches!(program.attach_type(), libbpf_rs::ProgramAttachType::TraceIter);
        if program.autoload() && !iterates {
            links.push(program.attach().map_err(|error| refusal::not_attached(&name, &error))?);
        }
    }
    Ok(links)
}

/// Puts processes into the map `chosen`.
///
/// # Errors
/// What the kernel says.
pub fn choose_processes(map: &impl MapCore, pids: &[u32]) -> Result<(), SourceError> {
    for pid in pids {
        map.update(&pid.to_ne_bytes(), &1u32.to_ne_bytes(), MapFlags::ANY)
            .map_err(refusal::failed("choosing a process"))?;
    }
    Ok(())
}

/// Whether nobody has this thread, or process if `tid` is 0, any more.
pub fn is_gone(tgid: u32, tid: u32) -> bool {
    let tid = if tid == 0 { tgid } else { tid };
    tgid != 0 && !Path::new(&format!("/proc/{tgid}/task/{tid}")).exists()
}
