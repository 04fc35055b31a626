//! Colours: one meaning a colour, on every page. Without colours bold and reverse must do.

use crate::settings::ColorMode;
use exactop_model::columns::{Column, Kind};
use ratatui::style::{Color, Modifier, Style};

/// What a piece of the screen means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Ink {
    /// Nothing special.
    Plain,
    /// To be seen first.
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
    /// The heading of the column that orders the rows.
    SortHeading,
    /// The selected row.
    Selected,
    /// What must not be overlooked.
    Alarm,
}

impl Ink {
    /// The colour of a column's figures.
    pub fn of(column: &Column) -> Ink {
        match column.kind {
            Kind::User => Ink::User,
            Kind::System => Ink::System,
            Kind::Interrupt => Ink::Irq,
            Kind::Steal => Ink::Steal,
            Kind::RunQueue => Ink::RunQueue,
            Kind::Throttle => Ink::Throttled,
            Kind::Lock => Ink::Lock,
            Kind::Sleep => Ink::Sleep,
            Kind::Identity | Kind::Cpu | Kind::Life | Kind::Memory | Kind::Events => Ink::Plain,
        }
    }
}

/// How many colours there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// None: bold and reverse only.
    Mono,
    /// Sixteen.
    Basic,
    /// 256.
    Full,
}

impl Theme {
    /// What the settings and the environment allow. `env`: looks a variable up.
    pub fn choose(mode: ColorMode, env: impl Fn(&str) -> Option<String>) -> Theme {
        let set = |name: &str| env(name).filter(|v| !v.is_empty());
        let refused = mode == ColorMode::Auto && set("NO_COLOR").is_some();
        let term = set("TERM").unwrap_or_default();
        let has_none = mode == ColorMode::Auto && (term.starts_with("vt") || term == "dumb");
        if mode == ColorMode::Never || refused || has_none {
            Theme::Mono
        } else if term.contains("256") || set("COLORTERM").is_some() {
            Theme::Full
        } else {
            Theme::Basic
        }
    }

    /// The style of a piece.
    pub fn style(self, ink: Ink) -> Style {
        let plain = Style::new();
        let bold = plain.add_modifier(Modifier::BOLD);
        let reverse = plain.add_modifier(Modifier::REVERSED);
        match ink {
            Ink::Plain => plain,
            Ink::Strong => bold,
            Ink::Heading => reverse,
            Ink::SortHeading => reverse.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Ink::Selected | Ink::Alarm => reverse.add_modifier(Modifier::BOLD),
            _ if self == Theme::Mono => plain,
            Ink::Dim | Ink::Idle => plain.add_modifier(Modifier::DIM),
            ink => plain.fg(self.color(ink)),
        }
    }

    fn color(self, ink: Ink) -> Color {
        let full = self == Theme::Full;
        match ink {
            Ink::User => Color::Green,
            Ink::System => Color::Red,
            Ink::Irq => Color::Magenta,
            Ink::Steal => Color::Yellow,
            Ink::Lock => Color::Cyan,
            Ink::RunQueue if full => Color::Indexed(208),
            Ink::RunQueue => Color::LightYellow,
            Ink::Throttled => Color::LightRed,
            Ink::Sleep if full => Color::Indexed(246),
            Ink::Sleep => Color::DarkGray,
            _ => Color::Reset,
        }
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
        assert_eq!(theme(ColorMode::Auto, &[term]), Theme::Full);
        assert_eq!(theme(ColorMode::Auto, &[("TERM", "linux")]), Theme::Basic);
        assert_eq!(theme(ColorMode::Auto, &[term, ("NO_COLOR", "1")]), Theme::Mono);
        assert_eq!(theme(ColorMode::Auto, &[term, ("NO_COLOR", "")]), Theme::Full);
        assert_eq!(theme(ColorMode::Always, &[term, ("NO_COLOR", "1")]), Theme::Full);
        assert_eq!(theme(ColorMode::Never, &[term]), Theme::Mono);
    }

    #[test]
    fn without_colours_nothing_is_coloured() {
        for ink in [Ink::User, Ink::Alarm, Ink::Selected, Ink::Dim, Ink::Throttled] {
            let style = Theme::Mono.style(ink);
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
