//! A store behind TLS: the daemon, with its rights given up, trusts the certificates of its
//! settings and no others.

use crate::daemon::Daemon;
use crate::helpers::processes::TERM;
use crate::helpers::run::without_ledger;
use crate::stand_in::{Mood, StandIn};
use exactop_testkit::wait;
use rcgen::{generate_simple_self_signed, CertifiedKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A TLS port that forwards requests, with a certificate of its own. Returns its address, and the
/// certificate's file.
fn secured(dir: &Path, name: &str, to: &str) -> (String, PathBuf) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let file = dir.join(name);
    fs::write(&file, cert.pem()).expect("a file");
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a configuration");
    let (config, to) = (Arc::new(config), to.trim_start_matches("http://").to_string());
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            // A client that does not trust it closes the connection.
            let _ = hand_on(StreamOwned::new(connection, stream), &to);
        }
    });
    (format!("https://localhost:{port}"), file)
}

/// One request and its answer.
fn hand_on(stream: impl Read + Write, to: &str) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
    stream.read_exact(&mut body)?;
    let mut store = TcpStream::connect(to)?;
    store.write_all(head.as_bytes())?;
    store.write_all(&body)?;
    let mut answer = Vec::new();
    store.read_to_end(&mut answer)?;
    stream.get_mut().write_all(&answer)?;
    stream.get_mut().flush()
}

#[test]
fn a_store_is_trusted_by_the_certificate_in_the_settings() {
    if without_ledger() {
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let store = StandIn::start(&dir.path().join("store"), Mood::Well);
    let (url, believed) = secured(dir.path(), "one.pem", &store.url);
    let (other, _) = secured(dir.path(), "two.pem", &store.url);
    let config = dir.path().join("config.toml");
    let set = |url: &str| {
        let ca = believed.display();
        let export = format!("[export]\nto = \"{url}\"\nca = \"{ca}\"\nevery = \"1s\"\n");
        fs::write(&config, format!("[record]\ninterval = \"1s\"\n{export}")).expect("settings");
    };
    // Another certificate does not make this one trusted.
    set(&other);
    let path = config.to_str().expect("UTF-8").to_string();
    let mut daemon = Daemon::start_in(dir, &["--config", &path], None);
    wait::until("it is not believed", || daemon.said().contains("certificate"));
    assert!(daemon.said().contains("windows wait in the log"), "{}", daemon.said());
    assert_eq!((store.requests(), daemon.end(TERM)), (0, Some(0)));
    set(&url);
    daemon.start_again();
    wait::until("windows are there", || store.windows().len() > 2);
    assert_eq!(daemon.end(TERM), Some(0), "{}", daemon.said());
}
