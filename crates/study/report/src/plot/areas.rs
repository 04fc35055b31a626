//! Stacked areas: the parts of a whole over time.

use super::ink::themed;
use super::legend::{self, Entry};
use super::{colour, label, number, PlotError, FONT, PALE};
use plotters::prelude::*;

/// The parts of a piece of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    /// Beginning.
    pub from: f64,
    /// End.
    pub to: f64,
    /// The parts, one for each of [`Areas::names`]; their sum is the whole.
    pub parts: Vec<u64>,
}

/// A chart of stacked areas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Areas {
    /// Title.
    pub title: String,
    /// Label of the time axis.
    pub x_label: String,
    /// Label of the vertical axis: what the whole is.
    pub y_label: String,
    /// Names of the parts and their colour numbers, the lowest part first.
    pub names: Vec<(String, usize)>,
    /// Pieces of time.
    pub wholes: Vec<Whole>,
    /// Names of parts that were not measured: each has a line in the legend and no area.
    pub unmeasured: Vec<String>,
}

const SIZE: (u32, u32) = (760, 380);

impl Areas {
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
        let below = legend::height(self.names.len() + self.unmeasured.len());
        let area = SVGBackend::with_string(svg, (SIZE.0, SIZE.1 + below)).into_drawing_area();
        area.fill(&WHITE)?;
        let (drawing, bottom) = area.split_vertically(SIZE.1);
        let (from, to) = super::range(self.wholes.iter().map(|whole| (whole.from, whole.to)));
        let mut chart = ChartBuilder::on(&drawing)
            .caption(label(&self.title), (FONT, 19))
            .margin(10)
            .x_label_area_size(46)
            .y_label_area_size(68)
            .build_cartesian_2d(from..to, 0.0..100.0)?;
        let step = (to - from) / 10.0;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_desc(label(&self.x_label))
            .y_desc(label(&self.y_label))
            .x_label_formatter(&|value| number(*value, step))
            .y_labels(6)
            .label_style((FONT, 13))
            .axis_desc_style((FONT, 14))
            .draw()?;
        for whole in &self.wholes {
            let drawn = stacked(&whole.parts).zip(&self.names).map(|((low, high), (_, at))| {
                Rectangle::new([(whole.from, low), (whole.to, high)], colour(*at).filled())
            });
            chart.draw_series(drawn)?;
        }
        let drawn = self.names.iter().map(|(name, colour)| (name.clone(), *colour, false));
        let unmeasured =
            self.unmeasured.iter().map(|name| (format!("{name}: not measured"), PALE, true));
        let names: Vec<(String, usize, bool)> = drawn.chain(unmeasured).collect();
        let entries: Vec<Entry> = names
            .iter()
            .map(|(name, colour, dashed)| Entry { name, colour: *colour, dashed: *dashed })
            .collect();
        legend::draw(&bottom, &entries)?;
        drop(chart);
        area.present()?;
        Ok(())
    }
}

/// Beginning and end of each part, per cent of the whole; the last ends at exactly 100.
pub(crate) fn stacked(parts: &[u64]) -> impl Iterator<Item = (f64, f64)> + '_ {
    let all: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    let mut below: u128 = 0;
    let at = move |sum: u128| 100.0 * sum as f64 / all.max(1) as f64;
    parts.iter().map(move |&part| {
        let low = at(below);
        below += u128::from(part);
        (low, at(below))
    })
}

#[cfg(test)]
mod tests {
    use super::stacked;

    #[test]
    fn parts_fill_the_whole_without_a_gap() {
        for parts in [vec![1, 2, 3], vec![u64::MAX, u64::MAX, 1], vec![7; 11], vec![0, 0, 5]] {
            let drawn: Vec<(f64, f64)> = stacked(&parts).collect();
            assert_eq!((drawn[0].0, drawn[parts.len() - 1].1), (0.0, 100.0));
            assert!(drawn.windows(2).all(|pair| pair[0].1 == pair[1].0));
        }
    }
}
