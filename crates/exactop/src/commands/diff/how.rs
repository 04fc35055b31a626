//! How two time ranges are compared, for one machine and for many.

use crate::options::parse;
use clap::Args;
use exactop_sums::{Grouping, Least, Per, Work};

/// The two time ranges and the measure.
#[derive(Debug, Args)]
pub struct How {
    /// Compare this time range: '02:00+10m', '2h ago+30m' [default: all of it]
    #[arg(short, value_name = "FROM[+LENGTH]")]
    pub a: Option<String>,
    /// Compare it with this time range [default: all of it]
    #[arg(short, value_name = "FROM[+LENGTH]")]
    pub b: Option<String>,
    /// Sum CPU time by this
    #[arg(long, value_parser = parse::by(&Grouping::MACHINE), default_value = "command")]
    pub by: Grouping,
    /// Divide CPU time by cpu (time of all CPUs), wall (time) or work=COUNTER (the row's own:
    /// exits, syscalls ...)
    #[arg(long, value_name = "cpu|wall|work=COUNTER", value_parser = per, default_value = "cpu")]
    pub per: Per,
    /// Treat a smaller change, in per cent of one CPU, as noise
    #[arg(long, value_name = "PCT", value_parser = least, default_value = "0.2", allow_hyphen_values = true)]
    least: f64,
    /// Treat a smaller change, in per cent of the row's larger side, as noise
    #[arg(long, value_name = "PCT", value_parser = least_of_row, default_value = "3", allow_hyphen_values = true)]
    least_of_row: f64,
    /// Print at most N rows of each kind as text
    #[arg(long, short_alias = 'n', value_name = "N", value_parser = parse::count, default_value = "15", allow_hyphen_values = true)]
    rows: u64,
    /// Print one JSON object with all rows
    #[arg(long)]
    pub json: bool,
}

impl How {
    /// Smallest change that is more than noise.
    pub fn least(&self) -> Least {
        Least { of_cpu_pct: self.least, of_row_pct: self.least_of_row }
    }

    /// Most rows of each kind.
    pub fn most(&self) -> usize {
        usize::try_from(self.rows).unwrap_or(usize::MAX)
    }
}

fn per(text: &str) -> Result<Per, String> {
    let work = |name: &str| Work::all().find(|work| work.name() == name);
    match text.split_once('=') {
        None if text == "cpu" => Ok(Per::Cpu),
        None if text == "wall" => Ok(Per::Wall),
        Some(("work", name)) => work(name).map(Per::Work).ok_or_else(|| {
            let all: Vec<&str> = Work::all().map(Work::name).collect();
            format!("write work= and one of {}", all.join(", "))
        }),
        _ => Err("write cpu, wall or work=COUNTER".into()),
    }
}

fn least(text: &str) -> Result<f64, String> {
    parse::percent(text).map_err(|_| "write per cent of one CPU, 0 to 100".into())
}

fn least_of_row(text: &str) -> Result<f64, String> {
    parse::percent(text).map_err(|_| "write per cent of the row, 0 to 100".into())
}
