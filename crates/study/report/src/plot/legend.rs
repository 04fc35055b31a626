//! The legend, below the drawing.

use super::{colour, label, FONT};
use plotters::coord::Shift;
use plotters::prelude::*;

const IN_A_ROW: usize = 4;
/// Height of a row and width of an entry, pixels.
const ROW: u32 = 24;
const ENTRY: i32 = 168;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// An entry: its name, its colour number, and whether it is dashed.
pub struct Entry<'a> {
    pub name: &'a str,
    pub colour: usize,
    pub dashed: bool,
}

/// Height of `entries` entries, pixels.
pub fn height(entries: usize) -> u32 {
    ROW * entries.div_ceil(IN_A_ROW) as u32
}

/// Draws the entries into an area of that height.
pub fn draw(area: &Area, entries: &[Entry]) -> Result<(), Box<dyn std::error::Error>> {
    let style = (FONT, 13).into_text_style(area);
    for (i, entry) in entries.iter().enumerate() {
        let at = (78 + ENTRY * (i % IN_A_ROW) as i32, 4 + ROW as i32 * (i / IN_A_ROW) as i32);
        let filled = colour(entry.colour).filled();
        let parts: &[(i32, i32)] = if entry.dashed { &[(0, 5), (8, 13)] } else { &[(0, 12)] };
        for (from, to) in parts {
            let (top, bottom) = if entry.dashed { (5, 8) } else { (0, 12) };
            area.draw(&Rectangle::new(
                [(at.0 + from, at.1 + top), (at.0 + to, at.1 + bottom)],
                filled,
            ))?;
        }
        area.draw(&Text::new(label(entry.name), (at.0 + 18, at.1), style.clone()))?;
    }
    Ok(())
}
