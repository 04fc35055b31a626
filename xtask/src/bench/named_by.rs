//! Each tool's figures of one window: the CPU time that its rows add up to, and all used time.
//!
//! Every tool has its own format, and every one prints a first sample since boot that is no window;
//! the last sample is used.

use super::running::{Running, Surface};
use super::{cpu_time, Bench};
use anyhow::{bail, Context, Result};
use std::process::Command;
use std::time::Duration;

/// Length of the window of each tool, seconds.
pub const WINDOW: u32 = 3;
/// Two windows, and a slow start.
const PATIENCE: Duration = Duration::from_secs(30);
/// Rows of htop's screen: enough for all processes.
const HTOP_ROWS: &str = "600";

/// Figures in any unit, the same for both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedShare {
    /// Sum of the rows.
    pub named: f64,
    /// All used time.
    pub busy: f64,
}

fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    command.args(arguments).env("HOME", "/dev/null").env_remove("XDG_CONFIG_HOME");
    Running::start(&mut command, Surface::Pipe)?.finish(PATIENCE)
}

/// Column %CPU, and the line `%Cpu(s)`.
pub fn top(_: &Bench) -> Result<NamedShare> {
    let seconds = WINDOW.to_string();
    let text = output("top", &["-b", "-w", "512", "-d", &seconds, "-n", "2"])?;
    in_top(&text, std::thread::available_parallelism()?.get())
}

fn in_top(text: &str, cpus: usize) -> Result<NamedShare> {
    let screen = text.rfind("top - ").map_or(text, |at| &text[at..]);
    let line = screen.lines().find_map(|line| line.strip_prefix("%Cpu(s):"));
    let parts = line.context("no %Cpu(s) in top's screen")?.split(',');
    let busy: f64 = parts
        .filter_map(|part| part.split_whitespace().collect::<Vec<_>>().try_into().ok())
        .filter(|[_, name]: &[&str; 2]| ["us", "sy", "ni", "hi", "si"].contains(name))
        .filter_map(|[number, _]| number.parse::<f64>().ok())
        .sum();
    Ok(NamedShare { named: column(screen, "%CPU")?, busy: busy * cpus as f64 })
}

/// Lines PRC of processes, including exited ones as far as process accounting reports them, and the
/// line CPU.
pub fn atop(_: &Bench) -> Result<NamedShare> {
    in_atop(&output("atop", &["-P", "CPU,PRC", &WINDOW.to_string(), "2"])?)
}

fn in_atop(text: &str) -> Result<NamedShare> {
    let sample = text.rsplit("SEP").find(|sample| sample.contains("CPU ")).context("no sample")?;
    let (mut named, mut busy) = (0.0, None);
    for line in sample.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ticks = |words: &[&str]| -> Result<f64> {
            let numbers = words.iter().map(|word| word.parse::<f64>());
            numbers.sum::<Result<f64, _>>().with_context(|| format!("no number in: {line}"))
        };
        match words.first() {
            // Six words of label and time, hertz, CPUs, then sys, user, nice, idle, wait, irq,
            // softirq.
            Some(&"CPU") if words.len() > 14 => {
                busy = Some(ticks(&words[8..11])? + ticks(&words[13..15])?);
            }
            // After the name in parentheses, which may hold spaces: state, hertz, utime, stime, ...
            // and whether this is a process or a thread.
            Some(&"PRC") => {
                let after = line.split_once(") ").map_or("", |(_, after)| after);
                let words: Vec<&str> = after.split_whitespace().collect();
                if words.get(11) == Some(&"y") {
                    named += ticks(&words[2..4])?;
                }
            }
            _ => {}
        }
    }
    Ok(NamedShare { named, busy: busy.context("no CPU line")? })
}

/// Column CPU% of a screen in tmux, because htop has no batch mode.
pub fn htop(_: &Bench) -> Result<NamedShare> {
    const SOCKET: &str = "exactop-bench";
    let tmux = |arguments: &[&str]| output("tmux", &[&["-L", SOCKET], arguments].concat());
    let size = ["-x", "200", "-y", HTOP_ROWS];
    let tool = format!("HOME=/dev/null htop -d {}", WINDOW * 10);
    tmux(&[&["-f", "/dev/null", "new-session", "-d"], &size[..], &[&tool]].concat())?;
    let said = screen(|| tmux(&["capture-pane", "-p"]), || tmux(&["send-keys", "H", "K"]));
    let _ = tmux(&["kill-server"]);
    said
}

fn screen(
    capture: impl Fn() -> Result<String>,
    show_processes: impl Fn() -> Result<String>,
) -> Result<NamedShare> {
    std::thread::sleep(Duration::from_secs(1));
    // Threads of processes are hidden: their time is in the process. Kernel threads are shown.
    show_processes()?;
    // Waits for a whole window with hidden threads.
    let window = Duration::from_secs(WINDOW.into());
    std::thread::sleep(window);
    let before = cpu_time::of_machine()?;
    std::thread::sleep(window + Duration::from_millis(200));
    let after = cpu_time::of_machine()?;
    let cpus = std::thread::available_parallelism()?.get() as f64;
    let (busy, total) = (after.busy - before.busy, after.total - before.total);
    if total == 0 {
        bail!("/proc/stat stood still");
    }
    Ok(NamedShare {
        named: column(&capture()?, "CPU%")?,
        busy: 100.0 * cpus * busy as f64 / total as f64,
    })
}

/// The sum of a column below its title. Earlier columns hold no spaces. The title may be followed
/// directly by a sort mark and the next title, as in htop.
fn column(screen: &str, title: &str) -> Result<f64> {
    let mut lines = screen.lines();
    let at =
        lines.find_map(|line| line.split_whitespace().position(|word| word.starts_with(title)));
    let at = at.with_context(|| format!("no column {title}"))?;
    let figures = lines.filter_map(|line| {
        let mut words = line.split_whitespace();
        words.clone().next()?.parse::<u32>().ok()?;
        words.nth(at)?.parse::<f64>().ok()
    });
    Ok(figures.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_screen_of_top_counts() {
        let text = "top - 1\n%Cpu(s): 9.0 us, 9.0 sy\n PID USER %CPU COMMAND\n 1 root 99.0 x\n\
                    top - 2\n%Cpu(s): 10.0 us, 20.0 sy,  0.0 ni, 60.0 id,  0.0 wa,  5.0 hi,  5.0 si\n\
                    \n  PID USER  %CPU COMMAND\n    1 root   7.5 a\n   22 root  2.5 b c\n";
        assert_eq!(in_top(text, 2).unwrap(), NamedShare { named: 10.0, busy: 80.0 });
    }

    #[test]
    fn atop_counts_processes_not_their_threads() {
        let time = "vm 17 2026/11/21 02:40:37 3";
        let prc = "120 0 0 0 0 1";
        let text = format!(
            "RESET\nCPU {time} 100 2 900 900 0 0 0 0 0 0\nSEP\n\
             CPU {time} 100 2 30 20 1 500 0 4 5 60 0\n\
             PRC {time} 1 (a b) S 100 10 11 0 {prc} y 75 () 0\n\
             PRC {time} 1 (a b) S 100 10 11 0 {prc} n 75 () 0\nSEP\n"
        );
        assert_eq!(in_atop(&text).unwrap(), NamedShare { named: 21.0, busy: 60.0 });
    }

    #[test]
    fn a_column_that_htop_sorts_by() {
        let screen = " PID USER CPU%▽MEM% Command\n 1 root 2.5 0.1 a b\nF1Help\n 2 root 1.0 0 c\n";
        assert_eq!(column(screen, "CPU%").unwrap(), 3.5);
    }
}
