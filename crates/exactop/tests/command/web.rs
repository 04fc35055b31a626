//! The page over HTTP, from the command's own server.

use crate::helpers::processes::{send, TERM};
use crate::helpers::run::{command, run};
use exactop_testkit::wait;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

/// A server, ended on drop.
struct Web {
    child: Child,
    /// The address that it printed.
    url: String,
}

impl Web {
    fn start(words: &[&str]) -> Web {
        let mut command = command(&[&["web"], words].concat());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut url = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut url).expect("a line");
        Web { child, url: url.trim().into() }
    }

    /// The server's address, and the rest of the page's address.
    fn place(&self) -> (&str, &str) {
        let rest = self.url.strip_prefix("http://").expect("an address");
        rest.split_once('/').expect("a path")
    }

    fn ask(&self, address: &str, path: &str, host: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(wait::LIMIT)).expect("a limit");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").expect("a request");
        stream
    }

    fn get(&self, address: &str, path: &str, host: &str) -> String {
        let mut told = String::new();
        self.ask(address, path, host).read_to_string(&mut told).expect("an answer");
        told
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn windows_are_served_to_this_machine_until_a_signal_comes() {
    let mut web = Web::start(&["--listen", "127.0.0.1:0", "--source", "procfs", "-d", "0.1"]);
    let (address, _) = web.place();
    let page = web.get(address, "/", address);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("connect-src 'self'"), "{page}");
    assert!(page.contains("id=\"data\">null</script>"), "data come later");
    assert!(web.get(address, "/", "evil.example").starts_with("HTTP/1.1 403"));
    assert!(web.get(address, "/etc/passwd", address).starts_with("HTTP/1.1 404"));
    let lines = BufReader::new(web.ask(address, "/events", address)).lines();
    let data = lines
        .map_while(Result::ok)
        .filter_map(|line| Some(line.strip_prefix("data: ")?.to_string()));
    // Skips the event with the key, which only the page itself gets.
    let data = data.filter(|data| !data.starts_with("{\"key\":"));
    let told: Vec<Value> =
        data.take(3).map(|data| serde_json::from_str(&data).expect("JSON")).collect();
    assert!(
        told[0]["columns"].is_array() && told[0]["slots"]["from_us"] == Value::Array(Vec::new())
    );
    for window in &told[1..] {
        let slots = &window["slots"];
        let sum: i64 = (0..9).filter_map(|n| slots["parts_ns"][n][0].as_i64()).sum();
        assert_eq!(Some(sum), slots["capacity_ns"][0].as_i64(), "{slots}");
    }
    send(web.child.id(), TERM);
    let status = web.child.wait().expect("its end");
    assert!(!status.success() && status.code() == Some(143), "{status}");
}

#[test]
fn other_machines_need_a_token_and_are_warned_of() {
    let mut web = Web::start(&["--listen", "0.0.0.0:0", "--source", "procfs", "-d", "0.1"]);
    let (place, query) = web.place();
    let port = place.rsplit_once(':').expect("a port").1;
    let token = query.strip_prefix("?token=").expect("a token");
    assert_eq!(token.len(), 32, "{query}");
    let address = format!("127.0.0.1:{port}");
    assert!(web.get(&address, "/", &address).starts_with("HTTP/1.1 403"));
    assert!(web.get(&address, "/events", &address).starts_with("HTTP/1.1 403"));
    assert!(web.get(&address, &format!("/{query}"), &address).starts_with("HTTP/1.1 200"));
    let _ = web.child.kill();
    let mut said = String::new();
    web.child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("words");
    assert!(said.contains("without encryption"), "{said}");
    let own = Web::start(&["--listen", "127.0.0.1:0", "--token", "--source", "procfs"]);
    assert!(own.url.contains("?token="), "{}", own.url);
}

#[test]
fn a_recording_is_served_as_it_is() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_string();
    let path = text(&path);
    run(&["--json", "-n", "3", "-d", "0.1", "--source", "procfs", "--record", &path]).fine();
    let web = Web::start(&["--listen", "127.0.0.1:0", "--replay", &path]);
    let (address, _) = web.place();
    let page = web.get(address, "/", address);
    assert!(
        page.contains("\"schema\":{\"name\":\"exactop.page\"") && !page.contains("connect-src")
    );
    assert!(web.get(address, "/events", address).starts_with("HTTP/1.1 404"));
    run(&["web", "--replay", &path, "--source", "procfs"]).refused(2, "conflicts with");
    run(&["web", "-t", "14:03"]).refused(2, "--replay");
    run(&["web", "--listen", "localhost"]).refused(2, "--listen");
    run(&["web", "--listen", address]).refused(1, "choose another address or port");
}
