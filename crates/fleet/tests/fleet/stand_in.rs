//! A store that keeps batches as files, knows tokens, and fails as a test says.

use crate::fake::{Fake, Reply, Request};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Behaviour of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)] // Not every test has need of all.
pub enum Mood {
    /// Works.
    Well,
    /// Does not answer.
    Away,
    /// Is overloaded.
    Busy,
    /// Of seven requests, it closes one, loses the answer of one, and answers one with an error. A
    /// batch takes four requests.
    Moody,
    /// Of a hundred batches of a table, it loses one, loses the answer of one, and delays one so
    /// that it arrives again after later batches.
    OneInAHundred,
}

/// Host, boot, beginning and end of a window.
type Span = (String, String, u64, u64);

struct Taken {
    dir: PathBuf,
    mood: Mood,
    asked: usize,
    tokens: BTreeSet<(String, String)>,
    /// Each batch's table, file and windows. A test may remove the file.
    spans: Vec<(String, PathBuf, BTreeSet<Span>)>,
    /// Batches so far, and the delayed one.
    batches: usize,
    under_way: Option<(Request, usize)>,
    mishaps: Mishaps,
}

/// Counts of failed batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(dead_code)] // Not every test asks.
pub struct Mishaps {
    pub lost: usize,
    pub unanswered: usize,
    pub reordered: usize,
    /// Batches that came with a known token.
    pub known: usize,
}

/// Address and content of a store.
pub struct StandIn {
    pub url: String,
    taken: Arc<Mutex<Taken>>,
    _fake: Fake,
}

impl StandIn {
    /// Starts a store; creates its directory.
    pub fn start(dir: &Path, mood: Mood) -> StandIn {
        fs::create_dir_all(dir).expect("a directory");
        let taken = Taken {
            dir: dir.into(),
            mood,
            asked: 0,
            tokens: BTreeSet::new(),
            spans: Vec::new(),
            batches: 0,
            under_way: None,
            mishaps: Mishaps::default(),
        };
        let taken = Arc::new(Mutex::new(taken));
        let memory = Arc::clone(&taken);
        let fake =
            Fake::start(move |request| memory.lock().expect("no thread panicked").answer(request));
        StandIn { url: fake.url.clone(), taken, _fake: fake }
    }

    /// Changes the behaviour.
    pub fn fares(&self, mood: Mood) {
        self.taken.lock().expect("no thread panicked").mood = mood;
    }

    /// Number of requests.
    #[allow(dead_code)]
    pub fn requests(&self) -> usize {
        self.taken.lock().expect("no thread panicked").asked
    }

    /// Failures so far.
    #[allow(dead_code)]
    pub fn mishaps(&self) -> Mishaps {
        self.taken.lock().expect("no thread panicked").mishaps
    }

    /// Forgets all tokens, as a store does after some thousand more batches.
    #[allow(dead_code)]
    pub fn forget(&self) {
        self.taken.lock().expect("no thread panicked").tokens.clear();
    }

    /// Beginnings and ends of its windows, sorted; duplicates are repeated.
    #[allow(dead_code)]
    pub fn windows(&self) -> Vec<(u64, u64)> {
        let taken = self.taken.lock().expect("no thread panicked");
        let all = taken.windows("accounts").map(|(_, _, t0_ns, t1_ns)| (*t0_ns, *t1_ns));
        let mut all: Vec<_> = all.collect();
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
        if let Some((late, at)) = self.under_way.take() {
            match at + 3 <= self.batches {
                true => drop(late.table().map(|table| self.take(table, &late))),
                false => self.under_way = Some((late, at)),
            }
        }
        if let Some(reply) = self.mishap(request) {
            return reply;
        }
        let reply = match request.table() {
            Some(table) => self.take(table, request),
            None => self.tell(request),
        };
        // The batch is stored, but the answer is lost.
        if turn == 3 {
            Reply::None
        } else {
            reply
        }
    }

    /// The failure of one batch in a hundred, instead of an answer.
    fn mishap(&mut self, request: &Request) -> Option<Reply> {
        let table = request.table().filter(|_| self.mood == Mood::OneInAHundred)?;
        self.batches += 1;
        match self.batches % 100 {
            20 => self.mishaps.lost += 1,
            50 => {
                self.mishaps.unanswered += 1;
                self.take(table, request);
            }
            80 => {
                self.mishaps.reordered += 1;
                self.under_way = Some((request.clone(), self.batches));
            }
            _ => return None,
        }
        Some(Reply::None)
    }

    fn take(&mut self, table: &str, request: &Request) -> Reply {
        match self.tokens.insert((table.into(), request.token().into())) {
            true => {
                // Named by the request number, because the store may have forgotten tokens.
                let host = request.token().split(':').next().unwrap_or_default();
                let below = self.of_host(host).join(format!("{:06}", self.asked));
                fs::create_dir_all(&below).expect("a directory");
                let file = below.join(format!("{table}.parquet"));
                fs::write(&file, &request.body).expect("a file");
                let spans = spans(&file);
                self.spans.push((table.into(), file, spans));
            }
            false => self.mishaps.known += 1,
        }
        Reply::fine()
    }

    /// Directory of a host's tables.
    fn of_host(&self, host: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        host.hash(&mut hasher);
        self.dir.join(format!("{:016x}", hasher.finish()))
    }

    fn tell(&self, request: &Request) -> Reply {
        let of = (&request.given["param_host"], &request.given["param_boot"]);
        let asked = String::from_utf8_lossy(&request.body);
        let mut text = String::new();
        for table in ["accounts", "charges", "blame"] {
            assert!(asked.contains(&format!("FROM {table} ")), "{asked}");
            let of = self.windows(table).filter(|(host, boot, ..)| (host, boot) == of);
            for (_, _, t0_ns, t1_ns) in of {
                writeln!(text, "{table}\t{t0_ns}\t{t1_ns}").expect("a text");
            }
        }
        Reply::With(200, None, text)
    }

    fn windows<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a Span> {
        let of_it = self.spans.iter().filter(move |(of, file, _)| of == table && file.exists());
        of_it.flat_map(|(.., spans)| spans)
    }
}

/// Windows of a table's rows.
fn spans(file: &Path) -> BTreeSet<Span> {
    let file = fs::File::open(file).expect("a file");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let span = |row: Row| {
        let cells: HashMap<_, _> =
            row.get_column_iter().map(|(name, cell)| (&**name, cell)).collect();
        let text = |name| match cells[name] {
            Field::Str(text) => text.clone(),
            other => panic!("{name}: {other:?} is no text"),
        };
        let number = |name| match cells[name] {
            Field::ULong(number) => *number,
            other => panic!("{name}: {other:?} is no number"),
        };
        let t1_ns = number("t1_ns");
        (text("host"), text("boot_id"), t1_ns - number("length_ns"), t1_ns)
    };
    reader.get_row_iter(None).expect("rows").map(|row| span(row.expect("a row"))).collect()
}
