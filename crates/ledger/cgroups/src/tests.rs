//! Tests on recorded texts of hierarchies, limits at their edges, and files of made-up groups.

use super::*;
use exactop_model::cgroups::limits::{shares_of_weight, weight_of_shares, Max, MaxError};
use exactop_model::run::CpuStat;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const V1: &str = "\
30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid - cgroup cgroup rw,cpu,cpuacct
31 25 0:27 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory
";

#[test]
fn a_v1_hierarchy_is_found_by_its_controller() {
    let groups = b"5:memory:/m\n4:cpu,cpuacct:/user/7\n0::/\n";
    let found = Hierarchy::from(V1, groups).unwrap();
    let dir = Path::new("/sys/fs/cgroup/cpu,cpuacct");
    assert_eq!((found.version, found.root.as_path()), (Version::V1, dir));
    assert_eq!(found.own_directory(), dir.join("user/7"));
    assert_eq!(found.accounting.as_deref(), Some(dir));
    assert_eq!(found.name(&dir.join("a/b")), Path::new("/a/b"));
}

#[test]
fn a_container_sees_its_group_as_the_root() {
    let mount = "30 25 0:26 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
    let own = |groups: &str| Hierarchy::from(mount, groups.as_bytes()).unwrap().own_directory();
    assert_eq!(own("4:cpu:/docker/abc\n"), Path::new("/sys/fs/cgroup/cpu/"));
    assert_eq!(own("4:cpu:/docker/abc/x\n"), Path::new("/sys/fs/cgroup/cpu/x"));
    assert_eq!(own("4:cpu:/other\n"), Path::new("/sys/fs/cgroup/cpu/"));
}

#[test]
fn without_a_controller_there_is_advice() {
    let error = Hierarchy::from("", b"").unwrap_err().to_string();
    assert!(error.contains("CONFIG_CGROUP_SCHED"), "{error}");
}

#[test]
fn a_mount_name_with_any_bytes_hides_no_hierarchy() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mountinfo");
    fs::write(&file, [b"29 25 0:25 / /m\xff rw - tmpfs m rw\n", V1.as_bytes()].concat()).unwrap();
    let found = Hierarchy::from(&mountinfo::text(&file).unwrap(), b"4:cpu:/a\xff/b\n").unwrap();
    let own = Path::new("/sys/fs/cgroup/cpu,cpuacct").join(OsStr::from_bytes(b"a\xff/b"));
    assert_eq!((found.version, found.own_directory()), (Version::V1, own));
}

#[test]
fn an_unreadable_hierarchy_is_another_error_than_none() {
    let dir = tempfile::tempdir().unwrap();
    let mount = format!("30 25 0:26 / {} rw - cgroup2 cgroup2 rw\n", dir.path().display());
    let error = || Hierarchy::from(&mount, b"0::/\n").unwrap_err();
    assert!(matches!(error(), CgroupError::NoController { .. }), "another mount hides it");
    let controllers = dir.path().join("cgroup.controllers");
    fs::create_dir(&controllers).unwrap();
    let told = error().to_string();
    assert!(told.contains("cannot read") && told.contains("cgroup.controllers"), "{told}");
    // One readable hierarchy is enough.
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("cgroup.controllers"), "cpu memory\n").unwrap();
    let both = format!("{mount}31 25 0:26 / {} rw - cgroup2 c rw\n", other.path().display());
    assert_eq!(Hierarchy::from(&both, b"0::/\n").unwrap().root, other.path());
}

fn v2(files: &[(&str, &str)]) -> (tempfile::TempDir, Hierarchy) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let hierarchy = Hierarchy {
        version: Version::V2,
        root: dir.path().into(),
        accounting: None,
        cpusets: None,
        own: "/a/b".into(),
        own_accounting: "/".into(),
    };
    (dir, hierarchy)
}

#[test]
fn a_group_of_v2_is_read_and_set() {
    let (dir, hierarchy) = v2(&[
        ("a/cgroup.procs", "1\n22\n"),
        ("a/cpu.stat", "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 7\nnr_throttled 1\nthrottled_usec 9\n"),
        ("a/cpu.weight", "100\n"),
        ("a/cpu.max", "max 100000\n"),
    ]);
    let a = dir.path().join("a");
    let stat = hierarchy.cpu_stat(&a);
    assert_eq!(
        (stat.usage_ns, stat.user_ns, stat.throttled_ns),
        (Some(5000), Some(3000), Some(9000))
    );
    assert_eq!((stat.nr_periods, stat.nr_throttled), (Some(7), Some(1)));
    assert_eq!(hierarchy.weight(&a), Some(100));
    assert_eq!(hierarchy.max(&a), Some(Max::NONE));
    assert_eq!(Hierarchy::processes(&a), [1, 22]);
    hierarchy.set_weight(&a, 500).unwrap();
    hierarchy.set_max(&a, "40%".parse().unwrap()).unwrap();
    assert_eq!(hierarchy.weight(&a), Some(500));
    assert_eq!(hierarchy.max(&a).and_then(|m| m.quota_us), Some(40_000));
    let nowhere = hierarchy.set_weight(&dir.path().join("gone"), 1).unwrap_err().to_string();
    assert!(nowhere.starts_with("cannot set the weight to 1 in "), "{nowhere}");
    fs::create_dir(dir.path().join("cpu.weight")).unwrap();
    let root = hierarchy.set_weight(dir.path(), 7).unwrap_err().to_string();
    assert!(root.starts_with("cannot set the weight to 7 in /: the root group"), "{root}");
    assert_eq!(CpuStat::default().since(&stat), CpuStat::default(), "missing stays missing");
    for path in ["/a", "a", a.to_str().unwrap()] {
        assert_eq!(hierarchy.directory(Path::new(path)).unwrap(), a);
    }
    for path in ["/b", "/a/../a", ""] {
        assert!(hierarchy.directory(Path::new(path)).is_err(), "{path}");
    }
}

#[test]
fn a_group_is_made_where_the_controller_is_delegated_and_is_removed() {
    let (dir, hierarchy) = v2(&[("a/b/cgroup.procs", ""), ("cgroup.subtree_control", "memory\n")]);
    let error = Transient::new(&hierarchy).unwrap_err().to_string();
    assert!(error.contains("echo +cpu"), "{error}");
    fs::write(dir.path().join("cgroup.subtree_control"), "cpu memory\n").unwrap();
    let left = dir.path().join("exactop-run-4194305-7-0-1-2");
    let foreign = dir.path().join("exactop-run-x");
    fs::create_dir_all(left.join("a/b")).unwrap();
    fs::create_dir(&foreign).unwrap();
    let ours = Transient::new(&hierarchy).unwrap();
    assert_eq!(ours.directory().parent(), Some(dir.path()));
    assert!(ours.directory().exists() && !left.exists() && foreign.exists());
    let second = Transient::new(&hierarchy).unwrap();
    assert!(ours.directory().exists(), "a group of a living process stays");
    let path = ours.directory().to_path_buf();
    drop((ours, second));
    assert!(!path.exists());
}

#[test]
fn a_group_is_below_our_own_in_each_v1_hierarchy() {
    let dir = tempfile::tempdir().unwrap();
    let at = |path: &str| dir.path().join(path);
    let mount = |controller: &str| {
        format!("30 25 0:26 / {} rw - cgroup c rw,{controller}\n", at(controller).display())
    };
    // In cpuacct this process is in another group than in cpu, and the group with the same path
    // belongs to others.
    for group in ["cpu/a", "cpu/other", "cpuacct/b", "cpuacct/a", "cpuacct/other"] {
        fs::create_dir_all(at(group)).unwrap();
    }
    let mounts = mount("cpu") + &mount("cpuacct");
    let hierarchy = Hierarchy::from(&mounts, b"2:cpuacct:/b\n1:cpu:/a\n0::/\n").unwrap();
    let left = at("cpuacct/b/exactop-run-4194305-7-0-1-2");
    fs::create_dir(&left).unwrap();
    let ours = Transient::new(&hierarchy).unwrap();
    assert!(!left.exists(), "an abandoned group is removed");
    let name = ours.directory().file_name().unwrap().to_owned();
    let (cpu, accounting) = (at("cpu/a").join(&name), at("cpuacct/b").join(&name));
    assert_eq!(ours.directory(), cpu);
    assert!(accounting.is_dir() && !at("cpuacct/a").join(&name).exists());
    for place in [&cpu, &accounting] {
        fs::write(place.join("cgroup.procs"), "").unwrap();
    }
    assert_eq!(ours.doors().unwrap().len(), 2);
    fs::write(accounting.join("cpuacct.usage"), "7\n").unwrap();
    assert_eq!(hierarchy.cpu_stat(&cpu).usage_ns, Some(7));
    // Groups of others have the same path in both.
    assert_eq!(hierarchy.accounting_of(&at("cpu/other")), Some(at("cpuacct/other")));
    for file in [
        cpu.join("cgroup.procs"),
        accounting.join("cgroup.procs"),
        accounting.join("cpuacct.usage"),
    ] {
        fs::remove_file(file).unwrap();
    }
    drop(ours);
    assert!(!cpu.exists() && !accounting.exists());
}

#[test]
fn quotas_parse_in_all_written_forms() {
    let us = |text: &str| text.parse::<Max>().map(|m| (m.quota_us, m.period_us));
    assert_eq!(us("40%"), Ok((Some(40_000), 100_000)));
    assert_eq!(us("150%"), Ok((Some(150_000), 100_000)));
    assert_eq!(us("400000/1000000"), Ok((Some(400_000), 1_000_000)));
    assert_eq!(us("50%/50000"), Ok((Some(25_000), 50_000)));
    assert_eq!(us("max"), Ok((None, 100_000)));
    assert_eq!(us("max/20000"), Ok((None, 20_000)));
    for (text, error) in [
        ("", MaxError::Text),
        ("much", MaxError::Text),
        ("0%", MaxError::Text),
        ("-1%", MaxError::Text),
        ("nan%", MaxError::Text),
        ("1/x", MaxError::Text),
        ("0", MaxError::Quota(0)),
        ("999", MaxError::Quota(999)),
        ("0.5%", MaxError::Quota(500)),
        ("1000/999", MaxError::Period(999)),
        ("1000/1000001", MaxError::Period(1_000_001)),
    ] {
        assert_eq!(us(text), Err(error), "{text}");
    }
    assert_eq!("40%".parse::<Max>().unwrap().to_string(), "40000 100000");
    assert_eq!(Max::NONE.to_string(), "max 100000");
    assert_eq!("150%".parse::<Max>().unwrap().cpus(), Some(1.5));
}

#[test]
fn weights_survive_conversion_to_shares() {
    for weight in [1, 2, 50, 100, 500, 9_999, 10_000] {
        assert_eq!(weight_of_shares(shares_of_weight(weight)), weight);
    }
    assert_eq!((shares_of_weight(100), weight_of_shares(2)), (1024, 1));
}
