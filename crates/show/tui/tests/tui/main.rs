//! The view on a made-up machine: effects of keys and frames, and the screen.

mod allocations;
mod at_once;
mod cpus;
mod findings;
mod folds;
mod graph;
mod hands;
mod header;
mod help;
mod history;
mod holdings;
mod host;
mod keys;
mod layouts;
mod looking_back;
mod marked;
mod members;
mod messages;
mod mouse;
mod owed;
mod palette;
mod pressure;
mod process_page;
mod redrawing;
mod screens;
mod sets;
mod tags;
mod themes;
mod timeline;
mod view;

#[global_allocator]
static COUNTING: allocations::Counting = allocations::Counting;
