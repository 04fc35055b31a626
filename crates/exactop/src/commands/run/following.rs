//! Chooses the ledger that follows the command's process tree: a daemon's, which needs no rights
//! and loads no programs, or one of its own.

use super::{ours, RunArgs};
use crate::failure::Failure;
use crate::options::looking::{LookingArgs, Places};
use crate::recorded::Shared;
use exactop_model::run::Tree as Totals;
use exactop_model::Tap;
use exactop_service::Remote;
use exactop_sources::tree::Tree;
use exactop_sources::SourceError;
use std::path::Path;

/// The refusal of `--exact-split` with a daemon.
const SPLIT_OF_ITS_OWN: &str =
    "--exact-split takes a ledger of its own, and a daemon's is everyone's: \
                                leave out --exact-split, or --source and --socket";

/// The ledger that follows the command's tree, or the reason why there is none.
pub struct Follower(Result<Box<Tree>, String>);

/// Checks the options before the command starts.
///
/// # Errors
/// Two options conflict.
pub fn checked(ledger: &LookingArgs, exact_split: bool) -> Result<(), Failure> {
    match ledger.places()? {
        Places::Socket(_) if exact_split => Err(Failure::usage(SPLIT_OF_ITS_OWN)),
        _ => Ok(()),
    }
}

impl Follower {
    /// Follows every process that this process starts from now on.
    ///
    /// # Errors
    /// The requested daemon does not serve. Without that request, the command also runs without a
    /// ledger.
    pub fn open(typed: &RunArgs, recorder: Option<&Shared>) -> Result<Follower, Failure> {
        let tap = || recorder.map(Shared::tap);
        let own = || Tree::open(typed.exact_split, tap()).map_err(|error| error.to_string());
        let on = |socket: &Path| on_socket(socket, tap());
        let places = match typed.ledger.places()? {
            Places::Either(_) if typed.exact_split => Places::Own,
            places => places,
        };
        let must = matches!(places, Places::Socket(_));
        let tree = match places {
            Places::Either(socket) => {
                on(&socket).or_else(|refused| own().map_err(|why| format!("{why}; {refused}")))
            }
            places => places.open(on, own),
        };
        match tree {
            Err(why) if must => Err(ours(why)),
            tree => Ok(Follower(tree.map(Box::new))),
        }
    }

    /// Runs a step. If it fails, the totals are unknown, but the run goes on.
    fn with(&mut self, act: impl Fn(&mut Tree) -> Result<(), SourceError>) {
        let failed = self.0.as_mut().ok().and_then(|tree| act(tree).err());
        if let Some(error) = failed {
            self.0 = Err(error.to_string());
        }
    }

    /// Ends a window.
    pub fn advance(&mut self) {
        self.with(Tree::advance);
    }

    /// Discards all figures so far.
    pub fn begin_again(&mut self) {
        self.with(Tree::begin_again);
    }

    /// Ends the last window.
    pub fn end(&mut self) {
        self.with(Tree::finish);
    }

    /// Totals of the tree up to the last window's end, or the reason why they are unknown.
    pub fn finish(self) -> Result<Totals, String> {
        self.0.map(|tree| tree.totals().clone())
    }
}

fn on_socket(socket: &Path, tap: Option<Box<dyn Tap>>) -> Result<Tree, String> {
    let remote = Remote::following(socket, env!("CARGO_PKG_VERSION"));
    let (remote, tree) = remote.map_err(|error| error.to_string())?;
    Tree::on(Box::new(remote), tree, tap).map_err(|error| error.to_string())
}
