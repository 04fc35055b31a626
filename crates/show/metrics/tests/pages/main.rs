//! Pages and reports of made-up windows: which groups have a place, what the formats' own readers say.

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
mod trust;
