//! Tests of layers over a feed: each method that a layer does not change reaches the feed below.

use exactop_model::feed::{FirstLook, ProcessFilter};
use exactop_model::{Ask, Feed};
use exactop_testkit::{not_forwarded, Made};

struct Through(Box<dyn Feed>);

impl Feed for Through {
    fn inner(&mut self) -> Option<&mut dyn Feed> {
        Some(&mut *self.0)
    }
}

struct Nothing;

impl Feed for Nothing {}

#[test]
fn a_layer_that_changes_nothing_forwards_every_method() {
    assert_eq!(not_forwarded(|feed| Box::new(Through(feed))), [""; 0]);
    assert_eq!(not_forwarded(|feed| Box::new(ProcessFilter::new(vec![7], feed))), [""; 0]);
}

#[test]
fn a_layer_over_no_feed_has_no_source() {
    assert_eq!(
        Nothing.next_frame(&Ask::default()).err().as_deref(),
        Some("cannot read a source that did not open")
    );
    assert!(Nothing.same_frame(&Ask::default()).is_none());
}

#[test]
fn the_first_look_forwards_all_but_its_first_frame() {
    let opened = |feed| FirstLook::new(Box::new(|| None), Box::new(|| Ok(feed)));
    assert_eq!(not_forwarded(|feed| Box::new(opened(feed))), ["at_once"]);
}

#[test]
fn until_the_source_is_open_the_first_feed_answers() {
    let first = || Some(Box::new(Made { beat: 1 }) as Box<dyn Feed>);
    let mut feed = FirstLook::new(Box::new(first), Box::new(|| Err("no rights".into())));
    let ask = Ask::default();
    assert!(feed.same_frame(&ask).is_none(), "nothing is shown yet");
    assert!(feed.at_once(&ask).is_some() && feed.same_frame(&ask).is_some());
    assert_eq!(feed.next_frame(&ask).err().as_deref(), Some("no rights"));
    assert!(feed.same_frame(&ask).is_none());
    assert_eq!(
        feed.next_frame(&ask).err().as_deref(),
        Some("cannot read a source that did not open")
    );
}
