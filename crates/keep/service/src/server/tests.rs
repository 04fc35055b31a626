//! Limits of connections, idle timeouts, and the combined needs of readers.

use super::readers::Reader;
use super::*;
use exactop_model::Needs;
use exactop_recording::stream::answer;
use exactop_recording::FORMAT;
use exactop_testkit::wait;
use std::io::{Read, Write};

const HELLO: &str = "{\"hello\":{\"exactop\":\"x\",\"format\":1}}\n";
const MINUTE_NS: u64 = 60_000_000_000;
/// A user other than root and the user that runs this.
const SOMEBODY: u32 = 4_000_000_001;

fn server() -> (Server, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let text = || "x".to_string();
    let machine = Machine {
        host: text(),
        boot_id: text(),
        kernel: text(),
        architecture: text(),
        exactop: text(),
    };
    (Server::listen(&dir.path().join("socket"), None, machine).unwrap(), dir)
}

fn comes(dir: &tempfile::TempDir, said: &str) -> UnixStream {
    let mut stream = UnixStream::connect(dir.path().join("socket")).unwrap();
    stream.write_all(said.as_bytes()).unwrap();
    stream
}

#[track_caller]
fn until(server: &mut Server, what: &str, is: impl Fn(&Server) -> bool) {
    wait::until(what, || {
        // A large stream takes many writes.
        (0..50).any(|_| {
            is(server) || {
                server.serve(Duration::from_millis(1), &[]).unwrap();
                is(server)
            }
        })
    });
}

/// All bytes received until the connection ended.
fn last_words(mut stream: &UnixStream) -> String {
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

#[test]
fn an_idle_reader_is_disconnected_with_the_reason() {
    let (mut server, dir) = server();
    let silent = [comes(&dir, ""), comes(&dir, HELLO)];
    let _asks = comes(&dir, &format!("{HELLO}{{\"window\":{{}}}}\n"));
    until(&mut server, "all came", |server| {
        let greeted = server.readers.iter().filter(|reader| reader.stage == ReaderStage::Greeted);
        greeted.count() == 2 && server.readers() == 3
    });
    let now_ns = now_ns();
    server.disconnect_idle(now_ns + MINUTE_NS / 2);
    assert_eq!(server.readers(), 3);
    server.disconnect_idle(now_ns + 2 * MINUTE_NS);
    assert_eq!(server.readers(), 1, "who asked stays");
    for silent in &silent {
        assert!(last_words(silent).contains("no request for a minute"));
    }
    let notices = server.notices();
    let [Notice::Refused(why)] = &notices[..] else { panic!("{notices:?}") };
    assert!(why.ends_with("connect again (and 1 more like it)"), "{why}");
}

#[test]
fn an_old_format_is_refused_with_the_versions() {
    let (mut server, dir) = server();
    let of = |format: u32| {
        comes(
            &dir,
            &format!("{{\"hello\":{{\"exactop\":\"0.0\x1b\",\"format\":{format}}}}}\n")
                .replace('\x1b', "\\u001b"),
        )
    };
    let (old, new) = (of(0), of(FORMAT + 1));
    until(&mut server, "one was refused", |server| {
        let greeted = server.readers.iter().filter(|reader| reader.stage == ReaderStage::Greeted);
        greeted.count() == 1 && server.readers() == 1
    });
    let said = last_words(&old);
    let version = env!("CARGO_PKG_VERSION");
    for words in [
        "reads format 0, ".to_string(),
        format!("the daemon (exactop {version}) sends format {FORMAT}"),
        "this reader (exactop 0.0".into(),
    ] {
        assert!(said.contains(&words), "{words}: {said}");
    }
    assert!(!said.contains('\x1b'), "{said}");
    drop(new);
}

#[test]
fn extra_figures_are_measured_only_while_requested() {
    let (mut server, dir) = server();
    let ask = |ends| {
        format!(
            "{HELLO}{{\"window\":{{\"interval_ns\":1000000000,\"ends\":{ends},\"needs\":[\"split\"],\
             \"watch\":7}}}}\n"
        )
    };
    let _one = comes(&dir, &ask(1));
    until(&mut server, "one asked", |server| {
        server.readers().min(1) == 1 && server.due_ns().is_some()
    });
    let now_ns = now_ns();
    let wanted = |server: &Server, s: u64| {
        let wanted = server.reader_needs_at(now_ns + s * 1_000_000_000);
        (wanted.needs.has(Needs::SPLIT), wanted.watch)
    };
    assert_eq!(wanted(&server, 0), (true, Some(7)));
    assert_eq!(wanted(&server, 5), (true, Some(7)), "the next question may be a little late");
    assert_eq!(wanted(&server, 30), (false, None), "no request for a long time");
    let _many = comes(&dir, &ask(32));
    until(&mut server, "another asked", |server| wanted(server, 30).0);
    assert_eq!(wanted(&server, 32), (true, Some(7)), "its ends are not over");
    assert_eq!(wanted(&server, 600), (false, None));
    assert_eq!(server.readers(), 2, "both may go on asking");
}

#[test]
fn a_slow_reader_has_extra_figures_in_every_window() {
    let (mut server, dir) = server();
    for interval_s in [75, 3_600] {
        let interval_ns = interval_s * 1_000_000_000;
        let ask =
            format!("{{\"window\":{{\"interval_ns\":{interval_ns},\"needs\":[\"split\"]}}}}\n");
        let _one = comes(&dir, &format!("{HELLO}{ask}"));
        until(&mut server, "one asked", |server| server.reader_needs().needs.has(Needs::SPLIT));
        let now_ns = now_ns();
        let wanted =
            |server: &Server, at_ns| server.reader_needs_at(now_ns + at_ns).needs.has(Needs::SPLIT);
        assert!(wanted(&server, interval_ns + interval_ns / 2), "until the next question");
        assert!(!wanted(&server, 10 * interval_ns), "and not for ever");
        drop(_one);
        until(&mut server, "one left", |server| server.readers() == 0);
    }
}

/// Adds a reader of this user.
fn add(server: &mut Server, uid: u32, stage: ReaderStage) -> Result<(), String> {
    server.make_room(uid)?;
    let (stream, _) = UnixStream::pair().unwrap();
    let mut reader =
        Reader::new(1000 + server.readers() as u64, stream, (uid, PidNumbering::Hosts), 0);
    reader.stage = stage;
    server.readers.push(reader);
    Ok(())
}

#[test]
fn a_user_cannot_exceed_its_limit_and_root_gets_in() {
    let (mut server, _dir) = server();
    let took =
        (0..1000).filter(|_| add(&mut server, SOMEBODY, ReaderStage::Greeted).is_ok()).count();
    assert_eq!(took, READERS.of_one);
    let why = add(&mut server, SOMEBODY, ReaderStage::Greeted).unwrap_err();
    assert_eq!(
        why,
        "32 connections are served already for your user, the most of one user: close one"
    );
    assert!(add(&mut server, SOMEBODY + 1, ReaderStage::Greeted).is_ok());
    (0..1000).for_each(|n| drop(add(&mut server, SOMEBODY + n, ReaderStage::Greeted)));
    assert_eq!(server.readers(), READERS.all - READERS.for_root);
    assert!(add(&mut server, 0, ReaderStage::Greeted).is_ok(), "there is a place for root");
}

#[test]
fn a_connection_without_a_hello_makes_room() {
    let (mut server, _dir) = server();
    for n in 0..READERS.of_one {
        let stage = if n == 5 { ReaderStage::New } else { ReaderStage::Greeted };
        add(&mut server, SOMEBODY, stage).unwrap();
    }
    assert!(add(&mut server, SOMEBODY, ReaderStage::Greeted).is_ok());
    assert_eq!(server.readers(), READERS.of_one);
    assert!(add(&mut server, SOMEBODY, ReaderStage::Greeted).is_err(), "each has greeted");
    assert_eq!(server.readers(), READERS.of_one, "and no connection was closed without need");
}

#[test]
fn an_answer_longer_than_the_unread_limit_arrives() {
    let (mut server, dir) = server();
    let mut stream = comes(&dir, HELLO);
    until(&mut server, "a reader connected", |server| server.readers() == 1);
    let long: std::sync::Arc<[u8]> = answer(vec![b' '; 48 << 20]).unwrap().into();
    let reading = std::thread::spawn(move || {
        let (mut read, mut bytes) = (0, vec![0; 1 << 20]);
        loop {
            match stream.read(&mut bytes) {
                Ok(0) | Err(_) => return read,
                Ok(n) => read += n,
            }
        }
    });
    server.readers[0].send(&long);
    let all = |server: &Server| server.readers.iter().all(|reader| reader.unread() == 0);
    until(&mut server, "all is written", all);
    assert_eq!((server.readers(), server.notices()), (1, vec![]));
    drop(server);
    assert_eq!(reading.join().unwrap(), long.len());
}

#[test]
fn a_reader_with_too_much_unread_is_disconnected_and_logged() {
    let (mut server, dir) = server();
    let _stalled = comes(&dir, HELLO);
    let other = comes(&dir, HELLO);
    until(&mut server, "both came", |server| server.readers() == 2);
    let piece: std::sync::Arc<[u8]> = answer(vec![b' '; 24 << 20]).unwrap().into();
    for _ in 0..3 {
        assert_eq!(server.readers(), 2);
        server.readers[0].send(&piece);
        server.serve(Duration::from_millis(1), &[]).unwrap();
    }
    let notices = server.notices();
    let [Notice::Stalled(bytes)] = notices[..] else { panic!("{notices:?}") };
    assert!((33 << 20..48 << 20).contains(&bytes), "{bytes}");
    assert_eq!(server.readers(), 1, "the other stays");
    drop(server);
    assert_eq!(last_words(&other), "");
}
