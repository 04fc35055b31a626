//! What is sent, how often, and what is left out.

use crate::fake::{Fake, Reply, Request};
use crate::made::{client, now_ns, one, recorded, send, HASTY, WINDOWS};
use exactop_export::clickhouse::{Login, Patience, SentCounts};
use std::fs::{set_permissions, write, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

#[test]
fn a_batch_is_repeated_with_its_token_until_accepted() {
    let (_dir, path, _) = one();
    let mut attempts = 0;
    let fake = Fake::start(move |request| {
        attempts += usize::from(request.table() == Some("charges"));
        match (request.table(), attempts) {
            (Some("charges"), 1) => Reply::None,
            (Some("charges"), 2) => Reply::With(503, None, "busy".into()),
            // TOO_MANY_PARTS
            (Some("charges"), 3) => Reply::With(500, Some(252), "Code: 252".into()),
            _ => Reply::fine(),
        }
    });
    let (done, sent) = send(&path, &client(&fake.url, None, None, HASTY), now_ns());
    done.expect("taken");
    assert_eq!(sent, SentCounts { windows: WINDOWS, ..SentCounts::default() });
    let inserts = fake.inserts();
    let tables: Vec<_> = inserts.iter().filter_map(Request::table).collect();
    assert_eq!(tables, ["blame", "charges", "charges", "charges", "charges", "accounts"]);
    for insert in &inserts {
        assert_eq!(insert.token(), inserts[0].token());
        assert!(insert.token().starts_with("one:boot of one:"), "{}", insert.token());
        assert!(insert.body.starts_with(b"PAR1"));
        assert_eq!(insert.given["database"], "exactop");
    }
    assert!(inserts[1..5].iter().all(|insert| insert.body == inserts[1].body));
    assert!([0, 5].iter().all(|&n| inserts[n].body != inserts[1].body));
}

#[test]
fn a_refusal_is_not_retried_and_gives_advice() {
    let (_dir, path, _) = one();
    for (status, code, hint) in [
        (404, Some(60), "crates/fleet/schema.sql"),
        (403, Some(516), "--login"),
        (401, None, "401"),
        (404, Some(47), "another version"),
        (400, Some(349), "another version"),
    ] {
        let answer = Reply::With(status, code, "Code: x. DB::Exception: \x1b[2Jwhy\nmore".into());
        let fake = Fake::start(move |_| answer.clone());
        let (done, sent) = send(&path, &client(&fake.url, None, None, HASTY), now_ns());
        let error = done.expect_err("refused").to_string();
        assert!(error.contains(hint) && error.contains("why"), "{error}");
        assert!(!error.contains('\x1b') && !error.contains("more"), "{error}");
        assert_eq!((fake.requests().len(), sent), (1, SentCounts::default()));
    }
}

#[test]
fn a_store_that_stays_away_is_an_error() {
    let (_dir, path, _) = one();
    let fake = Fake::start(|_| Reply::With(503, None, "down".into()));
    // Long enough for a second attempt, however late this machine answers the first.
    let patience = Patience { all: Duration::from_secs(3), ..HASTY };
    let (done, sent) = send(&path, &client(&fake.url, None, None, patience), now_ns());
    let error = done.expect_err("away").to_string();
    assert!(error.contains("attempts") && error.contains("down"), "{error}");
    assert!(fake.requests().len() > 1);
    assert_eq!(sent, SentCounts::default());
    // A server that does not listen.
    let nobody = client("http://127.0.0.1:1", None, None, patience);
    assert!(send(&path, &nobody, now_ns()).0.is_err());
}

#[test]
fn an_answer_that_is_not_clickhouses_is_an_error() {
    let (_dir, path, _) = one();
    let fake = Fake::start(|_| Reply::With(200, None, "<html>Welcome".into()));
    let (done, _) = send(&path, &client(&fake.url, None, None, HASTY), now_ns());
    let error = done.expect_err("no store").to_string();
    assert!(error.contains("<html>Welcome") && error.contains("ClickHouse"), "{error}");
}

#[test]
fn a_password_is_never_in_an_address() {
    let (dir, path, _) = one();
    let file = dir.path().join("login");
    write(&file, "jo:se:cret\n").expect("a file");
    set_permissions(&file, Permissions::from_mode(0o600)).expect("chmod");
    let login = Login::read(&file).expect("a login");
    let fake = Fake::start(|_| Reply::fine());
    send(&path, &client(&fake.url, Some(login), None, HASTY), now_ns()).0.expect("taken");
    for request in fake.requests() {
        let mut lines = request.head.lines();
        assert!(!lines.next().expect("a line").contains("cret"));
        let said: Vec<&str> =
            lines.filter(|line| line.to_lowercase().starts_with("x-click")).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].ends_with(": jo") && said[1].ends_with(": se:cret"), "{said:?}");
    }
}

#[test]
fn windows_in_the_store_are_not_sent() {
    let (_dir, path, _) = one();
    let (t0, window) = (exactop_testkit::T0, exactop_testkit::WINDOW);
    // In the store: the first two windows, one that overlaps the fourth and fifth, and the third's
    // charges and pairs.
    let row = |table, from_ns| format!("{table}\t{from_ns}\t{}\n", from_ns + window);
    let there = [
        row("accounts", t0),
        row("accounts", t0 + window),
        row("accounts", t0 + 3 * window + 1),
        row("charges", t0 + 2 * window),
        row("blame", t0 + 2 * window),
    ]
    .concat();
    let fake = Fake::start(move |request| match &request.table() {
        Some(_) => Reply::fine(),
        None => Reply::With(200, None, there.clone()),
    });
    let (done, sent) = send(&path, &client(&fake.url, None, None, HASTY), now_ns());
    done.expect("taken");
    assert_eq!(sent, SentCounts { windows: WINDOWS - 4, there: 2, overlapping: 2, old: 0 });
    let inserts = fake.inserts();
    let windows = |n: usize| inserts[n].token().rsplit_once('/').expect("how many").1.to_string();
    assert_eq!(windows(0), (WINDOWS - 5).to_string(), "pairs, but those that are there");
    assert_eq!(windows(1), (WINDOWS - 5).to_string(), "charges, but those that are there");
    assert_eq!(windows(2), (WINDOWS - 4).to_string(), "accounts");
}

#[test]
fn windows_that_the_store_forgets_are_not_sent() {
    let (_dir, path, _) = one();
    let fake = Fake::start(|_| Reply::fine());
    let later = now_ns() + 8 * 86_400 * 1_000_000_000;
    let (done, sent) = send(&path, &client(&fake.url, None, None, HASTY), later);
    done.expect("nothing to send");
    assert_eq!(sent, SentCounts { old: WINDOWS, ..SentCounts::default() });
    assert!(fake.requests().is_empty());
    assert!(sent.to_string().contains("older than the 7 days"), "{sent}");
}

#[test]
fn hostile_names_stay_values() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("recording");
    recorded(&path, "a'; DROP TABLE accounts --\t\\&x=\n", 0);
    let fake = Fake::start(|_| Reply::fine());
    send(&path, &client(&fake.url, None, None, HASTY), now_ns()).0.expect("taken");
    let escaped = r"a'; DROP TABLE accounts --\x09\\&x=\x0a";
    for request in fake.requests() {
        match request.table() {
            // ClickHouse reads parameters of a query as tab-separated values.
            None => assert_eq!(request.given["param_host"], escaped.replace('\\', r"\\")),
            Some(_) => assert!(
                request.token().starts_with(&format!("{escaped}:boot of ")),
                "{}",
                request.token()
            ),
        }
    }
}
