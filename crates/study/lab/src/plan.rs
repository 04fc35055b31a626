//! Order of trials: repeat by repeat, each with all conditions in its own random order. So a change
//! on the machine affects all conditions alike (randomized multiple interleaved trials).

use crate::definition::Experiment;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Most conditions of an experiment that are drawn.
const DRAWN: usize = 5;

/// A planned trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Index of the condition.
    pub condition: usize,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Start workers in reverse order: the first may have an advantage.
    pub reversed: bool,
    /// Not counted: records the switch log, for a picture.
    pub drawn: bool,
}

/// All trials of an experiment.
pub fn turns(experiment: &Experiment, seed: u64) -> Vec<Turn> {
    // Seeded by its own name, so that other experiments do not change the order.
    let own = experiment.name.bytes().fold(seed, |seed, b| seed.rotate_left(7) ^ u64::from(b));
    let mut random = StdRng::seed_from_u64(own);
    let most = experiment.conditions.iter().map(|c| experiment.repeats_of(c)).max().unwrap_or(0);
    let mut turns = Vec::new();
    for repeat in 0..most {
        let has = |&i: &usize| repeat < experiment.repeats_of(&experiment.conditions[i]);
        let mut round: Vec<usize> = (0..experiment.conditions.len()).filter(has).collect();
        round.shuffle(&mut random);
        let turn = |condition| Turn { condition, repeat, reversed: random.random(), drawn: false };
        turns.extend(round.into_iter().map(turn));
    }
    let drawn = experiment.conditions.iter().enumerate().filter(|(_, c)| c.x.is_none() && c.ledger);
    for (condition, _) in drawn.take(DRAWN) {
        turns.push(Turn { condition, repeat: most, reversed: false, drawn: true });
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built_in;

    #[test]
    fn every_condition_gets_its_repeats_in_a_seeded_order() {
        let experiment = built_in::find("nice-share").unwrap();
        let turns = turns(&experiment, 42);
        for (i, condition) in experiment.conditions.iter().enumerate() {
            let own = turns.iter().filter(|turn| turn.condition == i && !turn.drawn).count();
            assert_eq!(own as u32, experiment.repeats_of(condition));
        }
        assert_eq!(turns, super::turns(&experiment, 42));
        assert_ne!(turns, super::turns(&experiment, 43));
        let repeats: Vec<u32> = turns.iter().map(|turn| turn.repeat).collect();
        assert!(repeats.is_sorted(), "repeat by repeat");
        let reversed = turns.iter().filter(|turn| turn.reversed).count();
        assert!(reversed > turns.len() / 4 && reversed < turns.len() * 3 / 4);
    }
}
