//! The server of metrics against clients that are correct, wrong, slow and numerous.

use exactop_metrics::http::{Front, Pulse, Server};
use exactop_metrics::Format;
use exactop_testkit::wait;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

/// Serves a page of `bytes` bytes that names its format.
fn server(bytes: usize) -> Server {
    let page = move |format| {
        let mut page = format!("{format:?}\n").into_bytes();
        page.resize(bytes.max(page.len()), b'x');
        Some(page.into())
    };
    Server::start("127.0.0.1:0".parse().expect("an address"), Front::default(), page)
        .expect("a server")
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    stream.set_read_timeout(Some(wait::LIMIT)).expect("a timeout");
    stream
}

/// Head and body of the answer to these bytes.
fn ask(server: &Server, request: &[u8]) -> (String, Vec<u8>) {
    let mut stream = connect(server);
    stream.write_all(request).expect("it takes requests");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer, and its end");
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    let body = answer.split_off(end);
    (String::from_utf8(answer).expect("ASCII").to_lowercase(), body)
}

fn get(server: &Server, path: &str, headers: &str) -> (String, Vec<u8>) {
    ask(server, format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n").as_bytes())
}

#[test]
fn a_page_comes_in_the_format_that_is_asked_for() {
    let server = server(0);
    let (head, body) = get(&server, "/metrics", "");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{head}");
    assert_eq!(body, b"Prometheus\n");
    let (head, body) = get(&server, "/metrics?x=1", "Accept: application/openmetrics-text\r\n");
    assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    assert_eq!(body, b"OpenMetrics\n");
}

#[test]
fn a_page_is_compressed_for_clients_that_accept_gzip() {
    let server = server(100_000);
    let (head, body) = get(&server, "/metrics", "Accept-Encoding: gzip\r\n");
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(body.len() < 10_000);
    let mut page = Vec::new();
    flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut page).expect("gzip");
    assert_eq!(page.len(), 100_000);
    assert!(page.starts_with(b"Prometheus\n"));
}

#[test]
fn head_has_no_body_and_makes_no_page() {
    let made = Arc::new(AtomicU32::new(0));
    let counts = Arc::clone(&made);
    let page = move |_| {
        counts.fetch_add(1, Ordering::Relaxed);
        Some(vec![b'x'; 1000].into())
    };
    let server = Server::start("127.0.0.1:0".parse().expect("an address"), Front::default(), page)
        .expect("a server");
    let (head, body) = ask(&server, b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.starts_with("http/1.1 200") && head.contains("version=0.0.4"), "{head}");
    // The length would have to be that of the page.
    assert!(!head.contains("content-length"), "{head}");
    assert_eq!((body, made.load(Ordering::Relaxed)), (Vec::new(), 0), "a page that is made counts");
    get(&server, "/metrics", "");
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[test]
fn wrong_requests_are_refused() {
    let server = server(0);
    let long =
        format!("GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "y".repeat(60_000));
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
        ("GET /metrics/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "405"),
        ("DELETE /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        ("hello\r\n\r\n", "400"),
        ("GET /metrics HTTP/1.1\r\nHost: localhost\r\nA B: c\r\n\r\n", "400"),
    ] {
        let (head, _) = ask(&server, request.as_bytes());
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{request:?}: {head}");
        assert_eq!(head.contains("allow: get, head"), status == "405", "{head}");
    }
    // The server may close the connection before the request is sent, and the kernel then drops the
    // answer.
    let mut stream = connect(&server);
    let (sent, mut answer) = (stream.write_all(long.as_bytes()), Vec::new());
    let read = stream.read_to_end(&mut answer);
    let refused = answer.starts_with(b"HTTP/1.1 431");
    assert!(refused || sent.is_err() || read.is_err(), "{}", String::from_utf8_lossy(&answer));
    assert!(get(&server, "/metrics", "").0.starts_with("http/1.1 200"));
}

#[test]
fn without_figures_it_says_so() {
    let none = |format| match format {
        Format::Prometheus | Format::Protobuf => None,
        Format::OpenMetrics => panic!("on purpose"),
    };
    let server = Server::start("127.0.0.1:0".parse().expect("an address"), Front::default(), none)
        .expect("a server");
    for accept in ["", "Accept: application/openmetrics-text\r\n", ""] {
        let (head, _) = get(&server, "/metrics", accept);
        assert!(head.starts_with("http/1.1 503"), "{head}");
    }
}

#[test]
fn silent_connections_block_no_other_client() {
    let server = server(0);
    let crowd: Vec<TcpStream> = (0..300).map(|_| connect(&server)).collect();
    for _ in 0..10 {
        assert!(get(&server, "/metrics", "").0.starts_with("http/1.1 200"));
    }
    drop(crowd);
}

#[test]
fn a_client_that_does_not_read_blocks_no_other() {
    // More than the kernel keeps for a client that does not read.
    let large = vec![b'x'; 32 << 20];
    let page = move |format| match format {
        Format::OpenMetrics => Some(large.clone().into()),
        Format::Prometheus | Format::Protobuf => Some(b"small".to_vec().into()),
    };
    let server = Server::start("127.0.0.1:0".parse().expect("an address"), Front::default(), page)
        .expect("a server");
    let request =
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: application/openmetrics-text\r\n\r\n";
    let crowd: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = connect(&server);
            stream.write_all(request).expect("a request");
            // The answer has begun.
            stream.read_exact(&mut [0]).expect("a byte");
            stream
        })
        .collect();
    let (head, body) = get(&server, "/metrics", "");
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(body, b"small");
    drop(crowd);
}

#[test]
fn a_request_that_never_ends_is_hung_up() {
    let server = server(0);
    let mut stream = connect(&server);
    stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ").expect("a beginning");
    let mut answer = Vec::new();
    // The end of the connection or a reset, not the timeout of this test.
    match stream.read_to_end(&mut answer) {
        Ok(_) => assert!(!answer.starts_with(b"HTTP/1.1 200")),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset),
    }
}

#[test]
fn an_address_that_is_taken_is_named() {
    let first = server(0);
    let error = Server::start(first.address(), Front::default(), |_| None)
        .expect_err("it is taken")
        .to_string();
    assert!(error.contains(&first.address().to_string()), "{error}");
    drop(first);
}

#[test]
fn a_server_that_is_dropped_is_gone() {
    // An address at which no other test's server can get the port.
    let place = "127.0.0.2:0".parse().expect("an address");
    let server = Server::start(place, Front::default(), |_| None).expect("a server");
    let address = server.address();
    drop(server);
    assert!(TcpStream::connect(address).is_err());
}

/// Status and body of the answer to a request under this host name.
fn by_name(server: &Server, path: &str, host: &str) -> (String, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let (head, body) = ask(server, request.as_bytes());
    (head[9..12].into(), String::from_utf8(body).expect("UTF-8"))
}

#[test]
fn a_request_by_another_name_is_refused_on_every_path() {
    let page = |_| Some(b"page".to_vec().into());
    let anywhere = "0.0.0.0:0".parse().expect("an address");
    let front = Front { names: vec!["node-7.example".into()], ..Front::default() };
    let server = Server::start(anywhere, front, page).expect("a server");
    // An address cannot be redirected: Prometheus addresses a pod by its own address.
    for host in ["localhost:1", "127.0.0.1", "[::1]:9464", "10.244.1.17:9464", "Node-7.example"] {
        assert_eq!(by_name(&server, "/metrics", host), ("200".into(), "page".into()), "{host}");
    }
    for path in ["/metrics", "/healthz", "/readyz", "/"] {
        let (status, body) = by_name(&server, path, "evil.example:9464");
        assert_eq!(status, "403", "{path}");
        for words in ["'evil.example:9464'", "http.hosts"] {
            assert!(body.contains(words), "{body}");
        }
    }
    let long = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(4000));
    let (head, body) = ask(&server, long.as_bytes());
    assert!(head.starts_with("http/1.1 403") && body.len() < 300, "{head}");
    for none in [
        "GET /metrics HTTP/1.0\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    ] {
        let (head, _) = ask(&server, none.as_bytes());
        assert_eq!(&head[9..12], "403", "{head}");
    }
}

#[test]
fn probes_say_whether_windows_close() {
    let pulse = Arc::new(Pulse::new(std::time::Duration::from_secs(3600)));
    let front = Front { pulse: Arc::clone(&pulse), ..Front::default() };
    let address = "127.0.0.1:0".parse().expect("an address");
    let server = Server::start(address, front, |_| panic!("no page is made")).expect("a server");
    let probe = |path: &str| by_name(&server, path, "localhost");
    assert_eq!(probe("/healthz"), ("200".into(), "ok\n".into()));
    assert_eq!(
        probe("/readyz"),
        ("503".into(), "no window has closed yet: wait for the first\n".into())
    );
    pulse.closes();
    assert_eq!(probe("/readyz"), ("200".into(), "ok\n".into()));
    // With an interval of zero, the last window is always too old.
    pulse.set_interval(std::time::Duration::ZERO);
    let (status, body) = probe("/readyz");
    assert_eq!(
        (&*status, body.starts_with("no window has closed for 0 s")),
        ("503", true),
        "{body}"
    );
    assert_eq!(probe("/healthz").0, "200", "it lives on");
}
