//! Control groups as files, and the containers and units that they belong to. It takes a directory
//! or the path of a group and gives its use, its limits and its names; with the feature `change` it
//! sets limits and makes groups. Every crate that measures or limits groups may depend on it.
//!
//! [`Hierarchy`] finds the groups of the cpu controller. If systemd runs, it makes exactop's own
//! groups (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/). [`containers`] names the
//! container, pod and unit of a group by its path and by files of runtimes.
//!
//! Without the feature `change` this crate writes nothing and sends no request to systemd.

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
pub use make::{doors, Entrance, Nested, OwnGroup, Transient};
pub use memory::{memory_left, MemoryLeft};
#[cfg(feature = "change")]
pub use set::GroupLimits;
#[cfg(feature = "change")]
pub use systemd::Scope;
