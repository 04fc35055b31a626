//! The live view with made-up frames: `cargo run -p exactop-tui --example demo`.

use exactop_model::frame::holdings::{Holdings, HoldingsRequest};
use exactop_model::TaskKey;
use exactop_tui::app::placement::Placement;
use exactop_tui::{run, Begin, Host, ProcessAction, Settings, Target};

/// A host that does nothing, and says so.
struct Pretend;

impl Host for Pretend {
    fn place(&mut self, target: &Target, _placement: &Placement) -> Result<(), String> {
        Err(format!("{} is made up", target.shown()))
    }

    fn limit(&mut self, limit: &exactop_tui::app::target::Limit) -> Result<String, String> {
        Ok(format!("{} is only pretended", limit.in_words()))
    }

    fn identify(&mut self, pid: u32, _deed: ProcessAction) -> Result<Target, String> {
        Err(format!("no process {pid} was made up"))
    }

    fn has_exited(&mut self, _task: TaskKey) -> bool {
        false
    }

    fn look_into(&mut self, wanted: HoldingsRequest) -> Result<Holdings, String> {
        Err(format!("{} holds nothing", wanted.key.tgid))
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
        exactop_testkit::PROCESSES.iter().find(|p| p.user() == name).map(|p| p.uid)
    }

    fn point_in_time(&mut self, text: &str, _end_wall_ns: i128) -> Result<i128, String> {
        Err(format!("'{text}': nothing is recorded here"))
    }

    fn local_time(&mut self, wall_ns: i128) -> String {
        wall_ns.to_string()
    }
}

fn main() {
    let mut feed = exactop_testkit::Made::default();
    match run(&mut feed, &mut Pretend, Begin::default()) {
        Ok(reason) => println!("{reason:?}"),
        Err(error) => eprintln!("exactop: {error}"),
    }
}
