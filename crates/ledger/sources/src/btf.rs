//! Reads names from the kernel's type information without a library: the string section of BTF, and
//! structures with their members (Documentation/bpf/btf.rst).
//!
//! A name in the string section exists, but its kind is unknown. This is enough for tracepoints,
//! whose typedefs are named `btf_trace_NAME`.

use memchr::memmem;
use std::collections::HashSet;

/// `btf_header.magic`, in the byte order of the machine the kernel runs on.
const MAGIC: u16 = 0xEB9F;

/// Prefix of the typedefs of tracepoints.
const TRACEPOINT: &str = "btf_trace_";

/// The same where a name begins.
const TRACEPOINT_BEGINS: &[u8] = b"\0btf_trace_";

/// Names found in BTF.
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// Keeps tracepoints and the names in `also`. `None` if the bytes are no BTF of this machine.
    pub fn parse(btf: &[u8], also: &[&str]) -> Option<Names> {
        // A name begins after a zero, and ends with one: the section begins with the empty name.
        let strings = strings(btf)?;
        let begins = memmem::find_iter(strings, TRACEPOINT_BEGINS);
        let tracepoints = begins.filter_map(|at| name_at(strings, at + 1));
        let is_there =
            |name: &&&str| memmem::find(strings, format!("\0{name}\0").as_bytes()).is_some();
        let also = also.iter().filter(is_there).map(|name| name.as_bytes());
        let wanted = tracepoints.chain(also).filter_map(|name| std::str::from_utf8(name).ok());
        Some(Names(wanted.map(String::from).collect()))
    }

    /// True if BPF programs can attach to this tracepoint by its type.
    pub fn has_tracepoint(&self, name: &str) -> bool {
        self.0.contains(&format!("{TRACEPOINT}{name}"))
    }

    /// True if this name exists. Valid only for names given to [`Names::parse`].
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// Members of structures, as (structure, member).
pub(crate) struct Members<'a>(HashSet<(&'a str, &'a str)>);

impl<'a> Members<'a> {
    /// Keeps the members of `wanted` that exist. `None` if the bytes are no BTF of this machine, or
    /// contain a kind of type that is newer than this program.
    pub fn parse(btf: &[u8], wanted: &[(&'a str, &'a str)]) -> Option<Members<'a>> {
        let (types, strings) = (types(section(btf, 8)?)?, strings(btf)?);
        let mut there = HashSet::new();
        for of in types.iter().filter(|of| of.is_structure()) {
            let name = name_at(strings, of.name)?;
            let wanted = wanted.iter().filter(|(structure, _)| structure.as_bytes() == name);
            for &(structure, member) in wanted {
                if has_member(&types, strings, of, member.as_bytes(), DEEPEST) {
                    there.insert((structure, member));
                }
            }
        }
        Some(Members(there))
    }

    /// True if the member exists. Valid only for members given to [`Members::parse`].
    pub fn has(&self, structure: &str, member: &str) -> bool {
        self.0.contains(&(structure, member))
    }
}

/// Type number of a function. `None` if it does not exist, or if the bytes are no BTF of this
/// machine.
#[cfg(feature = "bpf")]
pub(crate) fn function(btf: &[u8], name: &str) -> Option<u32> {
    number(btf, FUNCTION, name.as_bytes())
}

/// Type number of a tracepoint's typedef; `None` as in [`function`].
#[cfg(feature = "bpf")]
pub(crate) fn tracepoint(btf: &[u8], name: &str) -> Option<u32> {
    number(btf, TYPEDEF, format!("{TRACEPOINT}{name}").as_bytes())
}

/// Number of the first type of a kind with this name.
#[cfg(feature = "bpf")]
fn number(btf: &[u8], kind: u32, name: &[u8]) -> Option<u32> {
    let (all, strings) = (Types(section(btf, 8)?), strings(btf)?);
    let is_it = |of: &Type| of.kind == kind && name_at(strings, of.name) == Some(name);
    let at = all.map_while(|of| of).position(|of| is_it(&of))?;
    u32::try_from(at + 1).ok()
}

/// BTF_KIND_TYPEDEF.
#[cfg(feature = "bpf")]
const TYPEDEF: u32 = 8;
/// BTF_KIND_FUNC.
#[cfg(feature = "bpf")]
const FUNCTION: u32 = 12;

/// Deepest nesting of structures without a name.
const DEEPEST: usize = 8;

/// `struct btf_type`.
struct Type<'a> {
    name: usize,
    kind: u32,
    /// The data that follows it.
    more: &'a [u8],
}

impl Type<'_> {
    /// BTF_KIND_STRUCT or BTF_KIND_UNION.
    fn is_structure(&self) -> bool {
        matches!(self.kind, 4 | 5)
    }
}

/// All types; the first has number 1. `None` if a kind of type is newer than this program.
fn types(section: &[u8]) -> Option<Vec<Type<'_>>> {
    Types(section).collect()
}

/// The rest of the type section.
struct Types<'a>(&'a [u8]);

impl<'a> Types<'a> {
    fn first(&self) -> Option<(Type<'a>, &'a [u8])> {
        let section = self.0;
        let (name, info) = (word(section, 0)?, word(section, 4)?);
        let (kind, members) = ((info >> 24) & 0x1f, info & 0xffff);
        let more = match kind {
            // Size of the data by kind: integers, variables and declaration tags; arrays; members,
            // section variables and 64-bit enumerators; enumerators and parameters.
            1 | 14 | 17 => 4,
            3 => 12,
            4 | 5 | 15 | 19 => members * 12,
            6 | 13 => members * 8,
            2 | 7..=12 | 16 | 18 => 0,
            _ => return None,
        };
        let end = 12usize.checked_add(more)?;
        Some((Type { name, kind: kind as u32, more: section.get(12..end)? }, &section[end..]))
    }
}

impl<'a> Iterator for Types<'a> {
    type Item = Option<Type<'a>>;

    fn next(&mut self) -> Option<Option<Type<'a>>> {
        if self.0.is_empty() {
            return None;
        }
        let first = self.first();
        self.0 = first.as_ref().map_or(&[], |(_, rest)| rest);
        Some(first.map(|(one, _)| one))
    }
}

/// The members of a structure without a name count as members of the outer structure.
fn has_member(types: &[Type], strings: &[u8], of: &Type, wanted: &[u8], deepest: usize) -> bool {
    of.more.chunks_exact(12).any(|member| {
        let (Some(name), Some(id)) = (word(member, 0), word(member, 4)) else { return false };
        if name != 0 {
            return name_at(strings, name) == Some(wanted);
        }
        let inner = id.checked_sub(1).and_then(|at| types.get(at));
        let inner = inner.filter(|inner| inner.is_structure() && deepest > 0);
        inner.is_some_and(|inner| has_member(types, strings, inner, wanted, deepest - 1))
    })
}

fn name_at(strings: &[u8], at: usize) -> Option<&[u8]> {
    strings.get(at..)?.split(|&b| b == 0).next()
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    usize::try_from(u32::from_ne_bytes(bytes.try_into().ok()?)).ok()
}

fn strings(btf: &[u8]) -> Option<&[u8]> {
    section(btf, 16)
}

/// A section of BTF; `at` is the position of the section's offset in the header. The header has
/// magic u16, version u8, flags u8, then as u32: header length, types' offset and length, strings'
/// offset and length. Offsets count from the header's end.
fn section(btf: &[u8], at: usize) -> Option<&[u8]> {
    if u16::from_ne_bytes(btf.get(..2)?.try_into().ok()?) != MAGIC {
        return None;
    }
    let start = word(btf, 4)?.checked_add(word(btf, at)?)?;
    btf.get(start..start.checked_add(word(btf, at + 4)?)?)
}

/// Makes BTF with these strings, and a structure for each of these members.
#[cfg(test)]
pub(crate) fn fake(names: &[&str], members: &[(&str, &str)]) -> Vec<u8> {
    let mut strings = format!("\0{}\0", names.join("\0"));
    let mut name = |name: &str| {
        let at = strings.len() as u32;
        strings += &format!("{name}\0");
        at
    };
    const STRUCTURE: u32 = 4 << 24;
    let types: Vec<u32> = members
        .iter()
        .flat_map(|(of, member)| [name(of), STRUCTURE | 1, 8, name(member), 0, 0])
        .collect();
    let mut btf = MAGIC.to_ne_bytes().to_vec();
    btf.extend_from_slice(&[1, 0]);
    let length = types.len() as u32 * 4;
    for word in [24, 0, length, length, strings.len() as u32].into_iter().chain(types) {
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
        let btf = fake(&["btf_trace_sched_switch", "rq", "prev_steal_time_rq"], &[]);
        let names = Names::parse(&btf, &["prev_steal_time_rq"]).unwrap();
        assert!(names.has_tracepoint("sched_switch") && names.has("prev_steal_time_rq"));
        assert!(!names.has_tracepoint("sched_wakeup") && !names.has("rq"));
    }

    #[test]
    fn a_member_is_found_in_its_own_structure_only() {
        let btf = fake(&["nr_switches"], &[("rq", "lock"), ("other", "nr_switches")]);
        let wanted = [("rq", "nr_switches"), ("rq", "lock"), ("other", "nr_switches")];
        let members = Members::parse(&btf, &wanted).unwrap();
        assert!(!members.has("rq", "nr_switches") && members.has("rq", "lock"));
        assert!(members.has("other", "nr_switches"));
    }

    #[test]
    fn the_types_of_this_kernel_parse() {
        let Ok(btf) = std::fs::read("/sys/kernel/btf/vmlinux") else { return };
        let wanted =
            [("task_struct", "pid"), ("task_struct", "no_such_member"), ("sk_buff", "next")];
        let members = Members::parse(&btf, &wanted).expect("kinds that are known");
        assert!(members.has("task_struct", "pid"));
        assert!(members.has("sk_buff", "next"), "in a union without a name");
        assert!(!members.has("task_struct", "no_such_member"));
    }

    #[cfg(feature = "bpf")]
    #[test]
    fn a_function_has_the_number_that_libbpf_finds() {
        let Ok(btf) = std::fs::read("/sys/kernel/btf/vmlinux") else { return };
        for name in [c"schedule", c"unthrottle_cfs_rq", c"no_such_function"] {
            let fentry = libbpf_rs::libbpf_sys::BPF_TRACE_FENTRY;
            // SAFETY: a string that ends with a zero.
            let found =
                unsafe { libbpf_rs::libbpf_sys::libbpf_find_vmlinux_btf_id(name.as_ptr(), fentry) };
            let found = u32::try_from(found).ok();
            assert_eq!(function(&btf, name.to_str().unwrap()), found, "{name:?}");
        }
    }

    #[test]
    fn cut_or_foreign_bytes_are_refused() {
        let btf = fake(&["a", "b"], &[("c", "d")]);
        assert!(Names::parse(&btf[..btf.len() - 1], &[]).is_none());
        assert!(Names::parse(&btf[..10], &[]).is_none());
        assert!(Names::parse(b"", &[]).is_none());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut btf in proptest::collection::vec(any::<u8>(), 0..80)) {
            if btf.len() > 1 {
                btf[..2].copy_from_slice(&MAGIC.to_ne_bytes());
            }
            let _ = Names::parse(&btf, &[]);
            let _ = Members::parse(&btf, &[("rq", "nr_switches")]);
            let _ = function(&btf, "schedule");
        }
    }
}
