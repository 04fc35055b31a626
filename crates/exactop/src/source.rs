//! Opens the source that the command line asks for.

use crate::failure::Failure;
use crate::machine;
use crate::options::looking::no_socket;
use crate::options::resolved::SourceOptions;
use crate::options::typed::{FigureSource, AUTO, SOURCES};
use crate::recorded::{self, Shared};
use crate::rights::{self, ExtraAccess, Origin, Role};
use exactop_model::on_demand::Subject;
use exactop_model::Feed;
use exactop_recording::{RecentWindows, Remembering};
use exactop_service::ask::Look;
use exactop_service::{Looker, Remote, SOCKET};
use exactop_sources::procfs::Procfs;
use exactop_sources::session::{self, Attached, Attaches, Choice, OwnPrograms, Session};
use exactop_sources::{SourceError, SplitOptions};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Opens the source and gives up the rights that opening needed.
///
/// # Errors
/// The source cannot be opened.
pub fn open(options: &SourceOptions, role: Role) -> Result<Box<dyn Feed>, Failure> {
    let (session, origin) = opened(options, role == Role::Live)?;
    let record = |path| Shared::open(path, machine::this(None)?, recorded::kept());
    let recorder = options.record.as_deref().map(record);
    let recorder = recorder.transpose()?;
    let kept = role == Role::Live;
    let kept = kept.then(|| machine::this(None).map(RecentWindows::new)).transpose()?;
    let root = options.root.as_deref();
    let written = options.record.as_deref();
    let beside = ExtraAccess {
        readable: root.as_slice(),
        written: written.as_slice(),
        ..ExtraAccess::default()
    };
    rights::reduce_beside(role, origin, &beside);
    let session = match &recorder {
        Some(recorder) => session.tapped(recorder.tap()),
        None => session,
    };
    let feed: Box<dyn Feed> = match kept {
        Some(kept) => {
            let kept = Rc::new(RefCell::new(kept));
            let session = session.remembered(Box::new(Rc::clone(&kept)));
            Box::new(Remembering::new(Box::new(session), kept))
        }
        None => Box::new(session),
    };
    Ok(match recorder {
        Some(recorder) => recorder.beside(feed, role == Role::Live),
        None => feed,
    })
}

/// A session on the source, and the origin of its figures.
///
/// # Errors
/// The source cannot be opened.
pub fn session(options: &SourceOptions) -> Result<(Session, Origin), Failure> {
    opened(options, false)
}

/// Same; `has_keys`: a thread that handles keys requests the windows.
fn opened(options: &SourceOptions, has_keys: bool) -> Result<(Session, Origin), Failure> {
    if let Some(root) = &options.root {
        if !matches!(options.whose, FigureSource::Own(Choice::Auto | Choice::Procfs)) {
            return Err(Failure::usage("--proc-root needs the source procfs: leave --source out"));
        }
        let session = at(root).map_err(|error| unopened(Choice::Procfs, error))?;
        return Ok((session, Origin::Procfs));
    }
    if options.socket.is_some() && !matches!(options.whose, AUTO | FigureSource::Daemon) {
        let word = SOURCES.iter().find(|(_, source, _)| *source == options.whose);
        return Err(no_socket(word.map_or("auto", |(word, ..)| word)));
    }
    let socket = options.socket.as_deref().unwrap_or(SOCKET.as_ref());
    match options.whose {
        FigureSource::Daemon => on_socket(socket, options, has_keys),
        FigureSource::Own(Choice::Auto) if options.socket.is_some() => {
            on_socket(socket, options, has_keys)
        }
        // A daemon measures with its own split of time, which a reader cannot change.
        AUTO if options.split == SplitOptions::default() && may_be_there(socket) => {
            on_socket(socket, options, has_keys).or_else(|refused| instead(&refused, options))
        }
        FigureSource::Own(choice) => own(choice, options),
    }
}

fn on_socket(
    socket: &Path,
    options: &SourceOptions,
    has_keys: bool,
) -> Result<(Session, Origin), Failure> {
    let remote = Remote::connect(socket, env!("CARGO_PKG_VERSION"));
    let mut remote = Box::new(remote.map_err(Failure::failed)?);
    if has_keys {
        remote.waits_for_nobody();
    }
    // A later sum of this recording would take its tasks for all tasks of the machine.
    if options.record.is_some() && remote.is_inside() {
        return Err(Failure::failed(
            "cannot record a whole machine from inside a PID namespace: \
             run exactop outside of it, or with --source procfs",
        ));
    }
    let is_inside = remote.is_inside();
    let mut session = Session::new(remote, Path::new("/proc")).map_err(Failure::failed)?;
    session.leave_names_to_source();
    session.attach_through(Box::new(OnSocket { socket: socket.into(), is_inside }));
    Ok((session, Origin::Procfs))
}

/// Programs for a process's page, or for the header, while a daemon is the source. If this user may
/// attach programs, exactop attaches its own, for that process only. Otherwise it asks for the
/// daemon's, which report on the processes that this user may see.
struct OnSocket {
    socket: PathBuf,
    /// True if the daemon sends PIDs of a PID namespace; programs of our own would use other PIDs.
    is_inside: bool,
}

impl Attaches for OnSocket {
    fn attach(&mut self, subject: Subject, pids: &[u32], interval_ns: Option<u64>) -> Attached {
        if !self.is_inside {
            if let Ok(own) = OwnPrograms.attach(subject, pids, interval_ns) {
                return Ok(own);
            }
        }
        let ask = Look { interval_ns, pids: pids.to_vec(), ..Look::at(subject) };
        let looker = Looker::connect(&self.socket, env!("CARGO_PKG_VERSION"), ask);
        Ok(Box::new(looker.map_err(|error| error.to_string())?))
    }
}

/// True if a daemon may serve there, also if this user may not read the directory.
fn may_be_there(socket: &Path) -> bool {
    socket.try_exists().unwrap_or(true)
}

/// Opens a source of our own after a daemon refused. If that fails, too, the error also has the
/// remedy for the daemon.
fn instead(refused: &Failure, options: &SourceOptions) -> Result<(Session, Origin), Failure> {
    let refused = match refused {
        Failure::Failed(error) => format!("{error:#}"),
        other => format!("{other:?}"),
    };
    let session = session::open_instead(&refused, options.split);
    named(session.map_err(|error| unopened(Choice::Auto, error))?, options)
}

fn own(choice: Choice, options: &SourceOptions) -> Result<(Session, Origin), Failure> {
    let session = session::open(choice, options.split);
    named(session.map_err(|error| unopened(choice, error))?, options)
}

fn named(mut session: Session, options: &SourceOptions) -> Result<(Session, Origin), Failure> {
    if options.names {
        session.name_groups();
    }
    let origin = session.provenance().source.into();
    Ok((session, origin))
}

/// The error for a source that cannot be opened.
fn unopened(choice: Choice, error: SourceError) -> Failure {
    match (choice, &error) {
        // These errors say what to do.
        (Choice::Auto | Choice::Procfs, _) | (_, SourceError::Unavailable { .. }) => {
            Failure::failed(error)
        }
        _ => Failure::failed(format!("{error}: run 'exactop doctor' for the reason")),
    }
}

fn at(root: &Path) -> Result<Session, SourceError> {
    Session::new(Box::new(Procfs::open(root)?), root)
}
