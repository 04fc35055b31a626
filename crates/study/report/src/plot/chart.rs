//! Charts of lines, points and intervals.

use super::ink::themed;
use super::legend::{self, Entry};
use super::{colour, label, number, PlotError, FONT};
use plotters::coord::ranged1d::{KeyPointHint, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::ops::Range;

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Label with the unit.
    pub label: String,
    /// Range; `None` derives it from the figures.
    pub range: Option<(f64, f64)>,
    /// Logarithmic; figures up to 0 are left out.
    pub log: bool,
    /// Names of 0, 1, 2 ... instead of numbers.
    pub names: Vec<String>,
}

impl Axis {
    /// An axis of numbers.
    pub fn new(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), ..Axis::default() }
    }
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A line through the points.
    Line,
    /// A dashed line: a prediction.
    Prediction,
    /// Points without a line.
    Points,
    /// Points with their intervals.
    Intervals,
}

/// A point of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Horizontal value.
    pub x: f64,
    /// Vertical value.
    pub y: f64,
    /// Its interval, if known.
    pub interval: Option<(f64, f64)>,
}

impl Point {
    /// A point without an interval.
    pub fn at(x: f64, y: f64) -> Point {
        Point { x, y, interval: None }
    }
}

/// A series of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Name in the legend; empty for no entry.
    pub name: String,
    /// How the series is drawn.
    pub mark: Mark,
    /// Colour number; `None` for the next.
    pub colour: Option<usize>,
    /// The points.
    pub points: Vec<Point>,
}

/// A chart of series over two axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// The series; the last is on top.
    pub series: Vec<Series>,
}

const SIZE: (u32, u32) = (760, 440);

impl Chart {
    /// Draws the chart.
    ///
    /// # Errors
    /// The drawing library failed.
    pub fn svg(&self) -> Result<String, PlotError> {
        let mut svg = String::new();
        self.draw(&mut svg).map_err(|why| PlotError::new(&self.title, why))?;
        Ok(themed(&svg))
    }

    fn draw(&self, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
        let entries = self.entries();
        let below = legend::height(entries.len());
        let area = SVGBackend::with_string(svg, (SIZE.0, SIZE.1 + below)).into_drawing_area();
        area.fill(&WHITE)?;
        let (drawing, bottom) = area.split_vertically(SIZE.1);
        let all = || self.series.iter().flat_map(|series| &series.points);
        let x = Scale::new(&self.x, all().map(|p| p.x));
        let ends = |p: &Point| p.interval.map_or([p.y, p.y], |(low, high)| [low, high]);
        let y = Scale::new(&self.y, all().flat_map(ends));
        let mut chart = ChartBuilder::on(&drawing)
            .caption(label(&self.title), (FONT, 19))
            .margin(10)
            .x_label_area_size(46)
            .y_label_area_size(68)
            .build_cartesian_2d(x.clone(), y.clone())?;
        chart
            .configure_mesh()
            .x_desc(label(&self.x.label))
            .y_desc(label(&self.y.label))
            .x_labels(10)
            .y_labels(8)
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .light_line_style(WHITE.mix(0.0))
            .draw()?;
        for (series, at) in self.series.iter().zip(self.colours()) {
            draw_series(&mut chart, series, colour(at), (&x, &y))?;
        }
        legend::draw(&bottom, &entries)?;
        drop(chart);
        area.present()?;
        Ok(())
    }
}

impl Chart {
    /// Colour of each series: its own, or the one after the last.
    fn colours(&self) -> Vec<usize> {
        let mut next = 0;
        let mut take = |series: &Series| {
            let at = series.colour.unwrap_or(next);
            next = next.max(at + 1);
            at
        };
        self.series.iter().map(&mut take).collect()
    }

    fn entries(&self) -> Vec<Entry<'_>> {
        let named = self.series.iter().zip(self.colours()).filter(|(s, _)| !s.name.is_empty());
        named
            .map(|(s, colour)| Entry { name: &s.name, colour, dashed: s.mark == Mark::Prediction })
            .collect()
    }
}

type Context<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Scale, Scale>>;

fn draw_series(
    chart: &mut Context<'_, '_>,
    series: &Series,
    colour: RGBColor,
    (x, y): (&Scale, &Scale),
) -> Result<(), Box<dyn std::error::Error>> {
    let placed: Vec<Point> = series
        .points
        .iter()
        .filter_map(|p| {
            let interval = p.interval.and_then(|(low, high)| y.place(low).zip(y.place(high)));
            Some(Point { x: x.place(p.x)?, y: y.place(p.y)?, interval })
        })
        .collect();
    let line = placed.iter().map(|p| (p.x, p.y));
    let drawn = match series.mark {
        Mark::Line => chart.draw_series(LineSeries::new(line, colour.stroke_width(2))),
        Mark::Prediction => {
            chart.draw_series(DashedLineSeries::new(line, 6, 4, colour.stroke_width(2)))
        }
        Mark::Points => {
            chart.draw_series(line.map(|at| Circle::new(at, 3, colour.mix(0.8).filled())))
        }
        Mark::Intervals => {
            for &Point { x, interval, .. } in &placed {
                let Some((low, high)) = interval else { continue };
                let bar = PathElement::new(vec![(x, low), (x, high)], colour.stroke_width(2));
                chart.draw_series([bar])?;
            }
            chart.draw_series(line.map(|at| Circle::new(at, 4, colour.filled())))
        }
    };
    Ok(drawn.map(|_| ())?)
}

/// Maps figures to an axis.
#[derive(Clone, Debug)]
struct Scale {
    log: bool,
    names: Vec<String>,
    range: Range<f64>,
    step: f64,
}

impl Scale {
    fn new(axis: &Axis, figures: impl Iterator<Item = f64>) -> Scale {
        let log = axis.log;
        let placed = |value| place(value, log);
        let within = |(low, high): (f64, f64), at: f64| (low.min(at), high.max(at));
        let (low, high) =
            figures.filter_map(placed).fold((f64::INFINITY, f64::NEG_INFINITY), within);
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        // Figures that differ only in their last digits count as equal.
        let apart = high - low > NEAR * high.abs().max(low.abs());
        let room = if apart { (high - low) * 0.05 } else { high.abs().max(1.0) * 0.1 };
        let own = match axis.names.len() {
            0 => (low - room, high + room),
            n => (-0.5, n as f64 - 0.5),
        };
        let asked = axis.range.and_then(|(low, high)| placed(low).zip(placed(high)));
        let (low, high) = asked.unwrap_or(own);
        Scale { log, names: axis.names.clone(), range: low..high, step: (high - low) / 8.0 }
    }

    fn place(&self, value: f64) -> Option<f64> {
        place(value, self.log)
    }
}

/// Figures beyond this are left out: the difference of two would not be a number.
const FARTHEST: f64 = 1e15;
/// Relative difference below which two figures count as equal: a step of the axis must exceed the
/// rounding error.
const NEAR: f64 = 1e-9;

fn place(value: f64, log: bool) -> Option<f64> {
    let near_enough = value.abs() <= FARTHEST;
    match log {
        true => (near_enough && value >= 1.0 / FARTHEST).then(|| value.log10()),
        false => near_enough.then_some(value),
    }
}

impl Ranged for Scale {
    type FormatOption = plotters::coord::ranged1d::NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let part = (value - self.range.start) / (self.range.end - self.range.start);
        // A figure outside the chart is drawn at its edge.
        let part = part.clamp(-0.02, 1.02);
        limit.0 + ((limit.1 - limit.0) as f64 * part).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        let inside = |at: &f64| self.range.contains(at) || *at == self.range.end;
        if !self.names.is_empty() {
            return (0..self.names.len()).map(|i| i as f64).filter(inside).collect();
        }
        if self.log {
            let decades = self.range.start.floor() as i32..=self.range.end.ceil() as i32;
            let wide = self.range.end - self.range.start > 3.0;
            let steps: &[f64] = if wide { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let at = |decade| steps.iter().map(move |s| f64::from(decade) + s.log10());
            return decades.flat_map(at).filter(inside).collect();
        }
        let range: plotters::coord::types::RangedCoordf64 = self.range.clone().into();
        range.key_points(hint)
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Scale {
    fn format_ext(&self, value: &f64) -> String {
        if !self.names.is_empty() {
            return self
                .names
                .get(value.round() as usize)
                .map_or(String::new(), |name| label(name));
        }
        match self.log {
            true => {
                let value = 10f64.powf(*value);
                number(value, value)
            }
            false => number(*value, self.step),
        }
    }
}
