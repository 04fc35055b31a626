//! The rights that each command keeps. Only this table defines them; docs/explanation/security.md
//! shows it.

use exactop_model::SourceKind;
use rustix::thread::CapabilitySet as Caps;

/// Kinds of commands by the rights that they keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Prints a finished text, and ends.
    Text,
    /// Prints windows.
    Windows,
    /// Records windows.
    Record,
    /// Serves and records.
    Daemon,
    /// The live view.
    Live,
    /// The live view of a recording.
    Replay,
    /// Attaches programs of its own and prints windows.
    OnDemand,
    /// Sets limits of a control group.
    Limit,
    /// Serves a page.
    Web,
    /// Writes recorded windows into a directory.
    Export,
    /// Records into a file.
    #[cfg_attr(not(feature = "bpf"), allow(dead_code))]
    Trace,
}

/// Origins of figures that need different rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// None of those below.
    None,
    /// BPF programs.
    Bpf,
    /// Netlink.
    Taskstats,
    /// /proc alone.
    Procfs,
}

impl From<SourceKind> for Origin {
    fn from(kind: SourceKind) -> Origin {
        match kind {
            SourceKind::Ledger | SourceKind::Snapshot => Origin::Bpf,
            SourceKind::Taskstats => Origin::Taskstats,
            SourceKind::Procfs => Origin::Procfs,
        }
    }
}

/// Places where a command keeps writing. Files that are already open do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Nowhere.
    Nowhere,
    /// The directory of its recording.
    Recording,
    /// The directory of the configuration.
    Configuration,
    /// The directory that the command fills.
    Output,
    /// Files of control groups.
    Groups,
    /// The directory of the configuration, and files of control groups.
    ConfigurationAndGroups,
}

/// Rights that one kind of command keeps.
#[derive(Clone, Copy, Debug)]
pub struct Rights {
    /// Capabilities kept besides those of its source.
    keeps: Caps,
    /// True if it keeps using a source.
    by_source: bool,
    /// In force only while the user asks for an action that needs them.
    pub asked: Caps,
    /// Places where it keeps writing.
    pub writes: Writes,
}

/// Attach more programs, read maps, enlarge maps.
const BPF: Caps = Caps::BPF.union(Caps::PERFMON);
/// See all processes in a /proc that hides them.
const SEE: Caps = Caps::SYS_PTRACE;

/// Rights of root's reader process. In /proc/PID of another user, only that user may open `io`,
/// `environ` and `fd`: anyone else needs DAC_READ_SEARCH for it, or DAC_OVERRIDE, which also writes.
/// Then the kernel checks the access mode of ptrace(2), which takes SYS_PTRACE, also for root's own
/// processes that have more capabilities than the reader.
pub const READER: Caps = SEE.union(Caps::DAC_READ_SEARCH);

impl Role {
    /// The rights that this command keeps.
    pub const fn rights(self) -> Rights {
        const NOTHING: Rights = Rights {
            keeps: Caps::empty(),
            by_source: false,
            asked: Caps::empty(),
            writes: Writes::Nowhere,
        };
        match self {
            Role::Text => NOTHING,
            Role::Windows => Rights { by_source: true, ..NOTHING },
            Role::Record => Rights { by_source: true, writes: Writes::Recording, ..NOTHING },
            Role::Daemon => Rights { by_source: true, writes: Writes::Recording, ..NOTHING },
            Role::Web => Rights { by_source: true, ..NOTHING },
            Role::Export => Rights { writes: Writes::Output, ..NOTHING },
            Role::Live => Rights {
                // With any source, a process's page attaches programs for that process.
                keeps: BPF,
                by_source: true,
                asked: Caps::KILL.union(Caps::SYS_NICE).union(Caps::DAC_OVERRIDE),
                writes: Writes::ConfigurationAndGroups,
            },
            Role::Replay => Rights { writes: Writes::Configuration, ..NOTHING },
            Role::OnDemand => Rights { keeps: BPF.union(SEE), ..NOTHING },
            // The group may belong to another user (delegation).
            Role::Limit => Rights { keeps: Caps::DAC_OVERRIDE, writes: Writes::Groups, ..NOTHING },
            // exactop reads maps; kernels before 5.19 refuse even that without CAP_BPF.
            Role::Trace => Rights { keeps: Caps::BPF, ..NOTHING },
        }
    }
}

impl Rights {
    /// The capabilities kept with this source.
    pub fn kept(&self, source: Origin) -> Caps {
        match self.by_source {
            true => self.keeps | of_source(source),
            false => self.keeps,
        }
    }
}

/// Capabilities that a source needs once it is open.
fn of_source(source: Origin) -> Caps {
    match source {
        Origin::None => Caps::empty(),
        Origin::Bpf => BPF.union(SEE),
        // The kernel checks each request.
        Origin::Taskstats => Caps::NET_ADMIN.union(SEE),
        Origin::Procfs => SEE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = include_str!("../../../../docs/explanation/security.md");

    fn named(caps: Caps) -> String {
        let names: Vec<String> = caps.iter_names().map(|(name, _)| name.to_string()).collect();
        if names.is_empty() {
            "none".into()
        } else {
            names.join(", ")
        }
    }

    const ROLES: [Role; 11] = [
        Role::Windows,
        Role::Record,
        Role::Daemon,
        Role::Live,
        Role::Replay,
        Role::OnDemand,
        Role::Limit,
        Role::Trace,
        Role::Web,
        Role::Export,
        Role::Text,
    ];

    /// Commands of a role, as the document lists them.
    fn commands(role: Role) -> String {
        let commands = match role {
            Role::Windows => "`-b`, `--json`, `--csv`, `--once`, `ptop`, `prstat`",
            Role::Record => "`record`",
            Role::Daemon => "`daemon`",
            Role::Live => "live view",
            Role::Replay => "live view of a recording",
            Role::OnDemand => {
                let subjects = exactop_model::on_demand::Subject::ALL.iter();
                return subjects.map(|of| format!("`{}`, ", of.name())).collect::<String>() + "`blame`, `cgroups`";
            }
            Role::Limit => "`cgroups set`",
            Role::Trace => "`trace`",
            Role::Web => "`web`",
            Role::Export => "`export`",
            Role::Text => "`doctor`, `columns`, `man`, `completions`, `replay -b`, `diff`, `report`, `fleet`, `replay --html`, `record list`, `record verify`, `record cut`",
        };
        commands.into()
    }

    fn row(commands: &str, rights: Rights) -> String {
        let kept = match (rights.by_source, rights.keeps.is_empty()) {
            (true, true) => "by source".into(),
            (true, false) => format!("{}, and by source", named(rights.keeps)),
            (false, _) => named(rights.keeps),
        };
        let writes = match rights.writes {
            Writes::Nowhere => "nothing",
            Writes::Recording => "its recording",
            Writes::Configuration => "its configuration",
            Writes::Output => "the directory it fills",
            Writes::Groups => "control groups",
            Writes::ConfigurationAndGroups => "its configuration, control groups",
        };
        format!("| {commands} | {kept} | {} | {writes} |", named(rights.asked))
    }

    #[test]
    fn the_document_has_the_table() {
        for role in ROLES {
            let row = row(&commands(role), role.rights());
            // Directories that the caller names follow the row's text.
            let begin = row.trim_end_matches(" |");
            let has = |line: &str| {
                let more = line.strip_prefix(begin);
                more.is_some_and(|more| more == " |" || more.starts_with("; "))
            };
            assert!(DOCUMENT.lines().any(has), "docs/explanation/security.md lacks\n{row}");
        }
        let sources = [
            ("ledger, snapshot", Origin::Bpf),
            ("taskstats", Origin::Taskstats),
            ("procfs", Origin::Procfs),
        ];
        for (name, source) in sources {
            let row = format!("| {name} | {} |", named(of_source(source)));
            assert!(
                DOCUMENT.lines().any(|line| line == row),
                "docs/explanation/security.md lacks\n{row}"
            );
        }
        let rows = DOCUMENT.lines().skip_while(|line| !line.starts_with("| command |"));
        let rows = rows.skip(2).take_while(|line| line.starts_with('|')).count();
        // One more row is for the commands that keep all rights.
        assert_eq!(rows, ROLES.len() + 1);
    }

    #[test]
    fn the_reader_needs_each_of_its_rights_for_another_users_process() {
        use crate::rights::capabilities;
        use std::os::unix::process::CommandExt;
        let permitted = rustix::thread::capabilities(None).expect("capget").permitted;
        if !permitted.contains(READER | Caps::SETUID | Caps::SETGID) {
            return eprintln!("left out: only root starts another user's process");
        }
        let mut command = std::process::Command::new("sleep");
        let mut other = command.arg("1000").uid(65534).gid(65534).spawn().expect("a process");
        let dir = format!("/proc/{}", other.id());
        // Capabilities belong to a thread.
        let with = |kept: Caps| -> [bool; 3] {
            let read = || {
                capabilities::keep(kept, Caps::empty());
                let [io, environ] = ["io", "environ"].map(|name| format!("{dir}/{name}"));
                let file = std::fs::read_link(format!("{dir}/fd/0"));
                [std::fs::read(io).is_ok(), std::fs::read(environ).is_ok(), file.is_ok()]
            };
            std::thread::scope(|scope| scope.spawn(read).join().expect("no panic"))
        };
        let told = [READER, Caps::SYS_PTRACE, Caps::DAC_READ_SEARCH].map(with);
        other.kill().and_then(|()| other.wait()).expect("its end");
        assert_eq!(told, [[true; 3], [false; 3], [false; 3]]);
    }

    #[test]
    fn no_command_keeps_a_capability_that_grants_root() {
        let never = Caps::SYS_ADMIN | Caps::SETUID | Caps::SYS_MODULE | Caps::SYS_RAWIO;
        let sources = [Origin::None, Origin::Bpf, Origin::Taskstats, Origin::Procfs];
        for role in ROLES {
            for source in sources {
                let rights = role.rights();
                assert!(!(rights.kept(source) | rights.asked).intersects(never));
            }
        }
    }
}
