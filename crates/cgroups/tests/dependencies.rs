//! Who reads groups needs no bus: that comes with the feature `change` alone.

use std::process::Command;

#[test]
fn the_sources_and_the_c_library_do_without_dbus() {
    for (package, has_bus) in
        [("exactop-sources", false), ("exactop-capi", false), ("exactop", true)]
    {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["tree", "--offline", "--edges", "normal", "--prefix", "none"]);
        let told = cargo.args(["--package", package]).output().expect("cargo runs");
        let tree = String::from_utf8_lossy(&told.stdout);
        let has = |name: &str| tree.lines().any(|line| line.split(' ').next() == Some(name));
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        assert!(has("exactop-cgroups"), "{package}:\n{tree}");
        assert_eq!(has("zbus"), has_bus, "{package}:\n{tree}");
    }
}
