//! A live page, which windows reach as they are measured.

use super::drawn::{group_files, machine, snapshot, Planted, CPUS, OFFSET, SECOND};
use super::driver::Browser;
use exactop_model::Book;
use exactop_web::page::{beginning, html, policy, Live, Measured};
use exactop_web::{Content, Door, Hub, Looks, Server};
use std::collections::HashMap;
use std::sync::Arc;

/// Publishes windows of the drawn machine, one after the other.
pub struct Machine {
    hub: Arc<Hub>,
    book: Book,
    live: Live,
    at: u64,
    pub planted: Planted,
    /// Pages that look at processes.
    pub looks: Arc<Looks>,
    /// Address of its page.
    pub own: String,
    _server: Server,
}

impl Machine {
    /// Serves its page with a token.
    pub fn serve(planted: Planted) -> Machine {
        let hub = Arc::new(Hub::new(&beginning(&machine()).json().expect("JSON")));
        let mut book = Book::new();
        assert!(book.advance(snapshot(0, &planted)).is_none());
        let (listener, address) = Server::bind(([127, 0, 0, 1], 0).into()).expect("an address");
        let looks = Arc::new(Looks::new("4567".into()));
        let content = Content {
            page: html("live", None),
            policy: policy(true),
            hub: Some(Arc::clone(&hub)),
            looks: Some(Arc::clone(&looks)),
        };
        let door = Door { address, token: Some("0123".to_string()) };
        let _server = Server::start(listener, door, content).expect("a server");
        let own = format!("http://{address}/");
        Machine { hub, book, live: Live::default(), at: 0, planted, looks, own, _server }
    }

    /// Opens the page.
    pub fn open(&self, browser: &mut Browser) {
        browser.look(1200, 900, false);
        browser.open(&format!("{}?token=0123", self.own));
    }

    pub fn measure(&mut self, windows: u64) {
        for _ in 0..windows {
            self.at += 1;
            let mut now = snapshot(self.at, &self.planted);
            if self.at > 1 {
                // From now on init has no events.
                now.complete = false;
                now.tasks.retain(|task| task.key.tgid != 1);
            }
            let window = self.book.advance(now);
            let watched: Vec<u32> = self.looks.open_processes().into_keys().collect();
            let groups = self.planted.quota.map(|_| {
                exactop_model::cgroups::rows(&group_files(self.at - 1), &group_files(self.at), None)
            });
            let (window, machine, details) = (window.expect("a window"), machine(), HashMap::new());
            let of = Measured {
                window: &window,
                book: &self.book,
                wall_offset_ns: OFFSET,
                machine: &machine,
                details: &details,
                groups: groups.as_deref(),
                findings: &exactop_model::findings::find(&window, &self.book),
                watched: &watched,
            };
            self.hub.publish(&self.live.measured(&of).json().expect("JSON"));
        }
    }
}

/// A live page keeps a bounded number of windows and rows, and its sums stay right.
fn bounded(browser: &mut Browser, machine: &mut Machine) {
    let lat = "[...exactop.model.rows.values()].reduce((sum, row) => sum + (row.sum(exactop.model.column('run_ns'), 0, 20) ?? 0), 0)";
    browser.ask("(exactop.most = 20, exactop.mostRows = 6, exactop.balance.point(26))");
    machine.measure(1);
    assert_eq!(browser.ask(&UNTIL.replace("WANTED", "20")), 20);
    let told = "[exactop.model.about.windows, exactop.model.about.inexact, exactop.balance.cursor, exactop.model.rows.size].join()";
    assert_eq!(browser.ask(told), "20,0,17,6");
    let whole =
        "Number(exactop.model.sums([0, 20]).parts.slice(0, 2).reduce((sum, ns) => sum + ns, 0n))";
    assert_eq!(browser.ask(lat), browser.ask(whole));
}

pub const UNTIL: &str = "new Promise(done => { const look = () => window.exactop?.model.n === WANTED \
    && !document.getElementById('balance').hidden ? done(exactop.model.n) : setTimeout(look, 20); look(); })";

#[test]
fn a_live_page_gets_only_windows() {
    let Some(mut browser) = Browser::start() else { return };
    let mut machine = Machine::serve(Planted::default());
    machine.measure(5);
    machine.open(&mut browser);
    assert_eq!(browser.ask(&UNTIL.replace("WANTED", "5")), 5);
    machine.measure(20);
    assert_eq!(browser.ask(&UNTIL.replace("WANTED", "25")), 25);
    let whole = "String(exactop.model.sums([0, 25]).parts.reduce((sum, ns) => sum + ns, 0n))";
    assert_eq!(browser.ask(whole), (25 * CPUS * SECOND).to_string());
    let run = "[...exactop.model.rows.values()].reduce((sum, row) => sum + (row.sum(exactop.model.column('run_ns'), 0, 25) ?? 0), 0) \
        === Number(exactop.model.sums([0, 25]).parts.slice(0, 2).reduce((sum, ns) => sum + ns, 0n))";
    assert_eq!(browser.ask(run), true, "rows are all of the tasks' time");
    // A finding that continues is one mark.
    let marks = "exactop.model.marks.filter(mark => mark.id === 'waiting').map(mark => mark.windows).join()";
    assert_eq!(browser.ask(marks), "25");
    browser.ask("document.getElementById('pause').click()");
    machine.measure(3);
    let held = UNTIL.replace("exactop?.model.n", "exactop?.held.length").replace("WANTED", "3");
    assert_eq!(browser.ask(&held), 25, "what comes meanwhile waits");
    browser.ask("document.getElementById('pause').click()");
    assert_eq!(browser.ask(&UNTIL.replace("WANTED", "28")), 28);
    browser.picture("live");
    // A process that was sent before is idle now, and its idle time is still sent: it is part of
    // its own time.
    let asleep = "[...exactop.model.rows.values()].find(row => row.comm === 'init').sum(exactop.model.column('sleep_ns'), 0, 28)";
    assert_eq!(browser.ask(asleep), 28 * SECOND);
    let open = "(exactop.openRow([...exactop.model.rows.values()].find(row => row.comm === 'steady').key), exactop.show(), \
        document.getElementById('row-section').textContent.includes('exactop syscalls -p 10'))";
    assert_eq!(browser.ask(open), true, "a page without system calls says which command has them");
    bounded(&mut browser, &mut machine);
    let complaints = browser.complaints(&machine.own);
    assert!(complaints.is_empty(), "{complaints:#?}");
}
