//! One target: its inputs, how long it runs, and what becomes of a finding.

use crate::findings::{keep, kept, smaller};
use crate::mutate::mutated;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::time::{clock_gettime, ClockId};
use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Mutations when no time is asked for.
const CASES: u64 = 3_000;
/// The seed of these, so that a test which passed passes again.
const SEED: u64 = 1;
/// One that keeps a CPU this long, and as long again for every 10 KiB of it, is a finding.
const LONGEST_S: u64 = 10;
/// An input whose case has not ended by then never will, even where others have the CPUs.
const NEVER: Duration = Duration::from_secs(1200);
/// The variable that lengthens a run.
const SECONDS: &str = "EXACTOP_FUZZ_SECONDS";
/// Where the drawing of cases begins; else each run has its own.
const FROM: &str = "EXACTOP_FUZZ_FROM";

/// A fuzz target in the making.
#[derive(Debug)]
pub struct Target {
    directory: PathBuf,
    pool: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    cases: u64,
}

/// How long it goes on, and with which random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plan {
    seed: u64,
    cases: u64,
    until: Option<Duration>,
}

impl Target {
    /// A target with its corpus directory ([`corpus!`](crate::corpus)).
    pub fn new(directory: impl Into<PathBuf>) -> Target {
        let (pool, words) = (Vec::new(), Vec::new());
        Target { directory: directory.into(), pool, words, cases: CASES }
    }

    /// Inputs to begin with: real ones, whose structure the mutations then mostly have.
    pub fn examples<T: AsRef<[u8]>>(mut self, examples: impl IntoIterator<Item = T>) -> Target {
        self.pool.extend(examples.into_iter().map(|example| example.as_ref().to_vec()));
        self
    }

    /// Words that mean something to what is tested.
    pub fn words<T: AsRef<[u8]>>(mut self, words: impl IntoIterator<Item = T>) -> Target {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_vec()));
        self
    }

    /// How many mutations an ordinary test run makes, for targets that are slow.
    pub fn cases(mut self, cases: u64) -> Target {
        self.cases = cases;
        self
    }

    /// Feeds `case`: what was found before, the examples, mutations.
    ///
    /// # Panics
    /// When `case` does; the input is then kept.
    pub fn run(self, case: impl Fn(&[u8])) {
        let plan = self.plan(std::env::var(SECONDS).ok().as_deref());
        self.carry_out(plan, &case);
    }

    fn plan(&self, seconds: Option<&str>) -> Plan {
        match seconds {
            None => Plan { seed: SEED, cases: self.cases, until: None },
            Some(text) => {
                let seconds = text.parse::<u32>().unwrap_or_else(|_| {
                    panic!("{SECONDS}={text}: write how many seconds a target is to run")
                });
                let until = Some(Duration::from_secs(seconds.into()));
                Plan {
                    seed: given_seed().unwrap_or_else(|| rand::rng().random()),
                    cases: u64::MAX,
                    until,
                }
            }
        }
    }

    fn carry_out(mut self, plan: Plan, case: &dyn Fn(&[u8])) {
        let name = self.name();
        let found_before = kept(&self.directory);
        for (path, input) in &found_before {
            if fails(case, input) {
                panic!("{name}: fails again on {}", path.display());
            }
        }
        self.pool.extend(found_before.into_iter().map(|(_, input)| input));
        let place = plan.until.map(|_| self.place());
        if let Some(place) = &place {
            eprintln!("{name}: what it tries is in {}, should it not come back", place.display());
        }
        let watch = Watch::new(self.directory.clone(), place.as_deref());
        for input in &self.pool {
            self.check(&watch, case, input, plan);
        }
        let mut rng = SmallRng::seed_from_u64(plan.seed);
        let (start, mut done) = (Instant::now(), 0);
        while done < plan.cases && plan.until.is_none_or(|until| start.elapsed() < until) {
            let input = mutated(&self.pool, &self.words, &mut rng);
            self.check(&watch, case, &input, plan);
            done += 1;
        }
        if let Some(place) = place {
            // Nobody was ended by it.
            let _ = std::fs::remove_file(place);
        }
        let (seconds, seed) = (start.elapsed().as_secs(), plan.seed);
        eprintln!("fuzz {name}: {done} cases in {seconds} s, seed {seed}, nothing found");
    }

    fn name(&self) -> String {
        let name = self.directory.file_name();
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Where the input that is being tried is, in case it takes the whole program with it: a stack
    /// that overflows cannot be caught.
    fn place(&self) -> PathBuf {
        self.directory.with_file_name(format!("{}.trying", self.name()))
    }

    fn check(&self, watch: &Watch, case: &dyn Fn(&[u8]), input: &[u8], plan: Plan) {
        watch.begins(input);
        if !fails(case, input) {
            return;
        }
        watch.idle();
        let _ = std::fs::remove_file(self.place());
        let small = quietly(|| smaller(input, |input| fails(case, input)));
        let kept = keep(&self.directory, &small);
        panic!(
            "{}: failed on {:?} (seed {}); {kept}",
            self.name(),
            small.escape_ascii().to_string(),
            plan.seed
        );
    }
}

/// Whether an input makes the case panic, or takes it too long.
fn fails(case: &dyn Fn(&[u8]), input: &[u8]) -> bool {
    let before = thread_cpu_s();
    let panicked = catch_unwind(AssertUnwindSafe(|| case(input))).is_err();
    let took = thread_cpu_s() - before;
    let longest = LONGEST_S + LONGEST_S * input.len() as u64 / 10_240;
    if took > longest {
        eprintln!("an input of {} bytes took {took} s of CPU time", input.len());
    }
    panicked || took > longest
}

thread_local! {
    /// Whether panics of this thread say nothing.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// One finding is told once, not as often as it is tried while it is made smaller.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let tell = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                tell(panic);
            }
        }));
    });
    QUIET.set(true);
    let done = work();
    QUIET.set(false);
    done
}

/// CPU time, so that a busy machine makes nothing slow.
fn thread_cpu_s() -> u64 {
    clock_gettime(ClockId::ThreadCPUTime).tv_sec.unsigned_abs()
}

/// Ends the program when a case never does, and keeps its input first.
struct Watch {
    current: Arc<Mutex<Current>>,
    trying: Option<File>,
}

/// The input that is being tried, and since when.
type Current = Option<(Instant, Vec<u8>)>;

impl Watch {
    fn new(directory: PathBuf, place: Option<&Path>) -> Watch {
        let trying = place.map(|place| {
            let made = directory.parent().map_or(Ok(()), std::fs::create_dir_all);
            made.and_then(|()| File::create(place))
                .unwrap_or_else(|error| panic!("cannot write {}: {error}", place.display()))
        });
        let current = Arc::new(Mutex::new(Current::None));
        let seen = Arc::downgrade(&current);
        std::thread::spawn(move || {
            while let Some(current) = seen.upgrade() {
                if let Some((since, input)) = &*lock(&current) {
                    if since.elapsed() > NEVER {
                        eprintln!("a case does not end; {}", keep(&directory, input));
                        std::process::abort();
                    }
                }
                drop(current);
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        Watch { current, trying }
    }

    fn begins(&self, input: &[u8]) {
        *lock(&self.current) = Some((Instant::now(), input.to_vec()));
        if let Some(trying) = &self.trying {
            let written = trying.set_len(0).and_then(|()| trying.write_all_at(input, 0));
            written.expect("the file for the input that is being tried");
        }
    }

    fn idle(&self) {
        *lock(&self.current) = None;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn given_seed() -> Option<u64> {
    let text = std::env::var(FROM).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{FROM}={text}: write a number")))
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
    fn a_planted_bug_is_found_made_small_kept_and_found_again() {
        let has_needle = |input: &[u8]| input.windows(6).any(|part| part == b"needle");
        let case = |input: &[u8]| assert!(!has_needle(input), "planted");
        let (directory, found) = target();
        assert!(catch_unwind(AssertUnwindSafe(|| found.run(case))).is_err());
        let kept = kept(&directory.path().join("planted"));
        assert_eq!(kept.iter().map(|(_, input)| input.as_slice()).collect::<Vec<_>>(), [b"needle"]);
        // Without any mutation it fails on what is kept.
        let again = Target::new(directory.path().join("planted")).cases(0);
        assert!(catch_unwind(AssertUnwindSafe(|| again.run(case))).is_err());
    }

    #[test]
    fn examples_and_mutations_reach_the_case() {
        let (_directory, target) = target();
        let (cases, same) = (Cell::new(0), Cell::new(0));
        target.cases(500).carry_out(Plan { seed: 3, cases: 500, until: None }, &|input| {
            cases.set(cases.get() + 1);
            same.set(same.get() + u32::from(input == b"a line of text"));
        });
        assert_eq!(cases.get(), 501);
        assert!(same.get() < 250);
    }

    #[test]
    fn what_is_being_tried_is_in_a_file_meanwhile() {
        let (directory, target) = target();
        let place = directory.path().join("planted.trying");
        let plan = Plan { seed: 3, cases: 50, until: Some(Duration::from_secs(60)) };
        target.carry_out(plan, &|input| assert_eq!(std::fs::read(&place).expect("there"), input));
        assert!(!place.exists());
    }

    #[test]
    fn time_asked_for_is_the_only_end() {
        let (_directory, target) = target();
        let plan = target.plan(Some("60"));
        assert_eq!((plan.cases, plan.until), (u64::MAX, Some(Duration::from_secs(60))));
        assert_eq!(target.plan(None), Plan { seed: SEED, cases: CASES, until: None });
    }
}
