//! The program file: its size and its shared libraries.

use super::report::Section;
use super::table::Table;
use super::Bench;
use anyhow::{bail, Context, Result};
use serde_json::json;
use std::process::Command;

/// Measures the file.
pub fn measure(bench: &Bench) -> Result<Section> {
    let bytes = std::fs::metadata(&bench.exactop)
        .with_context(|| format!("looking at {}", bench.exactop.display()))?
        .len();
    let ldd = Command::new("ldd").arg(&bench.exactop).output().context("running ldd")?;
    if !ldd.status.success() {
        bail!("ldd failed: {}", String::from_utf8_lossy(&ldd.stderr).trim());
    }
    let text = String::from_utf8_lossy(&ldd.stdout).into_owned();
    let libraries: Vec<&str> =
        text.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let mut table = Table::new(["", "exactop"]);
    table.row(["size of the file, MiB".into(), format!("{:.2}", bytes as f64 / 1_048_576.0)]);
    table.row(["shared libraries".into(), libraries.join(" ")]);
    Ok(Section {
        name: "size",
        title: "Program file".into(),
        how: "The release build, without debugging information.".into(),
        commands: vec!["ldd target/release/exactop".into()],
        tables: vec![table],
        pictures: Vec::new(),
        checks: Vec::new(),
        json: json!({ "bytes": bytes, "libraries": libraries }),
    })
}
