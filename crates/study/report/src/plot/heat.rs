//! Heat maps: intensity by row over time; a fuller colour is more.

use super::ink::themed;
use super::{colour, label, number, PlotError, FONT, TASKS};
use plotters::prelude::*;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Row, from 0 at the top.
    pub row: usize,
    /// Beginning.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Intensity from 0 to 1; unknown cells are absent.
    pub part: f64,
}

/// A heat map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heat {
    /// Title.
    pub title: String,
    /// Label of the time axis.
    pub x_label: String,
    /// Names of the rows, the first at the top.
    pub rows: Vec<String>,
    /// The cells.
    pub cells: Vec<Cell>,
}

/// Height of a row and largest height of all rows, pixels.
const ROW: u32 = 30;
const TALLEST: u32 = 480;
/// Most rows with a name beside them.
const NAMED: usize = 16;

/// From the ground with a trace of colour (0) to the full colour (1), on a light and on a dark
/// ground.
fn shade(part: f64) -> RGBAColor {
    let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
    colour(TASKS).mix(0.06 + 0.94 * part)
}

impl Heat {
    /// Draws the heat map.
    ///
    /// # Errors
    /// The drawing library failed.
    pub fn svg(&self) -> Result<String, PlotError> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|why| PlotError::new(&self.title, why))?;
        Ok(themed(&svg))
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let rows = self.rows.len().max(1);
        let tall = (ROW.saturating_mul(rows as u32)).clamp(ROW, TALLEST);
        let size = (760, 120 + tall);
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        let (drawing, bottom) = area.split_vertically(size.1 - 30);
        let (from, to) = super::range(self.cells.iter().map(|cell| (cell.from, cell.to)));
        let mut chart = ChartBuilder::on(&drawing)
            .caption(label(&self.title), (FONT, 19))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(68)
            .build_cartesian_2d(from..to, (rows as f64)..0.0)?;
        let step = (to - from) / 10.0;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_desc(label(&self.x_label))
            .x_label_formatter(&|value| number(*value, step))
            .y_labels(0)
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .draw()?;
        let style = (FONT, 13).into_text_style(&drawing);
        for (row, name) in self.rows.iter().enumerate().step_by(rows.div_ceil(NAMED)) {
            let (_, y) = chart.backend_coord(&(from, row as f64 + 0.5));
            drawing.draw(&Text::new(label(name), (14, y - 7), style.clone()))?;
        }
        let cells = self.cells.iter().filter(|cell| cell.row < rows).map(|cell| {
            let (top, low) = (cell.row as f64, cell.row as f64 + 1.0);
            let ends = [(cell.from.clamp(from, to), top), (cell.to.clamp(from, to), low)];
            Rectangle::new(ends, shade(cell.part).filled())
        });
        chart.draw_series(cells)?;
        for (at, part) in (0..).zip([0.0, 0.25, 0.5, 0.75, 1.0]) {
            let x = 78 + at * 100;
            bottom.draw(&Rectangle::new([(x, 4), (x + 12, 16)], shade(part).filled()))?;
            let text = format!("{:.0} %", 100.0 * part);
            bottom.draw(&Text::new(text, (x + 18, 4), style.clone()))?;
        }
        drop(chart);
        area.present()?;
        Ok(())
    }
}
