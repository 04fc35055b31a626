//! A store that keeps what it is sent as files, knows tokens, and fails as a test says.

#[path = "../../../export/tests/clickhouse/fake.rs"]
#[allow(dead_code)] // It remembers what is kept here, too.
mod fake;

use exactop_fleet::{Books, Parquet};
use exactop_recording::When;
use fake::{Fake, Reply, Request};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// How it fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)] // Not every test has need of all.
pub enum Mood {
    /// It does what it is asked.
    Well,
    /// It answers nobody.
    Away,
    /// It has too much to do.
    Busy,
    /// Of seven requests one after the other it hangs up over one, takes one and its answer is lost, and has an error with
    /// one: a batch takes four.
    Moody,
}

struct Taken {
    dir: PathBuf,
    mood: Mood,
    asked: usize,
    tokens: BTreeSet<(String, String)>,
}

/// A port, and what it has.
pub struct StandIn {
    pub url: String,
    taken: Arc<Mutex<Taken>>,
    _fake: Fake,
}

impl StandIn {
    /// It keeps its files in a directory that is made.
    pub fn start(dir: &Path, mood: Mood) -> StandIn {
        fs::create_dir_all(dir).expect("a directory");
        let taken = Taken { dir: dir.into(), mood, asked: 0, tokens: BTreeSet::new() };
        let taken = Arc::new(Mutex::new(taken));
        let memory = Arc::clone(&taken);
        let fake =
            Fake::start(move |request| memory.lock().expect("nobody panicked").answer(request));
        StandIn { url: fake.url.clone(), taken, _fake: fake }
    }

    /// From now on.
    pub fn fares(&self, mood: Mood) {
        self.taken.lock().expect("nobody panicked").mood = mood;
    }

    /// How often it was asked.
    #[allow(dead_code)]
    pub fn asked(&self) -> usize {
        self.taken.lock().expect("nobody panicked").asked
    }

    /// The windows that it has: beginnings and ends, in order, each as often as it has it.
    #[allow(dead_code)]
    pub fn windows(&self) -> Vec<(u64, u64)> {
        let mut all = self.taken.lock().expect("nobody panicked").windows("accounts", None);
        all.sort_unstable();
        all
    }
}

impl Taken {
    fn answer(&mut self, request: &Request) -> Reply {
        self.asked += 1;
        let turn = if self.mood == Mood::Moody { self.asked % 7 } else { 0 };
        match (self.mood, turn) {
            (Mood::Away, _) | (_, 2) => return Reply::None,
            (Mood::Busy, _) => return Reply::With(503, None, "busy".into()),
            (_, 4) => return Reply::With(500, Some(241), "Code: 241. memory".into()),
            _ => {}
        }
        let reply = match request.table() {
            Some(table) => self.take(table, request),
            None => self.tell(request),
        };
        // Taken, and nobody hears of it.
        if turn == 3 {
            Reply::None
        } else {
            reply
        }
    }

    fn take(&mut self, table: &str, request: &Request) -> Reply {
        if self.tokens.insert((table.into(), request.token().into())) {
            let below = self.dir.join(format!("{:06}", self.tokens.len()));
            fs::create_dir_all(&below).expect("a directory");
            fs::write(below.join(format!("{table}.parquet")), &request.body).expect("a file");
        }
        Reply::fine()
    }

    fn tell(&self, request: &Request) -> Reply {
        let of = Some((&*request.given["param_host"], &*request.given["param_boot"]));
        let asked = String::from_utf8_lossy(&request.body);
        let table = if asked.contains("FROM accounts") { "accounts" } else { "charges" };
        let mut text = String::new();
        for (t0_ns, t1_ns) in self.windows(table, of) {
            writeln!(text, "{t0_ns}\t{t1_ns}").expect("a text");
        }
        Reply::With(200, None, text)
    }

    fn windows(&self, table: &str, of: Option<(&str, &str)>) -> Vec<(u64, u64)> {
        let mut windows = Vec::new();
        // Nothing was taken yet.
        let Ok(books) = Parquet::open(&self.dir) else { return windows };
        let is_of = |host: &str, boot: &str| of.is_none_or(|of| of == (host, boot));
        match table {
            "accounts" => books.accounts(When::default(), &mut |row| {
                if is_of(row.whose.host, row.whose.boot_id) {
                    windows.push((row.t1_ns - row.length_ns, row.t1_ns));
                }
            }),
            _ => books.charges(When::default(), &mut |row| {
                if is_of(row.whose.host, row.whose.boot_id) {
                    windows.push((row.t1_ns, row.t1_ns));
                }
            }),
        }
        .expect("what it took is Parquet");
        windows
    }
}
