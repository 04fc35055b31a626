//! What `?` says about each screen: how to read it, and its three most useful keys.

use crate::keys::later_totals;

/// A screen, or a question on it, that `?` or F1 explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Topic {
    Table,
    Threads,
    Tree,
    Microstates,
    /// The table as changes since a marked window.
    Changes,
    /// The table as the answer to a question of an incident.
    Incident,
    /// The processes of one control group or total.
    Members,
    /// An earlier window of the live machine.
    History,
    Recording,
    Process,
    Calls,
    Environment,
    Files,
    Columns,
    Groups,
    Totals,
    Findings,
    Graph,
    /// Questions on the status line.
    Interval,
    User,
    Filter,
    Search,
    Palette,
    Time,
    Pid,
    Signal,
    Nice,
    Cpus,
    Move,
    Weight,
    Quota,
    /// A question that `y` confirms.
    Confirmation,
}

/// The explanation of a screen.
#[derive(Clone, Copy, Debug)]
pub struct Explanation {
    /// The screen in one line.
    pub title: &'static str,
    /// Parts of the screen with their meaning.
    pub parts: &'static [(&'static str, &'static str)],
    /// The three most useful keys, by their names on the key list, and their results.
    pub keys: [(&'static str, &'static str); 3],
}

const CPU_LINE: (&str, &str) = (
    "CPU =",
    "The time of all CPUs in the window. The accounts right of the = add up to it. 100 is one CPU.",
);
const WINDOW_LINE: (&str, &str) =
    ("window", "The source of the figures, the time they cover, and whether events were missed.");
const MARKS: (&str, &str) = (
    "~ and -",
    "A figure with ~ is sampled at the kernel's ticks. A - is a figure that is not known, not 0.",
);
const ENTER_PROCESS: (&str, &str) =
    ("Enter", "open the selected process: its states, its waits, its threads");
const ACCEPT: (&str, &str) = ("Enter", "accept the answer");
const CANCEL: (&str, &str) = ("Esc", "cancel: nothing changes");
const CLEAR: (&str, &str) = ("^U", "delete the text left of the cursor");

impl Topic {
    /// All topics.
    pub const ALL: [Topic; 32] = [
        Topic::Table,
        Topic::Threads,
        Topic::Tree,
        Topic::Microstates,
        Topic::Changes,
        Topic::Incident,
        Topic::Members,
        Topic::History,
        Topic::Recording,
        Topic::Process,
        Topic::Calls,
        Topic::Environment,
        Topic::Files,
        Topic::Columns,
        Topic::Groups,
        Topic::Totals,
        Topic::Findings,
        Topic::Graph,
        Topic::Interval,
        Topic::User,
        Topic::Filter,
        Topic::Search,
        Topic::Palette,
        Topic::Time,
        Topic::Pid,
        Topic::Signal,
        Topic::Nice,
        Topic::Cpus,
        Topic::Move,
        Topic::Weight,
        Topic::Quota,
        Topic::Confirmation,
    ];

    /// The explanation.
    pub const fn explanation(self) -> Explanation {
        match self {
            Topic::Table => TABLE,
            Topic::Threads => THREADS,
            Topic::Tree => TREE,
            Topic::Microstates => MICROSTATES,
            Topic::Changes => CHANGES,
            Topic::Incident => INCIDENT,
            Topic::Members => MEMBERS,
            Topic::History => HISTORY,
            Topic::Recording => RECORDING,
            Topic::Process => PROCESS,
            Topic::Calls => CALLS,
            Topic::Environment => ENVIRONMENT,
            Topic::Files => FILES,
            Topic::Columns => COLUMNS,
            Topic::Groups => GROUPS,
            Topic::Totals => TOTALS,
            Topic::Findings => FINDINGS,
            Topic::Graph => GRAPH,
            Topic::Interval => INTERVAL,
            Topic::User => USER,
            Topic::Filter => FILTER,
            Topic::Search => SEARCH,
            Topic::Palette => PALETTE,
            Topic::Time => TIME,
            Topic::Pid => PID,
            Topic::Signal => SIGNAL,
            Topic::Nice => NICE,
            Topic::Cpus => CPUS,
            Topic::Move => MOVE,
            Topic::Weight => WEIGHT,
            Topic::Quota => QUOTA,
            Topic::Confirmation => CONFIRMATION,
        }
    }
}

const TABLE: Explanation = Explanation {
    title: "The table: the processes of this window",
    parts: &[
        CPU_LINE,
        ("findings", "The line below names what is unusual in this window. (! +2) means two more."),
        WINDOW_LINE,
        (
            "rows",
            "One process each. \"exited × 3\" is three processes that exited in the window, below \
             the nearest ancestor that still lives. ▾ marks the column that sorts the rows.",
        ),
        (
            "columns",
            "%CPU is CPU time, CPU+ adds the exited rows below. LAT% is the part of its own time \
             that the row waited for a CPU.",
        ),
        (
            "graphs",
            "run, wait, blocked: the selected row in the last windows. It waits for a CPU or a \
             quota. A lock, a page fault or a disk blocks it.",
        ),
        MARKS,
    ],
    keys: [
        ENTER_PROCESS,
        ("!", "list the findings, each with the figures behind it"),
        ("1", "show who uses the CPU; 2 who waits, 3 for whom, 4 throttled groups, 5 moves, 6 new tasks"),
    ],
};

const THREADS: Explanation = Explanation {
    title: "The table: the threads of this window",
    parts: &[
        CPU_LINE,
        (
            "rows",
            "One thread each. PID is the thread's own id. COMMAND has its own name, in braces \
             unless it is the process's first thread.",
        ),
        (
            "columns",
            "%CPU is CPU time, 100 is one CPU. LAT% is the part of its time that the thread waited \
             for a CPU.",
        ),
        WINDOW_LINE,
        MARKS,
    ],
    keys: [
        ("H", "show processes again"),
        ENTER_PROCESS,
        ("S", "show the microstates: where each thread's time went"),
    ],
};

const TREE: Explanation = Explanation {
    title: "The tree: each process below its parent, with t each thread below its process",
    parts: &[
        CPU_LINE,
        ("rows", "One process or thread each. \"exited × 3\" is three processes that exited."),
        ("CPU+", "The CPU time of the whole branch: the process and all its descendants."),
        ("[+3]", "The branch is folded. Three rows are in it, and CPU+ contains them."),
        WINDOW_LINE,
        MARKS,
    ],
    keys: [
        ("v", "fold the selected branch into one row, or unfold it"),
        ENTER_PROCESS,
        ("V", "show the list again, sorted"),
    ],
};

const MICROSTATES: Explanation = Explanation {
    title: "Microstates: where the time of each row went",
    parts: &[
        (
            "row",
            "The states of a row add up to 100 % of its life in the window. A process has the \
             states of all its threads together.",
        ),
        ("running", "USR is user mode, SYS the kernel, IRQ an interrupt, STL the hypervisor."),
        ("waiting", "LAT waits for a CPU. THR is throttled: its quota is used up."),
        (
            "asleep",
            "LCK on a lock (futex), SLP interruptible, BLK blocked (disk), TFL and DFL in a page \
             fault, STP stopped.",
        ),
        ("bar", "A wide screen draws the states right of the table. h lists their marks."),
        MARKS,
    ],
    keys: [
        ("S", "show the usual columns again"),
        (">", "sort by the next column to the right"),
        ENTER_PROCESS,
    ],
};

const CHANGES: Explanation = Explanation {
    title: "The table as changes since the marked window",
    parts: &[
        ("rows", "Each figure is its change: +12.5 is 12.5 more than in the marked window."),
        ("header", "The lines above the table are those of this window, not changes."),
        (
            "+ and -",
            "Before a command: only this window has the process, or only the marked one did.",
        ),
        MARKS,
    ],
    keys: [
        ("6", "show only what is new: other tasks, and processes with more threads"),
        ("m", "drop the mark: show figures again instead of changes"),
        ENTER_PROCESS,
    ],
};

const INCIDENT: Explanation = Explanation {
    title: "The table as the answer to a question: the keys 1 to 6",
    parts: &[
        ("1", "Who uses the CPU. CPU+ adds children that exited."),
        ("2", "Who waits: LAT% for a CPU, THR for its quota, LCK for a lock, BLK for a disk."),
        (
            "3",
            "Who starves whom: control groups, the longest wait for a CPU first. KEPT OFF BY names \
             who had the CPU meanwhile.",
        ),
        ("4", "Which control groups their quota throttled, the longest time first."),
        ("5", "Who moves between CPUs. Enter: \"moved by\" says why."),
        ("6", "What is new since the mark (m): tasks, and processes with more threads."),
        ("columns", "1, 2, 5 and 6 have columns of their own: o chooses and sorts them, W saves them."),
        MARKS,
    ],
    keys: [
        ("Esc", "show the usual columns again; so does the same digit"),
        (">", "sort by the next column to the right"),
        ENTER_PROCESS,
    ],
};

const MEMBERS: Explanation = Explanation {
    title: "The table: the processes of one control group or total",
    parts: &[
        ("rows", "Only processes of the group or total named on the status line."),
        ("CPU =", "This line still counts the whole machine."),
        ("%CPU", "CPU time in the window. 100 is one CPU."),
        MARKS,
    ],
    keys: [
        ("Esc", "go back to the page of groups or totals"),
        ENTER_PROCESS,
        ("=", "drop all filters: show the rows of all processes"),
    ],
};

const HISTORY: Explanation = Explanation {
    title: "An earlier window of this machine",
    parts: &[
        (
            "time line",
            "exactop keeps its last windows in memory, and goes on meanwhile. ◆ marks the shown \
             one, which began at the time at the left.",
        ),
        CPU_LINE,
        ("columns", "Figures that only a living process has are left out, such as its memory."),
        ("actions", "Signals, nice values and limits work only on the present."),
        MARKS,
    ],
    keys: [
        ("[", "show the window before; ] shows the next one"),
        ("z", "join windows: show the sums of 1 s to 1 h"),
        ("Esc", "go back to the present"),
    ],
};

const RECORDING: Explanation = Explanation {
    title: "A recording: one of its windows",
    parts: &[
        (
            "time line",
            "◆ marks the shown window, which began at the time at the left. ━ is recorded time, · \
             is not recorded.",
        ),
        CPU_LINE,
        ("rows", "One process each, as in the live view. Enter and g open the same pages."),
        ("actions", "Signals, nice values and limits work only on a live machine."),
        MARKS,
    ],
    keys: [
        ("→", "show the next window; ← shows the one before"),
        ("]", "go on to a moment of change: a spike, a gap, a boot"),
        ("t", "go to a time: 14:03, 2h ago, yesterday 14:00"),
    ],
};

const PROCESS: Explanation = Explanation {
    title: "One process: where its time went in this window",
    parts: &[
        ("time", "States of all its threads; they add up to 100 %. The bar draws the same."),
        ("CPU", "Its own CPU time, plus that of children that exited. 100 is one CPU."),
        ("ran on", "The CPUs it used, and how often the scheduler put it on each."),
        ("events", "Voluntary switches: it went to sleep. Involuntary: it was preempted."),
        ("waits in", "States of waiting, with the system calls in which its threads slept."),
        ("queued", "Waits for a CPU: the part of its time, their number, p99 and maximum."),
        (
            "kept off",
            "Who had the CPU while it waited for one; \"ran then\" without the blame book.",
        ),
        ("woken by", "The tasks that ended its sleeps."),
        ("moved by", "Why the kernel moved it to another CPU, with the wait before and after."),
        ("Enter", "The same key opens this page and goes back."),
    ],
    keys: [
        ("y", "show its system calls: count, time, errors"),
        ("l", "list its open files"),
        ("g", "show its control group with its limits"),
    ],
};

const CALLS: Explanation = Explanation {
    title: "The system calls of one process in this window",
    parts: &[
        ("rows", "One system call each. The one with the most time stands first."),
        ("TOTAL", "Time between entry and return, sleep included. MEAN and MAX are of one call."),
        ("ERRORS", "Calls that failed. FAILED WITH names the errors with their counts."),
        ("IN", "Calls in flight: they had not returned at the end of the window."),
        ("begin", "exactop counts while this page is open, from the next window on."),
    ],
    keys: [
        ("y", "go back to the page of the process"),
        ("↓", "scroll down"),
        ("p", "pause: keep this window on the screen"),
    ],
};

const ENVIRONMENT: Explanation = Explanation {
    title: "The environment of one process",
    parts: &[
        ("lines", "One variable each, as the process got it at its start. A long one is folded."),
        ("limits", "Later changes by the process itself are not in it."),
        ("rights", "The kernel shows it to root, and to the user of the process."),
    ],
    keys: [
        ("e", "go back to the page of the process"),
        ("l", "list its open files"),
        ("↓", "scroll down"),
    ],
};

const FILES: Explanation = Explanation {
    title: "The open files of one process",
    parts: &[
        ("rows", "One file descriptor each, by its number FD."),
        ("MODE", "r read, w write, a append, n non-blocking."),
        ("POS", "The position at which the next read or write begins, in bytes."),
        ("NAME", "The path, or the kernel's name of a pipe or socket."),
        ("rights", "The kernel shows them to root, and to the user of the process."),
    ],
    keys: [
        ("l", "go back to the page of the process"),
        ("e", "show its environment"),
        ("↓", "scroll down"),
    ],
};

const COLUMNS: Explanation = Explanation {
    title: "The columns of the table: which, and in which order",
    parts: &[
        ("[x]", "The table shows this column. The columns stand in the order of this list."),
        ("*", "This column sorts the table."),
        ("> or ⇕", "The selected column. ⇕: the arrows move it to another place."),
        ("below", "The meaning of the selected column, its name, and where each source takes it."),
        ("set", "The keys 1, 2, 5, 6 and S have columns of their own. W saves each set."),
        ("/ n", "Find a column by a word of its name or meaning, and the next one."),
        ("u", "Undo: the columns as they were when this page was opened."),
        ("width", "A narrow screen leaves out columns that do not fit."),
    ],
    keys: [
        ("Space", "show or hide the selected column"),
        ("→", "grab the column: ↑ ↓ then move it, ← drops it"),
        ("s", "sort the table by the selected column"),
    ],
};

const GROUPS: Explanation = Explanation {
    title: "Control groups: their use, waits and limits",
    parts: &[
        ("rows", "One group each, below its parent. A group contains the groups below it."),
        ("%CPU", "CPU time by the kernel's own count (cpu.stat). 100 is one CPU."),
        ("LEDGER%", "CPU time by the ledger, for exactly this window."),
        ("LAT%", "Time in which its tasks waited for a CPU; 200 is two tasks all the time."),
        ("THR%", "Time in which its tasks were throttled because the quota was used up."),
        ("PERIODS", "19/20: the quota ran out in 19 of the 20 periods of the window."),
        ("MAX", "The CPUs its quota allows. WEIGHT is its share against siblings."),
        ("below", "A line for each group that lost time to its quota."),
    ],
    keys: [
        ("Enter", "list the processes of the selected group"),
        (">", "sort by the next column to the right"),
        ("K", concat!("show totals by command; again: by ", later_totals!())),
    ],
};

const TOTALS: Explanation = Explanation {
    title: "Totals: processes summed by name",
    parts: &[
        ("rows", "One name each: a command, user or container. The last heading says which."),
        ("%CPU", "CPU time, exited processes included. All rows sum to tasks + exited above."),
        ("LAT%", "Time in which its tasks waited for a CPU; 200 is two tasks all the time."),
        ("THR%", "Time in which its tasks were throttled because a quota was used up."),
        ("MAX", "The CPUs that the tightest quota allows; max is no quota."),
        ("KEPT OFF BY", "Who had the CPU while its tasks waited, and the share of the wait."),
        ("below", "A line for each name that waited long for a CPU or for its quota."),
    ],
    keys: [
        ("K", concat!("sum by the next: ", later_totals!(), ", command")),
        ("Enter", "list the processes of the selected row"),
        (">", "sort by the next column to the right"),
    ],
};

const FINDINGS: Explanation = Explanation {
    title: "Findings: what is unusual in this window",
    parts: &[
        ("order", "Missed events stand first, then the finding that is about the most time."),
        ("finding", "One sentence, and below it the figures behind it with the threshold."),
        ("threshold", "The least value that makes a finding. Below it, nothing is listed."),
        ("wanted", "The time a task wanted to run: running, queued and throttled."),
    ],
    keys: [
        ("Enter", "open the page that shows more of the selected finding"),
        ("↓", "select the next finding"),
        ("p", "pause: keep this window on the screen"),
    ],
};

const GRAPH: Explanation = Explanation {
    title: "The graph: where the time of one task went, window by window",
    parts: &[
        ("column", "One window each, the newest at the right. An empty column has no row of it."),
        ("height", "The whole height is the task's life in the window: 100 %."),
        ("marks", "Each state has its mark, its colour, and its share in the shown window below."),
        ("begin", "The first window in memory, or the first for which the screen has a column."),
        ("^", "While [ and ] show earlier windows, it marks the one on the screen."),
    ],
    keys: [
        ("Enter", "open the process: its states, its waits, its threads"),
        ("Esc", "go back to the table"),
        ("p", "pause: keep this window on the screen"),
    ],
};

const INTERVAL: Explanation = Explanation {
    title: "The interval: seconds from one window to the next",
    parts: &[
        ("answer", "A number of seconds, such as 0.5 or 2."),
        ("cost", "Short windows cost more CPU time. The first line shows the cost."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const USER: Explanation = Explanation {
    title: "The user: show the processes of one user",
    parts: &[
        ("answer", "A user name or number, such as postgres or 1000."),
        ("!name", "The processes of all other users."),
        ("empty", "The processes of all users."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const FILTER: Explanation = Explanation {
    title: "A filter: show the rows with a certain value",
    parts: &[
        ("answer", "COLUMN, an operator and a value: %CPU>5, COMMAND=sh, S==D"),
        ("operators", "= contains (text), == equal, != not equal, < <= > >= (numbers)."),
        ("units", "A unit may follow a number: res>100M, lat_ns>5ms, %CPU>5%"),
        ("Tab", "Completes a column, or a value of the rows; again: the next. ↑: earlier filters."),
        ("!", "A ! in front reverses it: !USER=root"),
        ("several", "A row must pass all filters. The key = drops them."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const SEARCH: Explanation = Explanation {
    title: "Search: select the next row with a text",
    parts: &[
        ("answer", "A part of a shown cell, such as a command, a user or a PID."),
        ("capitals", "A text without capitals matches both cases."),
        ("again", "The key n selects the next match. Every match on the screen is highlighted."),
        ("↑", "Recalls earlier searches."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const PALETTE: Explanation = Explanation {
    title: "The palette: every action by its name",
    parts: &[
        ("answer", "Some letters of the name, in their order: hk finds hide kernel."),
        ("lines", "The name of the action, its keys, and what it does. The best match is first."),
        ("Tab", "Completes the name of the selected action."),
    ],
    keys: [("Enter", "do the selected action"), ("↓", "select the next action"), CANCEL],
};

const TIME: Explanation = Explanation {
    title: "A time: show the window of a recording at that time",
    parts: &[("answer", "A time of day, an age or a date: 14:03, 2h ago, yesterday 14:00")],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const PID: Explanation = Explanation {
    title: "A process: the one to act on",
    parts: &[
        ("answer", "A PID. An empty answer takes the one in brackets."),
        (
            "then",
            "exactop asks for the signal, nice value, CPUs or group, and then asks to confirm.",
        ),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const SIGNAL: Explanation = Explanation {
    title: "A signal: the one to send",
    parts: &[
        ("answer", "A name or number: TERM, KILL, 9. An empty answer sends TERM."),
        ("then", "exactop asks to confirm before it sends the signal."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const NICE: Explanation = Explanation {
    title: "A nice value: the task's claim to CPU time",
    parts: &[
        ("answer", "A number from -20 (most CPU time) to 19 (least)."),
        ("rights", "Only root may lower a nice value."),
        ("then", "exactop asks to confirm before it sets the value."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const CPUS: Explanation = Explanation {
    title: "CPUs: those on which the process may run",
    parts: &[
        ("answer", "Numbers and ranges, as in taskset(1): 0,2,4-7 or 0-10:2."),
        (
            "effect",
            "All threads of the process move to these CPUs. Its later children inherit them.",
        ),
        ("then", "exactop asks to confirm before it sets the CPUs."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const MOVE: Explanation = Explanation {
    title: "A control group: the one to move the process to",
    parts: &[
        ("answer", "A path as in /proc/PID/cgroup: /a/b. The key g on the table lists all groups."),
        ("effect", "The group's weight and quota apply at once. Its later children start there."),
        ("then", "exactop asks to confirm before it moves the process."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const WEIGHT: Explanation = Explanation {
    title: "A weight: the group's share against its sibling groups",
    parts: &[
        ("answer", "A number from 1 to 10000 (cpu.weight). The kernel's default is 100."),
        ("effect", "On busy CPUs, weight 200 gets twice the time of weight 100."),
        ("then", "exactop asks to confirm before it sets the weight."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const QUOTA: Explanation = Explanation {
    title: "A quota: the most CPU time of the group",
    parts: &[
        ("answer", "40% of one CPU, 40000/100000 (microseconds a period), or max for no quota."),
        ("effect", "Its tasks are throttled for the rest of a period once it is used up."),
        ("then", "exactop asks to confirm before it sets the quota."),
    ],
    keys: [ACCEPT, CLEAR, CANCEL],
};

const CONFIRMATION: Explanation = Explanation {
    title: "A confirmation: the last step before exactop acts",
    parts: &[("question", "It names the action and its target. Any key but y means no.")],
    keys: [("y", "yes: act now"), ("n", "no: nothing changes"), CANCEL],
};
