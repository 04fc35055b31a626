//! Programs that were made for a released version go on working with this one: its header is kept here.

use crate::{home, libraries, run};
use std::path::PathBuf;
use std::process::Command;

fn released() -> PathBuf {
    home().join("tests/released")
}

#[test]
fn a_program_made_for_0_1_works_as_it_did() {
    let libraries = libraries();
    let dir = tempfile::tempdir().expect("a directory");
    let program = dir.path().join("books");
    let library = libraries.to_str().expect("UTF-8");
    let made = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([released().join("0.1"), released().join("books.c")])
        .args(["-L", library, "-lexactop", &format!("-Wl,-rpath,{library}"), "-o"])
        .arg(&program)
        .output()
        .expect("cc");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (output, text) = run(&mut Command::new(program));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), text.as_str()), (Some(0), "as it was\n"), "{said}");
}

/// Declarations of a header, without their comments.
fn declared(header: &str) -> String {
    let lines = header.lines().map(str::trim);
    let code = lines.filter(|line| !line.starts_with(['*', '/', '#']));
    code.collect::<Vec<_>>().join(" ")
}

#[test]
fn declarations_of_0_1_are_unchanged() {
    let read = |path: PathBuf| std::fs::read_to_string(path).expect("a header");
    let (then, now) = (
        declared(&read(released().join("0.1/exactop.h"))),
        declared(&read(home().join("include/exactop.h"))),
    );
    let mut names = 0;
    for declaration in then.split(';').map(str::trim) {
        // Of enumerations more may come; those that there are keep their numbers.
        let is_enum = declaration.contains("typedef enum");
        let parts = match is_enum {
            true => declaration.split(',').collect(),
            false => vec![declaration],
        };
        for part in parts.into_iter().map(str::trim).filter(|part| !part.starts_with('}')) {
            let is_there = match is_enum {
                // A number that goes on is another.
                true => {
                    let constant = part.rsplit('{').next().unwrap_or(part).trim();
                    now.split([',', '{', '}']).any(|other| other.trim() == constant)
                }
                false => now.contains(part),
            };
            assert!(is_there, "'{part}' is not declared any more");
            names += 1;
        }
    }
    assert!(names > 40, "{names}");
}
