//! The kinds of interrupt this kernel has tracepoints for (bpf/vectors.h).

use crate::probe::btf::Names;
use std::fs;

/// Those of `bpf/vectors.h`.
pub const VECTORS: [&str; 7] = [
    "irq_handler",
    "softirq",
    "local_timer",
    "irq_work",
    "call_function",
    "call_function_single",
    "reschedule",
];

/// Those whose two tracepoints this kernel has.
pub fn here() -> Vec<&'static str> {
    let btf = fs::read("/sys/kernel/btf/vmlinux").unwrap_or_default();
    let Some(names) = Names::parse(&btf, &[]) else { return Vec::new() };
    let both = |vector: &&str| {
        ["entry", "exit"].iter().all(|end| names.has_tracepoint(&format!("{vector}_{end}")))
    };
    VECTORS.into_iter().filter(both).collect()
}

/// Whether a program of this name is for an interrupt that this kernel can tell of; `None`: it is
/// for something else.
pub fn wanted(program: &str, here: &[&str]) -> Option<bool> {
    let vector = program.strip_suffix("_begins").or_else(|| program.strip_suffix("_ends"))?;
    VECTORS.contains(&vector).then(|| here.contains(&vector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_missing_vectors_are_not_wanted() {
        assert_eq!(wanted("softirq_begins", &["softirq"]), Some(true));
        assert_eq!(wanted("irq_work_ends", &["softirq"]), Some(false));
        assert_eq!(wanted("on_switch", &["softirq"]), None);
    }
}
