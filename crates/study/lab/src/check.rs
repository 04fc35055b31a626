//! Checks an experiment beyond its syntax, from a definition or from a run: harmless names, figures
//! within their ranges, and metrics that fit the end of a trial.

use crate::bounds;
use crate::definition::{
    Condition, Count, Ends, Experiment, GroupLimits, Metric, Predict, Sweep, Worker,
};
use exactop_model::cgroups::limits::Max;

impl Experiment {
    /// Checks the experiment; the error says what to write instead.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_kept()?;
        for condition in &self.conditions {
            self.check_relative(condition)
                .map_err(|why| format!("condition '{}': {why}", condition.name))?;
        }
        Ok(())
    }

    /// The same for an experiment that was run. Conditions that others are relative to may have
    /// been left out, because they could not run there.
    pub(crate) fn check_kept(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let short = (1..=bounds::NAME).contains(&self.name.len());
        if !short || !self.name.chars().all(plain) {
            let most = bounds::NAME;
            return Err(format!(
                "name = '{}': write 1 to {most} letters, digits, - and _",
                self.name
            ));
        }
        if self.conditions.is_empty() {
            return Err("no conditions: write [[conditions]] with name and workers".into());
        }
        bounds::at_most("conditions", self.conditions.len(), bounds::CONDITIONS)?;
        self.check_figures()?;
        for (i, condition) in self.conditions.iter().enumerate() {
            self.check_condition(i, condition)
                .map_err(|why| format!("condition '{}': {why}", condition.name))?;
        }
        Ok(())
    }

    fn check_figures(&self) -> Result<(), String> {
        for (what, seconds) in
            [("window_s", Some(self.window_s)), ("quick.window_s", self.quick.window_s)]
        {
            if let Some(seconds) = seconds.filter(|s| !(0.05..=3600.0).contains(s)) {
                return Err(format!("{what} = {seconds}: write 0.05 to 3600 seconds"));
            }
        }
        check_settle(self.settle_s)?;
        for (what, n) in [("repeats", Some(self.repeats)), ("quick.repeats", self.quick.repeats)] {
            if let Some(n) = n.filter(|n| !(1..=10_000).contains(n)) {
                return Err(format!("{what} = {n}: write 1 to 10000"));
            }
        }
        for (what, delta) in [("delta", Some(self.delta)), ("quick.delta", self.quick.delta)] {
            bounds::within(what, delta, 0.0..=bounds::FIGURE)?;
        }
        let limits = self.limits;
        for (what, limit) in [
            ("limits.steal_pct", limits.steal_pct),
            ("limits.foreign_pct", limits.foreign_pct),
            ("limits.irq_pct", limits.irq_pct),
            ("limits.unnamed_pct", limits.unnamed_pct),
        ] {
            bounds::within(what, Some(limit), 0.0..=100.0)?;
        }
        self.sweep.map_or(Ok(()), |sweep| check_sweep(&sweep))
    }

    fn check_relative(&self, condition: &Condition) -> Result<(), String> {
        let known = |name: &String| {
            self.conditions.iter().any(|c| c.name == *name && c.relative_to.is_none())
        };
        match condition.relative_to.as_ref().filter(|name| !known(name)) {
            Some(other) => Err(format!(
                "relative_to = '{other}' is not a condition without relative_to: name another"
            )),
            None => Ok(()),
        }
    }

    fn check_condition(&self, index: usize, condition: &Condition) -> Result<(), String> {
        bounds::name("name", &condition.name, 1)?;
        bounds::name("relative_to", condition.relative_to.as_deref().unwrap_or("-"), 1)?;
        bounds::at_most("workers", condition.workers.len(), bounds::WORKERS)?;
        bounds::at_most("groups", condition.groups.len(), bounds::GROUPS)?;
        bounds::within("delta", condition.delta, 0.0..=bounds::FIGURE)?;
        bounds::within("x", condition.x, -bounds::FIGURE..=bounds::FIGURE)?;
        if self.conditions[..index].iter().any(|other| other.name == condition.name) {
            return Err("another condition has the same name: rename one".into());
        }
        if !condition.workers.iter().any(|worker| !worker.background) {
            return Err("no workers: write workers = [{ load = [\"spin\"] }]".into());
        }
        check_settle(self.settle_of(condition))?;
        for worker in &condition.workers {
            check_worker(worker, condition)?;
        }
        for (path, group) in &condition.groups {
            check_group(path, group, condition)?;
        }
        if let Some(Predict::Figure(figure)) = condition.predict {
            bounds::within("predict", Some(figure), -bounds::FIGURE..=bounds::FIGURE)?;
        }
        self.check_metric(condition)
    }

    fn check_metric(&self, condition: &Condition) -> Result<(), String> {
        let own =
            [Metric::Latency, Metric::Throughput, Metric::ProgressShare, Metric::PerConnection];
        if !own.contains(&self.metric_of(condition)) && !condition.ledger {
            return Err(
                "ledger = false, and the metric comes from the ledger: write ledger = true".into(),
            );
        }
        if own.contains(&self.metric_of(condition)) && self.ends_of(condition) == Ends::Window {
            return Err("the metric is what workers say at their end: write ends = 'done'".into());
        }
        let logged = [Metric::Burst, Metric::Period].contains(&self.metric_of(condition));
        if logged && self.ends_of(condition) == Ends::Done {
            return Err("the metric is of a window: write ends = 'window'".into());
        }
        if self.metric_of(condition) == Metric::Ratio && condition.workers.len() < 2 {
            return Err("metric = 'ratio' compares two workers: write two".into());
        }
        Ok(())
    }
}

fn check_settle(seconds: f64) -> Result<(), String> {
    match (0.0..=600.0).contains(&seconds) {
        true => Ok(()),
        false => Err(format!("settle_s = {seconds}: write 0 to 600 seconds")),
    }
}

/// Workloads of `exactop load`.
const LOADS: [&str; 8] =
    ["herd", "ackermann", "matmul", "progress", "spin", "sleepers", "spawn", "pingpong"];

fn check_sweep(sweep: &Sweep) -> Result<(), String> {
    let (from, to) = sweep.nice;
    for (what, nice) in [("nice", from), ("nice", to), ("against", sweep.against)] {
        if !(-1000..=1000).contains(&nice) {
            return Err(format!("sweep: {what} = {nice}: write -20 to 19"));
        }
    }
    match (sweep.repeats, sweep.quick_every) {
        (1..=10_000, 1..=1000) => Ok(()),
        (1..=10_000, every) => Err(format!("sweep: quick_every = {every}: write 1 to 1000")),
        (n, _) => Err(format!("sweep: repeats = {n}: write 1 to 10000")),
    }
}

fn check_worker(worker: &Worker, condition: &Condition) -> Result<(), String> {
    bounds::name("name", &worker.name, 0)?;
    let load = worker.load.first().map_or("", String::as_str);
    if worker.command.is_none() && !LOADS.contains(&load) {
        return Err(format!("load = '{load}': choose one of {}", LOADS.join(", ")));
    }
    if worker.command.as_ref().is_some_and(Vec::is_empty) {
        return Err("command = []: write a program and its arguments".into());
    }
    match &worker.count {
        Count::Number(1..=1000) => {}
        Count::Word(word) if word == "cpus" || word == "cpus+1" => {}
        other => return Err(format!("count = {other:?}: write 1 to 1000, 'cpus' or 'cpus+1'")),
    }
    match &worker.group {
        Some(group) if !condition.groups.contains_key(group) => {
            Err(format!("group = '{group}': write it under groups, too"))
        }
        _ => Ok(()),
    }
}

fn check_group(path: &str, group: &GroupLimits, condition: &Condition) -> Result<(), String> {
    let plain = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    if path.len() > bounds::NAME || !path.split('/').all(plain) {
        return Err(format!(
            "group '{path}': write names of letters, digits, - and _, with / between"
        ));
    }
    if let Some((above, _)) = path.rsplit_once('/') {
        if !condition.groups.contains_key(above) {
            return Err(format!("group '{path}': write '{above}' under groups, too"));
        }
    }
    if let Some(weight) = group.weight.filter(|w| !(1..=10_000).contains(w)) {
        return Err(format!("group '{path}': weight = {weight}: write 1 to 10000"));
    }
    match group.max.as_deref().map(str::parse::<Max>) {
        Some(Err(why)) => Err(format!("group '{path}': max: {why}")),
        _ => Ok(()),
    }
}
