//! A real Prometheus (Debian's package prometheus), its scrapes, and its answers.

use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A Prometheus that ends when it is dropped.
#[derive(Debug)]
pub struct Prometheus {
    child: Child,
    address: String,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    /// Starts a Prometheus that keeps its data in `directory` and scrapes these jobs, each at an
    /// `ADDRESS:PORT`, every second. `None`: it is not installed, which is printed.
    ///
    /// # Panics
    /// It does not begin to listen.
    pub fn start(directory: &Path, jobs: &[(&str, &str)]) -> Option<Prometheus> {
        Prometheus::start_with(directory, jobs, &[])
    }

    /// Same, with these options.
    ///
    /// # Panics
    /// It does not begin to listen.
    pub fn start_with(
        directory: &Path,
        jobs: &[(&str, &str)],
        options: &[&str],
    ) -> Option<Prometheus> {
        let file = directory.join("prometheus.yml");
        let mut settings = "global: {scrape_interval: 1s}\nscrape_configs:\n".to_string();
        for (name, target) in jobs {
            let targets = format!("static_configs: [{{targets: ['{target}']}}]");
            writeln!(settings, "- {{job_name: {name}, {targets}}}").expect("a String");
        }
        std::fs::write(&file, settings).expect("it can be written");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", directory.join("data").display()))
            .arg("--web.listen-address=127.0.0.1:0")
            .args(options)
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            eprintln!("not run: no prometheus: 'scripts/deps.sh' installs it");
            return None;
        };
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let said = |line: String| Some(line.split_once("\"Listening on\" address=")?.1.to_string());
        let address = lines.by_ref().map_while(Result::ok).find_map(said).expect("it listens");
        // It keeps logging, and a full pipe would block it.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Some(Prometheus { child, address })
    }

    /// The single value of an expression; `None`: none yet.
    pub fn ask(&self, expression: &str) -> Option<f64> {
        let url = format!("http://{}/api/v1/query", self.address);
        let mut answer = ureq::get(url).query("query", expression).call().ok()?;
        let text = answer.body_mut().read_to_string().expect("text");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        json["data"]["result"][0]["value"][1].as_str()?.parse().ok()
    }

    /// The value of an expression at a time; `@` in the expression is replaced by the time.
    ///
    /// # Panics
    /// The expression has no value.
    pub fn at(&self, expression: &str, time: f64) -> f64 {
        let expression = expression.replace('@', &format!("@ {time:.3}"));
        self.ask(&expression).unwrap_or_else(|| panic!("{expression}: no value"))
    }

    /// The instants of the first and the newest scrape with this series.
    pub fn span(&self, series: &str) -> Option<(f64, f64)> {
        let now = self.ask(&format!("timestamp({series})"))?;
        let all = format!("min_over_time(timestamp({series})[1h:500ms] @ {now:.3})");
        Some((self.ask(&all)?, now))
    }
}
