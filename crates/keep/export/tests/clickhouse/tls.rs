//! A store whose certificate is trusted, and one whose is not.

use crate::fake::{serve, Reply};
use crate::made::{client, now_ns, one, send, HASTY, WINDOWS};
use rcgen::{generate_simple_self_signed, CertifiedKey};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A server with its own certificate: its address, the certificate file, and its number of
/// connections.
pub fn secure(dir: &std::path::Path, name: &str) -> (String, PathBuf, Arc<AtomicUsize>) {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let file = dir.join(name);
    std::fs::write(&file, cert.pem()).expect("a file");
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .expect("a configuration");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    let reached = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&reached);
    std::thread::spawn(move || {
        let memory = Mutex::new(Vec::new());
        for stream in listener.incoming().map_while(Result::ok) {
            count.fetch_add(1, Ordering::SeqCst);
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            // A client that does not trust the certificate closes.
            let _ = serve(StreamOwned::new(connection, stream), &memory, &mut |_| Reply::fine());
        }
    });
    (format!("https://localhost:{port}"), file, reached)
}

#[test]
fn only_a_trusted_store_gets_anything() {
    let (dir, path, _) = one();
    let (url, believed, _) = secure(dir.path(), "one.pem");
    let (done, sent) = send(&path, &client(&url, None, Some(&believed), HASTY), now_ns());
    done.expect("taken");
    assert_eq!(sent.windows, WINDOWS);
    // Another server's certificate does not make this one trusted.
    let (other, _, reached) = secure(dir.path(), "two.pem");
    let (done, sent) = send(&path, &client(&other, None, Some(&believed), HASTY), now_ns());
    let error = done.expect_err("not believed").to_string();
    assert!(error.contains("--ca"), "{error}");
    assert_eq!((sent.windows, reached.load(Ordering::SeqCst)), (0, 1), "asked once");
}
