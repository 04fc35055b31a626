//! Owners of directories: root does not write into another user's directory, and a user does not
//! read root's. Root reads what it may read.

use crate::world::{machine, Live};
use exactop_recording::{Options, Recorder, Recording, Sync};
use std::os::unix::fs::{chown, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user `nobody`.
const USER: u32 = 65_534;
/// Environment variable that tells the child the directory.
const WHERE: &str = "EXACTOP_TEST_OWNER";

fn try_to_record(path: &Path) -> Result<(), String> {
    let options = Options { sync: Sync::Never, ..Options::default() };
    let mut recorder =
        Recorder::open(path, machine("boot"), options).map_err(|error| error.to_string())?;
    let mut live = Live::new(41, false);
    (0..3).for_each(|_| drop(live.window(&mut recorder)));
    Ok(())
}

/// Not a test by itself: records and reads as another user, and prints the results.
#[test]
fn child_of_a_user() {
    let Some(path) = std::env::var_os(WHERE) else { return };
    let path = Path::new(&path);
    println!("\nrecord: {:?}", try_to_record(path));
    println!(
        "read: {:?}",
        Recording::open(path).map(|of| of.parts().len()).map_err(|e| e.to_string())
    );
}

/// Output of a user's child that records into a directory and reads it.
fn as_user(path: &Path) -> String {
    let output = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "owners::child_of_a_user", "--nocapture"])
        .env(WHERE, path)
        .uid(USER)
        .gid(USER)
        .output();
    String::from_utf8_lossy(&output.expect("a child").stdout).into_owned()
}

#[test]
fn root_and_users_record_only_into_their_own_directories() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: it takes root to be two users");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let allow = |path: &Path, mode| {
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(path, mode).expect("a mode");
    };
    allow(dir.path(), 0o755);
    // A directory of the user, closed to others.
    let users = dir.path().join("user");
    std::fs::create_dir(&users).expect("a directory");
    chown(&users, Some(USER), Some(USER)).expect("given away");
    allow(&users, 0o700);
    let theirs = users.join("recording");
    let told = as_user(&theirs);
    assert!(told.contains("record: Ok(())") && told.contains("read: Ok(1)"), "{told}");
    let refused = try_to_record(&theirs).expect_err("root would write where a user decides");
    assert!(refused.contains(&USER.to_string()), "{refused}");
    // A new directory is root's alone wherever it is: the owner of its parent can only move it
    // away.
    let beside = users.join("of-root");
    try_to_record(&beside).expect("a directory of its own");
    let told = as_user(&beside);
    assert!(told.contains("record: Err") && told.contains("read: Err"), "{told}");
    assert_eq!(Recording::open(&theirs).expect("root reads it").parts().len(), 1);
    // Root's own directory.
    let roots = dir.path().join("root");
    try_to_record(&roots).expect("its own");
    let told = as_user(&roots);
    assert!(told.contains("record: Err") && told.contains("read: Err"), "{told}");
    assert!(told.matches("Permission denied").count() >= 1, "{told}");
    allow(&roots, 0o755);
    let told = as_user(&roots);
    assert!(told.contains("read: Err") && told.contains("Permission denied"), "files, too: {told}");
}
