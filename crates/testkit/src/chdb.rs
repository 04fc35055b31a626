//! ClickHouse's own engine (chdb, a Python module; `make test-fleet` installs it).

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const SERVER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../keep/export/tests/clickhouse/server.py");
const SCHEMA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fleet/schema.sql");

/// An engine with the tables of crates/fleet/schema.sql behind a local port, until it is dropped.
pub struct Chdb {
    child: Child,
    /// Its address.
    pub url: String,
    _dir: tempfile::TempDir,
}

impl Drop for Chdb {
    fn drop(&mut self) {
        // Fails if it has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Chdb {
    /// Starts an engine; `None` if this machine's Python has none and the test is not required.
    ///
    /// # Panics
    /// The test is required (EXACTOP_TEST_PYTHON is set), or the engine does not start.
    pub fn start() -> Option<Chdb> {
        let python = std::env::var("EXACTOP_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
        let there = Command::new(&python).args(["-c", "import chdb"]).output();
        if !there.is_ok_and(|out| out.status.success()) {
            let how = "'make test-fleet' installs it and runs this test";
            eprintln!("not run: {python} has no module chdb; {how}");
            assert!(std::env::var_os("EXACTOP_TEST_PYTHON").is_none(), "{how}");
            return None;
        }
        let dir = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(&python);
        command.arg(SERVER).arg(dir.path().join("store")).arg(SCHEMA);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python");
        let mut port = String::new();
        let out = child.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut port).expect("a port");
        let url = format!("http://127.0.0.1:{}", port.trim().parse::<u16>().expect("a port"));
        Some(Chdb { child, url, _dir: dir })
    }
}
