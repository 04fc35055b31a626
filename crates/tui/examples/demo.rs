//! The live view over made-up frames: `cargo run -p exactop-tui --example demo`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use exactop_model::TaskKey;
use exactop_tui::{run, Deed, Host, Settings, Target};

/// Does nothing, and says so.
struct Pretend;

impl Host for Pretend {
    fn limit(&mut self, limit: &exactop_tui::app::target::Limit) -> Result<String, String> {
        Ok(format!("{} is only pretended", limit.in_words()))
    }

    fn identify(&mut self, pid: u32, _deed: Deed) -> Result<Target, String> {
        Err(format!("no process {pid} was made up"))
    }

    fn has_exited(&mut self, _task: TaskKey) -> bool {
        false
    }

    fn signal(&mut self, target: &Target, _signal: i32) -> Result<(), String> {
        Err(format!("{} is made up", target.shown()))
    }

    fn renice(&mut self, _target: &Target, _nice: i32) -> Result<(), String> {
        Ok(())
    }

    fn save(&mut self, _settings: &Settings) -> Result<String, String> {
        Ok("nowhere".into())
    }

    fn user_id(&mut self, name: &str) -> Option<u32> {
        fixture::PROCESSES.iter().find(|p| p.user == name).map(|p| p.uid)
    }
}

fn main() {
    let mut feed = fixture::FakeFeed::default();
    match run(&mut feed, &mut Pretend, Settings::default()) {
        Ok(reason) => println!("{reason:?}"),
        Err(error) => eprintln!("exactop: {error}"),
    }
}
