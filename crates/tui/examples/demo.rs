//! The live view over made-up frames: `cargo run -p exactop-tui --example demo`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use exactop_tui::{run, Host, Settings};

/// Does nothing, and says so.
struct Pretend;

impl Host for Pretend {
    fn limit(&mut self, limit: &exactop_tui::app::groups::Limit) -> Result<String, String> {
        Ok(format!("{} is only pretended", limit.in_words()))
    }

    fn signal(&mut self, pid: u32, _signal: i32) -> Result<(), String> {
        Err(format!("PID {pid} is made up"))
    }

    fn renice(&mut self, _pid: u32, _nice: i32) -> Result<(), String> {
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
