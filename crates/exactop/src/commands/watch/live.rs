//! The live view: settings from the configuration file, changed by the command line.

use super::actions::Machine;
use crate::cli::Watch;
use crate::failure::Failure;
use crate::options::{config, preset};
use exactop_model::{Ask, Feed, Frame, Needs, Row, RowKind};
use exactop_tui::{ExitReason, Settings, TuiError};
use std::io::{self, IsTerminal};

/// What the live view starts with.
///
/// # Errors
/// When the configuration cannot be used.
pub fn settings(watch: &Watch) -> Result<Settings, Failure> {
    let mut settings = config::load()?;
    if let Some(seconds) = watch.delay {
        settings.interval_s = seconds;
    }
    if let Some(name) = &watch.preset {
        let preset = preset::named(name)?;
        settings.microstates = false;
        settings.columns = preset.columns.iter().map(|c| c.id.into()).collect();
        settings.sort = preset.sort.id.into();
        settings.reverse = false;
    }
    if let Some(columns) = &watch.columns {
        settings.microstates = false;
        settings.columns = columns.0.iter().map(|c| c.id.into()).collect();
    }
    if let Some(field) = &watch.sort {
        settings.sort = field.0.column.id.into();
        settings.reverse = field.0.descending != field.0.column.descending();
    }
    if let Some(user) = &watch.user {
        settings.user = Some(user.clone());
    }
    if !watch.filter.is_empty() {
        settings.filters = watch.filter.iter().map(|f| f.text().into()).collect();
    }
    settings.threads |= watch.threads;
    settings.hide_idle |= watch.hide_idle;
    settings.command_line |= watch.command_line;
    settings.per_cpu |= watch.per_cpu;
    Ok(settings)
}

/// Refuses what only makes sense for printed windows, and a standard output nobody looks at.
///
/// # Errors
/// Which, and what to do.
pub fn check(watch: &Watch) -> Result<(), Failure> {
    let printing = [("-n", watch.iterations.is_some()), ("-w", watch.width.is_some())];
    if let Some((option, _)) = printing.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{option} is for printed windows: add -b, --json or --csv"
        )));
    }
    if !io::stdout().is_terminal() {
        return Err(Failure::usage(
            "standard output is not a terminal: add -b for text, or use --json or --csv",
        ));
    }
    Ok(())
}

/// Runs the live view until someone ends it.
///
/// # Errors
/// Why it ended, unless someone asked for it.
pub fn run(feed: Box<dyn Feed>, watch: &Watch, settings: Settings) -> Result<(), Failure> {
    let mut feed = Only { pids: watch.pid.clone(), feed };
    match exactop_tui::run(&mut feed, &mut Machine, settings) {
        Ok(ExitReason::Quit | ExitReason::TerminalGone) => Ok(()),
        Ok(ExitReason::Signal(signal)) => Err(Failure::Signal(signal)),
        Err(error @ (TuiError::Feed(_) | TuiError::Terminal(_))) => Err(Failure::failed(error)),
        Err(error) => Err(Failure::usage(error)),
    }
}

/// A feed that shows some processes only, with what exited below them. The books stay those of
/// the machine.
struct Only {
    pids: Vec<u32>,
    feed: Box<dyn Feed>,
}

impl Only {
    fn only(&self, mut frame: Frame) -> Frame {
        if !self.pids.is_empty() {
            let wanted = |row: &Row| match row.kind {
                RowKind::Exited => self.pids.contains(&row.ident.ppid),
                _ => self.pids.contains(&row.key.tgid) || self.pids.contains(&row.key.tid),
            };
            frame.rows.retain(wanted);
            frame.exited.retain(wanted);
        }
        frame
    }

    /// A process that sleeps is wanted as much as one that runs.
    fn ask(&self, ask: &Ask) -> Ask {
        let mut ask = ask.clone();
        if !self.pids.is_empty() && ask.options.still != exactop_model::Still::Hide {
            ask.options.still = exactop_model::Still::All;
        }
        ask
    }
}

impl Feed for Only {
    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        let frame = self.feed.next_frame(&self.ask(ask))?;
        Ok(frame.map(|frame| self.only(frame)))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        let frame = self.feed.same_frame(&self.ask(ask))?;
        Some(self.only(frame))
    }

    fn details(&mut self, rows: &mut [&mut Row], needs: Needs) {
        self.feed.details(rows, needs);
    }

    fn forget_details(&mut self) {
        self.feed.forget_details();
    }
}
