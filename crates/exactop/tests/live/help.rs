//! `?` on each screen of the real program: the screen's own title and its three keys.

use crate::helpers::processes::Load;
use crate::helpers::run::run;
use crate::helpers::terminal::Terminal;
use exactop_cgroups::{Hierarchy, Transient};
use exactop_tui::explanations::Topic;
use std::io::Write as _;

/// Keys of tmux that open the screen, and those that lead back to the table.
fn way(topic: Topic) -> (&'static str, &'static str) {
    match topic {
        Topic::Table | Topic::Recording => ("", ""),
        Topic::Threads => ("H", "H"),
        Topic::Tree => ("V", "V"),
        Topic::Microstates => ("S", "S"),
        Topic::Changes => ("m", "m"),
        Topic::Incident => ("1", "1"),
        Topic::Members => ("g Enter", "Escape Escape"),
        Topic::History => ("[", "Escape"),
        Topic::Process => ("Enter", "Escape"),
        Topic::Calls => ("y", "Escape Escape"),
        Topic::Environment => ("e", "Escape Escape"),
        Topic::Files => ("l", "Escape Escape"),
        Topic::Columns => ("o", "Escape"),
        Topic::Groups => ("g", "Escape"),
        Topic::Totals => ("K", "Escape"),
        Topic::Findings => ("!", "Escape"),
        Topic::Graph => ("G", "Escape"),
        Topic::Interval => ("d", "Escape"),
        Topic::User => ("u", "Escape"),
        Topic::Filter => ("O", "Escape"),
        Topic::Search => ("/", "Escape"),
        Topic::Palette => (":", "Escape"),
        Topic::Time => ("t", "Escape"),
        Topic::Pid => ("Escape k", "Escape"),
        Topic::Signal => ("k", "Escape"),
        Topic::Nice => ("r", "Escape"),
        Topic::Cpus => ("A", "Escape"),
        Topic::Move => ("J", "Escape"),
        Topic::Weight => ("g Down w", "Escape Escape"),
        Topic::Quota => ("g Down x", "Escape Escape"),
        Topic::Confirmation => ("k Enter", "Escape"),
    }
}

fn press(terminal: &Terminal, keys: &str) {
    for key in keys.split_whitespace() {
        match key {
            "Escape" => terminal.escape(),
            // Its rows come with its second window.
            "g" => {
                terminal.keys(&["g"]);
                terminal.wait("groups", |t| {
                    t.screen().lines().any(|l| l.ends_with(" /")).then_some(())
                });
            }
            key => terminal.keys(&[key]),
        }
    }
}

/// One word after the other, without the breaks of lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Opens the screen, asks for its help and goes back to the table.
fn is_explained(terminal: &Terminal, topic: Topic) {
    let (there, back) = way(topic);
    // The selected row of the table; an answered question or an Esc may have dropped it.
    terminal.shows(" COMMAND");
    terminal.keys(&["Down"]);
    press(terminal, there);
    // A question takes ? as text.
    terminal.keys(&["F1"]);
    let explanation = topic.explanation();
    let keys = explanation.keys.map(|(key, result)| format!("{key} {result}"));
    let missing = |screen: &str| {
        let (shown, title) = (words(screen), explanation.title);
        let mut texts = std::iter::once(title).chain(keys.iter().map(String::as_str));
        texts.find(|text| !shown.contains(&words(text))).map(String::from)
    };
    terminal.passes(|screen| match missing(screen) {
        Some(text) => Err(format!("{topic:?}: no {text:?}")),
        None => Ok(()),
    });
    terminal.escape();
    // A next Esc would else join this one if both are written late.
    terminal.wait("no help", |t| missing(&t.screen()).is_some().then_some(()));
    press(terminal, back);
}

/// A limit has another group than the root's.
fn a_group(load: &Load) -> Option<Transient> {
    let group = Transient::new(&Hierarchy::of_this_machine().ok()?).ok()?;
    let doors = group.doors().expect("an entrance");
    doors.into_iter().for_each(|mut door| write!(door, "{}", load.pid()).expect("moved"));
    Some(group)
}

fn each_is_explained(width: usize, height: usize) {
    let load = Load::shell("while :; do sleep 0.02; done");
    let live = Terminal::live(width, height, &format!("-d 0.3 --source procfs -p {}", load.pid()));
    live.shows(&load.pid().to_string());
    let of_recording = |topic: &Topic| matches!(topic, Topic::Recording | Topic::Time);
    let group = a_group(&load);
    for topic in Topic::ALL.into_iter().filter(|topic| !of_recording(topic)) {
        if group.is_none() && matches!(topic, Topic::Weight | Topic::Quota) {
            eprintln!("left out: {topic:?}: no control group can be made here");
            continue;
        }
        is_explained(&live, topic);
    }
    drop((load, live, group));
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording").display().to_string();
    run(&["--csv", "-d", "0.2", "-n", "2", "--source", "procfs", "--record", &path]).fine();
    let replay = Terminal::new(width, height, &[]);
    replay.start(&format!("replay {path}"));
    Topic::ALL.into_iter().filter(of_recording).for_each(|topic| is_explained(&replay, topic));
}

#[test]
fn each_screen_is_explained_at_80x24() {
    each_is_explained(80, 24);
}

#[test]
fn each_screen_is_explained_at_200x50() {
    each_is_explained(200, 50);
}
