//! A stretch of recorded time as one page for a browser, which needs nothing beside itself.
//!
//! [`read`] makes a [`Document`] of a stretch: its windows in slots, of each slot the sums of all
//! accounts, of each CPU and of each row, and the findings. Where a slot has many windows, it also has
//! those in which some account was largest, as they were: what lasted for one window is never averaged
//! away. [`html`] puts the document into the page (`page/`), which shows it and asks nobody for anything.

mod accounts;
mod cells;
mod columns;
mod document;
mod entities;
mod gaps;
mod html;
mod live;
mod marks;
mod moment;
mod reading;
mod slots;

pub use document::Document;
pub use html::{html, policy, script, style};
pub use live::{beginning, Live, Measured};
pub use reading::read;
pub use slots::Limits;
