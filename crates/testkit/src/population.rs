//! The processes of the machine, and their use in a window.

/// Nanoseconds.
pub const SECOND: u64 = 1_000_000_000;

/// A process.
#[allow(missing_docs)] // Their names say it.
pub struct Process {
    pub pid: u32,
    pub ppid: u32,
    pub uid: u32,
    pub comm: &'static str,
    /// The command line; kernel threads have none.
    pub line: &'static str,
    /// Tenths of a per cent of one CPU.
    pub cpu: u64,
    pub threads: u32,
    /// Resident memory, bytes.
    pub res: u64,
}

impl Process {
    /// Name of its user.
    pub fn user(&self) -> &'static str {
        match self.uid {
            0 => "root",
            101 => "systemd-network",
            105 => "postgres",
            _ => "jo",
        }
    }

    /// True for a kernel thread, which has neither memory nor a command line.
    pub fn is_kthread(&self) -> bool {
        self.line.is_empty()
    }
}

type Of = (u32, u32, u32);

/// Its ids: its own, its parent's and its user's; its names, short and long; CPU, threads, resident
/// MiB.
const fn process(
    (pid, ppid, uid): Of,
    comm: &'static str,
    line: &'static str,
    (cpu, threads, mib): (u64, u32, u64),
) -> Process {
    Process { pid, ppid, uid, comm, line, cpu, threads, res: mib << 20 }
}

const POSTGRES: &str = "/usr/lib/postgresql/15/bin/postgres -D /var/lib/postgresql";
const SSHD: &str = "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups";
const LOOP: &str = "sh -c while :; do /bin/true; done";
/// A name with control characters: names may hold any bytes.
const EVIL: &str = "evil \x1b]0;gotcha\x07 \u{202e}txt";

/// The living processes.
pub const PROCESSES: [Process; 13] = [
    process((1, 0, 0), "systemd", "/sbin/init", (0, 1, 12)),
    process((2, 0, 0), "kthreadd", "", (0, 1, 0)),
    process((14, 2, 0), "rcu_preempt", "", (1, 1, 0)),
    process((311, 1, 0), "systemd-journald", "/lib/systemd/systemd-journald", (0, 1, 31)),
    process((702, 1, 101), "systemd-network", "/lib/systemd/systemd-networkd", (0, 1, 9)),
    process((812, 1, 105), "postgres", "postgres: walwriter", (4, 1, 29)),
    process((813, 1, 105), "postgres", POSTGRES, (2, 6, 212)),
    process((990, 1, 0), "sshd", SSHD, (0, 1, 7)),
    process((21_002, 990, 1000), "bash", "-bash", (0, 1, 4)),
    process((22_417, 21_002, 1000), "sh", LOOP, (314, 1, 3)),
    process((22_418, 21_002, 1000), "sh", LOOP, (310, 1, 3)),
    process((22_600, 21_002, 1000), "日本語テスト", "日本語テスト --ключ=значение", (23, 12, 96)),
    process((22_700, 21_002, 1000), "evil\x1b[2J,\"x\"", EVIL, (0, 1, 1)),
];

/// Processes that exit in each window: parent (0: it has exited, too), name, number, tenths of a
/// per cent of one CPU.
pub const EXITED: [(u32, &str, u64, u64); 4] = [
    (22_417, "true", 1756, 327),
    (22_418, "true", 1755, 329),
    (22_417, "ls", 3, 4),
    (0, "cron", 12, 18),
];
