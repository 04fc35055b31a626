//! A minimal collector: it takes requests and sends the given answers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;

/// A request: its first line and headers, and its body.
pub struct Request {
    pub head: String,
    pub body: Vec<u8>,
}

/// Sends these answers, one per connection; an empty one closes the connection. Ends after the
/// last.
pub fn start(answers: Vec<Vec<u8>>) -> (SocketAddr, mpsc::Receiver<Request>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (requests, received) = mpsc::channel();
    thread::spawn(move || {
        for answer in answers {
            let (stream, _) = listener.accept().expect("a connection");
            if !answer.is_empty() {
                let _ = requests.send(take(stream, &answer));
            }
        }
    });
    (address, received)
}

fn take(mut stream: TcpStream, answer: &[u8]) -> Request {
    let mut reader = BufReader::new(stream.try_clone().expect("a second descriptor"));
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(reader.read_line(&mut head).expect("a line"), 0, "{head}");
    }
    let head = head.to_lowercase();
    let body = match head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        Some(length) => {
            let mut body = vec![0; length.parse().expect("a number")];
            reader.read_exact(&mut body).expect("a body");
            body
        }
        None => chunks(&mut reader),
    };
    stream.write_all(answer).expect("it is read");
    Request { head, body }
}

fn chunks(reader: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a length");
        let length = usize::from_str_radix(line.trim(), 16).expect("a number");
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).expect("a chunk");
        if length == 0 {
            return body;
        }
        body.extend_from_slice(&chunk[..length]);
    }
}
