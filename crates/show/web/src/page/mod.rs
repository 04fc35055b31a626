//! A recorded time range as one self-contained page for a browser.
//!
//! [`read`] makes a [`Document`] of a time range. It divides the windows into slots, and holds for
//! each slot the sums of all accounts, of each CPU and of each row, and the findings. A slot of
//! many windows also holds the single windows with the largest figure of each account. So a spike
//! of one window stays visible. [`html`] puts the document into the page (`page/`), which loads
//! nothing else.

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
mod pairs;
mod reading;
mod sizes;
mod slots;

pub use document::Document;
pub use html::{html, policy, script, style};
pub use live::{beginning, Live, Measured};
pub use reading::read;
pub use slots::Limits;
