//! A fuzz target: its inputs, its running time, and its findings.

use crate::corpus::{keep, kept};
use crate::inputs::{Inputs, Parts};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use rustix::time::{clock_gettime, ClockId};
use std::cell::Cell;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Default number of mutations.
const CASES: u32 = 3_000;
/// Seed of the mutations. It is fixed, so that a passing test passes again.
const SEED: u64 = 1;
/// CPU time after which an input is a finding, s; each 10 KiB of input add as much.
const LONGEST_S: u64 = 10;
/// Time after which a case counts as endless, even if others use the CPUs.
const NEVER: Duration = Duration::from_secs(1200);
/// Environment variable with the seconds of a longer run.
const SECONDS: &str = "EXACTOP_FUZZ_SECONDS";
/// Environment variable with the seed of a longer run; by default each run has its own.
const FROM: &str = "EXACTOP_FUZZ_FROM";

/// A fuzz target.
#[derive(Debug)]
pub struct Target {
    directory: PathBuf,
    inputs: Inputs,
    cases: u32,
}

impl Target {
    /// Creates a target with its corpus directory ([`corpus!`](crate::corpus)).
    pub fn new(directory: impl Into<PathBuf>) -> Target {
        let inputs = Inputs { examples: Vec::new(), words: Vec::new() };
        Target { directory: directory.into(), inputs, cases: CASES }
    }

    /// Adds valid inputs as examples. Most mutations keep their structure.
    pub fn examples<T: AsRef<[u8]>>(mut self, examples: impl IntoIterator<Item = T>) -> Target {
        self.inputs.examples.extend(examples.into_iter().map(|example| example.as_ref().to_vec()));
        self
    }

    /// Adds words that the tested code knows.
    pub fn words<T: AsRef<[u8]>>(mut self, words: impl IntoIterator<Item = T>) -> Target {
        self.inputs.words.extend(words.into_iter().map(|word| word.as_ref().to_vec()));
        self
    }

    /// Sets the number of mutations of an ordinary test run, for slow targets.
    pub fn cases(mut self, cases: u32) -> Target {
        self.cases = cases;
        self
    }

    /// Runs `case` on the corpus, the examples and mutations.
    ///
    /// # Panics
    /// If `case` panics; the input is then kept.
    pub fn run(self, case: impl Fn(&[u8])) {
        self.run_for(number(SECONDS).map(Duration::from_secs), &case);
    }

    /// Runs mutations for this time, else for the number of cases.
    fn run_for(mut self, time: Option<Duration>, case: &dyn Fn(&[u8])) {
        let name = self.name();
        for (path, input) in kept(&self.directory) {
            if let Err(error) = check(case, &input) {
                panic!("{name}: fails again on {}: {error}", path.display());
            }
            self.inputs.examples.push(input);
        }
        let seed = time.map_or(SEED, |_| number(FROM).unwrap_or_else(rand::random));
        let config = Config {
            rng_seed: RngSeed::Fixed(seed),
            max_shrink_iters: 5_000,
            max_shrink_time: 60_000,
            ..Config::default()
        };
        let mut runner = TestRunner::new(config);
        let watch = Watch::new(time.map(|_| self.place()));
        for example in &self.inputs.examples {
            self.try_one(Parts::new(example.clone()), &mut runner, &watch, case);
        }
        let (start, mut done) = (Instant::now(), 0);
        while time.map_or(done < self.cases, |time| start.elapsed() < time) {
            let tree = self.inputs.new_tree(&mut runner).expect("an input can always be drawn");
            self.try_one(tree, &mut runner, &watch, case);
            done += 1;
        }
        let seconds = start.elapsed().as_secs();
        eprintln!("fuzz {name}: {done} cases in {seconds} s, seed {seed}, nothing found");
    }

    /// Runs one input; if it fails, shrinks it, keeps it and panics.
    fn try_one(&self, tree: Parts, runner: &mut TestRunner, watch: &Watch, case: &dyn Fn(&[u8])) {
        let failed = Cell::new(false);
        let done = runner.run_one(tree, |input| {
            watch.begins(&input);
            let result = check(case, &input);
            if result.is_err() && !failed.replace(true) {
                // Print a finding once, not at every step of shrinking.
                panic::set_hook(Box::new(|_| ()));
            }
            result
        });
        let Err(error) = done else { return };
        drop(panic::take_hook());
        let TestError::Fail(reason, small) = error else { panic!("{}: {error}", self.name()) };
        let kept = keep(&self.directory, &small);
        let (name, input) = (self.name(), small.escape_ascii());
        let seed = runner.config().rng_seed;
        panic!("{name}: {reason} on \"{input}\" (seed {seed}); {kept}");
    }

    fn name(&self) -> String {
        let name = self.directory.file_name();
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// File with the current input. It remains if the input ends the whole program, as a stack
    /// overflow does.
    fn place(&self) -> PathBuf {
        self.directory.with_file_name(format!("{}.trying", self.name()))
    }
}

/// Fails if an input makes the case panic or takes too long.
fn check(case: &dyn Fn(&[u8]), input: &[u8]) -> Result<(), TestCaseError> {
    let before = thread_cpu_s();
    let done = panic::catch_unwind(AssertUnwindSafe(|| case(input)));
    let took = thread_cpu_s() - before;
    done.map_err(|_| TestCaseError::fail("panics"))?;
    match took > LONGEST_S + LONGEST_S * input.len() as u64 / 10_240 {
        true => Err(TestCaseError::fail(format!("takes {took} s of CPU time"))),
        false => Ok(()),
    }
}

/// CPU time, so that a busy machine does not make a case slow.
fn thread_cpu_s() -> u64 {
    clock_gettime(ClockId::ThreadCPUTime).tv_sec.unsigned_abs()
}

/// A whole number from the environment.
///
/// # Panics
/// If the variable is set but is not a number.
fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text}: write a number")))
}

/// Ends the program if a case exceeds `NEVER`; the current input is then in its file.
struct Watch {
    since: Arc<Mutex<Instant>>,
    trying: Option<(PathBuf, File)>,
}

impl Watch {
    fn new(place: Option<PathBuf>) -> Watch {
        let trying = place.map(|place| {
            eprintln!("what it tries is in {}, should it not come back", place.display());
            let made = place.parent().map_or(Ok(()), fs::create_dir_all);
            let file = made.and_then(|()| File::create(&place));
            let file =
                file.unwrap_or_else(|error| panic!("cannot write {}: {error}", place.display()));
            (place, file)
        });
        let since = Arc::new(Mutex::new(Instant::now()));
        let watched = Arc::downgrade(&since);
        std::thread::spawn(move || {
            while let Some(since) = watched.upgrade() {
                if since.lock().expect("no thread panics with it").elapsed() > NEVER {
                    eprintln!("a case does not end");
                    std::process::abort();
                }
                drop(since);
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        Watch { since, trying }
    }

    fn begins(&self, input: &[u8]) {
        *self.since.lock().expect("no thread panics with it") = Instant::now();
        if let Some((_, file)) = &self.trying {
            let written = file.set_len(0).and_then(|()| file.write_all_at(input, 0));
            written.expect("the file for the input that is being tried");
        }
    }
}

impl Drop for Watch {
    /// The program survived the input: a finding is in the corpus.
    fn drop(&mut self) {
        self.trying.take().map(|(place, _)| fs::remove_file(place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> (tempfile::TempDir, Target) {
        let directory = tempfile::tempdir().expect("a directory");
        let target = Target::new(directory.path().join("planted"));
        (directory, target.examples([b"a line of text".as_slice()]).words(["needle"]))
    }

    #[test]
    fn a_planted_bug_is_found_shrunk_kept_and_found_again() {
        let has_needle = |input: &[u8]| input.windows(6).any(|part| part == b"needle");
        let case = |input: &[u8]| assert!(!has_needle(input), "planted");
        let (directory, found) = target();
        assert!(panic::catch_unwind(AssertUnwindSafe(|| found.run(case))).is_err());
        let kept = kept(&directory.path().join("planted"));
        assert_eq!(kept.iter().map(|(_, input)| input.as_slice()).collect::<Vec<_>>(), [b"needle"]);
        // Without any mutation it fails on the kept input.
        let again = Target::new(directory.path().join("planted")).cases(0);
        assert!(panic::catch_unwind(AssertUnwindSafe(|| again.run(case))).is_err());
    }

    #[test]
    fn a_planted_bug_ends_a_timed_run_and_leaves_only_its_input() {
        let (directory, target) = target();
        let case = |input: &[u8]| assert!(!input.ends_with(b"needle"), "planted");
        let time = Some(Duration::from_secs(3600));
        let run = AssertUnwindSafe(|| target.run_for(time, &case));
        assert!(panic::catch_unwind(run).is_err());
        let kept = kept(&directory.path().join("planted"));
        assert_eq!(kept.iter().map(|(_, input)| input.as_slice()).collect::<Vec<_>>(), [b"needle"]);
        assert!(!directory.path().join("planted.trying").exists());
    }

    #[test]
    fn examples_and_mutations_reach_the_case() {
        let (_directory, target) = target();
        let (cases, same) = (Cell::new(0), Cell::new(0));
        target.cases(500).run_for(None, &|input| {
            cases.set(cases.get() + 1);
            same.set(same.get() + u32::from(input == b"a line of text"));
        });
        assert_eq!(cases.get(), 501);
        assert!(same.get() < 250);
    }

    #[test]
    fn the_current_input_of_a_timed_run_is_in_a_file() {
        let (directory, target) = target();
        let place = directory.path().join("planted.trying");
        let (time, tried) = (Duration::from_millis(200), Cell::new(0));
        let start = Instant::now();
        target.cases(0).run_for(Some(time), &|input| {
            tried.set(tried.get() + 1);
            assert_eq!(fs::read(&place).expect("there"), input);
        });
        assert!(start.elapsed() >= time && tried.get() > 1);
        assert!(!place.exists());
    }
}
