//! Parses the output of `exactop load progress`.

use super::workers::Workers;
use serde::Deserialize;

/// Points that are kept of each process, for drawing.
const PARTS: usize = 50;

/// The last line.
#[derive(Clone, Debug, Deserialize)]
pub struct Done {
    /// Steps of each process.
    pub steps: u64,
    /// Number of processes.
    pub procs: u64,
    /// Time until the last was done, ns.
    pub elapsed_ns: u64,
}

/// A finished step.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Step {
    /// Number of the process.
    pub id: usize,
    /// Steps done so far.
    pub step: usize,
    /// Time since the start, ns.
    pub elapsed_ns: u64,
}

/// The last line of the output.
pub fn done(text: &str) -> Option<Done> {
    text.lines().rev().find_map(|line| serde_json::from_str(line).ok())
}

fn steps(text: &str) -> impl Iterator<Item = Step> + '_ {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// Steps of the first process over those of all, until one process had done all its steps.
pub fn share_until_first(text: &str) -> Option<f64> {
    let last = done(text)?;
    let all: Vec<Step> = steps(text).collect();
    let ends = all.iter().filter(|step| step.step as u64 == last.steps);
    let first_ns = ends.map(|step| step.elapsed_ns).min()?;
    let within = all.iter().filter(|step| step.step > 0 && step.elapsed_ns <= first_ns);
    let (mut own, mut sum) = (0u64, 0u64);
    for step in within {
        own += u64::from(step.id == 0);
        sum += 1;
    }
    (sum > 0).then(|| own as f64 / sum as f64)
}

/// For each process of the first worker that reports steps: times (ms) at which 0, 1/50, 2/50 ...
/// of them were done.
pub fn parts(workers: &Workers) -> Vec<Vec<f64>> {
    let told = workers.started.iter().find_map(|w| Some((done(&w.output)?, &w.output)));
    let Some((last, text)) = told else { return Vec::new() };
    let mut parts = vec![Vec::new(); last.procs as usize];
    let every = (last.steps as usize).div_ceil(PARTS).max(1);
    for step in steps(text).filter(|step| step.step % every == 0) {
        if let Some(own) = parts.get_mut(step.id) {
            own.push(step.elapsed_ns as f64 / 1e6);
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: usize, step: usize, ms: u64) -> String {
        format!(
            "{{\"load\":\"progress\",\"id\":{id},\"pid\":1,\"step\":{step},\"elapsed_ns\":{}}}\n",
            ms * 1_000_000
        )
    }

    #[test]
    fn steps_after_the_first_finisher_do_not_count() {
        let mut text: String = (0..=4).map(|s| line(0, s, s as u64 * 10)).collect();
        text += &line(1, 1, 20);
        text += &line(1, 2, 40);
        text += &line(1, 3, 45);
        text += &line(1, 4, 50);
        text += "{\"event\":\"done\",\"procs\":2,\"steps\":4,\"elapsed_ns\":50000000}\n";
        // Four of the first process, two of the second.
        assert_eq!(share_until_first(&text), Some(4.0 / 6.0));
        assert_eq!(done(&text).unwrap().elapsed_ns, 50_000_000);
        assert_eq!(share_until_first("nothing"), None);
    }
}
