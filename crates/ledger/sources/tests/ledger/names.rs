//! Tests of control-group names: every new group is reported, however short its life.

use exactop_cgroups::Hierarchy;
use exactop_model::Needs;
use exactop_sources::session::{open, Choice, Session};
use exactop_sources::{Request, SplitOptions};
use std::fs;
use std::path::{Path, PathBuf};

/// Number of groups that are made and removed.
const GROUPS: usize = 500;

/// A session that names groups, with its first window open.
fn naming() -> Session {
    let mut session = open(Choice::Ledger, SplitOptions::default()).expect("a ledger");
    advance(&mut session);
    session
}

fn advance(session: &mut Session) {
    session.advance(&Request { needs: Needs::NAMES, ..Request::default() }).expect("a snapshot");
}

/// The hierarchy of the ledger's groups, and a path that no group has.
fn place(of: &str) -> (Hierarchy, PathBuf) {
    let hierarchy = Hierarchy::of_this_machine().expect("control groups");
    // In a PID namespace the next run may have the same PID, and a failed run may have left a
    // group.
    let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_nanos();
    let name = format!("exactop-{of}-{}-{now}", std::process::id());
    let place = hierarchy.root.join(name);
    (hierarchy, place)
}

fn make(path: &Path) -> u64 {
    fs::create_dir(path).expect("a group");
    Hierarchy::id(path).expect("its id")
}

#[test]
fn a_group_removed_at_once_has_its_path_and_unit() {
    let Some(_machine) = crate::machine() else { return };
    let mut session = naming();
    let (_, place) = place("born");
    let made: Vec<(u64, String)> = (0..GROUPS)
        .map(|n| {
            let path = place.with_extension(format!("{n}.service"));
            let id = make(&path);
            fs::remove_dir(&path).expect("an empty group goes");
            (id, path.file_name().expect("a name").to_str().expect("UTF-8").to_string())
        })
        .collect();
    advance(&mut session);
    let book = session.book();
    for (id, name) in &made {
        let group = book.group(*id).unwrap_or_else(|| panic!("{name} is not told"));
        assert_eq!(group.path, format!("/{name}").into_bytes());
        assert_eq!(group.named.unit.as_deref(), Some(name.as_str()));
    }
}

#[test]
fn existing_groups_are_named_in_the_first_snapshot() {
    let Some(_machine) = crate::machine() else { return };
    let (hierarchy, place) = place("before");
    let inner = place.join("inside");
    let ids = [make(&place), make(&inner)];
    let session = naming();
    let path = |id| session.book().group(id).map(|group| group.path.clone());
    let (told, listed) = (ids.map(path), hierarchy.ids());
    fs::remove_dir(&inner).and_then(|()| fs::remove_dir(&place)).expect("empty groups go");
    let expected =
        [&place, &inner].map(|p| Some(hierarchy.name(p).into_os_string().into_encoded_bytes()));
    assert_eq!(told, expected);
    for (id, path) in ids.into_iter().zip(expected) {
        let of_id = listed.iter().find(|(listed, _)| *listed == id);
        assert_eq!(of_id.map(|(_, path)| path.clone()), path, "the kernel's id is the listed one");
    }
}
