//! Every panel opens with figures: none waits for the end of an interval, which is an hour here.

use crate::helpers::processes::Load;
use crate::helpers::run::without_ledger;
use crate::helpers::terminal::Terminal;
use crate::screen::harmless;

/// Words in place of figures that a later window will have.
const LATER: [&str; 3] = ["next window", "Disk - ", "is being measured"];

/// Keys that open a panel from the table, and words that its figures have with any source.
const PANELS: &[(&[&str], &[&str])] = &[
    (&["b"], &["/s read"]),
    (&["Down", "Enter"], &["command ", "switches ", " PID "]),
    (&["Down", "Enter", "y"], &["command ", "calls"]),
    (&["Down", "y"], &["command ", "calls"]),
    (&["Down", "e"], &["command ", " variables"]),
    (&["Down", "l"], &["command ", " open files"]),
    (&["Down", "G"], &[": the last "]),
    (&["g"], &[" GROUP"]),
    (&["4"], &["throttled"]),
    (&["K"], &["%CPU", " COMMAND"]),
    (&["!"], &["Esc back"]),
    (&["H"], &[" PID "]),
    (&["V"], &[" PID "]),
    (&["S"], &[" PID "]),
    (&["1"], &[" PID "]),
];

/// Panels of the ledger alone.
const OF_THE_LEDGER: &[(&[&str], &[&str])] = &[
    (&["Down", "Enter"], &["ran on   "]),
    (&["Down", "G", "Enter"], &["ran on   "]),
    (&["Down", "y"], &["SYSCALL"]),
];

fn opens(terminal: &Terminal, panels: &[(&[&str], &[&str])]) {
    for (keys, words) in panels {
        terminal.keys(keys);
        terminal.passes(|screen| {
            harmless(terminal, screen)?;
            let later = LATER.iter().find(|words| screen.contains(**words));
            let lacks = words.iter().find(|words| !screen.contains(**words));
            match (later, lacks) {
                (None, None) => Ok(()),
                found => Err(format!("after {keys:?} (later, lacking): {found:?}")),
            }
        });
        // Leaves a part of a page, the page and the selection.
        (0..3).for_each(|_| terminal.escape());
        terminal.shows(" PID ");
    }
}

#[test]
fn every_panel_has_figures_long_before_the_interval_ends() {
    let load = Load::shell("while :; do { read line < /nowhere; } 2>/dev/null; sleep 0.02; done");
    let terminal = |source| {
        let options = format!("-d 3600 --source {source} -p {}", load.pid());
        let terminal = Terminal::live(96, 30, &options);
        terminal.shows(" sh");
        terminal
    };
    opens(&terminal("procfs"), PANELS);
    if without_ledger() {
        return;
    }
    let ledger = terminal("ledger");
    opens(&ledger, OF_THE_LEDGER);
    opens(&ledger, PANELS);
}
