//! Strips: a lane for each CPU, and a piece for each run of a task.

use super::ink::themed;
use super::legend::{self, Entry};
use super::{colour, label, number, PlotError, FONT, PALE};
use plotters::prelude::*;

/// A piece of a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Lane, from 0 at the top.
    pub lane: usize,
    /// Index in [`Strips::names`], or [`super::PALE`].
    pub of: usize,
    /// Beginning.
    pub from: f64,
    /// End.
    pub to: f64,
}

/// A chart of lanes over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Strips {
    /// Title.
    pub title: String,
    /// Label of the time axis.
    pub x_label: String,
    /// Range of time.
    pub range: (f64, f64),
    /// Names of the lanes, the first at the top.
    pub lanes: Vec<String>,
    /// Names of the pieces.
    pub names: Vec<String>,
    /// Legend of [`super::PALE`] pieces; empty if there are none.
    pub pale: String,
    /// The pieces.
    pub pieces: Vec<Piece>,
}

/// Height of a lane, pixels.
const LANE: u32 = 44;

impl Strips {
    /// Draws the strips.
    ///
    /// # Errors
    /// The drawing library failed.
    pub fn svg(&self) -> Result<String, PlotError> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|why| PlotError::new(&self.title, why))?;
        Ok(themed(&svg))
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let lanes = self.lanes.len().max(1);
        let below = legend::height(self.names.len() + usize::from(!self.pale.is_empty()));
        let size = (760, 90 + LANE * lanes as u32 + below);
        let area = SVGBackend::with_string(svg, size).into_drawing_area();
        area.fill(&WHITE)?;
        let (top, bottom) = area.split_vertically(size.1 - below);
        let (from, to) = super::range([self.range].into_iter());
        let mut chart = ChartBuilder::on(&top)
            .caption(label(&self.title), (FONT, 19))
            .margin(10)
            .x_label_area_size(40)
            .y_label_area_size(68)
            .build_cartesian_2d(from..to, (lanes as f64)..0.0)?;
        let step = (to - from) / 10.0;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .x_desc(label(&self.x_label))
            .x_label_formatter(&|value| number(*value, step))
            .y_labels(0)
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .light_line_style(WHITE.mix(0.0))
            .draw()?;
        let style = (FONT, 13).into_text_style(&top);
        for (lane, name) in self.lanes.iter().enumerate() {
            let (_, y) = chart.backend_coord(&(from, lane as f64 + 0.5));
            let at = (14, y - 7);
            top.draw(&Text::new(label(name), at, style.clone()))?;
        }
        let pieces = self.pieces.iter().filter(|piece| piece.lane < lanes).map(|piece| {
            let (top, bottom) = (piece.lane as f64 + 0.12, piece.lane as f64 + 0.88);
            let ends = [(piece.from.clamp(from, to), top), (piece.to.clamp(from, to), bottom)];
            Rectangle::new(ends, colour(piece.of).filled())
        });
        chart.draw_series(pieces)?;
        let entry = |(i, name)| Entry { name, colour: i, dashed: false };
        let names = self.names.iter().map(String::as_str);
        let mut entries: Vec<Entry> = names.enumerate().map(entry).collect();
        if !self.pale.is_empty() {
            entries.push(Entry { name: &self.pale, colour: PALE, dashed: false });
        }
        legend::draw(&bottom, &entries)?;
        drop(chart);
        area.present()?;
        Ok(())
    }
}
