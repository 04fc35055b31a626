//! Colours of the drawings: those of the screen and the page, for a light and a dark ground.

use exactop_model::palette::{Hue, Rgb, Tone, GROUND, INK, PALE as PALE_TONE};
use plotters::style::RGBColor;
use std::fmt::Write;

/// The colours by number. Their order serves readers of drawings with few series.
const HUES: [Hue; 8] = [
    Hue::User,
    Hue::Steal,
    Hue::Fault,
    Hue::System,
    Hue::Interrupt,
    Hue::Lock,
    Hue::Sleep,
    Hue::Throttled,
];

/// Colour number of tasks.
pub const TASKS: usize = 0;
/// Colour number of stolen time.
pub const STEAL: usize = 1;
/// Colour number of interrupts.
pub const IRQ: usize = 4;
/// Colour number of unnamed time.
pub const UNNAMED: usize = 5;
/// Colour number of others.
pub const OTHERS: usize = 6;
/// Colour number of the grey that stands back.
pub const PALE: usize = usize::MAX;

/// The colour as the drawing library writes it; [`themed`] turns it into a class.
pub fn colour(index: usize) -> RGBColor {
    let (r, g, b) = match index {
        PALE => PALE_TONE.light,
        _ => HUES[index % HUES.len()].tone().light,
    };
    RGBColor(r, g, b)
}

/// Black and white, with which the library draws text, axes and the ground.
const DRAWN_INK: Rgb = (0, 0, 0);
const DRAWN_GROUND: Rgb = (255, 255, 255);

/// Each colour of a drawing as the library writes it, with its class and its two colours.
fn tones() -> impl Iterator<Item = (Rgb, &'static str, Tone)> {
    let fixed = [
        (DRAWN_GROUND, "ground", GROUND),
        (DRAWN_INK, "ink", INK),
        (PALE_TONE.light, "pale", PALE_TONE),
    ];
    let hues = HUES.into_iter().map(|hue| (hue.tone().light, hue.name(), hue.tone()));
    fixed.into_iter().chain(hues)
}

/// Makes a drawing legible on a light and on a dark screen, and light on paper: its colours become
/// classes, and one style gives each class two colours.
pub fn themed(svg: &str) -> String {
    let mut out = String::with_capacity(svg.len());
    for line in svg.lines() {
        // Labels stand on lines of their own, with `<` escaped.
        match line.strip_prefix("<svg ") {
            Some(rest) => {
                let _ = writeln!(
                    out,
                    "<svg class=\"plot\" font-family=\"system-ui, sans-serif\" {rest}\n{}",
                    style(svg)
                );
            }
            None if line.starts_with('<') => out += &(classed(line) + "\n"),
            None => out += &format!("{line}\n"),
        }
    }
    out
}

/// An element with a class instead of its colour.
fn classed(line: &str) -> String {
    let mut line = line.replace(" font-family=\"sans-serif\"", "");
    for (drawn, class, _) in tones() {
        for name in ["fill", "stroke"] {
            line = line.replace(
                &format!("{name}=\"{}\"", hex(drawn).to_uppercase()),
                &format!("class=\"{class}\" {name}=\"currentColor\""),
            );
        }
    }
    line
}

fn style(svg: &str) -> String {
    let used: Vec<_> =
        tones().filter(|(drawn, ..)| svg.contains(&hex(*drawn).to_uppercase())).collect();
    let rules = |of: fn(Tone) -> Rgb| -> String {
        let rule =
            |&(_, class, tone): &(_, _, Tone)| format!(".plot .{class}{{color:{}}}", hex(of(tone)));
        used.iter().map(rule).collect()
    };
    let (light, dark) = (rules(|tone| tone.light), rules(|tone| tone.dark));
    format!("<style>{light}@media screen and (prefers-color-scheme:dark){{{dark}}}</style>")
}

/// A colour for a style sheet.
pub fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_have_the_colours_of_the_screen() {
        for (number, hue) in [(IRQ, Hue::Interrupt), (STEAL, Hue::Steal)] {
            assert_eq!(HUES[number], hue);
        }
    }

    #[test]
    fn no_two_classes_share_a_drawn_colour() {
        let drawn: std::collections::BTreeSet<Rgb> = tones().map(|(drawn, ..)| drawn).collect();
        assert_eq!(drawn.len(), tones().count());
    }

    #[test]
    fn text_that_looks_like_an_attribute_stays_text() {
        let svg = "<svg x=\"1\">\n<text fill=\"#000000\">\nfill=\"#FFFFFF\"\n</text>\n</svg>\n";
        let themed = themed(svg);
        assert!(themed.contains("\nfill=\"#FFFFFF\"\n"), "{themed}");
        assert!(themed.contains("<text class=\"ink\" fill=\"currentColor\">"), "{themed}");
    }
}
