//! Pages and reports of made-up windows: the groups with a place, and checks by the formats' own
//! readers.

mod blamed;
mod collector;
mod dashboards;
mod groups;
mod last_window;
mod made;
mod otlp;
mod outside;
mod prometheus;
mod receiver;
#[path = "../collector/running.rs"]
mod running;
mod sized;
mod trust;
