//! One trial: workers are started, the ledger accounts a window, the workers are ended.

mod bursts;
mod groups;
mod guard;
mod metric;
mod moved;
mod progress;
mod seen;
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

/// How long workers that end by themselves may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the machine rests after the ledger was opened again, seconds.
const REST_S: f64 = 0.2;
/// How much of a window is drawn, seconds, with a quota more, to see some periods; and room for its
/// events.
const STRIP_S: f64 = 0.3;
const QUOTA_STRIP_S: f64 = 0.5;
const LOG_BUFFER: u32 = 1 << 24;
/// How often it is looked whether they have.
const LOOK: Duration = Duration::from_millis(5);

/// Where trials are made.
pub struct Lab<'a> {
    /// This program, for workloads.
    pub exactop: PathBuf,
    /// CPUs by number.
    pub cpus: Vec<usize>,
    /// That of trials on one CPU.
    pub lab_cpu: usize,
    /// Sleeps until then, or says that all is to end.
    pub wait: &'a mut dyn FnMut(Instant) -> Result<(), LabError>,
    /// The ledger's; none while a trial is made without it.
    session: Option<Session>,
    guard: Rc<RefCell<Guard>>,
    hierarchy: Result<Hierarchy, String>,
}

/// Everyone is told of: the header's ticks too.
const REQUEST: Request = Request { needs: Needs::MACHINE, watch: None, interval_ns: None };

/// Opens the exact ledger.
fn ledger() -> Result<Session, LabError> {
    let opened = session::open(Choice::Ledger, SplitOptions::default());
    opened.map_err(|error| {
        LabError::Machine(format!("the lab needs the ledger: {error} ('exactop doctor' says more)"))
    })
}

impl<'a> Lab<'a> {
    /// Opens the ledger.
    ///
    /// # Errors
    /// [`LabError::Machine`]: why there is none.
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

    /// Why an experiment's condition cannot be tried here, if it cannot.
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

    /// Makes one trial. What makes it not count is in the point; an error ends the run.
    ///
    /// # Errors
    /// [`LabError::Stopped`], and when the ledger cannot be read any more.
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
            // The programs go with the session.
            self.session = None;
        }
        let measured = self.measure(&setup, &mut point);
        if self.session.is_none() {
            self.session = Some(ledger()?);
            // The kernel frees and makes programs on whatever CPU.
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

    /// Groups are made, workers run in them, and what was taken meanwhile is told.
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
            seen::fill(point, window.ok_or_else(none)?, session.book(), &workers, &cpus);
        }
        workers.note_niceness();
        workers.end();
        // What is drawn does not count.
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

    /// The groups of a condition, or why there can be none.
    fn groups(&self, condition: &Condition) -> Result<Option<Groups>, String> {
        if condition.groups.is_empty() {
            return Ok(None);
        }
        let hierarchy = self.hierarchy.as_ref().map_err(Clone::clone)?;
        Groups::new(hierarchy, condition).map(Some).map_err(|error| error.to_string())
    }

    /// Workers settle; then a window is closed around a part of what they do.
    fn in_window(
        &mut self,
        setup: &Setup,
        workers: &mut Workers,
        groups: Option<&Groups>,
        point: &mut Point,
    ) -> Result<Taken, Trouble> {
        let mut watched = moved::watch(setup, workers);
        self.sleep(setup.experiment.settle_of(setup.condition))?;
        self.close()?;
        if let Some(watched) = &mut watched {
            // What came before the window is nobody's.
            let _ = moved::by_cause(watched);
        }
        // Of the window alone: a program's start takes CPU time, too.
        let before = groups.and_then(Groups::periods_of_first);
        let length_s = setup.experiment.window_s;
        let top = (setup.metric == Metric::TopSum).then(|| top::start(length_s)).transpose();
        let top = top.map_err(Trouble::Trial)?;
        let mut bursts = None;
        match (setup.turn.drawn, setup.metric) {
            (true, _) => point.strip = Some(self.draw(setup, workers)?),
            (_, Metric::Burst | Metric::Period) => bursts = Some(self.bursts(length_s, workers)?),
            // top looks once at its start and once at its end.
            (_, Metric::TopSum) => self.sleep(length_s + 0.3)?,
            _ => self.sleep(length_s)?,
        }
        let window = self.close()?;
        point.moved = watched.as_mut().and_then(moved::by_cause);
        let top = top.map(|top| top.sum(self.cpus.len())).transpose().map_err(Trouble::Trial)?;
        workers.all_alive()?;
        let periods = groups.and_then(|groups| groups.periods_since(before?));
        Ok(Taken { window, top, bursts, periods })
    }

    /// Workers end by themselves.
    fn until_done(
        &mut self,
        setup: &Setup,
        workers: &mut Workers,
        groups: Option<&Groups>,
        point: &mut Point,
    ) -> Result<Taken, Trouble> {
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
        Ok(Taken { window, periods, top: None, bursts: None })
    }

    fn sleep(&mut self, seconds: f64) -> Result<(), LabError> {
        (self.wait)(Instant::now() + Duration::from_secs_f64(seconds))
    }

    /// Who runs when, for a part of the window.
    fn draw(&mut self, setup: &Setup, workers: &Workers) -> Result<Strip, Trouble> {
        let most = if setup.has_quota() { QUOTA_STRIP_S } else { STRIP_S };
        let (events, lost) = self.logged(setup.experiment.window_s.min(most))?;
        let ours = |cpu: &usize| *cpu == self.lab_cpu || workers.run_everywhere;
        let cpus: Vec<usize> = self.cpus.iter().copied().filter(ours).collect();
        Ok(strip::of(&events, &workers.by_pid(), &cpus, setup.has_quota(), lost))
    }

    /// The first worker's, for a window.
    fn bursts(&mut self, window_s: f64, workers: &Workers) -> Result<Bursts, Trouble> {
        match self.logged(window_s)? {
            (events, 0) => Ok(bursts::of(&events, &workers.pids_of_first())),
            (_, lost) => {
                Err(Trouble::Trial(format!("the switch log has no room for {lost} events")))
            }
        }
    }

    /// The switch log of so many seconds, and how many events it lost.
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

    /// Closes the window that was open, and opens the next; without the ledger there are none.
    fn close(&mut self) -> Result<Option<Window>, Trouble> {
        let Some(session) = &mut self.session else { return Ok(None) };
        session.advance(&REQUEST).map_err(broken)?;
        Ok(session.window().cloned())
    }
}

/// A trial as it is to be made.
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

/// What was taken while workers ran.
struct Taken {
    /// The ledger's, with the ledger.
    window: Option<Window>,
    /// What top's rows added up to.
    top: Option<f64>,
    /// The first worker's, if the switch log was on.
    bursts: Option<Bursts>,
    /// The quota's periods.
    periods: Option<Periods>,
}

/// What ends a trial before its end.
pub(crate) enum Trouble {
    /// The trial does not count.
    Trial(String),
    /// The run is over.
    Lab(LabError),
}

impl From<LabError> for Trouble {
    fn from(error: LabError) -> Trouble {
        Trouble::Lab(error)
    }
}

/// The ledger or the switch log does not answer: no further trial would do better.
fn broken(error: SourceError) -> Trouble {
    Trouble::Lab(LabError::Machine(error.to_string()))
}
