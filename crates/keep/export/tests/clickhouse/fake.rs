//! A server that gives scripted answers and records its requests.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A received request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Parameters of the address, decoded.
    pub given: BTreeMap<String, String>,
    /// Lines of the head, as received.
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    /// Table of an INSERT; `None` for a query.
    pub fn table(&self) -> Option<&str> {
        self.given.get("query")?.strip_prefix("INSERT INTO ")?.split(' ').next()
    }

    pub fn token(&self) -> &str {
        &self.given["insert_deduplication_token"]
    }
}

/// A scripted answer.
#[derive(Clone, Debug)]
pub enum Reply {
    /// No answer: the server closes the connection.
    None,
    /// A status, an error code, and a body.
    With(u16, Option<u32>, String),
    /// These bytes.
    File(Vec<u8>),
}

impl Reply {
    pub fn fine() -> Reply {
        Reply::With(200, None, String::new())
    }
}

pub struct Fake {
    pub url: String,
    asked: Arc<Mutex<Vec<Request>>>,
}

#[allow(dead_code)] // Who remembers for themselves asks for nothing.
impl Fake {
    /// Serves until the test ends.
    pub fn start(mut answer: impl FnMut(&Request) -> Reply + Send + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let memory = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A client that closes early has sent no request.
                let _ = serve(stream, &memory, &mut answer);
            }
        });
        Fake { url, asked }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.asked.lock().expect("no thread panicked").clone()
    }

    /// The received INSERTs.
    pub fn inserts(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.table().is_some()).collect()
    }
}

/// Reads one request and answers it.
pub fn serve(
    stream: impl Read + Write,
    memory: &Mutex<Vec<Request>>,
    answer: &mut dyn FnMut(&Request) -> Reply,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = Request::default();
    while !request.head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut request.head)? == 0 {
            return Ok(());
        }
    }
    let line = request.head.lines().next().unwrap_or("").to_string();
    let query = line.split(' ').nth(1).and_then(|target| target.split_once('?'));
    let pairs = query.map_or("", |(_, query)| query).split('&');
    request.given = pairs
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect();
    let lower = request.head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    request.body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
    stream.read_exact(&mut request.body)?;
    memory.lock().expect("no thread panicked").push(request.clone());
    let (status, code, body) = match answer(&request) {
        Reply::None => return Ok(()),
        Reply::With(status, code, body) => (status, code, body.into_bytes()),
        Reply::File(bytes) => (200, None, bytes),
    };
    let code = code.map(|code| format!("X-ClickHouse-Exception-Code: {code}\r\n"));
    let (code, length) = (code.as_deref().unwrap_or(""), body.len());
    let head = format!(
        "HTTP/1.1 {status} X\r\n{code}content-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.get_mut().write_all(&[head.as_bytes(), &body].concat())?;
    stream.get_mut().flush()
}

fn decoded(text: &str) -> String {
    let (mut out, mut bytes) = (Vec::new(), text.bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let hex: String = bytes.by_ref().take(2).map(char::from).collect();
                out.push(u8::from_str_radix(&hex, 16).expect("two digits"));
            }
            b'+' => out.push(b' '),
            byte => out.push(byte),
        }
    }
    String::from_utf8(out).expect("UTF-8")
}
