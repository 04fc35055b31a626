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
    /// The keys as the help page shows them.
    pub fn names(&self) -> String {
        self.keys.iter().map(Key::name).collect::<Vec<_>>().join(" ")
    }
}

macro_rules! bindings {
    ($($group:ident { $($command:ident: [$($key:expr),+], $help:literal;)+ })+) => {
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
        Threads: [ch('H')], "one row a thread, or one a process";
        Tree: [ch('V'), ch('t'), on(KeyCode::F(5))], "tree: CPU+ sums the whole branch, - where exits are not seen";
        Microstates: [ch('m')], "microstates: where each row's time went, and a bar of it where there is room";
        PerCpu: [ch('1')], "a bar for each CPU, from 32 on a character; or none";
        Pressure: [ch('b')], "pressure (PSI) and disk I/O, of each row too; or the memory";
        OfMachine: [ch('I')], "per cent of one CPU, or of the whole machine";
        CommandLine: [ch('c')], "command line, or command name";
        FoldToggle: [ch('v')], "tree: fold the branch below the row into it, or unfold it";
        Fold: [ch('-')], "tree: fold it; [+N] rows are in it, and CPU+ sums them";
        Unfold: [ch('+')], "tree: unfold it";
        Groups: [ch('g')], "control groups: what they use, want and may use; Enter: a group's processes";
        Mark: [ch('D')], "mark this window: every row as its change since; again: as it is";
        Sums: [ch('K')], "totals by command; again: by user, group, unit, container, pod, namespace; Enter: who";
        Findings: [ch('!')], "findings with their figures, those that (! +2) counts, too; Enter: where more is seen";
        Open: [on(KeyCode::Enter)], "the process's page: threads, exited children, its CPUs";
        Calls: [ch('y')], "the process's system calls: how often, how long, with which errors";
        Environment: [ch('e')], "the process's environment, where the kernel lets you read it";
        Files: [ch('l')], "the process's open files: kind, how opened, position, name";
    }
    Rows {
        HideIdle: [ch('i')], "hide rows that used no CPU";
        HideKernel: [ctrl('k')], "hide kernel threads, which stand in brackets (K of htop; here K is totals)";
        User: [ch('u'), ch('U')], "one user's rows; !name: all but theirs; empty: everyone's";
        Filter: [ch('o'), ch('O'), on(KeyCode::F(4))], "add a filter on any column: %CPU>5, COMMAND=sh, !USER=root";
        ShowFilters: [ctrl('o')], "show the filters";
        ClearFilters: [ch('=')], "drop all filters";
        Search: [ch('L'), ch('/'), on(KeyCode::F(3))], "search in all rows";
        SearchNext: [ch('&'), ch('n')], "search on";
    }
    Order {
        SortCpu: [ch('P')], "sort by %CPU";
        SortMemory: [ch('M')], "sort by %MEM";
        SortTime: [ch('T')], "sort by TIME+";
        SortPid: [ch('N')], "sort by PID";
        SortLeft: [ch('<')], "sort by the column to the left";
        SortRight: [ch('>')], "sort by the column to the right";
        Reverse: [ch('R')], "reverse the order";
        Columns: [ch('f'), ch('F'), on(KeyCode::F(6))], "choose and order the columns";
    }
    Move {
        Up: [on(KeyCode::Up)], "select the row above";
        Down: [on(KeyCode::Down)], "select the row below";
        PageUp: [on(KeyCode::PageUp), ctrl('b')], "a page up";
        PageDown: [on(KeyCode::PageDown), ctrl('f')], "a page down";
        Home: [on(KeyCode::Home)], "the first row";
        End: [on(KeyCode::End), ch('G')], "the last row";
        ScrollLeft: [on(KeyCode::Left)], "columns to the left";
        ScrollRight: [on(KeyCode::Right)], "columns to the right, then along the command";
        Back: [on(KeyCode::Esc)], "drop the marked window, then the selected row; leave a page";
    }
    Act {
        Tag: [ch(' ')], "tag the selected row, for k and r on several; with none selected look now";
        Kill: [ch('k'), on(KeyCode::F(9))], "send a signal to a process (asks first)";
        Renice: [ch('r')], "change a nice value (asks first)";
        Weight: [ch('w')], "on the page of groups: set a group's weight (asks first)";
        Limit: [ch('x')], "on the page of groups: set a group's quota (asks first)";
    }
    Program {
        Refresh: [ctrl('r')], "look now";
        Theme: [ch('Z')], "colours: default, light, mono, high contrast";
        LookBack: [ch('[')], "back through the last windows: [ ] step, z joins, Esc: back";
        Pause: [ch('p')], "pause: keep this window on the screen";
        Interval: [ch('d'), ch('s')], "seconds between two looks";
        Save: [ch('W')], "keep these settings";
        Redraw: [ctrl('l')], "draw the screen again";
        Suspend: [ctrl('z')], "suspend (fg comes back)";
        Help: [ch('?'), ch('h'), on(KeyCode::F(1))], "this page";
        Quit: [ch('q'), ctrl('c'), on(KeyCode::F(10))], "quit";
    }
    Time {
        WindowBack: [on(KeyCode::Left)], "the window before";
        WindowOn: [on(KeyCode::Right)], "the next window";
        TenBack: [shifted(KeyCode::Left), ch('{')], "ten windows back";
        TenOn: [shifted(KeyCode::Right), ch('}')], "ten windows on";
        ChangeBack: [ch('[')], "back to a moment of change: a spike, a gap, a boot";
        ChangeOn: [ch(']')], "on to a moment of change";
        GoTo: [ch('t')], "to a time: 14:03, 2h ago, yesterday 14:00";
        Play: [ch(' '), ch('p')], "play, a window each interval; stop";
        Join: [ch('z')], "join windows: sums of 1 s to 1 h, or as recorded";
        PastLeft: [ch(',')], "columns to the left";
        PastRight: [ch('.')], "columns to the right, then along the command";
    }
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
