//! The program file: its size and its shared libraries.

use super::report::Section;
use super::Bench;
use anyhow::{bail, Context, Result};
use serde_json::json;
use std::process::Command;

pub fn measure(bench: &Bench) -> Result<Section> {
    let bytes = std::fs::metadata(&bench.exactop)
        .with_context(|| format!("looking at {}", bench.exactop.display()))?
        .len();
    let ldd = Command::new("ldd").arg(&bench.exactop).output().context("running ldd")?;
    if !ldd.status.success() {
        bail!("ldd failed: {}", String::from_utf8_lossy(&ldd.stderr).trim());
    }
    let text = String::from_utf8_lossy(&ldd.stdout).into_owned();
    let libraries = text.lines().filter_map(|line| line.split_whitespace().next());
    // The kernel's own and the loader are in every program.
    let libraries: Vec<&str> =
        libraries.filter(|name| !name.contains("ld-linux") && !name.contains("-vdso")).collect();
    let names = match libraries.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        Some((only, _)) => (*only).to_string(),
        None => "no shared library".into(),
    };
    let mib = bytes as f64 / 1_048_576.0;
    Ok(Section {
        name: "size",
        title: "Program file".into(),
        how: format!(
            "The release build, without debugging information, has {mib:.2} MiB. It uses {names}."
        ),
        commands: vec!["ldd target/release/exactop".into()],
        tables: Vec::new(),
        pictures: Vec::new(),
        checks: Vec::new(),
        json: json!({ "bytes": bytes, "libraries": libraries }),
    })
}
