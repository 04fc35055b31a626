//! Results as a page and as JSON.

use super::machine::Machine;
use super::table::Table;
use exactop_report::plot::Chart;
use serde_json::{json, Map, Value};

/// A target and its result.
#[derive(Clone, Debug)]
pub struct Check {
    /// The target, as a sentence.
    pub target: String,
    /// The result.
    pub found: String,
    /// True if it was met; `None`: not measured.
    pub met: Option<bool>,
}

impl Check {
    fn line(&self) -> String {
        let word = match self.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        };
        format!("- {word}: {}: {}", self.target, self.found)
    }
}

/// A drawn figure.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Its file name.
    pub file: &'static str,
    /// The chart.
    pub chart: Chart,
}

/// One measurement with everything needed to repeat and judge it.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name on the command line.
    pub name: &'static str,
    pub title: String,
    /// The method.
    pub how: String,
    pub commands: Vec<String>,
    pub tables: Vec<Table>,
    pub pictures: Vec<Picture>,
    /// The targets.
    pub checks: Vec<Check>,
    /// All figures for programs.
    pub json: Value,
}

impl Section {
    /// A measurement that failed.
    pub fn failed(name: &'static str, error: &anyhow::Error) -> Section {
        Section {
            name,
            title: format!("{name}: not measured"),
            how: format!("{error:#}."),
            commands: Vec::new(),
            tables: Vec::new(),
            pictures: Vec::new(),
            checks: Vec::new(),
            json: json!({ "error": format!("{error:#}") }),
        }
    }

    /// The section as a part of a page.
    pub fn markdown(&self) -> String {
        let mut page = format!("## {}\n\n{}\n\n", self.title, wrap(&self.how));
        for table in &self.tables {
            page += &format!("{table}\n");
        }
        for Picture { file, chart } in &self.pictures {
            page += &format!("![{}](assets/{file})\n\n", chart.title);
        }
        for check in &self.checks {
            page += &format!("{}\n", check.line());
        }
        if !self.commands.is_empty() {
            page += if self.checks.is_empty() { "Commands:\n\n" } else { "\nCommands:\n\n" };
            for command in &self.commands {
                page += &format!("    {command}\n");
            }
        }
        page
    }
}

/// A run of the benchmarks.
pub struct Report {
    machine: Machine,
    /// Finished measurements.
    pub sections: Vec<Section>,
}

impl Report {
    /// An empty report.
    pub fn new(machine: Machine) -> Report {
        Report { machine, sections: Vec::new() }
    }

    /// The targets and whether they were met.
    pub fn summary(&self) -> String {
        let checks = self.sections.iter().flat_map(|s| &s.checks);
        checks.map(|check| check.line() + "\n").collect()
    }

    /// The page.
    pub fn markdown(&self) -> String {
        let mut page = String::from("# Benchmarks\n\n");
        page += "Written by `cargo xtask bench --markdown docs/reference/benchmarks.md` (`--json FILE` keeps every \
                 round);\n`make bench` prints the same. Figures are the median of several rounds and, in \
                 parentheses, their range; all tools of a table\nwere measured in the same run. Per \
                 cent is of one CPU.\n\n";
        page += &format!("{}\n", self.machine.table());
        page += &format!("## Targets\n\n{}\n", self.summary());
        let sections: Vec<String> = self.sections.iter().map(Section::markdown).collect();
        page + &sections.join("\n")
    }

    /// Everything as JSON.
    pub fn json(&self) -> Value {
        let section = |s: &Section| {
            let check = |c: &Check| json!({"target": c.target, "found": c.found, "met": c.met});
            let checks: Vec<Value> = s.checks.iter().map(check).collect();
            let body = json!({
                "title": s.title,
                "how": s.how,
                "commands": s.commands,
                "checks": checks,
                "figures": s.json,
            });
            (s.name.to_string(), body)
        };
        let sections: Map<String, Value> = self.sections.iter().map(section).collect();
        json!({
            "schema": { "name": "exactop.benchmarks", "version": 1 },
            "machine": self.machine.json(),
            "sections": sections,
        })
    }
}

/// Longest line of a page.
const PAGE_WIDTH: usize = 100;

fn wrap(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > PAGE_WIDTH {
            lines.push(word.into());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.join("\n")
}
