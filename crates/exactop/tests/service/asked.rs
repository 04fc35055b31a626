//! Requests of readers to a daemon, recorded on the way.

use crate::daemon::Daemon;
use crate::helpers::processes::{send, Load, INT};
use crate::helpers::run::{command, without_ledger};
use exactop_testkit::wait;
use serde_json::Value;
use std::io::{copy, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A socket that forwards what one reader sends and receives.
struct Between {
    path: PathBuf,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Between {
    fn the(daemon: &Daemon) -> Between {
        let path = daemon.path().join("between");
        let listener = UnixListener::bind(&path).expect("a socket");
        let said: Arc<Mutex<Vec<u8>>> = Arc::default();
        let (heard, socket) = (Arc::clone(&said), daemon.socket());
        std::thread::spawn(move || {
            let (reader, _) = listener.accept().expect("a reader");
            pass_on(&reader, &socket, &heard);
        });
        Between { path, said }
    }

    /// The requests so far.
    fn questions(&self) -> Vec<Value> {
        let said = self.said.lock().expect("nobody panicked").clone();
        let said = String::from_utf8(said).expect("UTF-8");
        let whole = said.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.filter_map(|line| line.get("window").cloned()).collect()
    }
}

/// Forwards until one side closes.
fn pass_on(reader: &UnixStream, socket: &Path, heard: &Mutex<Vec<u8>>) {
    let daemon = UnixStream::connect(socket).expect("a daemon");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ = copy(&mut &daemon, &mut &*reader);
            let _ = reader.shutdown(Shutdown::Both);
        });
        let mut bytes = [0; 4096];
        while let Ok(n @ 1..) = (&*reader).read(&mut bytes) {
            heard.lock().expect("nobody panicked").extend_from_slice(&bytes[..n]);
            if (&daemon).write_all(&bytes[..n]).is_err() {
                break;
            }
        }
        let _ = daemon.shutdown(Shutdown::Both);
    });
}

/// Costly figures are measured until the requested windows have ended. A reader that does not name
/// its interval gets them for 40 s.
#[test]
fn recorders_and_servers_send_the_length_of_their_windows() {
    if without_ledger() {
        return;
    }
    let daemon = Daemon::start(&[]);
    let log = daemon.path().join("theirs");
    let log = log.to_str().expect("UTF-8");
    for words in
        [&["record", "-d", "75", "--dir", log][..], &["web", "-d", "75", "--listen", "127.0.0.1:0"]]
    {
        let between = Between::the(&daemon);
        let mut reader = command(words);
        reader.arg("--source").arg("daemon").arg("--socket").arg(&between.path);
        let reader = Load::start(&mut reader);
        wait::until("a question", || between.questions().len() > 1);
        // The first request is that of the serving command.
        let asked = &between.questions()[1];
        assert_eq!(asked["interval_ns"], 75_000_000_000_u64, "{words:?}: {asked}");
        let needs = asked["needs"].as_array().expect("what is needed");
        assert!(needs.iter().any(|need| need == "split"), "{words:?}: {asked}");
        send(reader.pid(), INT);
        wait::until("its end", || crate::helpers::processes::is_over(reader.pid()));
        std::fs::remove_file(&between.path).expect("the socket");
    }
}
