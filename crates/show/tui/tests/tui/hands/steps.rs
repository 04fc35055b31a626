//! Decodes the next step from bytes: keys, clicks, pastes, sizes, frames, births and exits.

use super::world::{Machine, PIDS};
use crossterm::event::{
    Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind,
};
use exactop_fuzzing::Choices;

/// A step.
pub enum Step {
    /// Events of the terminal, all in one batch.
    Events(Vec<Event>),
    /// A window ends before the batch does.
    Frame,
    /// The batch ends: its requests are done, and the screen is drawn. True: a window ended.
    Draw(bool),
    /// The machine changed.
    Nothing,
}

const CHARS: &[u8] =
    b"kr kr kA rJ HVicmSCDIPMTNRf:\\t<>gwxWhpdsuv+-b=L/&n?yYq0123456789\nUG !!K[]z";

const MOVES: [KeyCode; 16] = [
    KeyCode::Down,
    KeyCode::Down,
    KeyCode::Up,
    KeyCode::PageDown,
    KeyCode::PageUp,
    KeyCode::Home,
    KeyCode::End,
    KeyCode::Left,
    KeyCode::Right,
    KeyCode::Enter,
    KeyCode::Esc,
    KeyCode::Esc,
    KeyCode::Backspace,
    KeyCode::F(1),
    KeyCode::Tab,
    KeyCode::BackTab,
];

/// Key sequences typed without looking at the screen.
const BLIND: [&str; 20] = [
    " k",
    "k\n\ny",
    " k\n\ny",
    "  k",
    "r\n5\ny",
    " r\n-3\ny",
    "k9\n",
    "A0-1\ny",
    " A\n0\ny",
    "  J/a\ny",
    "J\n/a/d\ny",
    "\n",
    "\n\ny",
    "y",
    "w7\ny",
    "xmax\ny",
    "n\n",
    "\\%CPU>0\n",
    "/n1\n",
    "d0.5\nk\n\ny",
];

/// Sizes, including ones that no layout expects.
const SIZES: [(u16, u16); 12] = [
    (80, 24),
    (100, 30),
    (120, 40),
    (80, 12),
    (40, 10),
    (200, 50),
    (0, 0),
    (1, 1),
    (39, 9),
    (80, 0),
    (0, 65535),
    (63, 11),
];

fn key(code: KeyCode) -> Event {
    Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn typed(text: &str) -> Vec<Event> {
    let code = |c| if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) };
    text.chars().map(|c| key(code(c))).collect()
}

/// The next step. Births, exits and similar steps change the machine at once.
pub fn next(choices: &mut Choices, machine: &mut Machine) -> Step {
    let event = |event| Step::Events(vec![event]);
    match choices.byte() {
        0..=89 => event(key(match *choices.pick(CHARS) {
            b'\n' => KeyCode::Enter,
            c => KeyCode::Char(c.into()),
        })),
        90..=124 => event(key(*choices.pick(&MOVES))),
        125..=134 => {
            let letter = *choices.pick(b"obfglzkwu");
            event(Event::Key(KeyEvent::new(KeyCode::Char(letter.into()), KeyModifiers::CONTROL)))
        }
        135..=159 => Step::Events(typed(choices.pick::<&str>(&BLIND))),
        160..=166 => {
            let (deed, pid) =
                (choices.pick(&["k", "r", "A", "J"]), choices.below(PIDS as usize + 2));
            Step::Events(typed(&format!("{deed}{pid}\n")))
        }
        167..=178 => {
            let (x, y) = (choices.below(90) as u16, choices.below(22) as u16);
            let kind = match choices.below(5) {
                0 => MouseEventKind::ScrollDown,
                1 => MouseEventKind::ScrollUp,
                2 => MouseEventKind::Drag(MouseButton::Left),
                _ => MouseEventKind::Down(MouseButton::Left),
            };
            event(Event::Mouse(MouseEvent {
                kind,
                column: x,
                row: y,
                modifiers: KeyModifiers::NONE,
            }))
        }
        179..=181 => {
            let bytes = choices.bytes(6);
            event(Event::Paste(String::from_utf8_lossy(bytes).into_owned()))
        }
        182..=185 => {
            let &(width, height) = match choices.byte() {
                0 => &(65535, 65535),
                n => &SIZES[usize::from(n) % SIZES.len()],
            };
            event(Event::Resize(width, height))
        }
        186..=225 => {
            happen(choices, machine);
            Step::Nothing
        }
        226..=233 => Step::Frame,
        _ => Step::Draw(choices.once_in(2)),
    }
}

/// Changes the machine.
fn happen(choices: &mut Choices, machine: &mut Machine) {
    machine.fails = false;
    match choices.below(12) {
        0..=2 => {
            let pid = 1 + choices.below(PIDS as usize) as u32;
            let ppid = choices.below(PIDS as usize) as u32;
            let (threads, hides) = (1 + choices.below(3), choices.once_in(8));
            machine.bear(pid, ppid, threads, hides);
        }
        // A process exits, and its number goes to another at once.
        3 | 4 => {
            let n = choices.below(64) % machine.processes.len();
            let pid = machine.processes[n].tgid();
            machine.exit(n);
            machine.bear(pid, 1, 1 + choices.below(2), false);
        }
        5 | 6 => machine.exit(choices.below(64)),
        7..=9 => {
            let (n, ns) = (choices.below(64), choices.below(256) as u64 * 3_000_000);
            machine.run(n, ns);
        }
        10 if choices.once_in(2) => machine.remove_group(choices.below(8)),
        10 => machine.make_group(choices.pick::<&str>(&["/", "/a", "/b", "/c", "/a/d"])),
        _ => machine.fails = true,
    }
}
