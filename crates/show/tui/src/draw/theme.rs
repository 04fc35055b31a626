//! Colours: one meaning per colour, on every page. Without colours, bold and reverse replace them.

use crate::settings::{ColorMode, ThemeName};
use exactop_model::columns::{Column, ColumnKind};
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
    /// Asleep.
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
    /// Text that must not be overlooked.
    Alarm,
}

impl Ink {
    /// The colour of a column's figures.
    pub fn from_column(column: &Column) -> Ink {
        match column.kind {
            ColumnKind::User => Ink::User,
            ColumnKind::System => Ink::System,
            ColumnKind::Interrupt => Ink::Irq,
            ColumnKind::Steal => Ink::Steal,
            ColumnKind::RunQueue => Ink::RunQueue,
            ColumnKind::Throttle => Ink::Throttled,
            ColumnKind::Lock => Ink::Lock,
            ColumnKind::Sleep => Ink::Sleep,
            ColumnKind::Identity
            | ColumnKind::Cpu
            | ColumnKind::Life
            | ColumnKind::Memory
            | ColumnKind::Events => Ink::Plain,
        }
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
}

impl Theme {
    /// No colour: bold and reverse only.
    pub const MONO: Theme = Theme { name: ThemeName::Default, depth: Depth::None, ascii: false };
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
        Theme { depth, ascii, ..Theme::MONO }
    }

    /// The same theme with these colours.
    pub fn with(self, name: ThemeName) -> Theme {
        Theme { name, ..self }
    }

    /// The same theme in ASCII.
    pub fn in_ascii(self) -> Theme {
        Theme { ascii: true, ..self }
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
            _ if self.is_mono() => plain,
            Ink::Dim | Ink::Idle if is_bright => plain,
            Ink::Dim | Ink::Idle => plain.add_modifier(Modifier::DIM),
            ink if is_bright => bold.fg(self.color(ink)),
            ink => plain.fg(self.color(ink)),
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

/// Colours for terminals with sixteen, 256 and all colours. The terminal's own colours are
/// preferred, because users choose them.
fn on_dark(ink: Ink) -> [Color; 3] {
    match ink {
        Ink::User => [Color::Green; 3],
        Ink::System => [Color::Red; 3],
        Ink::Irq => [Color::Magenta; 3],
        Ink::Steal => [Color::Yellow; 3],
        Ink::Lock => [Color::Cyan; 3],
        Ink::RunQueue => [Color::LightYellow, Color::Indexed(208), Color::Rgb(255, 135, 0)],
        Ink::Throttled => [Color::LightRed; 3],
        Ink::Sleep => [Color::DarkGray, Color::Indexed(246), Color::Rgb(148, 148, 148)],
        _ => [Color::Reset; 3],
    }
}

/// Colours dark enough for a white background.
fn on_light(ink: Ink) -> [Color; 3] {
    match ink {
        Ink::User => [Color::Green, Color::Indexed(22), Color::Rgb(0, 95, 0)],
        Ink::System => [Color::Red, Color::Indexed(124), Color::Rgb(170, 0, 0)],
        Ink::Irq => [Color::Magenta, Color::Indexed(90), Color::Rgb(130, 0, 130)],
        Ink::Steal => [Color::Blue, Color::Indexed(94), Color::Rgb(125, 80, 0)],
        Ink::Lock => [Color::Cyan, Color::Indexed(24), Color::Rgb(0, 90, 130)],
        Ink::RunQueue => [Color::Magenta, Color::Indexed(130), Color::Rgb(170, 85, 0)],
        Ink::Throttled => [Color::Red, Color::Indexed(160), Color::Rgb(205, 0, 60)],
        Ink::Sleep => [Color::DarkGray, Color::Indexed(240), Color::Rgb(88, 88, 88)],
        _ => [Color::Reset; 3],
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
        Ink::Throttled => [Color::LightRed, Color::Indexed(210), Color::Rgb(255, 140, 140)],
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
        let basic = Theme { depth: Depth::Sixteen, ..Theme::MONO };
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
        let inks = [&accounts[..], &[Ink::RunQueue, Ink::Throttled, Ink::Sleep]].concat();
        for name in [ThemeName::Default, ThemeName::Light, ThemeName::HighContrast] {
            for depth in [Depth::Indexed, Depth::True] {
                let theme = Theme { name, depth, ascii: false };
                let colours: Vec<_> = inks.iter().map(|&ink| theme.style(ink).fg).collect();
                for (at, colour) in colours.iter().enumerate() {
                    assert!(!colours[..at].contains(colour), "{theme:?}: {:?}", inks[at]);
                }
            }
        }
    }
}
