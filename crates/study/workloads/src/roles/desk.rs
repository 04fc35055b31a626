//! Protocol of a role: one line in, one line out.

use crate::error::Refusal;
use std::io::{BufRead, Write};

/// Reports that the load is complete, with the ids of its parts, then answers requests. Never
/// returns: the supervisor ends the process.
pub(super) fn serve(
    parts: impl IntoIterator<Item = u32>,
    mut answer: impl FnMut(&str) -> Option<Vec<u64>>,
) -> ! {
    let me = u64::from(std::process::id());
    say(std::iter::once(me).chain(parts.into_iter().map(u64::from)));
    for request in std::io::stdin().lock().lines() {
        let Ok(request) = request else { break };
        match answer(&request) {
            Some(numbers) => say(numbers),
            None => refuse(&Refusal::Other(format!("no answer to {request:?}"))),
        }
    }
    loop {
        std::thread::park();
    }
}

pub(super) fn refuse(refusal: &Refusal) {
    write(&format!("refused {}\n", refusal.to_line()));
}

fn say(numbers: impl IntoIterator<Item = u64>) {
    let mut line = String::from("ok");
    for number in numbers {
        line.push_str(&format!(" {number}"));
    }
    line.push('\n');
    write(&line);
}

fn write(line: &str) {
    let mut out = std::io::stdout().lock();
    // The reader is gone: the supervisor ends this process anyway.
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
