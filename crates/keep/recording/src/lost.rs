//! Time whose frames exist but cannot be decoded. Frame headers have their own checksums and still
//! give the time.

use crate::frame::{FrameHeader, FrameKind, Span};
use crate::gap::{Gap, GapReason};

/// An instant on the clock of a boot and session: the end of the last window, or of known time.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub boot_id: String,
    pub session: u64,
    pub span: Span,
}

impl Point {
    pub fn is_of_boot(&self, boot_id: &str) -> bool {
        self.boot_id == boot_id
    }

    pub fn is_of_session(&self, of: &Point) -> bool {
        self.boot_id == of.boot_id && self.session == of.session
    }

    /// The gap from here to a later instant.
    pub fn gap(&self, why: GapReason, to: &Point) -> Gap {
        let same_boot = self.is_of_boot(&to.boot_id);
        Gap {
            why,
            length_ns: same_boot.then(|| to.span.t1_ns.saturating_sub(self.span.t1_ns)),
            from_wall_ns: self.span.wall_t1_ns(),
            to_wall_ns: to.span.wall_t1_ns(),
        }
    }
}

/// Skipped frames that follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Lost {
    /// Beginning of the first frame.
    pub from: Point,
    /// End of the last frame.
    pub to: Point,
}

impl Lost {
    /// Adds a frame; `of` gives its boot and session.
    pub fn add(lost: Option<Lost>, header: &FrameHeader, of: Point) -> Option<Lost> {
        // The time of a gap's frame is no window's; a later version's frame may be about anything.
        let tells = match header.kind {
            FrameKind::Keyframe | FrameKind::Window | FrameKind::Details | FrameKind::Seal => true,
            FrameKind::Header
            | FrameKind::Gap
            | FrameKind::Word
            | FrameKind::Answer
            | FrameKind::Unknown(_) => false,
        };
        if !tells || header.t1_ns < header.t0_ns {
            return lost;
        }
        let (begin, end) = (Span { t1_ns: header.t0_ns, ..header.span() }, header.span());
        let to = Point { span: end, ..of.clone() };
        Some(match lost {
            Some(lost) if lost.to.span.t1_ns >= end.t1_ns => lost,
            Some(lost) => Lost { to, ..lost },
            None => Lost { from: Point { span: begin, ..of }, to },
        })
    }
}
