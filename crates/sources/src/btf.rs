//! Which names the kernel's type information holds, without a library: the string section of BTF
//! (Documentation/bpf/btf.rst).
//!
//! A name in the section means that something is called so, not what. That is enough for
//! tracepoints, whose typedefs are called `btf_trace_NAME`, and for rare field names.

use std::collections::HashSet;

/// `btf_header.magic`, in the byte order of the machine the kernel runs on.
const MAGIC: u16 = 0xEB9F;

/// What the typedefs of tracepoints begin with.
const TRACEPOINT: &str = "btf_trace_";

/// Names found in BTF.
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// Keeps tracepoints and the names in `also`; `None` if the bytes are no BTF of this machine.
    pub fn parse(btf: &[u8], also: &[&str]) -> Option<Names> {
        let strings = strings(btf)?.split(|&b| b == 0);
        let wanted = strings
            .filter_map(|name| std::str::from_utf8(name).ok())
            .filter(|name| name.starts_with(TRACEPOINT) || also.contains(name));
        Some(Names(wanted.map(String::from).collect()))
    }

    /// Whether BPF programs can attach to this tracepoint by its type.
    pub fn has_tracepoint(&self, name: &str) -> bool {
        self.0.contains(&format!("{TRACEPOINT}{name}"))
    }

    /// Whether anything is called so; only for names given to [`Names::parse`].
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// The header: magic u16, version u8, flags u8, then u32: length of the header, offset and length
/// of the types, offset and length of the strings; offsets count from the header's end.
fn strings(btf: &[u8]) -> Option<&[u8]> {
    let u32_at = |at: usize| {
        let bytes = btf.get(at..at.checked_add(4)?)?;
        usize::try_from(u32::from_ne_bytes(bytes.try_into().ok()?)).ok()
    };
    if u16::from_ne_bytes(btf.get(..2)?.try_into().ok()?) != MAGIC {
        return None;
    }
    let start = u32_at(4)?.checked_add(u32_at(16)?)?;
    btf.get(start..start.checked_add(u32_at(20)?)?)
}

/// BTF with these strings and nothing else.
#[cfg(test)]
pub(crate) fn fake(names: &[&str]) -> Vec<u8> {
    let strings = format!("\0{}\0", names.join("\0"));
    let mut btf = MAGIC.to_ne_bytes().to_vec();
    btf.extend_from_slice(&[1, 0]);
    for word in [24, 0, 0, 0, strings.len() as u32] {
        btf.extend_from_slice(&word.to_ne_bytes());
    }
    btf.extend_from_slice(strings.as_bytes());
    btf
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tracepoints_and_wanted_names_are_found() {
        let btf = fake(&["btf_trace_sched_switch", "rq", "prev_steal_time_rq"]);
        let names = Names::parse(&btf, &["prev_steal_time_rq"]).unwrap();
        assert!(names.has_tracepoint("sched_switch") && names.has("prev_steal_time_rq"));
        assert!(!names.has_tracepoint("sched_wakeup") && !names.has("rq"));
    }

    #[test]
    fn cut_or_foreign_bytes_are_refused() {
        let btf = fake(&["a", "b"]);
        assert!(Names::parse(&btf[..btf.len() - 1], &[]).is_none());
        assert!(Names::parse(&btf[..10], &[]).is_none());
        assert!(Names::parse(b"", &[]).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut btf in proptest::collection::vec(any::<u8>(), 0..80)) {
            if btf.len() > 1 {
                btf[..2].copy_from_slice(&MAGIC.to_ne_bytes());
            }
            let _ = Names::parse(&btf, &[]);
        }
    }
}
