//! Runs one trial: starts the workers, measures a window with the ledger, ends the workers.

mod bursts;
mod groups;
mod guard;
mod ledger;
mod metric;
mod moved;
mod progress;
mod strip;
mod top;
mod workers;

use crate::definition::{Condition, Cpus, Ends, Experiment, Metric};
use crate::plan::Turn;
use crate::record::{Point, Strip};
use crate::{validity, LabError};
use bursts::Bursts;
use exactop_cgroups::Hierarchy;
use exactop_model::on_demand::switchlog::SwitchEvent;
use exactop_model::{Needs, Window};
use exactop_sources::on_demand::switchlog::SwitchLog;
use exactop_sources::session::{self, Choice, Session};
use exactop_sources::{Request, SourceError, SplitOptions};
use groups::{Groups, Periods};
use guard::Guard;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use workers::Workers;

/// Longest time of workers that end by themselves.
const PATIENCE: Duration = Duration::from_secs(120);
/// Pause after the ledger was opened again, seconds.
const REST_S: f64 = 0.2;
/// Length of a drawn strip, s.
const STRIP_S: f64 = 0.3;
/// Length with a quota, s: it shows several periods.
const QUOTA_STRIP_S: f64 = 0.5;
/// Size of the switch log's buffer, bytes.
const LOG_BUFFER: u32 = 1 << 24;
/// Time between two checks whether the workers have ended.
const LOOK: Duration = Duration::from_millis(5);

/// Runs trials.
pub struct Lab<'a> {
    /// This program, which runs the workloads.
    pub exactop: PathBuf,
    /// Numbers of the CPUs.
    pub cpus: Vec<usize>,
    /// The CPU of trials on one CPU.
    pub lab_cpu: usize,
    /// Sleeps until an instant; fails if the run should stop.
    pub wait: &'a mut dyn FnMut(Instant) -> Result<(), LabError>,
    /// Session of the ledger; `None` during a trial without it.
    session: Option<Session>,
    guard: Rc<RefCell<Guard>>,
    hierarchy: Result<Hierarchy, String>,
}

/// Reports all tasks, and the machine's ticks.
const REQUEST: Request =
    Request { needs: Needs::MACHINE, watch: None, interval_ns: None, at_once: false };

/// Opens the exact ledger.
fn ledger() -> Result<Session, LabError> {
    let split = SplitOptions { blame_floor_ns: None, ..SplitOptions::default() };
    let opened = session::open(Choice::Ledger, split);
    opened.map_err(|error| {
        LabError::Machine(format!(
            "the lab needs the ledger: {error}: run 'exactop doctor' for the reason"
        ))
    })
}

impl<'a> Lab<'a> {
    /// Opens the ledger.
    ///
    /// # Errors
    /// [`LabError::Machine`]: the ledger is not available.
    pub fn open(
        exactop: PathBuf,
        wait: &'a mut dyn FnMut(Instant) -> Result<(), LabError>,
    ) -> Result<Lab<'a>, LabError> {
        let cpus = workers::allowed_cpus();
        let lab_cpu = *cpus.last().unwrap_or(&0);
        let session = Some(ledger()?);
        let hierarchy = Hierarchy::of_this_machine().map_err(|error| error.to_string());
        workers::leave(lab_cpu, &cpus);
        let guard = Guard::new()
            .map_err(|error| LabError::Machine(format!("cannot start /bin/sh: {error}")))?;
        let guard = Rc::new(RefCell::new(guard));
        Ok(Lab { exactop, cpus, lab_cpu, wait, session, guard, hierarchy })
    }

    /// Why a condition cannot run here; `None` if it can.
    pub fn lacks(&self, experiment: &Experiment, condition: &Condition) -> Option<String> {
        if let Err(why) = self.groups(condition) {
            return Some(why);
        }
        let mut programs: Vec<&str> = condition
            .workers
            .iter()
            .filter_map(|worker| worker.command.as_ref()?.first())
            .map(String::as_str)
            .filter(|program| *program != "{exactop}")
            .collect();
        if experiment.metric_of(condition) == Metric::TopSum {
            programs.push("top");
        }
        let missing = programs.into_iter().find(|program| !workers::is_there(program));
        missing.map(|program| format!("{program} is not installed"))
    }

    /// Runs one trial. The returned point has the reason if the trial is invalid. An error ends the
    /// run.
    ///
    /// # Errors
    /// [`LabError::Stopped`], or the ledger cannot be read any more.
    pub fn trial(
        &mut self,
        experiment: &Experiment,
        turn: Turn,
        number: usize,
    ) -> Result<Point, LabError> {
        let condition = &experiment.conditions[turn.condition];
        let (metric, ends) = (experiment.metric_of(condition), experiment.ends_of(condition));
        let setup = Setup { experiment, condition, turn, metric, ends };
        let mut point = Point {
            experiment: experiment.name.clone(),
            condition: condition.name.clone(),
            repeat: turn.repeat,
            turn: number,
            ..Point::default()
        };
        if !condition.ledger {
            // Dropping the session detaches the programs.
            self.session = None;
        }
        let measured = self.measure(&setup, &mut point);
        if self.session.is_none() {
            self.session = Some(ledger()?);
            // The kernel may free and load programs on any CPU.
            self.sleep(REST_S)?;
        }
        match measured {
            Ok(()) => {}
            Err(Trouble::Lab(error)) => return Err(error),
            Err(Trouble::Trial(why)) => point.invalid = Some(why),
        }
        if point.invalid.is_none() && condition.ledger {
            point.invalid = validity::judge(&point, &experiment.limits);
        }
        if point.invalid.is_none() && point.value.is_none() && !turn.drawn {
            point.invalid = Some("nothing was measured".into());
        }
        Ok(point)
    }

    /// Creates groups, runs workers in them, and records what was measured.
    fn measure(&mut self, setup: &Setup, point: &mut Point) -> Result<(), Trouble> {
        let groups = self.groups(setup.condition).map_err(Trouble::Trial)?;
        if setup.ends == Ends::Done {
            self.close()?;
        }
        let began = Instant::now();
        let mut workers = Workers::start(self, setup, groups.as_ref())?;
        let taken = match setup.ends {
            Ends::Window => self.in_window(setup, &mut workers, groups.as_ref(), point)?,
            Ends::Done => self.until_done(setup, &mut workers, groups.as_ref(), point)?,
        };
        point.window_ns = began.elapsed().as_nanos() as u64;
        let cpus = match setup.experiment.on {
            Cpus::One => vec![self.lab_cpu],
            Cpus::All => self.cpus.clone(),
        };
        if let Some(session) = &self.session {
            let window = taken.window.as_ref();
            let none = || Trouble::Trial("the ledger gave no window".into());
            ledger::fill(point, window.ok_or_else(none)?, session.book(), &workers, &cpus);
        }
        workers.note_niceness();
        workers.end();
        // A drawn trial does not count.
        if !setup.turn.drawn {
            point.value = metric::value(setup, point, &workers, &cpus, &taken)?;
        }
        if setup.turn.repeat == 0 && !setup.turn.drawn && setup.condition.ledger {
            point.progress = progress::parts(&workers);
        }
        let throttled: u64 = point.workers.iter().filter_map(|w| w.throttle_ns).sum();
        if !setup.has_quota() && throttled > 0 {
            let why = format!("throttled for {throttled} ns by a quota that is not the trial's");
            point.invalid = Some(why);
        }
        Ok(())
    }

    /// Groups of a condition, or why they cannot be created.
    fn groups(&self, condition: &Condition) -> Result<Option<Groups>, String> {
        if condition.groups.is_empty() {
            return Ok(None);
        }
        let hierarchy = self.hierarchy.as_ref().map_err(Clone::clone)?;
        Groups::new(hierarchy, condition).map(Some).map_err(|error| error.to_string())
    }

    /// Workers that run all the time: they settle, then a window measures a part of their run.
    fn in_window(
        &mut self,
        setup: &Setup,
        workers: &mut Workers,
        groups: Option<&Groups>,
        point: &mut Point,
    ) -> Result<TrialData, Trouble> {
        let mut watched = moved::watch(setup, workers);
        self.sleep(setup.experiment.settle_of(setup.condition))?;
        self.close()?;
        if let Some(watched) = &mut watched {
            // Drop what came before the window.
            let _ = moved::by_cause(watched);
        }
        // Count periods of the window only: starting a program takes CPU time, too.
        let before = groups.and_then(Groups::periods_of_first);
        let length_s = setup.experiment.window_s;
        let top = (setup.metric == Metric::TopSum).then(|| top::start(length_s)).transpose();
        let top = top.map_err(Trouble::Trial)?;
        let mut bursts = None;
        match (setup.turn.drawn, setup.metric) {
            (true, _) => point.strip = Some(self.draw(setup, workers)?),
            (_, Metric::Burst | Metric::Period) => bursts = Some(self.bursts(length_s, workers)?),
            // top reads once at its start and once at its end.
            (_, Metric::TopSum) => self.sleep(length_s + 0.3)?,
            _ => self.sleep(length_s)?,
        }
        let window = self.close()?;
        point.moved = watched.as_mut().and_then(moved::by_cause);
        let top = top.map(|top| top.sum(self.cpus.len())).transpose().map_err(Trouble::Trial)?;
        workers.all_alive()?;
        let periods = groups.and_then(|groups| groups.periods_since(before?));
        Ok(TrialData { window, top, bursts, periods })
    }

    /// Workers that end by themselves.
    fn until_done(
        &mut self,
        setup: &Setup,
        workers: &mut Workers,
        groups: Option<&Groups>,
        point: &mut Point,
    ) -> Result<TrialData, Trouble> {
        let before = groups.and_then(Groups::periods_of_first);
        if setup.turn.drawn {
            point.strip = Some(self.draw(setup, workers)?);
        }
        let end = Instant::now() + PATIENCE;
        while !workers.are_done()? {
            if Instant::now() > end {
                return Err(Trouble::Trial(format!("not done after {} s", PATIENCE.as_secs())));
            }
            (self.wait)(Instant::now() + LOOK)?;
        }
        let window = self.close()?;
        let periods = groups.and_then(|groups| groups.periods_since(before?));
        Ok(TrialData { window, periods, top: None, bursts: None })
    }

    fn sleep(&mut self, seconds: f64) -> Result<(), LabError> {
        (self.wait)(Instant::now() + Duration::from_secs_f64(seconds))
    }

    /// Records the strip of a part of the window.
    fn draw(&mut self, setup: &Setup, workers: &Workers) -> Result<Strip, Trouble> {
        let most = if setup.has_quota() { QUOTA_STRIP_S } else { STRIP_S };
        let (events, lost) = self.logged(setup.experiment.window_s.min(most))?;
        let ours = |cpu: &usize| *cpu == self.lab_cpu || workers.run_everywhere;
        let cpus: Vec<usize> = self.cpus.iter().copied().filter(ours).collect();
        Ok(strip::build(&events, &workers.by_pid(), &cpus, setup.has_quota(), lost))
    }

    fn bursts(&mut self, window_s: f64, workers: &Workers) -> Result<Bursts, Trouble> {
        match self.logged(window_s)? {
            (events, 0) => Ok(bursts::find(&events, &workers.pids_of_first())),
            (_, lost) => {
                Err(Trouble::Trial(format!("the switch log has no room for {lost} events")))
            }
        }
    }

    /// Switch log of `seconds` seconds, and the number of lost events.
    fn logged(&mut self, seconds: f64) -> Result<(Vec<SwitchEvent>, u64), Trouble> {
        let mut log = SwitchLog::open(LOG_BUFFER).map_err(broken)?;
        self.sleep(seconds)?;
        log.stop();
        let mut events = Vec::new();
        loop {
            let some = log.read().map_err(broken)?;
            if some.is_empty() {
                return Ok((events, log.lost()));
            }
            events.extend(some);
        }
    }

    /// Closes the open window and opens the next; `None` without the ledger.
    fn close(&mut self) -> Result<Option<Window>, Trouble> {
        let Some(session) = &mut self.session else { return Ok(None) };
        session.advance(&REQUEST).map_err(broken)?;
        Ok(session.window().cloned())
    }
}

/// A trial to run.
struct Setup<'a> {
    experiment: &'a Experiment,
    condition: &'a Condition,
    turn: Turn,
    metric: Metric,
    ends: Ends,
}

impl Setup<'_> {
    fn has_quota(&self) -> bool {
        self.condition.groups.values().any(|group| group.max.is_some())
    }
}

struct TrialData {
    /// The ledger's window; `None` without the ledger.
    window: Option<Window>,
    /// Sum of top's rows.
    top: Option<f64>,
    /// Bursts of the first worker, if the switch log was on.
    bursts: Option<Bursts>,
    periods: Option<Periods>,
}

/// Why a trial ends early.
pub(crate) enum Trouble {
    /// The trial is invalid.
    Trial(String),
    /// The run ends.
    Lab(LabError),
}

impl From<LabError> for Trouble {
    fn from(error: LabError) -> Trouble {
        Trouble::Lab(error)
    }
}

/// The ledger or the switch log failed: further trials would fail, too.
fn broken(error: SourceError) -> Trouble {
    Trouble::Lab(LabError::Machine(error.to_string()))
}
