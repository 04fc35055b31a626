//! One trial: workers are started, the ledger accounts a window, the workers are ended.

mod bursts;
mod groups;
mod guard;
mod metric;
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
use groups::Groups;
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
    session: Session,
    guard: Rc<RefCell<Guard>>,
    hierarchy: Result<Hierarchy, String>,
}

/// Everyone is told of: the header's ticks too.
const REQUEST: Request = Request { needs: Needs::MACHINE, watch: None };

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
        let session = ledger()?;
        let hierarchy = Hierarchy::of_this_machine().map_err(|error| error.to_string());
        workers::leave(lab_cpu, &cpus);
        let guard = Guard::new()
            .map_err(|error| LabError::Machine(format!("cannot start /bin/sh: {error}")))?;
        let guard = Rc::new(RefCell::new(guard));
        Ok(Lab { exactop, cpus, lab_cpu, wait, session, guard, hierarchy })
    }

    /// Why an experiment's condition cannot be tried here, if it cannot.
    pub fn lacks(&self, experiment: &Experiment, condition: &Condition) -> Option<String> {
        if !condition.groups.is_empty() {
            let made = self.hierarchy.as_ref().map_err(Clone::clone).and_then(|hierarchy| {
                Groups::new(hierarchy, condition).map(drop).map_err(|error| error.to_string())
            });
            if let Err(why) = made {
                return Some(why);
            }
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
        let mut point = Point {
            experiment: experiment.name.clone(),
            condition: condition.name.clone(),
            repeat: turn.repeat,
            turn: number,
            ..Point::default()
        };
        let measured = match condition.ledger {
            true => self.measure(experiment, condition, turn, &mut point),
            false => self.without_ledger(experiment, condition, turn, &mut point),
        };
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

    fn measure(
        &mut self,
        experiment: &Experiment,
        condition: &Condition,
        turn: Turn,
        point: &mut Point,
    ) -> Result<(), Trouble> {
        let groups = match (&self.hierarchy, condition.groups.is_empty()) {
            (_, true) => None,
            (Ok(hierarchy), _) => {
                Some(Groups::new(hierarchy, condition).map_err(|e| Trouble::Trial(e.to_string()))?)
            }
            (Err(why), _) => return Err(Trouble::Trial(why.clone())),
        };
        if experiment.ends_of(condition) == Ends::Done {
            self.close()?;
        }
        let mut workers = Workers::start(self, experiment, condition, turn, groups.as_ref())?;
        let mut before = groups.as_ref().and_then(|g| g.periods_of_first(condition));
        let mut bursts = None;
        let (window, top) = match experiment.ends_of(condition) {
            Ends::Window => {
                self.sleep(experiment.settle_of(condition))?;
                self.close()?;
                // Of the window alone: a program's start takes CPU time, too.
                before = groups.as_ref().and_then(|g| g.periods_of_first(condition));
                let metric = experiment.metric_of(condition);
                let top = (metric == Metric::TopSum).then(|| top::start(experiment.window_s));
                let top = top.transpose().map_err(Trouble::Trial)?;
                // top looks once at its start and once at its end.
                let more = if top.is_some() { 0.3 } else { 0.0 };
                match (turn.drawn, metric) {
                    (true, _) => point.strip = Some(self.draw(experiment, condition, &workers)?),
                    (_, Metric::Burst | Metric::Period) => {
                        bursts = Some(self.bursts(experiment.window_s, &workers)?);
                    }
                    _ => self.sleep(experiment.window_s + more)?,
                }
                let window = self.close()?;
                let sum = top.map(|top| top.sum(self.cpus.len())).transpose();
                (window, sum.map_err(Trouble::Trial)?)
            }
            Ends::Done => {
                if turn.drawn {
                    point.strip = Some(self.draw(experiment, condition, &workers)?);
                }
                self.until_done(&mut workers)?;
                (self.close()?, None)
            }
        };
        let window = window.ok_or_else(|| Trouble::Trial("the ledger gave no window".into()))?;
        if experiment.ends_of(condition) == Ends::Window {
            workers.all_alive()?;
        }
        let one = experiment.on == Cpus::One;
        let cpus = if one { vec![self.lab_cpu] } else { self.cpus.clone() };
        seen::fill(point, &window, self.session.book(), &workers, &cpus);
        let after = groups.as_ref().and_then(|g| g.periods_of_first(condition));
        let periods = after.zip(before).map(|(after, before)| after.since(before));
        workers.note_niceness();
        workers.end();
        // What is drawn does not count.
        if !turn.drawn {
            let (window, workers, bursts) = (&window, &workers, bursts.as_ref());
            let taken = metric::Taken { window, workers, top, periods, bursts, cpus: &cpus };
            point.value = metric::value(experiment, condition, point, &taken)?;
        }
        if turn.repeat == 0 && !turn.drawn {
            point.progress = progress::parts(&workers);
        }
        let quota = condition.groups.values().any(|group| group.max.is_some());
        let throttled: u64 = point.workers.iter().filter_map(|w| w.throttle_ns).sum();
        if !quota && throttled > 0 {
            let why = format!("throttled for {throttled} ns by a quota that is not the trial's");
            point.invalid = Some(why);
        }
        Ok(())
    }

    /// The programs go with the session; a source that attaches nothing takes its place meanwhile.
    fn without_ledger(
        &mut self,
        experiment: &Experiment,
        condition: &Condition,
        turn: Turn,
        point: &mut Point,
    ) -> Result<(), Trouble> {
        self.session = session::open(Choice::Procfs, SplitOptions::default()).map_err(broken)?;
        let told = self.only_told(experiment, condition, turn, point);
        self.session = ledger().map_err(Trouble::Lab)?;
        // The kernel frees and makes programs on whatever CPU.
        self.sleep(REST_S)?;
        told
    }

    /// What workers say of themselves.
    fn only_told(
        &mut self,
        experiment: &Experiment,
        condition: &Condition,
        turn: Turn,
        point: &mut Point,
    ) -> Result<(), Trouble> {
        let began = Instant::now();
        let mut workers = Workers::start(self, experiment, condition, turn, None)?;
        self.until_done(&mut workers)?;
        workers.end();
        point.window_ns = began.elapsed().as_nanos() as u64;
        point.value = metric::told(experiment.metric_of(condition), &workers)?;
        Ok(())
    }

    fn sleep(&mut self, seconds: f64) -> Result<(), Trouble> {
        (self.wait)(Instant::now() + Duration::from_secs_f64(seconds)).map_err(Trouble::Lab)
    }

    /// Who runs when, for a part of the window.
    fn draw(
        &mut self,
        experiment: &Experiment,
        condition: &Condition,
        workers: &Workers,
    ) -> Result<Strip, Trouble> {
        let capped = condition.groups.values().any(|group| group.max.is_some());
        let most = if capped { QUOTA_STRIP_S } else { STRIP_S };
        let (events, lost) = self.logged(experiment.window_s.min(most))?;
        let ours = |cpu: &usize| *cpu == self.lab_cpu || workers.run_everywhere;
        let cpus: Vec<usize> = self.cpus.iter().copied().filter(ours).collect();
        Ok(strip::of(&events, &workers.by_pid(), &cpus, capped, lost))
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

    fn until_done(&mut self, workers: &mut Workers) -> Result<(), Trouble> {
        let end = Instant::now() + PATIENCE;
        while !workers.are_done()? {
            if Instant::now() > end {
                return Err(Trouble::Trial(format!("not done after {} s", PATIENCE.as_secs())));
            }
            (self.wait)(Instant::now() + LOOK).map_err(Trouble::Lab)?;
        }
        Ok(())
    }

    /// Closes the window that was open, and opens the next.
    fn close(&mut self) -> Result<Option<Window>, Trouble> {
        let closed = self.session.advance(&REQUEST);
        closed.map_err(broken)?;
        Ok(self.session.window().cloned())
    }
}

/// What ends a trial before its end.
pub(crate) enum Trouble {
    /// The trial does not count.
    Trial(String),
    /// The run is over.
    Lab(LabError),
}

/// The ledger or the switch log does not answer: no further trial would do better.
fn broken(error: SourceError) -> Trouble {
    Trouble::Lab(LabError::Machine(error.to_string()))
}
