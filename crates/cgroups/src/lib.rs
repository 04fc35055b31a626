//! Control groups as files: where the cpu controller is ([`Hierarchy`]), what its groups used and may
//! use, and, with the feature `change`, setting that and making groups of one's own, by systemd where
//! that runs (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/).
//!
//! A reader leaves the feature out: then nothing in here writes, and nothing asks systemd.

pub mod containers;
mod error;
mod find;
mod listing;
#[cfg(feature = "change")]
mod make;
mod memory;
pub mod mountinfo;
mod read;
#[cfg(feature = "change")]
mod set;
#[cfg(feature = "change")]
mod systemd;

#[cfg(test)]
mod tests;

pub use error::CgroupError;
pub use find::{cpu_controller_is_v1, path_in, v1_mount, Hierarchy, Version};
#[cfg(feature = "change")]
pub use make::{doors, Entrance, Nested, Own, Transient};
pub use memory::{memory_left, MemoryLeft};
#[cfg(feature = "change")]
pub use set::Wanted;
#[cfg(feature = "change")]
pub use systemd::Scope;
