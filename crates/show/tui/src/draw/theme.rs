//! Colours: one meaning per colour, on every page. Without colours, bold and reverse replace them.

use crate::settings::{ColorMode, ThemeName};
use exactop_model::columns::{Column, ColumnKind, Context};
use exactop_model::palette::{Hue, Rgb};
use exactop_model::{Datum, Value};
use ratatui_core::style::{Color, Modifier, Style};

/// Meaning of a piece of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Ink {
    /// Ordinary text.
    Plain,
    /// Text to read first.
    Strong,
    /// Zeros, separators, hints.
    Dim,
    User,
    System,
    /// Interrupts.
    Irq,
    Steal,
    Idle,
    /// Waiting for a user-level lock.
    Lock,
    /// Waiting for a CPU.
    RunQueue,
    /// Throttled by a quota.
    Throttled,
    /// Asleep uninterruptibly.
    Block,
    /// Asleep in a page fault.
    Fault,
    /// Stopped or traced.
    Stop,
    /// Any other sleep.
    Sleep,
    /// Headings of columns.
    Heading,
    /// The heading of the sort column.
    SortHeading,
    /// The selected row.
    Selected,
    /// A tagged row.
    Tagged,
    /// A match of the searched text.
    Match,
    /// A figure that is most of a CPU.
    Warning,
    /// Text that must not be overlooked.
    Alarm,
}

impl Ink {
    /// The colour of a column's figures.
    pub fn from_column(column: &Column) -> Ink {
        match Hue::of_column(column.kind) {
            None => Ink::Plain,
            Some(Hue::User) => Ink::User,
            Some(Hue::System) => Ink::System,
            Some(Hue::Interrupt) => Ink::Irq,
            Some(Hue::Steal) => Ink::Steal,
            Some(Hue::RunQueue) => Ink::RunQueue,
            Some(Hue::Throttled) => Ink::Throttled,
            Some(Hue::Lock) => Ink::Lock,
            Some(Hue::Block) => Ink::Block,
            Some(Hue::Fault) => Ink::Fault,
            Some(Hue::Stop) => Ink::Stop,
            Some(Hue::Sleep) => Ink::Sleep,
        }
    }

    /// The hue in the palette that the page and the plots share.
    const fn hue(self) -> Option<Hue> {
        Some(match self {
            Ink::User => Hue::User,
            Ink::System => Hue::System,
            Ink::Irq => Hue::Interrupt,
            Ink::Steal => Hue::Steal,
            Ink::RunQueue => Hue::RunQueue,
            Ink::Throttled | Ink::Warning => Hue::Throttled,
            Ink::Lock => Hue::Lock,
            Ink::Block => Hue::Block,
            Ink::Fault => Hue::Fault,
            Ink::Stop => Hue::Stop,
            Ink::Sleep => Hue::Sleep,
            _ => return None,
        })
    }
}

/// Size of a figure by its share of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Magnitude {
    /// Less than a hundredth.
    Trace,
    /// Less than a fifth.
    Small,
    /// Less than four fifths.
    Large,
    /// Most of a CPU.
    Warning,
}

impl Magnitude {
    /// The size of a value; `None`: it is no share of time on or off a CPU. Sleep of any length is
    /// nothing to warn of.
    pub fn of(value: &Value, column: &Column, context: &Context) -> Option<Magnitude> {
        use ColumnKind::{
            Block, Cpu, Fault, Interrupt, Lock, RunQueue, Steal, System, Throttle, User,
        };
        let most = match column.kind {
            Cpu | User | System | Interrupt | Steal | RunQueue | Throttle => Magnitude::Warning,
            Fault | Block => Magnitude::Warning,
            // A thread that waits for work sleeps on a lock, which is nothing to warn of either.
            Lock => Magnitude::Large,
            _ => return None,
        };
        let per_cpu = if context.of_machine { f64::from(context.cpus) } else { 1.0 };
        let share = match (value, column.is_of_own_time()) {
            (Value::Known(Datum::Pct(pct)), true) => *pct,
            (Value::Known(Datum::Pct(pct)), false) => pct * per_cpu,
            (Value::Known(Datum::Ns(ns)), _) => {
                *ns as f64 * 100.0 / context.window_ns.max(1) as f64
            }
            _ => return None,
        };
        let size = match share {
            ..1.0 => Magnitude::Trace,
            ..20.0 => Magnitude::Small,
            ..80.0 => Magnitude::Large,
            _ => Magnitude::Warning,
        };
        Some(size.min(most))
    }
}

/// Number of colours of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Depth {
    None,
    Sixteen,
    /// 256 colours.
    Indexed,
    /// True colour.
    True,
}

/// Style of the whole screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    name: ThemeName,
    depth: Depth,
    /// True if the terminal shows only ASCII.
    pub(crate) ascii: bool,
    /// True if the terminal's font has braille; that of the Linux console has not.
    pub(crate) braille: bool,
}

impl Theme {
    /// No colour: bold and reverse only.
    pub const MONO: Theme =
        Theme { name: ThemeName::Default, depth: Depth::None, ascii: false, braille: true };
    /// 256 colours.
    pub const FULL: Theme = Theme { depth: Depth::Indexed, ..Theme::MONO };

    /// The theme that the settings and the environment allow. `env`: looks up a variable.
    pub fn choose(mode: ColorMode, env: impl Fn(&str) -> Option<String>) -> Theme {
        let set = |name: &str| env(name).filter(|v| !v.is_empty());
        let refused = mode == ColorMode::Auto && set("NO_COLOR").is_some();
        let term = set("TERM").unwrap_or_default();
        let has_none = mode == ColorMode::Auto && (term.starts_with("vt") || term == "dumb");
        let colours = set("COLORTERM").unwrap_or_default();
        let depth = if mode == ColorMode::Never || refused || has_none {
            Depth::None
        } else if matches!(colours.as_str(), "truecolor" | "24bit") || term.ends_with("-direct") {
            Depth::True
        } else if term.contains("256") || !colours.is_empty() {
            Depth::Indexed
        } else {
            Depth::Sixteen
        };
        // Without any of these variables, the terminal's encoding is unknown.
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| set(name));
        let is_utf8 = |locale: String| {
            let locale = locale.to_ascii_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        };
        let ascii = locale.is_some_and(|locale| !is_utf8(locale));
        let braille = !ascii && term != "linux";
        Theme { depth, ascii, braille, ..Theme::MONO }
    }

    /// The same theme with these colours.
    pub fn with(self, name: ThemeName) -> Theme {
        Theme { name, ..self }
    }

    /// The same theme in ASCII.
    pub fn in_ascii(self) -> Theme {
        Theme { ascii: true, braille: false, ..self }
    }

    /// True if there are no colours.
    pub(crate) fn is_mono(self) -> bool {
        self.depth == Depth::None || self.name == ThemeName::Mono
    }

    /// The style of an ink.
    pub fn style(self, ink: Ink) -> Style {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let reverse = plain.add_modifier(Modifier::REVERSED);
        let is_bright = self.name == ThemeName::HighContrast;
        match ink {
            Ink::Plain => plain,
            Ink::Strong => bold,
            Ink::Heading | Ink::Match => reverse,
            Ink::SortHeading => reverse.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Ink::Selected | Ink::Alarm => reverse.add_modifier(Modifier::BOLD),
            Ink::Tagged => bold.add_modifier(Modifier::UNDERLINED),
            Ink::Warning if self.is_mono() => bold.add_modifier(Modifier::UNDERLINED),
            Ink::Warning => bold.fg(self.color(ink)),
            _ if self.is_mono() => plain,
            Ink::Dim | Ink::Idle if is_bright => plain,
            Ink::Dim | Ink::Idle => plain.add_modifier(Modifier::DIM),
            ink if is_bright => bold.fg(self.color(ink)),
            ink => plain.fg(self.color(ink)),
        }
    }

    /// The style of a figure of this size: dim, plain, bright or a warning. A figure of a state keeps
    /// its colour.
    pub fn sized(self, ink: Ink, size: Magnitude) -> Style {
        let dims = !self.is_mono() && self.name != ThemeName::HighContrast;
        match size {
            Magnitude::Trace if dims => self.style(ink).add_modifier(Modifier::DIM),
            Magnitude::Trace | Magnitude::Small => self.style(ink),
            Magnitude::Warning if ink == Ink::Plain => self.style(Ink::Warning),
            Magnitude::Large | Magnitude::Warning => self.style(ink).add_modifier(Modifier::BOLD),
        }
    }

    fn color(self, ink: Ink) -> Color {
        let [sixteen, indexed, full] = match self.name {
            ThemeName::Default | ThemeName::Mono => on_dark(ink),
            ThemeName::Light => on_light(ink),
            ThemeName::HighContrast => bright(ink),
        };
        match self.depth {
            Depth::True => full,
            Depth::Indexed => indexed,
            Depth::Sixteen | Depth::None => sixteen,
        }
    }
}

/// Colours for terminals with sixteen, 256 and all colours. Of sixteen colours, the user's own are
/// taken.
fn on_dark(ink: Ink) -> [Color; 3] {
    let sixteen = match ink {
        Ink::User => Color::Green,
        Ink::System => Color::Red,
        Ink::Irq => Color::Magenta,
        Ink::Steal => Color::Yellow,
        Ink::Lock => Color::Cyan,
        Ink::RunQueue => Color::LightYellow,
        Ink::Throttled | Ink::Warning => Color::LightRed,
        Ink::Block => Color::LightBlue,
        Ink::Fault => Color::LightCyan,
        Ink::Stop => Color::White,
        Ink::Sleep => Color::DarkGray,
        _ => Color::Reset,
    };
    with_palette(sixteen, ink.hue().map(Hue::on_dark))
}

/// Colours dark enough for a white background.
fn on_light(ink: Ink) -> [Color; 3] {
    let sixteen = match ink {
        Ink::User => Color::Green,
        Ink::System | Ink::Throttled | Ink::Warning => Color::Red,
        Ink::Irq | Ink::RunQueue => Color::Magenta,
        Ink::Steal | Ink::Block => Color::Blue,
        Ink::Lock | Ink::Fault => Color::Cyan,
        Ink::Stop => Color::Black,
        Ink::Sleep => Color::DarkGray,
        _ => Color::Reset,
    };
    with_palette(sixteen, ink.hue().map(Hue::on_light))
}

fn with_palette(sixteen: Color, palette: Option<(Rgb, u8)>) -> [Color; 3] {
    match palette {
        Some(((r, g, b), number)) => [sixteen, Color::Indexed(number), Color::Rgb(r, g, b)],
        None => [sixteen; 3],
    }
}

fn bright(ink: Ink) -> [Color; 3] {
    match ink {
        Ink::User => [Color::LightGreen, Color::Indexed(46), Color::Rgb(0, 255, 0)],
        Ink::System => [Color::LightRed, Color::Indexed(203), Color::Rgb(255, 110, 110)],
        Ink::Irq => [Color::LightMagenta, Color::Indexed(213), Color::Rgb(255, 140, 255)],
        Ink::Steal => [Color::LightYellow, Color::Indexed(226), Color::Rgb(255, 255, 0)],
        Ink::Lock => [Color::LightCyan, Color::Indexed(51), Color::Rgb(0, 255, 255)],
        Ink::RunQueue => [Color::LightYellow, Color::Indexed(214), Color::Rgb(255, 175, 0)],
        Ink::Throttled | Ink::Warning => {
            [Color::LightRed, Color::Indexed(210), Color::Rgb(255, 140, 140)]
        }
        Ink::Block => [Color::LightBlue, Color::Indexed(153), Color::Rgb(175, 215, 255)],
        Ink::Fault => [Color::LightCyan, Color::Indexed(159), Color::Rgb(175, 255, 255)],
        Ink::Stop => [Color::White, Color::Indexed(231), Color::Rgb(255, 255, 255)],
        Ink::Sleep => [Color::White, Color::Indexed(255), Color::Rgb(238, 238, 238)],
        _ => [Color::Reset; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(mode: ColorMode, vars: &[(&str, &str)]) -> Theme {
        Theme::choose(mode, |name| {
            vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string())
        })
    }

    #[test]
    fn no_color_wins_unless_colours_are_asked_for() {
        let term = ("TERM", "xterm-256color");
        assert_eq!(theme(ColorMode::Auto, &[term]), Theme::FULL);
        let basic = Theme { depth: Depth::Sixteen, braille: false, ..Theme::MONO };
        assert_eq!(theme(ColorMode::Auto, &[("TERM", "linux")]), basic);
        let all = Theme { depth: Depth::True, ..Theme::MONO };
        assert_eq!(theme(ColorMode::Auto, &[term, ("COLORTERM", "truecolor")]), all);
        assert_eq!(theme(ColorMode::Auto, &[term, ("NO_COLOR", "1")]), Theme::MONO);
        assert_eq!(theme(ColorMode::Auto, &[term, ("NO_COLOR", "")]), Theme::FULL);
        assert_eq!(theme(ColorMode::Always, &[term, ("NO_COLOR", "1")]), Theme::FULL);
        assert_eq!(theme(ColorMode::Never, &[term]), Theme::MONO);
    }

    #[test]
    fn without_colours_nothing_is_coloured() {
        for ink in [Ink::User, Ink::Alarm, Ink::Selected, Ink::Dim, Ink::Throttled] {
            let style = Theme::MONO.style(ink);
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }

    #[test]
    fn a_figure_has_the_style_of_its_share_of_a_cpu() {
        let context = Context {
            window_ns: 2_000_000_000,
            cpus: 4,
            of_machine: false,
            command_line: false,
            memory_total: None,
            boottime_ns: None,
        };
        use exactop_model::ColumnId::{CpuPct, LatNs, MemPct, MsLat, SleepNs};
        let of = |value: Datum, id: exactop_model::ColumnId, context: &Context| {
            Magnitude::of(&Value::Known(value), id.column(), context)
        };
        use Magnitude::{Large, Small, Trace, Warning};
        for (pct, size) in
            [(0.9, Trace), (1.0, Small), (20.0, Large), (80.0, Warning), (3e2, Warning)]
        {
            assert_eq!(of(Datum::Pct(pct), CpuPct, &context), Some(size), "{pct}");
            assert_eq!(of(Datum::Pct(pct), MsLat, &context), Some(size), "{pct}");
            // Per cent of a machine of four CPUs: the same colours.
            let machine = Context { of_machine: true, ..context };
            assert_eq!(of(Datum::Pct(pct / 4.0), CpuPct, &machine), Some(size), "{pct}");
            let ns = Datum::Ns((pct * 20_000_000.0) as u64);
            assert_eq!(of(ns, LatNs, &context), Some(size), "{pct}");
        }
        assert_eq!(of(Datum::Ns(1 << 40), SleepNs, &context), None);
        assert_eq!(of(Datum::Pct(99.0), MemPct, &context), None);
        for name in ThemeName::ALL {
            let theme = Theme { name, ..Theme::FULL };
            let styles = [Small, Large, Warning].map(|size| theme.sized(Ink::Plain, size));
            assert!(styles[0] != styles[1] && styles[1] != styles[2], "{name:?}: {styles:?}");
            let mono = theme.sized(Ink::Plain, Warning);
            assert!(name != ThemeName::Mono || (mono.fg, mono.bg) == (None, None));
        }
    }

    #[test]
    fn only_a_locale_without_utf8_is_drawn_in_ascii() {
        let cases: [(&[(&str, &str)], bool); 5] = [
            (&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")], true),
            (&[("LANG", "POSIX")], true),
            (&[("LC_ALL", "C.UTF-8")], false),
            (&[("LC_ALL", ""), ("LC_CTYPE", "de_DE.utf8"), ("LANG", "C")], false),
            (&[], false),
        ];
        for (vars, ascii) in cases {
            assert_eq!(theme(ColorMode::Auto, vars).ascii, ascii, "{vars:?}");
        }
    }

    #[test]
    fn every_theme_tells_the_accounts_apart() {
        let accounts = [Ink::User, Ink::System, Ink::Irq, Ink::Steal, Ink::Lock];
        let inks = [
            &accounts[..],
            &[Ink::RunQueue, Ink::Throttled, Ink::Block, Ink::Fault, Ink::Stop, Ink::Sleep],
        ]
        .concat();
        for name in [ThemeName::Default, ThemeName::Light, ThemeName::HighContrast] {
            for depth in [Depth::Indexed, Depth::True] {
                let theme = Theme { name, depth, ..Theme::MONO };
                let colours: Vec<_> = inks.iter().map(|&ink| theme.style(ink).fg).collect();
                for (at, colour) in colours.iter().enumerate() {
                    assert!(!colours[..at].contains(colour), "{theme:?}: {:?}", inks[at]);
                }
            }
        }
    }
}
