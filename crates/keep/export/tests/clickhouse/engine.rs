//! The tables of crates/fleet/schema.sql in ClickHouse's own engine (chdb, a Python module; `make
//! test-fleet` installs it), after lost answers, repeated batches and interrupted exports.

use crate::made::{client, now_ns, recorded, send, Truth, BLAMED_NS, HASTY, WINDOWS};
use exactop_export::clickhouse::SentCounts;
use exactop_testkit::Chdb;
use std::path::{Path, PathBuf};

/// A store; it ends with the test.
pub struct Store(Chdb);

impl Store {
    pub fn start() -> Option<Store> {
        Chdb::start().map(Store)
    }

    pub fn url(&self) -> &str {
        &self.0.url
    }

    pub fn post(&self, path: &str, body: &str) -> String {
        let url = format!("{}{path}", self.url());
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = config.build().new_agent();
        let mut answer = agent.post(&url).send(body).expect("an answer");
        let text = answer.body_mut().read_to_string().expect("text");
        assert!(answer.status().is_success(), "{body}: {text}");
        text
    }

    /// Sets what happens to the next INSERTs.
    fn fail(&self, deeds: &str) {
        self.post("/fail", deeds);
    }

    /// The numbers of the first row.
    fn ask(&self, sql: &str) -> Vec<u128> {
        let told = self.post("/?database=exactop", sql);
        let row = told.lines().next().unwrap_or_else(|| panic!("{sql}: nothing"));
        row.split('\t').map(|n| n.parse().unwrap_or_else(|_| panic!("{sql}: {told}"))).collect()
    }

    /// Checks all that must hold, whatever happened on the way.
    fn holds(&self, truth: Truth) {
        let raw = "SELECT count(), uniqExact(host, boot_id, t1_ns), sum(toUInt128(capacity_ns)), \
                   sum(toUInt128(cpus) * length_ns), sum(toUInt128(tasks_ns) + exited_ns), \
                   sum(toUInt128(unnamed_ns) + irq_ns + steal_ns + idle_ns + offline_ns) FROM accounts";
        let windows = u128::from(truth.windows);
        let expected =
            [windows, windows, truth.capacity, truth.capacity, truth.named, truth.others];
        assert_eq!(self.ask(raw), expected);
        let charges = "SELECT sum(toUInt128(run_ns)), sum(toUInt128(lat_ns)), uniqExact(host, boot_id, t1_ns), \
                       countIf(command = '~other'), countIf(unit = 'shop.service') > 0 FROM charges";
        assert_eq!(self.ask(charges), [truth.named, truth.lat, windows, windows, 1]);
        let blamed = windows * u128::from(BLAMED_NS);
        let pairs = "SELECT sum(toUInt128(ns)), uniqExact(host, boot_id, t1_ns), countIf(command = '~other') \
                     FROM blame WHERE length_ns > 0";
        // A window has five pairs: four of them, and one other.
        assert_eq!(self.ask(pairs), [blamed, windows, windows]);
        for span in ["1m", "1h"] {
            assert_eq!(self.ask(&format!("SELECT sum(ns) FROM blame_{span}")), [blamed], "{span}");
            let sums = format!(
                "SELECT sum(windows), sum(capacity_ns), sum(tasks_ns + exited_ns), \
                 sum(unnamed_ns + irq_ns + steal_ns + idle_ns + offline_ns), sum(residuals_ns), \
                 sum(irq_windows) FROM accounts_{span}"
            );
            let expected = [windows, truth.capacity, truth.named, truth.others, 0, windows];
            assert_eq!(self.ask(&sums), expected, "{span}");
            let sums = format!("SELECT sum(run_ns), sum(lat_ns) FROM charges_{span}");
            assert_eq!(self.ask(&sums), [truth.named, truth.lat], "{span}");
        }
    }
}

/// Hosts: one with one batch, one with two, and one with special characters in its name.
fn fleet(dir: &Path) -> (Vec<PathBuf>, Truth) {
    let hosts = [("one", 0), ("two", 240), ("th'r\\ee\t\x1b", 7)];
    let paths: Vec<PathBuf> = (0..hosts.len()).map(|n| dir.join(n.to_string())).collect();
    let truths = hosts.iter().zip(&paths).map(|((host, from), path)| recorded(path, host, *from));
    let truth = truths.fold(Truth::default(), Truth::and);
    (paths, truth)
}

#[test]
fn engine_has_every_window_once_whatever_happens_on_the_way() {
    let Some(store) = Store::start() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let (paths, truth) = fleet(dir.path());
    let client = client(store.url(), None, None, HASTY);
    store.fail(
        "lose:charges double:charges lose:accounts lose:blame lose:accounts double:charges double:blame \
         double:accounts",
    );
    for path in &paths {
        let (done, sent) = send(path, &client, now_ns());
        done.expect("taken");
        assert_eq!(sent, SentCounts { windows: WINDOWS, ..SentCounts::default() });
    }
    store.holds(truth);
    // Send again: all of it is there.
    for path in &paths {
        let (done, sent) = send(path, &client, now_ns());
        done.expect("nothing to do");
        assert_eq!(sent, SentCounts { there: WINDOWS, ..SentCounts::default() });
    }
    store.holds(truth);
}

#[test]
fn engine_completes_an_interrupted_export() {
    let Some(store) = Store::start() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let (paths, truth) = fleet(dir.path());
    let client = client(store.url(), None, None, HASTY);
    // Interrupted between charges and accounts, in the first batch and in the second; and before
    // charges.
    for (path, from) in [(&paths[0], 0), (&paths[1], 1), (&paths[2], 2)] {
        store.fail(match from {
            0 => "refuse:accounts",
            1 => "lose:accounts refuse:accounts",
            _ => "refuse:charges",
        });
        assert!(send(path, &client, now_ns()).0.is_err());
        // The store has forgotten the tokens by now.
        for table in ["blame", "charges"] {
            let forget = format!(
                "ALTER TABLE {table} MODIFY SETTING non_replicated_deduplication_window = 0"
            );
            store.post("/?database=exactop", &forget);
        }
    }
    for path in &paths {
        send(path, &client, now_ns()).0.expect("taken");
    }
    store.holds(truth);
}

/// Windows of another recorder with the same host and time would be counted twice.
#[test]
fn engine_keeps_the_first_of_two_recordings_of_one_time() {
    let Some(store) = Store::start() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let [first, second] = ["first", "second"].map(|name| dir.path().join(name));
    let truth = recorded(&first, "one", 0);
    recorded(&second, "one", WINDOWS / 2);
    let client = client(store.url(), None, None, HASTY);
    send(&first, &client, now_ns()).0.expect("taken");
    let (done, sent) = send(&second, &client, now_ns());
    done.expect("taken");
    assert_eq!((sent.windows, sent.there), (WINDOWS / 2, WINDOWS / 2));
    assert_eq!(
        store.ask("SELECT count() FROM accounts"),
        [u128::from(truth.windows + WINDOWS / 2)]
    );
}
