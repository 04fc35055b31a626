//! Snapshots as rows of numbers, and back.

mod audit;
mod blame;
mod cells;
mod cpu;
mod detail;
mod exit;
mod group_file;
mod group_move;
mod group_name;
mod leader_name;
mod machine;
mod page_data;
mod task;
mod user_name;
mod waited;
mod words;

pub(crate) use blame::{blame, blame_of};
pub(crate) use cpu::{cpu, cpu_of, ticks_of_cpu, ticks_row};
pub(crate) use detail::{detail, detail_of, DetailKey, Details, Facts};
pub(crate) use exit::{exit, exit_of};
pub(crate) use group_file::GroupFiles;
pub(crate) use group_move::{group_move, group_move_of};
pub(crate) use group_name::{group_name, group_name_of};
pub(crate) use leader_name::{leader_name, leader_name_of};
pub(crate) use machine::{machine, machine_of};
pub(crate) use page_data::PageData;
pub(crate) use task::{task, task_of};
pub(crate) use waited::Waited;
