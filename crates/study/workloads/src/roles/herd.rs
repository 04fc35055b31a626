//! The thundering herd in a separate process: this thread accepts, another answers requests.

use super::{desk, number};
use crate::error::Refusal;
use crate::herd::{Options, Server};
use rustix::event::{poll, PollFd, PollFlags};
use std::convert::Infallible;
use std::sync::Arc;
use std::thread;

pub(super) fn run(args: &[String]) -> Result<Infallible, Refusal> {
    let word = |at: usize| args.get(at).map_or("", String::as_str);
    let rate = word(2).parse().map_err(Refusal::other)?;
    let options = Options { threads: number(args, 0)?, wake: word(1).parse()?, rate };
    let server = Arc::new(Server::start(&options)?);
    let answering = Arc::clone(&server);
    thread::Builder::new().spawn(move || answer(&answering)).map_err(Refusal::other)?;
    loop {
        let mut fds = [PollFd::from_borrowed_fd(server.listener(), PollFlags::IN)];
        // After an interruption too: accepting does not block.
        let _ = poll(&mut fds, None);
        server.accept().map_err(Refusal::other)?;
    }
}

fn answer(server: &Server) {
    desk::serve([], |request| {
        let t = server.totals();
        let all = [t.accepted, t.served, t.wakeups, t.futile, t.connected, t.failed, t.cpu_ns];
        (request == "totals").then(|| all.into())
    })
}
