//! The results of the benchmarks: on standard output, as a page, and as JSON.

use super::kept;
use super::machine::Machine;
use super::table::Table;
use super::wrap::wrap;
use exactop_report::plot::Chart;
use serde_json::{json, Map, Value};
use std::collections::HashSet;

/// A target, and the figure that was measured.
#[derive(Clone, Debug)]
pub struct Check {
    /// Subject and limit, such as `1,000 processes: at most 1/25 of top`.
    pub target: String,
    /// The figure.
    pub found: String,
    /// True if the figure meets the target; `None` if there is no figure.
    pub met: Option<bool>,
}

impl Check {
    fn word(&self) -> &'static str {
        match self.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        }
    }

    fn line(&self) -> String {
        format!("- {}: {}: {}\n", self.word(), self.target, self.found)
    }
}

/// A chart of a section's figures.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Name of its file, which is in `docs/assets`.
    pub file: &'static str,
    pub chart: Chart,
}

/// One measurement, with all that a reader needs to repeat and to judge it.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its name on the command line.
    pub name: &'static str,
    pub title: String,
    /// The method, in one paragraph.
    pub how: String,
    pub commands: Vec<String>,
    pub tables: Vec<Table>,
    pub pictures: Vec<Picture>,
    /// Its targets.
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

    /// The section for a terminal: aligned tables, then its targets.
    pub fn text(&self) -> String {
        let mut blocks = vec![format!("## {}\n", self.title), wrap(&self.how) + "\n"];
        blocks.extend(self.tables.iter().map(Table::to_string));
        blocks.push(self.checks.iter().map(Check::line).collect());
        blocks.push(indented(self.commands.iter().map(String::as_str)));
        blocks.retain(|block| !block.trim().is_empty());
        blocks.join("\n")
    }

    /// The section as a part of a page. `by_hand` is the text that a person has put into it; `printed` has the
    /// commands of earlier sections, which the page does not repeat.
    fn markdown<'s>(&'s self, by_hand: &str, printed: &mut HashSet<&'s str>) -> String {
        let mut blocks =
            vec![format!("## {}\n", self.title), wrap(&self.how) + "\n", by_hand.into()];
        blocks.extend(self.tables.iter().map(Table::markdown));
        let pictures = self.pictures.iter();
        blocks.extend(pictures.map(|p| format!("![{}](../assets/{})\n", p.chart.title, p.file)));
        let new =
            self.commands.iter().map(String::as_str).filter(|command| printed.insert(command));
        blocks.push(indented(new));
        blocks.retain(|block| !block.trim().is_empty());
        blocks.join("\n")
    }
}

fn indented<'s>(commands: impl Iterator<Item = &'s str>) -> String {
    commands.map(|command| format!("    {command}\n")).collect()
}

/// A run of the benchmarks.
pub struct Report {
    machine: Machine,
    /// The measurements so far.
    pub sections: Vec<Section>,
}

const INTRODUCTION: [&str; 2] = [
    "The cost of exactop beside other tops. `make bench` prints these figures; `cargo xtask bench --markdown \
     FILE` writes them as a page, and `--json FILE` keeps every round.",
    "A figure is the median of several rounds, with the range in parentheses. All tools of a table ran in turns \
     in the same run. Per cent is of one CPU. [Decisions](../explanation/decisions/README.md) have the \
     measurements that led to a change.",
];

impl Report {
    /// A report without any measurement.
    pub fn new(machine: Machine) -> Report {
        Report { machine, sections: Vec::new() }
    }

    fn checks(&self) -> impl Iterator<Item = &Check> {
        self.sections.iter().flat_map(|section| &section.checks)
    }

    /// All targets, a line each.
    pub fn summary(&self) -> String {
        self.checks().map(Check::line).collect()
    }

    /// The page, with each target and each command once. It keeps what a person has written into the page
    /// before (`kept`).
    pub fn markdown(&self, before: &str) -> String {
        let mut blocks = vec!["# Benchmarks\n".to_string()];
        blocks.extend(INTRODUCTION.map(|text| wrap(text) + "\n"));
        blocks.push(self.machine.table());
        blocks.push("## Targets\n".into());
        blocks.push(self.targets());
        blocks.push(kept::of(before, "Targets"));
        blocks.push("All costs of exactop include its BPF programs.\n".into());
        let mut printed = HashSet::new();
        for section in &self.sections {
            blocks.push(section.markdown(&kept::of(before, &section.title), &mut printed));
        }
        blocks.retain(|block| !block.is_empty());
        blocks.join("\n")
    }

    fn targets(&self) -> String {
        let row =
            |check: &Check| format!("| {} | {} | {} |\n", check.target, check.found, check.word());
        "| target | found | |\n|---|--:|---|\n".to_string()
            + &self.checks().map(row).collect::<String>()
    }

    /// The results for programs.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn section(title: &str, commands: &[&str]) -> Section {
        let mut table = Table::new(["tool", "%"]);
        table.row(["top", "1.1"]);
        Section {
            name: "one",
            title: title.into(),
            how: "Per cent of one CPU.".into(),
            commands: commands.iter().map(|&command| command.into()).collect(),
            tables: vec![table],
            pictures: Vec::new(),
            checks: vec![Check {
                target: format!("{title}: at most 1"),
                found: "1.1".into(),
                met: Some(false),
            }],
            json: Value::Null,
        }
    }

    fn page(before: &str) -> String {
        let machine = Machine::of(vec![("kernel", "Linux 6.12".into())]);
        let sections = vec![section("One", &["top -d 2"]), section("Two", &["top -d 2", "atop 2"])];
        Report { machine, sections }.markdown(before)
    }

    #[test]
    fn a_page_has_each_target_and_each_command_once() {
        let (_, after) = page("")
            .split_once("| | |\n")
            .map(|(a, b)| (a.to_string(), b.to_string()))
            .expect("a table");
        assert_eq!(
            after,
            "|---|---|\n| kernel | Linux 6.12 |\n\n## Targets\n\n| target | found | |\n|---|--:|---|\n\
             | One: at most 1 | 1.1 | MISSED |\n| Two: at most 1 | 1.1 | MISSED |\n\n\
             All costs of exactop include its BPF programs.\n\n\
             ## One\n\nPer cent of one CPU.\n\n| tool | % |\n|---|--:|\n| top | 1.1 |\n\n    top -d 2\n\n\
             ## Two\n\nPer cent of one CPU.\n\n| tool | % |\n|---|--:|\n| top | 1.1 |\n\n    atop 2\n"
        );
    }

    #[test]
    fn a_page_keeps_text_by_hand_in_its_section() {
        let by_hand = "<!-- by hand -->\nOn 2026-11-23, idle.\n<!-- end -->\n";
        let before = page("").replace("## Two\n\n", &format!("## Two\n\n{by_hand}\n"));
        let again = page(&before);
        assert_eq!(again.matches(by_hand).count(), 1);
        let (first, second) = again.split_once("## Two\n").expect("the section");
        assert!(!first.contains(by_hand) && second.contains(by_hand));
        assert_eq!(page(&again), again, "the second time nothing moves");
    }
}
