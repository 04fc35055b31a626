//! Requests that are answered, and requests that are refused.

use exactop_testkit::wait;
use exactop_web::{Content, Door, Hub, Looks, Server};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

struct Served {
    address: SocketAddr,
    hub: Arc<Hub>,
    looks: Arc<Looks>,
    _server: Server,
}

fn served(token: Option<&str>) -> Served {
    let (listener, address) = Server::bind(([127, 0, 0, 1], 0).into()).expect("an address");
    let hub = Arc::new(Hub::new("{}"));
    let looks = Arc::new(Looks::new("0a1b".into()));
    let door = Door { address, token: token.map(String::from) };
    let content = Content {
        page: "<p>the page</p>".into(),
        policy: "default-src 'none'".into(),
        hub: Some(Arc::clone(&hub)),
        looks: Some(Arc::clone(&looks)),
    };
    Served {
        address,
        hub,
        looks,
        _server: Server::start(listener, door, content).expect("a server"),
    }
}

impl Served {
    fn ask(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream.set_read_timeout(Some(wait::LIMIT)).expect("a limit");
        let request = request.replace("HERE", &self.address.to_string());
        stream.write_all(request.replace('\n', "\r\n").as_bytes()).expect("a request");
        stream
    }

    fn answer(&self, request: &str) -> String {
        let mut told = String::new();
        self.ask(request).read_to_string(&mut told).expect("an answer");
        told
    }
}

#[test]
fn the_page_comes_with_strict_headers_and_nothing_else_is_there() {
    let served = served(None);
    let page = served.answer("GET / HTTP/1.1\nHost: HERE\n\n");
    assert!(page.starts_with("HTTP/1.1 200") && page.ends_with("<p>the page</p>"), "{page}");
    for header in [
        "content-security-policy: default-src 'none'; frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "x-frame-options: DENY",
        "referrer-policy: no-referrer",
        "cross-origin-resource-policy: same-origin",
        "cache-control: no-store",
    ] {
        assert!(page.contains(&format!("{header}\r\n")), "{header}: {page}");
    }
    for (request, status) in [
        ("GET /../etc/passwd HTTP/1.1\nHost: HERE\n\n", "404"),
        ("GET /metrics HTTP/1.1\nHost: HERE\n\n", "404"),
        ("POST / HTTP/1.1\nHost: HERE\nContent-Length: 0\n\n", "405"),
        ("DELETE /events HTTP/1.1\nHost: HERE\n\n", "405"),
        ("GET / HTTP/1.1\nHost: evil.example\n\n", "403"),
        ("GET / HTTP/1.1\nHost: HERE\nHost: evil.example\n\n", "403"),
        ("GET / HTTP/1.0\n\n", "403"),
        ("GET /events HTTP/1.1\nHost: HERE\nSec-Fetch-Site: cross-site\n\n", "403"),
    ] {
        let told = served.answer(request);
        assert!(
            told.starts_with(&format!("HTTP/1.1 {status}"))
                || told.starts_with(&format!("HTTP/1.0 {status}")),
            "{request}: {told}"
        );
        assert!(!told.contains("access-control-allow"), "{told}");
    }
}

#[test]
fn a_request_without_the_token_gets_nothing() {
    let served = served(Some("secret"));
    for path in ["/", "/?token=", "/?token=secres", "/events", "/events?token=x"] {
        let told = served.answer(&format!("GET {path} HTTP/1.1\nHost: HERE\n\n"));
        assert!(told.starts_with("HTTP/1.1 403") && !told.contains("the page<"), "{told}");
        assert!(!told.contains("secret"), "{told}");
    }
    let told = served.answer("GET /?token=secret HTTP/1.1\nHost: HERE\n\n");
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
}

#[test]
fn windows_come_as_they_are_measured() {
    let served = served(None);
    served.hub.publish("1");
    let stream = served.ask("GET /events HTTP/1.1\nHost: HERE\nSec-Fetch-Site: same-origin\n\n");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut until = |wanted: &str| lines.by_ref().find(|line| line == wanted).is_some();
    assert!(until("content-type: text/event-stream") && until("data: {}") && until("data: 1"));
    served.hub.publish("2");
    assert!(until("event: window") && until("data: 2"));
}

#[test]
fn a_reader_that_reads_nothing_is_disconnected() {
    let served = served(None);
    let window = "x".repeat(256 << 10);
    // More than the 32 readers that are allowed at once.
    let mut idle = Vec::new();
    for _ in 0..5 {
        for _ in 0..32 {
            let mut stream = served.ask("GET /events HTTP/1.1\nHost: HERE\n\n");
            let mut begin = [0; 12];
            stream.read_exact(&mut begin).expect("an answer");
            assert_eq!(&begin, b"HTTP/1.1 200", "{} did not go", idle.len());
            idle.push(stream);
        }
        // More data than queues and sockets hold for a reader.
        (0..400).for_each(|_| served.hub.publish(&window));
    }
    let told = served.answer("GET / HTTP/1.1\nHost: HERE\n\n");
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
}

/// Waits until exactly these processes are looked at.
fn until_looked_at(looks: &Looks, pids: &[u32]) {
    let look = || looks.open_processes().keys().eq(pids).then_some(());
    wait::find_or_say(&format!("{pids:?}"), look, || format!("{:?}", looks.open_processes()));
}

#[test]
fn a_process_is_looked_at_as_long_as_the_connection_stays() {
    let served = served(None);
    let events = served.ask("GET /events HTTP/1.1\nHost: HERE\n\n");
    let mut lines = BufReader::new(events).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "data: {\"key\":\"0a1b\"}"), "the page gets the key");
    let look =
        "GET /look?key=0a1b&pid=7&calls=1 HTTP/1.1\nHost: HERE\nSec-Fetch-Site: same-origin\n\n";
    let stream = served.ask(look);
    let mut told =
        BufReader::new(stream.try_clone().expect("the same")).lines().map_while(Result::ok);
    assert!(told.any(|line| line == "content-type: text/event-stream"));
    until_looked_at(&served.looks, &[7]);
    served.looks.tell(7, true, "calls", "[1]");
    assert!(told.any(|line| line == "data: [1]"));
    drop(told);
    // Closing the connection is enough.
    drop(stream);
    until_looked_at(&served.looks, &[]);
}

#[test]
fn no_other_page_has_programs_attached() {
    let served = served(None);
    for (request, status) in [
        ("GET /look?pid=7 HTTP/1.1\nHost: HERE\n\n", "403"),
        ("GET /look?key=0a1c&pid=7 HTTP/1.1\nHost: HERE\n\n", "403"),
        ("GET /look?key=0a1b&pid=7 HTTP/1.1\nHost: evil.example\n\n", "403"),
        ("GET /look?key=0a1b&pid=7 HTTP/1.1\nHost: HERE\nSec-Fetch-Site: cross-site\n\n", "403"),
        ("GET /look?key=0a1b&pid=7 HTTP/1.1\nHost: HERE\nOrigin: http://evil.example\n\n", "403"),
        (
            "GET /look?key=0a1b&pid=7 HTTP/1.1\nHost: HERE\nOrigin: http://HERE\nOrigin: null\n\n",
            "403",
        ),
        ("POST /look?key=0a1b&pid=7 HTTP/1.1\nHost: HERE\nContent-Length: 0\n\n", "405"),
        ("GET /look?key=0a1b&pid=0 HTTP/1.1\nHost: HERE\n\n", "400"),
        ("GET /look?key=0a1b&pid=-1 HTTP/1.1\nHost: HERE\n\n", "400"),
        ("GET /look?key=0a1b&pid=4294967295 HTTP/1.1\nHost: HERE\n\n", "400"),
        ("GET /look?key=0a1b HTTP/1.1\nHost: HERE\n\n", "400"),
    ] {
        let told = served.answer(request);
        assert!(told.starts_with(&format!("HTTP/1.1 {status}")), "{request}: {told}");
        assert!(!told.contains("0a1b") && served.looks.open_processes().is_empty(), "{told}");
    }
    let windows = "GET /events HTTP/1.1\nHost: HERE\nOrigin: http://evil.example\n\n";
    assert!(served.answer(windows).starts_with("HTTP/1.1 403"));
}

#[test]
fn the_number_of_watched_processes_is_bounded() {
    let served = served(None);
    let look = |pid: u32| format!("GET /look?key=0a1b&pid={pid} HTTP/1.1\nHost: HERE\n\n");
    let streams: Vec<TcpStream> = (1..=4).map(|pid| served.ask(&look(pid))).collect();
    until_looked_at(&served.looks, &[1, 2, 3, 4]);
    assert!(served.answer(&look(5)).starts_with("HTTP/1.1 503"));
    drop(streams);
    until_looked_at(&served.looks, &[]);
}
