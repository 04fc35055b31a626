//! Colours of the states of a task and of the accounts of a CPU: one definition for the terminal,
//! the page and the plots.
//!
//! Each has a colour for a dark and one for a light background. The tests compute that text in each
//! colour is legible on its background, and that readers with and without deuteranopia can tell
//! the colours apart. All colours of the dark set are also colours of a terminal with 256.

use crate::columns::ColumnKind;

/// A colour: red, green and blue, 0 to 255 (sRGB).
pub type Rgb = (u8, u8, u8);

/// A colour on a light and on a dark background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub struct Tone {
    pub light: Rgb,
    pub dark: Rgb,
}

/// Background of the page and of the plots.
pub const GROUND: Tone = Tone { light: (255, 255, 255), dark: (20, 22, 26) };
/// Text and axes of the page and of the plots.
pub const INK: Tone = Tone { light: (27, 29, 33), dark: (230, 232, 236) };
/// Areas of the plots that stand back: idle time, and what is not drawn.
pub const PALE: Tone = Tone { light: (138, 143, 152), dark: (107, 112, 121) };

/// A subject with a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Their names say it.
pub enum Hue {
    User,
    System,
    /// Time in interrupts.
    Interrupt,
    /// Taken by the hypervisor.
    Steal,
    /// Waiting for a CPU.
    RunQueue,
    /// Held back by a quota.
    Throttled,
    /// Asleep on a lock.
    Lock,
    /// Asleep uninterruptibly.
    Block,
    /// Asleep in a page fault.
    Fault,
    /// Stopped or traced.
    Stop,
    /// Any other sleep.
    Sleep,
}

impl Hue {
    /// All hues.
    pub const ALL: [Hue; 11] = [
        Hue::User,
        Hue::System,
        Hue::Interrupt,
        Hue::Steal,
        Hue::RunQueue,
        Hue::Throttled,
        Hue::Lock,
        Hue::Block,
        Hue::Fault,
        Hue::Stop,
        Hue::Sleep,
    ];

    /// The hue of a column's figures; `None`: they are no time in a state.
    pub fn of_column(kind: ColumnKind) -> Option<Hue> {
        Some(match kind {
            ColumnKind::User => Hue::User,
            ColumnKind::System => Hue::System,
            ColumnKind::Interrupt => Hue::Interrupt,
            ColumnKind::Steal => Hue::Steal,
            ColumnKind::RunQueue => Hue::RunQueue,
            ColumnKind::Throttle => Hue::Throttled,
            ColumnKind::Lock => Hue::Lock,
            ColumnKind::Block => Hue::Block,
            ColumnKind::Fault => Hue::Fault,
            ColumnKind::Stop => Hue::Stop,
            ColumnKind::Sleep => Hue::Sleep,
            ColumnKind::Identity
            | ColumnKind::Cpu
            | ColumnKind::Life
            | ColumnKind::Memory
            | ColumnKind::Events => return None,
        })
    }

    /// Name of the colour in the page's style sheet.
    pub const fn name(self) -> &'static str {
        match self {
            Hue::User => "user",
            Hue::System => "system",
            Hue::Interrupt => "irq",
            Hue::Steal => "steal",
            Hue::RunQueue => "lat",
            Hue::Throttled => "throttle",
            Hue::Lock => "lock",
            Hue::Block => "block",
            Hue::Fault => "fault",
            Hue::Stop => "stop",
            Hue::Sleep => "sleep",
        }
    }

    /// The colour on a dark background, and its number among 256.
    pub const fn on_dark(self) -> (Rgb, u8) {
        match self {
            Hue::User => ((95, 135, 175), 67),
            Hue::System => ((175, 95, 255), 135),
            Hue::Interrupt => ((255, 255, 0), 226),
            Hue::Steal => ((215, 95, 0), 166),
            Hue::RunQueue => ((255, 215, 95), 221),
            Hue::Throttled => ((255, 95, 95), 203),
            Hue::Lock => ((255, 95, 255), 207),
            Hue::Block => ((215, 255, 175), 193),
            Hue::Fault => ((0, 215, 215), 44),
            Hue::Stop => ((255, 255, 255), 231),
            Hue::Sleep => ((148, 148, 148), 246),
        }
    }

    /// The colour on a light background, and its number among 256.
    pub const fn on_light(self) -> (Rgb, u8) {
        match self {
            Hue::User => ((0, 95, 175), 25),
            Hue::System => ((175, 0, 215), 128),
            Hue::Interrupt => ((95, 95, 0), 58),
            Hue::Steal => ((175, 95, 0), 130),
            Hue::RunQueue => ((135, 95, 0), 94),
            Hue::Throttled => ((175, 95, 95), 131),
            Hue::Lock => ((95, 0, 95), 53),
            Hue::Block => ((0, 95, 0), 22),
            Hue::Fault => ((0, 95, 95), 23),
            Hue::Stop => ((0, 0, 0), 16),
            Hue::Sleep => ((88, 88, 88), 240),
        }
    }

    /// Both colours.
    pub const fn tone(self) -> Tone {
        Tone { light: self.on_light().0, dark: self.on_dark().0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Linear = [f64; 3];

    /// Linear light of a colour (IEC 61966-2-1).
    fn linear((r, g, b): Rgb) -> Linear {
        [r, g, b].map(|byte| {
            let part = f64::from(byte) / 255.0;
            if part <= 0.04045 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    fn product(matrix: [[f64; 3]; 3], [x, y, z]: Linear) -> Linear {
        matrix.map(|[a, b, c]| a * x + b * y + c * z)
    }

    /// Contrast of two colours (WCAG 2.2).
    fn contrast(one: Rgb, other: Rgb) -> f64 {
        let luminance = |colour| {
            let [r, g, b] = linear(colour);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (a, b) = (luminance(one), luminance(other));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// The colour as readers with deuteranopia see it (Machado, Oliveira and Fernandes 2009).
    fn deuteranopia(colour: Linear) -> Linear {
        let seen = product(
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
            colour,
        );
        seen.map(|part| part.clamp(0.0, 1.0))
    }

    /// The colour in CIELAB, in which distances are differences that people see.
    fn lab(colour: Linear) -> Linear {
        let [x, y, z] = product(
            [
                [0.4124564, 0.3575761, 0.1804375],
                [0.2126729, 0.7151522, 0.0721750],
                [0.0193339, 0.1191920, 0.9503041],
            ],
            colour,
        );
        let f = |t: f64| match t > 216.0 / 24389.0 {
            true => t.cbrt(),
            false => (24389.0 / 27.0 * t + 16.0) / 116.0,
        };
        let [x, y, z] = [f(x / 0.95047), f(y), f(z / 1.08883)];
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn difference(one: Linear, other: Linear) -> f64 {
        let [one, other] = [lab(one), lab(other)];
        one.iter().zip(other).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// The known figures of the formulas, so that the test can be trusted.
    #[test]
    fn the_formulas_give_published_figures() {
        assert!((contrast((255, 255, 255), (0, 0, 0)) - 21.0).abs() < 1e-9);
        assert!((contrast((119, 119, 119), (255, 255, 255)) - 4.48).abs() < 0.01);
        let red = lab(linear((255, 0, 0)));
        assert!(
            red.iter().zip([53.24, 80.09, 67.20]).all(|(a, b)| (a - b).abs() < 0.05),
            "{red:?}"
        );
        // Readers with deuteranopia confuse this red and green, others do not.
        let [red, green] = [(163, 80, 0), (102, 102, 0)].map(linear);
        assert!(difference(red, green) > 40.0);
        assert!(difference(deuteranopia(red), deuteranopia(green)) < 15.0);
    }

    #[test]
    fn every_colour_is_legible_on_its_background() {
        const DARK: [Rgb; 2] = [(0, 0, 0), GROUND.dark];
        for hue in Hue::ALL {
            let least = |(colour, _): (Rgb, u8), grounds: &[Rgb]| {
                let all = grounds.iter().map(|&ground| contrast(colour, ground));
                all.fold(f64::MAX, f64::min)
            };
            // WCAG 2.2 asks 4.5 of text.
            assert!(least(hue.on_dark(), &DARK) >= 4.5, "{hue:?} on dark");
            assert!(least(hue.on_light(), &[GROUND.light]) >= 4.5, "{hue:?} on light");
        }
    }

    #[test]
    fn text_and_areas_of_plots_stand_out_from_both_grounds() {
        // WCAG 2.2 asks 4.5 of text and 3 of graphics.
        for (tone, least) in [(INK, 4.5), (PALE, 3.0)] {
            assert!(contrast(tone.light, GROUND.light) >= least, "{tone:?} on light");
            assert!(contrast(tone.dark, GROUND.dark) >= least, "{tone:?} on dark");
        }
    }

    #[test]
    fn readers_with_and_without_deuteranopia_tell_the_colours_apart() {
        let on_dark: fn(Hue) -> (Rgb, u8) = Hue::on_dark;
        for (colours, least) in [(on_dark, 20.0), (Hue::on_light, 8.0)] {
            for (at, one) in Hue::ALL.iter().enumerate() {
                for other in &Hue::ALL[..at] {
                    let [a, b] = [*one, *other].map(|hue| linear(colours(hue).0));
                    let seen = difference(a, b).min(difference(deuteranopia(a), deuteranopia(b)));
                    assert!(seen >= least, "{one:?} and {other:?} differ by {seen:.1}");
                }
            }
        }
    }

    /// The colours of a terminal with 256: a cube of six steps, and greys.
    #[test]
    fn the_numbers_are_those_of_the_colours() {
        let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
        let colour = |n: u8| match n {
            232.. => (8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232)),
            _ => (step((n - 16) / 36), step((n - 16) / 6 % 6), step((n - 16) % 6)),
        };
        for hue in Hue::ALL {
            for (rgb, number) in [hue.on_dark(), hue.on_light()] {
                assert_eq!(colour(number), rgb, "{hue:?}");
            }
        }
    }
}
