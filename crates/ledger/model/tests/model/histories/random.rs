//! Random histories.

use super::check::Books;
use super::events::{event, happens, Event};
use super::machine::Machine;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_window_of_any_history_closes(events in prop::collection::vec(event(), 1..250)) {
        let (mut machine, mut books) = (Machine::new(), Books::new());
        books.close(&mut machine);
        for event in &events {
            match event {
                Event::Close => {
                    machine.now += 1;
                    books.close(&mut machine);
                }
                event => happens(&mut machine, event),
            }
        }
        machine.now += 1;
        books.close(&mut machine);
    }
}
