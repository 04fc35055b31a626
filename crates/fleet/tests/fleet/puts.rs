//! A server that stores files by PUT in a directory, and fails as a test says.

use crate::fake::{Fake, Reply, Request};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Behaviour of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)] // Not every test has need of all.
pub enum Fares {
    /// Works.
    Well,
    /// Does not answer.
    Away,
    /// Of five requests, it closes one, loses the answer of one, and answers one with an error.
    Moody,
    /// Stores all files; disappears after a file of accounts.
    GoneAfterAll,
    /// Stores charges; disappears before a file of accounts.
    GoneBetween,
}

/// Address and directory of a server.
pub struct Puts {
    pub url: String,
    kept: Arc<Mutex<Kept>>,
    _fake: Fake,
}

struct Kept {
    dir: PathBuf,
    fares: Fares,
    asked: usize,
}

impl Puts {
    /// Starts a server; creates its directory.
    pub fn start(dir: &Path, fares: Fares) -> Puts {
        fs::create_dir_all(dir).expect("a directory");
        let kept = Arc::new(Mutex::new(Kept { dir: dir.into(), fares, asked: 0 }));
        let memory = Arc::clone(&kept);
        let fake =
            Fake::start(move |request| memory.lock().expect("no thread panicked").answer(request));
        Puts { url: format!("{}/books", fake.url), kept, _fake: fake }
    }

    /// Changes the behaviour.
    pub fn fares(&self, fares: Fares) {
        self.kept.lock().expect("no thread panicked").fares = fares;
    }

    /// True if it does not answer.
    #[allow(dead_code)]
    pub fn is_away(&self) -> bool {
        self.kept.lock().expect("no thread panicked").fares == Fares::Away
    }

    /// Number of requests.
    #[allow(dead_code)]
    pub fn requests(&self) -> usize {
        self.kept.lock().expect("no thread panicked").asked
    }
}

impl Kept {
    fn answer(&mut self, request: &Request) -> Reply {
        self.asked += 1;
        let mut words = request.head.split(' ');
        let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let path = self.dir.join(target.trim_start_matches("/books/"));
        let is_accounts = target.contains("/accounts-");
        let turn = if self.fares == Fares::Moody { self.asked % 5 } else { 0 };
        match (self.fares, turn) {
            (Fares::Away, _) | (_, 1) => return Reply::None,
            (Fares::GoneBetween, _) if method == "PUT" && is_accounts => {
                self.fares = Fares::Away;
                return Reply::None;
            }
            (_, 3) => return Reply::With(503, None, "busy".into()),
            _ => {}
        }
        let status = match method {
            "MKCOL" => fs::create_dir(&path).map_or(405, |()| 201),
            // Like WebDAV: a PUT does not create the directory.
            "PUT" => fs::write(&path, &request.body).map_or(409, |()| 201),
            _ if path.exists() => 200,
            _ => 404,
        };
        let gone = self.fares == Fares::GoneAfterAll && method == "PUT" && is_accounts;
        if gone && status == 201 {
            self.fares = Fares::Away;
        }
        // The file is stored, but the answer is lost.
        match turn == 2 || (gone && status == 201) {
            true => Reply::None,
            false => Reply::With(status, None, String::new()),
        }
    }
}
