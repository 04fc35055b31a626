//! A server that takes files by PUT and keeps them in a directory, and fails as a test says.

use crate::fake::{Fake, Reply, Request};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// How it fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)] // Not every test has need of all.
pub enum Fares {
    /// It does what it is asked.
    Well,
    /// It answers nobody.
    Away,
    /// Of five requests one after the other it hangs up over one, takes one and its answer is lost, and has an error with
    /// one.
    Moody,
    /// It takes all files, and is gone once it has taken one of accounts.
    GoneAfterAll,
    /// It takes charges, and is gone before it takes accounts.
    GoneBetween,
}

/// A port, and where it keeps what came.
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
    /// It keeps its files in a directory that is made.
    pub fn start(dir: &Path, fares: Fares) -> Puts {
        fs::create_dir_all(dir).expect("a directory");
        let kept = Arc::new(Mutex::new(Kept { dir: dir.into(), fares, asked: 0 }));
        let memory = Arc::clone(&kept);
        let fake =
            Fake::start(move |request| memory.lock().expect("nobody panicked").answer(request));
        Puts { url: format!("{}/books", fake.url), kept, _fake: fake }
    }

    /// From now on.
    pub fn fares(&self, fares: Fares) {
        self.kept.lock().expect("nobody panicked").fares = fares;
    }

    /// Whether it is gone.
    #[allow(dead_code)]
    pub fn is_away(&self) -> bool {
        self.kept.lock().expect("nobody panicked").fares == Fares::Away
    }

    /// How often it was asked.
    #[allow(dead_code)]
    pub fn asked(&self) -> usize {
        self.kept.lock().expect("nobody panicked").asked
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
            // As WebDAV has it: no directory is made for a file.
            "PUT" => fs::write(&path, &request.body).map_or(409, |()| 201),
            _ if path.exists() => 200,
            _ => 404,
        };
        let gone = self.fares == Fares::GoneAfterAll && method == "PUT" && is_accounts;
        if gone && status == 201 {
            self.fares = Fares::Away;
        }
        // Taken, and nobody hears of it.
        match turn == 2 || (gone && status == 201) {
            true => Reply::None,
            false => Reply::With(status, None, String::new()),
        }
    }
}
