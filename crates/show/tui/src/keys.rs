//! The keys of the live view in one table, which dispatches keys and writes the help page.
//!
//! A key has the meaning that it has in top(1), if top has it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A key with the modifiers that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    code: KeyCode,
    ctrl: bool,
    /// With Shift, which matters only for arrows: shifted letters are other keys.
    shift: bool,
}

impl Key {
    /// The event of the terminal when this key is pressed.
    pub fn event(&self) -> KeyEvent {
        let held = |is_held, modifier| if is_held { modifier } else { KeyModifiers::NONE };
        let modifiers =
            held(self.ctrl, KeyModifiers::CONTROL) | held(self.shift, KeyModifiers::SHIFT);
        KeyEvent::new(self.code, modifiers)
    }

    /// Name on the help page.
    pub fn name(&self) -> String {
        match self.code {
            KeyCode::Left if self.shift => "Shift-←".into(),
            KeyCode::Right if self.shift => "Shift-→".into(),
            KeyCode::Char(' ') => "Space".into(),
            KeyCode::Char(c) if self.ctrl => format!("^{}", c.to_ascii_uppercase()),
            KeyCode::Char(c) => c.to_string(),
            KeyCode::PageUp => "PgUp".into(),
            KeyCode::PageDown => "PgDn".into(),
            KeyCode::Up => "↑".into(),
            KeyCode::Down => "↓".into(),
            KeyCode::Left => "←".into(),
            KeyCode::Right => "→".into(),
            KeyCode::F(n) => format!("F{n}"),
            code => format!("{code:?}"),
        }
    }
}

const fn ch(c: char) -> Key {
    Key { code: KeyCode::Char(c), ctrl: false, shift: false }
}

const fn ctrl(c: char) -> Key {
    Key { code: KeyCode::Char(c), ctrl: true, shift: false }
}

const fn on(code: KeyCode) -> Key {
    Key { code, ctrl: false, shift: false }
}

const fn shifted(code: KeyCode) -> Key {
    Key { code, ctrl: false, shift: true }
}

/// Heading of the help page for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum HelpSection {
    /// Choice of the figures.
    Show,
    Rows,
    /// Order and columns.
    Order,
    /// Moving in the table.
    Move,
    /// Actions on a process.
    Act,
    /// Keys of the program itself.
    Program,
    /// Moving in a recording, where these keys override the others.
    Time,
}

impl HelpSection {
    /// All headings, in the order of the help page.
    pub const ALL: [HelpSection; 7] = [
        HelpSection::Show,
        HelpSection::Rows,
        HelpSection::Order,
        HelpSection::Move,
        HelpSection::Act,
        HelpSection::Program,
        HelpSection::Time,
    ];

    /// The heading's text.
    pub const fn title(self) -> &'static str {
        match self {
            HelpSection::Show => "Show",
            HelpSection::Rows => "Choose rows",
            HelpSection::Order => "Order and columns",
            HelpSection::Move => "Move",
            HelpSection::Act => "Act",
            HelpSection::Program => "Program",
            HelpSection::Time => "The time line, in a recording (exactop replay)",
        }
    }
}

/// Keys and their command.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// The command.
    pub command: KeyCommand,
    /// Keys of the command.
    pub keys: &'static [Key],
    /// Heading on the help page.
    pub group: HelpSection,
    /// Explanation in one line.
    pub help: &'static str,
}

impl Binding {
    /// Name of the action: `hide kernel` for [`KeyCommand::HideKernel`].
    pub fn name(&self) -> String {
        let mut name = String::new();
        for letter in format!("{:?}", self.command).chars() {
            if letter.is_uppercase() && !name.is_empty() {
                name.push(' ');
            }
            name.extend(letter.to_lowercase());
        }
        name
    }

    /// True for an action on the time line of a recording.
    pub fn is_of_time(&self) -> bool {
        self.group == HelpSection::Time
    }

    /// The keys as the help page shows them.
    pub fn names(&self) -> String {
        self.keys.iter().map(Key::name).collect::<Vec<_>>().join(" ")
    }
}

/// The totals after those by command, in the order of the key. A test compares it with
/// [`exactop_model::owner::Grouping::PAGES`]; literals join only at compile time.
macro_rules! later_totals {
    () => {
        "user, group, unit, container, pod, namespace, session"
    };
}
pub(crate) use later_totals;

macro_rules! bindings {
    ($($group:ident { $($command:ident: [$($key:expr),+], $help:expr;)+ })+) => {
        /// Commands of keys in the live view.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum KeyCommand {
            $($(#[doc = $help] $command,)+)+
        }

        /// Every key of the live view.
        pub const BINDINGS: &[Binding] = &[$($(Binding {
            command: KeyCommand::$command,
            keys: &[$($key),+],
            group: HelpSection::$group,
            help: $help,
        },)+)+];
    };
}

bindings! {
    Show {
        Threads: [ch('H')], "show threads, or processes";
        Tree: [ch('V'), on(KeyCode::F(5))], "show the tree, in which CPU+ sums the whole branch";
        ThreadTree: [ch('t')], "show the tree with threads below their process; again: the list of processes";
        WhoUses: [ch('1')], "show who uses the CPU; 1 to 6 again, or Esc: the usual columns";
        WhoWaits: [ch('2')], "show who waits: for a CPU, a quota, a lock, a disk";
        WhoStarves: [ch('3')], "show who starves whom: groups that wait for a CPU, and who had it; Enter: the group's processes";
        WhoIsThrottled: [ch('4')], "show the groups that their quota throttled";
        WhoMoves: [ch('5')], "show who moves between CPUs; Enter: why";
        WhatIsNew: [ch('6')], "show what is new since the mark";
        Microstates: [ch('S')], "show microstates: where each row's time went; a wide screen draws a bar";
        PerCpu: [ch('C')], "show a bar for each CPU (a character from 32 CPUs on), or none";
        Pressure: [ch('b')], "show pressure (PSI) and disk I/O, also of each row; or the memory";
        IdleOwed: [ch('a')], "show idle time owed: in it a waiting task could have run; or not";
        OfMachine: [ch('I')], "show per cent of one CPU, or of the whole machine";
        CommandLine: [ch('c')], "show command lines, or names; unless chosen, lines from 120 columns on";
        FoldToggle: [ch('v')], "fold the branch of the tree below the row, or unfold it";
        Fold: [ch('-')], "fold the branch: [+N] rows are in it, and CPU+ contains them";
        Unfold: [ch('+')], "unfold the branch";
        Groups: [ch('g')], "show control groups: use, waits, limits; Enter: the group's processes";
        Mark: [ch('m'), ch('D')], "mark this window: rows show their change since; again: drop the mark";
        Sums: [ch('K')], concat!("show totals by command; again: by ", later_totals!(), "; Enter: the processes");
        Findings: [ch('!')], "list the findings with their figures; Enter: the page that shows more";
        Graph: [ch('G')], "show a graph of the row's states over the last windows";
        Open: [on(KeyCode::Enter)], "open the process: states, waits, threads, exited children; again: go back";
        Calls: [ch('y')], "show the process's system calls: count, time, errors";
        Environment: [ch('e')], "show the process's environment";
        Files: [ch('l')], "list the process's open files";
    }
    Rows {
        HideIdle: [ch('i')], "hide rows that used no CPU time";
        HideKernel: [ctrl('k')], "hide kernel threads, whose names are in brackets (htop: K)";
        User: [ch('u'), ch('U')], "show the rows of one user; !name: of all others; empty: of all users";
        Filter: [ch('\\'), ch('O'), on(KeyCode::F(4))], "add a filter on any column: %CPU>5, res>100M, COMMAND=sh, !USER=root";
        ShowFilters: [ctrl('o')], "show the filters";
        ClearFilters: [ch('=')], "drop all filters";
        Search: [ch('L'), ch('/'), on(KeyCode::F(3))], "search a text in all rows, and highlight it";
        SearchNext: [ch('&'), ch('n')], "select the next match";
    }
    Order {
        SortCpu: [ch('P')], "sort by %CPU";
        SortMemory: [ch('M')], "sort by %MEM";
        SortTime: [ch('T')], "sort by TIME+";
        SortPid: [ch('N')], "sort by PID";
        SortLeft: [ch('<')], "sort by the column to the left";
        SortRight: [ch('>')], "sort by the column to the right";
        Reverse: [ch('R')], "reverse the order";
        Columns: [ch('o'), ch('f'), ch('F'), on(KeyCode::F(6))], "list all columns with meaning and source: choose, move and sort; W saves them";
    }
    Move {
        Up: [on(KeyCode::Up)], "select the row above";
        Down: [on(KeyCode::Down)], "select the row below";
        PageUp: [on(KeyCode::PageUp), ctrl('b')], "go a page up";
        PageDown: [on(KeyCode::PageDown), ctrl('f')], "go a page down";
        Home: [on(KeyCode::Home)], "select the first row";
        End: [on(KeyCode::End)], "select the last row";
        ScrollLeft: [on(KeyCode::Left)], "scroll to the columns at the left";
        ScrollRight: [on(KeyCode::Right)], "scroll to the columns at the right, then along the command";
        Back: [on(KeyCode::Esc)], "leave the page; in the table undo scrolling, then drop the mark, then the selection";
    }
    Act {
        Tag: [ch(' ')], "tag the selected row: k, r, A and J act on all tagged rows; without a selection end the window now";
        Kill: [ch('k'), on(KeyCode::F(9))], "send a signal to a process (asks first)";
        Renice: [ch('r')], "change a nice value (asks first)";
        Affinity: [ch('A')], "choose the CPUs on which a process may run (asks first)";
        MoveToGroup: [ch('J')], "move a process to a control group (asks first)";
        Weight: [ch('w')], "set the weight of a group, on their page (asks first)";
        Limit: [ch('x')], "set the quota of a group, on their page (asks first)";
    }
    Program {
        Palette: [ch(':')], "list all actions by name: a few letters find one, Enter does it";
        Refresh: [ctrl('r')], "end the window now";
        Theme: [ch('Z')], "next colours: default, light, mono, high contrast";
        LookBack: [ch('[')], "show the last windows: [ ] step, z joins, Esc returns to the present";
        Pause: [ch('p')], "pause: keep this window on the screen";
        Interval: [ch('d'), ch('s')], "set the interval: seconds from one window to the next";
        Save: [ch('W')], "save these settings";
        Redraw: [ctrl('l')], "redraw the screen";
        Suspend: [ctrl('z')], "suspend; the shell's fg resumes";
        Explain: [ch('?'), on(KeyCode::F(1))], "explain the open screen; again: the glossary";
        Help: [ch('h')], "this list of keys, columns and marks";
        Quit: [ch('q'), ctrl('c'), on(KeyCode::F(10))], "quit";
    }
    Time {
        WindowBack: [on(KeyCode::Left)], "show the window before";
        WindowOn: [on(KeyCode::Right)], "show the next window";
        TenBack: [shifted(KeyCode::Left), ch('{')], "go ten windows back";
        TenOn: [shifted(KeyCode::Right), ch('}')], "go ten windows on";
        ChangeBack: [ch('[')], "go back to a moment of change: a spike, a gap, a boot";
        ChangeOn: [ch(']')], "go on to a moment of change";
        GoTo: [ch('t')], "go to a time: 14:03, 2h ago, yesterday 14:00";
        Play: [ch(' '), ch('p')], "play a window each interval, or stop";
        Join: [ch('z')], "join windows: show the sums of 1 s to 1 h, or windows as recorded";
        PastLeft: [ch(',')], "scroll to the columns at the left";
        PastRight: [ch('.')], "scroll to the columns at the right, then along the command";
    }
}

/// The name of a command's first key.
pub fn name_of(command: KeyCommand) -> String {
    let key = BINDINGS.iter().find(|b| b.command == command).and_then(|b| b.keys.first());
    key.map_or(String::new(), Key::name)
}

/// The command of a key; in a recording the keys of the time line come first.
pub fn find(event: &KeyEvent, recorded: bool) -> Option<KeyCommand> {
    if event.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SUPER | KeyModifiers::META) {
        return None;
    }
    let arrow = matches!(event.code, KeyCode::Left | KeyCode::Right) && recorded;
    let key = Key {
        code: event.code,
        ctrl: event.modifiers.contains(KeyModifiers::CONTROL),
        shift: arrow && event.modifiers.contains(KeyModifiers::SHIFT),
    };
    let of = |time: bool| {
        let keys = move |b: &&Binding| (b.group == HelpSection::Time) == time;
        BINDINGS.iter().filter(keys).find(|b| b.keys.contains(&key)).map(|b| b.command)
    };
    of(true).filter(|_| recorded).or_else(|| of(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        for time in [false, true] {
            let of = BINDINGS.iter().filter(|b| (b.group == HelpSection::Time) == time);
            let all: Vec<&Key> = of.flat_map(|b| b.keys).collect();
            for (i, key) in all.iter().enumerate() {
                assert!(!all[..i].contains(key), "{} twice", key.name());
            }
        }
    }

    #[test]
    fn the_help_names_every_total() {
        let pages = exactop_model::owner::Grouping::PAGES.map(|by| by.name());
        let later = pages[1..].join(", ").replace("cgroup", "group");
        assert_eq!((pages[0], later.as_str()), ("command", later_totals!()));
    }

    #[test]
    fn keys_are_found_with_their_modifiers() {
        let key = |c, m| find(&KeyEvent::new(KeyCode::Char(c), m), false);
        assert_eq!(key('H', KeyModifiers::SHIFT), Some(KeyCommand::Threads));
        assert_eq!(key('o', KeyModifiers::CONTROL), Some(KeyCommand::ShowFilters));
        assert_eq!(key('o', KeyModifiers::ALT), None);
        assert_eq!(key('§', KeyModifiers::NONE), None);
        let left = |m, recorded| find(&KeyEvent::new(KeyCode::Left, m), recorded);
        assert_eq!(left(KeyModifiers::NONE, false), Some(KeyCommand::ScrollLeft));
        assert_eq!(left(KeyModifiers::SHIFT, false), Some(KeyCommand::ScrollLeft));
        assert_eq!(left(KeyModifiers::NONE, true), Some(KeyCommand::WindowBack));
        assert_eq!(left(KeyModifiers::SHIFT, true), Some(KeyCommand::TenBack));
    }
}
