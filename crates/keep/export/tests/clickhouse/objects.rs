//! Files sent to a server equal those of a directory, each whole, whatever happens on the way.

use crate::fake::{Fake, Reply, Request};
use crate::made::{one, HASTY};
use crate::tls::secure;
use exactop_export::clickhouse::{Address, Login, Patience, StoreError};
use exactop_export::{export, ExportError, Exported, Files, Objects, Replacing, TableName};
use exactop_files::Directory;
use exactop_recording::{Recording, TimeRange, Windows};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

fn objects(url: &str, login: Option<&Login>, believed: Option<&Path>) -> Objects {
    let address = Address::read(url).expect("an address");
    Objects::new(&address, login, believed, HASTY).expect("a client")
}

fn put(path: &Path, mut objects: Objects) -> Result<Exported, ExportError> {
    let recording = Recording::open(path).expect("a recording");
    export(recording, TimeRange::default(), &mut objects)
}

/// End of the first window.
fn first_end(path: &Path) -> i128 {
    let recording = Recording::open(path).expect("a recording");
    let mut windows = Windows::from_recording(recording, TimeRange::default()).expect("windows");
    assert!(windows.advance().expect("readable"));
    windows.replay().ends_wall_ns().expect("a window")
}

/// Method and path.
fn line(request: &Request) -> (&str, &str) {
    let mut words = request.head.split(' ');
    (words.next().unwrap_or(""), words.next().unwrap_or(""))
}

/// Files that a directory export has, by day and name.
fn expected(path: &Path, below: &Path) -> BTreeMap<String, Vec<u8>> {
    let into = Directory::open_or_make(below).expect("a directory");
    let recording = Recording::open(path).expect("a recording");
    export(recording, TimeRange::default(), &mut &into).expect("exported");
    let mut files = BTreeMap::new();
    for day in fs::read_dir(below).expect("days").flatten() {
        for file in fs::read_dir(day.path()).expect("files").flatten() {
            let name =
                format!("/books/{}/{}", day.file_name().display(), file.file_name().display());
            files.insert(name, fs::read(file.path()).expect("a file"));
        }
    }
    files
}

#[test]
fn files_on_a_server_equal_those_in_a_directory() {
    let (dir, path, _) = one();
    let kept: Arc<Mutex<BTreeMap<String, Vec<u8>>>> = Arc::default();
    let (store, mut made, mut asked) = (Arc::clone(&kept), Vec::new(), 0);
    let fake = Fake::start(move |request| {
        let (method, target) = line(request);
        if method == "MKCOL" {
            made.push(target.to_string());
            return Reply::With(201, None, String::new());
        }
        if method == "GET" {
            return match store.lock().expect("it").get(target) {
                Some(bytes) => Reply::File(bytes.clone()),
                None => Reply::With(404, None, "no such file".into()),
            };
        }
        // Like WebDAV: a PUT does not create the directory.
        if !made.iter().any(|directory| target.starts_with(directory)) {
            let status = if asked == 0 { 409 } else { 500 };
            return Reply::With(status, None, "no such directory".into());
        }
        asked += 1;
        match asked {
            1 => return Reply::With(503, None, "busy".into()),
            2 => return Reply::None,
            _ => {}
        }
        store.lock().expect("it").insert(target.to_string(), request.body.clone());
        // The file is stored, but the answer is lost.
        if asked == 3 {
            Reply::None
        } else {
            Reply::With(201, None, String::new())
        }
    });
    let exported = put(&path, objects(&format!("{}/books/", fake.url), None, None)).expect("taken");
    let expected = expected(&path, &dir.path().join("out"));
    assert_eq!(*kept.lock().expect("it"), expected);
    let bytes: usize = expected.values().map(Vec::len).sum();
    assert_eq!(exported.bytes, bytes as u64);
    assert_eq!(expected.len() as u64, TableName::ALL.len() as u64 * exported.days);
    // Send again: files are replaced, unless windows would be lost.
    put(&path, objects(&format!("{}/books", fake.url), None, None)).expect("taken");
    assert_eq!(*kept.lock().expect("it"), expected);
    let asked = fake.requests();
    assert!(asked.iter().all(|request| ["GET", "PUT", "MKCOL"].contains(&line(request).0)));
    let later = TimeRange { from: Some(first_end(&path)), to: None };
    let part =
        |files: &mut dyn Files| export(Recording::open(&path).expect("a recording"), later, files);
    let mut server = objects(&format!("{}/books", fake.url), None, None);
    let error = part(&mut server).expect_err("it has less").to_string();
    assert!(error.contains("(1, the first of 'one')") && error.contains("--replace"), "{error}");
    assert_eq!(*kept.lock().expect("it"), expected, "nothing was written");
    part(&mut Replacing(&mut server)).expect("it was said");
    assert_ne!(*kept.lock().expect("it"), expected);
    put(&path, server).expect("all that is there, and more");
    assert_eq!(*kept.lock().expect("it"), expected);
}

#[test]
fn a_refused_put_is_not_repeated() {
    let (_dir, path, _) = one();
    for (status, requests, words) in [
        (403, 1, "with --login FILE"),
        (405, 1, "does not accept PUT"),
        (307, 1, "307"),
        (413, 1, "as large as that"),
        // Three requests: the file, the directory, and the file again.
        (409, 3, "the directory above exists"),
    ] {
        let fake = Fake::start(move |request| match line(request).0 {
            "GET" => Reply::With(404, None, "no such file".into()),
            _ => Reply::With(status, None, "why\x1b[2J\nmore".into()),
        });
        let error = put(&path, objects(&fake.url, None, None)).expect_err("refused").to_string();
        assert!(error.contains(words) && error.contains("why"), "{error}");
        assert!(!error.contains('\x1b') && !error.contains("more"), "{error}");
        let of = |request: &&Request| line(request).0 != "GET";
        assert_eq!(fake.requests().iter().filter(of).count(), requests, "{status}");
    }
    // Servers that do not say what they have.
    for status in [403, 405, 501] {
        let fake = Fake::start(move |request| match line(request).0 {
            "GET" => Reply::With(status, None, String::new()),
            _ => Reply::fine(),
        });
        let error = put(&path, objects(&fake.url, None, None)).expect_err("it does not say");
        assert!(error.to_string().contains("unchecked with --replace"), "{status}: {error}");
        assert_eq!(fake.requests().len(), 1, "nothing was written");
        let recording = Recording::open(&path).expect("a recording");
        let mut server = objects(&fake.url, None, None);
        export(recording, TimeRange::default(), &mut Replacing(&mut server)).expect("it was said");
    }
    let nobody = Address::read("http://127.0.0.1:1").expect("an address");
    let nobody = Objects::new(&nobody, None, None, Patience::ONCE).expect("a client");
    let away = put(&path, nobody).expect_err("away");
    assert!(matches!(away, ExportError::Store(StoreError::Away { .. })), "{away}");
    assert!(away.to_string().contains("(1 attempt; the last"), "{away}");
}

#[test]
fn a_password_is_sent_in_a_header_and_only_encrypted() {
    let (dir, path, _) = one();
    let file = dir.path().join("login");
    fs::write(&file, "jo:se:cret\n").expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("chmod");
    let login = Login::read(&file).expect("a login");
    let fake = Fake::start(|_| Reply::fine());
    put(&path, objects(&fake.url, Some(&login), None)).expect("taken");
    for request in fake.requests() {
        // jo:se:cret, encoded as in RFC 7617.
        let header = "authorization: Basic am86c2U6Y3JldA==";
        assert!(request.head.to_lowercase().contains(&header.to_lowercase()), "{}", request.head);
        assert!(!request.head.contains("cret\r"), "{}", request.head);
    }
    let address = Address::read("http://store/books").expect("an address");
    let error = Objects::new(&address, Some(&login), None, HASTY).expect_err("in the clear");
    assert!(error.to_string().contains("in the clear"), "{error}");
}

#[test]
fn only_a_trusted_server_gets_a_file() {
    let (dir, path, _) = one();
    let (url, believed, _) = secure(dir.path(), "one.pem");
    put(&path, objects(&url, None, Some(&believed))).expect("taken");
    let (other, _, reached) = secure(dir.path(), "two.pem");
    let error = put(&path, objects(&other, None, Some(&believed))).expect_err("not believed");
    assert!(error.to_string().contains("--ca"), "{error}");
    assert_eq!(reached.load(Ordering::SeqCst), 1, "asked once");
}
