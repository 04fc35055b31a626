//! Causes of the first worker's migrations, in an experiment that measures migrations.

use super::workers::Workers;
use super::Setup;
use crate::definition::Metric;
use exactop_model::on_demand::moves::{Cause, MoveSums};
use exactop_model::on_demand::Choice;
use exactop_sources::on_demand::moves::Moves;
use exactop_sources::on_demand::Counts;

/// Attaches programs for the first worker, if migrations are measured and the kernel accepts the
/// programs.
pub fn watch(setup: &Setup, workers: &Workers) -> Option<Moves> {
    let experiment = setup.experiment;
    let of_moves = |condition| experiment.metric_of(condition) == Metric::Migrations;
    let asked = experiment.conditions.iter().any(of_moves) && !setup.turn.drawn;
    let asked = asked && setup.condition.ledger;
    asked.then(|| Moves::open(&Choice::of_processes(&workers.pids_of_first())).ok()).flatten()
}

/// Causes since the window before; a birth on another CPU is not a migration.
pub fn by_cause(watched: &mut Moves) -> Option<Vec<(Cause, MoveSums)>> {
    let causes = watched.window().ok()?.by_cause();
    Some(causes.into_iter().filter(|(cause, sums)| cause.is_counted() && sums.moves > 0).collect())
}
