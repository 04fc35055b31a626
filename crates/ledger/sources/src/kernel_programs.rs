//! The table of exactop's BPF programs: what each is attached to, which objects contain it, when it
//! is attached, which kernels accept it, and what is lost without it. Loading and attaching
//! (`bpf/loading.rs`), the calibration of cost and doctor all use the table; a test compares it
//! with the objects.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its function below `bpf/`.
    pub name: &'static str,
    /// Its section, which says what it is attached to.
    pub section: &'static str,
    /// The objects that contain it.
    pub objects: &'static [&'static str],
    pub attach: Attach,
    pub kernels: Kernels,
    /// What exactop cannot show without it; `None`: its object is not loaded without it.
    pub loses: Option<&'static str>,
}

/// When a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attach {
    /// As long as its object is in use.
    Always,
    /// As long as its object is in use, if the kernel allows it.
    IfItMay,
    /// In the ledger while user and system time are measured; in other objects always.
    Split,
    /// In the ledger while interrupts are measured; in other objects always.
    Interrupts,
    /// In the ledger if it keeps the blame book.
    Blame,
    /// Never. The reader runs it, and each run counts as an event.
    Flush,
    /// Never. The reader runs it, and no run counts as an event.
    Never,
}

/// The kernels that accept a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernels {
    /// All kernels that accept its object.
    All,
    /// Kernels with its tracepoint, by the kernel's type information.
    WithItsTracepoint,
    /// Kernels that accept fentry programs; only loading one can tell.
    WithFentry,
    /// Kernels in which a program may walk the tasks; only loading one can tell.
    From6_7,
    /// Kernels whose sched_switch has the task's state.
    From5_18,
    /// Kernels whose sched_switch lacks the task's state.
    Before5_18,
}

impl Kernels {
    /// True if only loading can tell. Without such a program the object is still loaded.
    pub fn is_tried(self) -> bool {
        matches!(self, Kernels::WithFentry | Kernels::From6_7)
    }
}

/// Lost without `on_cpu_dead`.
pub(crate) const NO_CPU_DEAD: &str =
    "the instant a CPU goes offline; the window in which it does may not close";
/// Lost without one kind of interrupt.
pub(crate) const NO_INTERRUPTS: &str =
    "IRQ: the time of these interrupts counts as that of the interrupted task or idle time, and \
     their wake-ups seem to come from that task";
/// Lost without `on_attach`.
pub(crate) const NO_ATTACH: &str =
    "the instant a task changes its control group: what it used since its last event counts for \
     the old one";
/// Lost without `on_page_fault`.
pub(crate) const NO_PAGE_FAULTS: &str = "TFL: sleeps in faults on instructions count as DFL";
/// Lost without `on_unthrottle`.
pub const NO_UNTHROTTLE: &str =
    "the border between THR and LAT: a task whose quota is refilled counts as throttled until it \
     runs";
/// Lost without `walk`.
const NO_WALK: &str = "nothing but time: the source snapshot takes four times as long";

macro_rules! table {
    ($($name:ident $section:literal [$($object:ident)+] $attach:ident $kernels:ident $loses:expr;)+) => {
        /// In the order of attaching. The programs for ends of interrupts come first: an interrupt
        /// with a seen begin and an unseen end would seem to last.
        pub(crate) const PROGRAMS: &[Program] = &[$(Program {
            name: stringify!($name),
            section: $section,
            objects: &[$(stringify!($object)),+],
            attach: Attach::$attach,
            kernels: Kernels::$kernels,
            loses: $loses,
        }),+];
    };
}

table! {
    irq_handler_ends            "tp_btf/irq_handler_exit"           [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    softirq_ends                "tp_btf/softirq_exit"               [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    local_timer_ends            "tp_btf/local_timer_exit"           [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    irq_work_ends               "tp_btf/irq_work_exit"              [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    call_function_ends          "tp_btf/call_function_exit"         [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    call_function_single_ends   "tp_btf/call_function_single_exit"  [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    reschedule_ends             "tp_btf/reschedule_exit"            [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    irq_handler_begins          "tp_btf/irq_handler_entry"          [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    softirq_begins              "tp_btf/softirq_entry"              [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    local_timer_begins          "tp_btf/local_timer_entry"          [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    irq_work_begins             "tp_btf/irq_work_entry"             [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    call_function_begins        "tp_btf/call_function_entry"        [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    call_function_single_begins "tp_btf/call_function_single_entry" [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);
    reschedule_begins           "tp_btf/reschedule_entry"           [ledger waits wakeups]           Interrupts WithItsTracepoint Some(NO_INTERRUPTS);

    on_page_fault               "tp_btf/page_fault_user"            [ledger]                         Split      WithItsTracepoint Some(NO_PAGE_FAULTS);
    on_sys_exit                 "tp_btf/sys_exit"                   [ledger]                         Split      All               None;
    on_sys_enter                "tp_btf/sys_enter"                  [ledger]                         Split      All               None;

    on_newtask                  "tp_btf/task_newtask"               [ledger waits wakeups moves owed] Always     All               None;
    on_wakeup_new               "tp_btf/sched_wakeup_new"           [ledger moves owed]              Always     All               None;
    on_exit                     "tp_btf/sched_process_exit"         [ledger syscalls]                Always     All               None;
    on_exec                     "tp_btf/sched_process_exec"         [ledger]                         Always     All               None;
    on_attach                   "tp_btf/cgroup_attach_task"          [ledger]                         Always     WithItsTracepoint Some(NO_ATTACH);
    on_rename                   "tp_btf/task_rename"                [ledger]                         Always     All               None;
    on_free                     "tp_btf/sched_process_free"         [ledger]                         Always     All               None;
    on_cpu_dead                 "tp_btf/cpuhp_exit"                 [ledger]                         Always     WithItsTracepoint Some(NO_CPU_DEAD);
    on_signal                   "tp_btf/signal_deliver"             [ledger]                         Always     All               None;
    on_enter                    "tp_btf/sys_enter"                  [syscalls wakeups]               Always     All               None;
    on_return                   "tp_btf/sys_exit"                   [syscalls wakeups]               Always     All               None;
    on_waking                   "tp_btf/sched_waking"               [ledger waits wakeups switchlog] Always     All               None;
    on_wakeup                   "tp_btf/sched_wakeup"               [ledger waits moves owed]        Always     All               None;
    on_switch                   "tp_btf/sched_switch"               [ledger waits wakeups switchlog moves switches owed] Always From5_18          None;
    on_switch_before_5_18       "tp_btf/sched_switch"               [ledger waits wakeups switchlog moves switches owed] Always Before5_18        None;
    on_migrate                  "tp_btf/sched_migrate_task"         [moves owed]                     Always     All               None;
    on_requeue                  "tp_btf/sched_migrate_task"         [ledger]                         Blame      All               None;
    on_dispatch                 "tp_btf/sched_switch"               [syscalls]                       Always     All               None;
    on_group_made               "tp_btf/cgroup_mkdir"               [births]                         Always     All               None;
    on_unthrottle               "fentry/unthrottle_cfs_rq"          [ledger]                         IfItMay    WithFentry        Some(NO_UNTHROTTLE);

    publish                     "raw_tp"                            [ledger]                         Never      All               None;
    peek                        "raw_tp"                            [ledger]                         Never      All               None;
    end_wait                    "raw_tp"                            [ledger]                         Never      All               None;
    flush                       "raw_tp"                            [ledger]                         Flush      All               None;
    check_zombie                "raw_tp"                            [ledger]                         Never      All               None;
    check_ended                 "raw_tp"                            [ledger]                         Never      All               None;
    check_zombies               "iter/bpf_map_elem"                 [ledger]                         Never      All               None;
    seed                        "iter/task"                         [ledger wakeups]                 Never      All               None;
    changed                     "iter/task"                         [snapshot]                       Never      All               None;
    walk                        "syscall"                           [snapshot]                       Never      From6_7           Some(NO_WALK);
    there                       "iter/task"                         [snapshot]                       Never      All               None;
    open_syscalls               "iter/task"                         [syscalls]                       Never      All               None;
    open_waits                  "iter/task"                         [waits]                          Never      All               None;
    count_migrations            "iter/task"                         [moves]                          Never      All               None;
    settle_waits                "iter/task"                         [owed]                           Never      All               None;
    name_stacks                 "iter/bpf_map_elem"                 [moves]                          Never      All               None;
}

impl Program {
    /// True if its runs count as events, for which the cost is reported.
    pub fn is_counted(&self) -> bool {
        self.attach != Attach::Never
    }

    /// The tracepoint that it is attached to.
    pub fn tracepoint(&self) -> Option<&'static str> {
        self.section.strip_prefix("tp_btf/")
    }
}

/// The programs of an object, in the order of attaching.
pub(crate) fn by_object(object: &str) -> impl Iterator<Item = &'static Program> + '_ {
    PROGRAMS.iter().filter(move |program| program.objects.contains(&object))
}

/// The tracepoints of the ledger's programs whose absence loses this; `None`: the ledger itself.
pub(crate) fn tracepoints_of_the_ledger(loses: Option<&str>) -> Vec<&'static str> {
    let programs = by_object("ledger").filter(|program| program.loses == loses);
    let mut names: Vec<_> = programs.filter_map(Program::tracepoint).collect();
    // sched_switch stands in the table twice.
    names.dedup();
    names
}

#[cfg(all(test, feature = "bpf"))]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The (object, program, section) triples of the objects that the build made.
    fn built() -> BTreeSet<(String, String, String)> {
        let mut built = BTreeSet::new();
        for entry in std::fs::read_dir(Path::new(env!("OUT_DIR"))).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "o") {
                continue;
            }
            let object = path.file_stem().unwrap().to_str().unwrap().to_string();
            let open = libbpf_rs::ObjectBuilder::default().open_file(&path).unwrap();
            for program in open.progs() {
                let text = |name: &std::ffi::OsStr| name.to_str().unwrap().to_string();
                built.insert((object.clone(), text(program.name()), text(program.section())));
            }
        }
        built
    }

    #[test]
    fn every_program_of_every_object_is_in_the_table_and_no_other() {
        let rows = PROGRAMS.iter().flat_map(|program| {
            let row =
                |object: &&str| (object.to_string(), program.name.into(), program.section.into());
            program.objects.iter().map(row).collect::<Vec<_>>()
        });
        assert_eq!(rows.collect::<BTreeSet<_>>(), built());
    }

    #[test]
    fn an_optional_program_says_what_is_lost_without_it() {
        for program in PROGRAMS {
            let needed =
                !program.kernels.is_tried() && program.kernels != Kernels::WithItsTracepoint;
            assert_eq!(program.loses.is_none(), needed, "{program:?}");
        }
    }
}
