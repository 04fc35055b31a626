//! What a refresh takes from the allocator.

use crate::view::app;
use exactop_testkit::{arranged, details};
use exactop_tui::canvas::Canvas;
use exactop_tui::draw::{draw, theme::Theme};
use exactop_tui::{App, Settings};
use ratatui_crossterm::CrosstermBackend;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Calls of this thread so far.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts its calls.
pub struct Counting;

fn count() {
    CALLS.set(CALLS.get() + 1);
}

// SAFETY: each function passes its arguments on.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Calls by a refresh with the figures of a beat, from the frame to the terminal's bytes.
fn refresh(app: &mut App, canvas: &mut Canvas, beat: u64) -> usize {
    let frame = arranged(&app.ask(), beat);
    let mut terminal = CrosstermBackend::new(Vec::with_capacity(1 << 16));
    let before = CALLS.get();
    app.accept(frame, &mut details);
    app.look(&mut details);
    draw(app, Theme::FULL, canvas);
    canvas.write(&mut terminal).expect("memory");
    CALLS.get() - before
}

/// A refresh of the table takes memory for the header and for lines, not for each cell: 515 calls
/// with the same figures, 625 with others. The feed and the history are not in it.
#[test]
fn a_refresh_takes_no_memory_for_each_cell() {
    let mut app = app(80, 24, Settings::default());
    let mut canvas = Canvas::new(80, 24);
    for beat in 0..4 {
        refresh(&mut app, &mut canvas, beat);
    }
    let same = refresh(&mut app, &mut canvas, 3);
    let changed = refresh(&mut app, &mut canvas, 4);
    assert!(same <= 550, "{same} calls");
    assert!(changed <= 700, "{changed} calls");
}
