//! Checks which methods of a feed reach the feed below a layer.

use crate::feed::arranged;
use exactop_model::feed::timeline::Timeline;
use exactop_model::{Ask, Feed, Frame, Needs, Row};
use std::cell::RefCell;
use std::rc::Rc;

type Calls = Rc<RefCell<Vec<&'static str>>>;

/// A feed that notes calls of its methods.
struct Noting(Calls);

impl Noting {
    fn note(&self, method: &'static str) {
        self.0.borrow_mut().push(method);
    }
}

impl Feed for Noting {
    fn at_once(&mut self, ask: &Ask) -> Option<Frame> {
        self.note("at_once");
        Some(arranged(ask, 0))
    }

    fn next_frame(&mut self, ask: &Ask) -> Result<Option<Frame>, String> {
        self.note("next_frame");
        Ok(Some(arranged(ask, 0)))
    }

    fn same_frame(&mut self, ask: &Ask) -> Option<Frame> {
        self.note("same_frame");
        Some(arranged(ask, 0))
    }

    fn details(&mut self, _: &mut [&mut Row], _: Needs) {
        self.note("details");
    }

    fn forget_details(&mut self) {
        self.note("forget_details");
    }

    fn user(&mut self, _: u32) -> Option<String> {
        self.note("user");
        None
    }

    fn timeline(&mut self) -> Option<&mut dyn Timeline> {
        self.note("timeline");
        None
    }

    fn look_back(&mut self, _: usize) -> bool {
        self.note("look_back");
        false
    }

    fn look_on(&mut self) {
        self.note("look_on");
    }
}

/// The methods of a layer that do not call the same method of the feed below exactly once.
pub fn not_forwarded(layer: impl FnOnce(Box<dyn Feed>) -> Box<dyn Feed>) -> Vec<&'static str> {
    let calls = Calls::default();
    let mut layer = layer(Box::new(Noting(Rc::clone(&calls))));
    let ask = Ask::default();
    type Call<'a> = &'a dyn Fn(&mut dyn Feed);
    let all: [(&'static str, Call); 9] = [
        ("at_once", &|feed| drop(feed.at_once(&ask))),
        ("next_frame", &|feed| drop(feed.next_frame(&ask))),
        ("same_frame", &|feed| drop(feed.same_frame(&ask))),
        ("details", &|feed| feed.details(&mut [], Needs::NONE)),
        ("forget_details", &|feed| feed.forget_details()),
        ("user", &|feed| drop(feed.user(0))),
        ("timeline", &|feed| assert!(feed.timeline().is_none())),
        ("look_back", &|feed| assert!(!feed.look_back(1))),
        ("look_on", &|feed| feed.look_on()),
    ];
    let is_missed = |(method, call): &(&'static str, Call)| {
        call(&mut *layer);
        calls.take() != [*method]
    };
    all.into_iter().filter(is_missed).map(|(method, _)| method).collect()
}
