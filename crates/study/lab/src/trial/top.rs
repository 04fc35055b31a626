//! Sum of the rows of `top -b`, in a window as long as the ledger's.

use exactop_files::programs;
use std::io::Read;
use std::process::{Child, Command, Stdio};

/// A running top.
pub struct Top(Child);

/// Starts a top that reads twice.
pub fn start(window_s: f64) -> Result<Top, String> {
    let top = programs::system("top").map_err(|error| error.to_string())?;
    let mut command = Command::new(top);
    command.args(["-b", "-n", "2", "-d", &format!("{window_s:.1}"), "-w", "200"]);
    command.env("LC_ALL", "C").env("HOME", "/nonexistent");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().map(Top).map_err(|error| format!("cannot start top: {error}"))
}

impl Top {
    /// Sum of its rows over all CPUs; 1 is all of them.
    pub fn sum(mut self, cpus: usize) -> Result<f64, String> {
        let mut text = String::new();
        let read = self.0.stdout.take().map(|mut out| out.read_to_string(&mut text));
        let _ = self.0.wait();
        match read {
            Some(Ok(_)) => {}
            _ => return Err("top said nothing".into()),
        }
        let sum = sum_of_last(&text).ok_or("top has no column %CPU")?;
        Ok(sum / 100.0 / cpus as f64)
    }
}

impl Drop for Top {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Sum of %CPU in the last list.
fn sum_of_last(text: &str) -> Option<f64> {
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().rposition(|line| line.split_whitespace().any(|w| w == "%CPU"))?;
    let column = lines[head].split_whitespace().position(|word| word == "%CPU")?;
    let rows = lines[head + 1..].iter().filter_map(|row| row.split_whitespace().nth(column));
    Some(rows.filter_map(|cell| cell.parse::<f64>().ok()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_list_counts() {
        let list = |a: &str| {
            format!("top - 1:00\n\n  PID USER %CPU COMMAND\n 1 root {a} a\n 2 root 50.5 b c\n\n")
        };
        assert_eq!(sum_of_last(&(list("90.0") + &list("10.0"))), Some(60.5));
        assert_eq!(sum_of_last("nothing"), None);
    }
}
