//! Tests on paths and files of real systems, written by hand, and on hostile ones.

use super::*;
use exactop_fuzzing::{corpus, Target};
use std::cell::RefCell;
use std::collections::HashMap;

/// Files written by hand; records which ones were read.
#[derive(Default)]
struct Drawn {
    files: HashMap<String, Vec<u8>>,
    asked: RefCell<Vec<String>>,
}

impl Drawn {
    fn with(mut self, path: &str, text: &str) -> Drawn {
        self.files.insert(path.into(), text.into());
        self
    }
}

impl Files for Drawn {
    fn read(&self, directory: &str, name: &str, limit: u64) -> Option<Vec<u8>> {
        let path = format!("{directory}/{name}");
        self.asked.borrow_mut().push(path.clone());
        self.files.get(&path).filter(|bytes| bytes.len() as u64 <= limit).cloned()
    }

    fn has(&self, directory: &str, name: &str) -> bool {
        self.names(directory).iter().any(|entry| entry == name)
    }

    fn names(&self, directory: &str) -> Vec<String> {
        let below = self.files.keys().filter_map(|path| path.strip_prefix(directory));
        let names = below.filter_map(|rest| rest.strip_prefix('/')?.split('/').next());
        names.map(String::from).collect()
    }
}

const ID: &str = "4f0e1d2c3b4a59687786958493a2b1c0d9e8f7a6b5c4d3e2f10123456789abcd";
const POD: &str = "9d2c0b1a-1f2e-4d3c-8b7a-001122334455";

/// `ID`, `POD` and `P_D` (systemd's form) stand for long ids.
fn path_of(drawn: &str) -> Vec<u8> {
    let path = drawn.replace("ID", ID).replace("POD", POD).replace("P_D", &POD.replace('-', "_"));
    path.into_bytes()
}

fn named(drawn: &str, files: &Drawn) -> (String, String) {
    let Named { unit, container, pod, namespace, runtime } = name(&path_of(drawn), files);
    let parts = [
        runtime.map(|runtime| runtime.name().to_string()),
        namespace.map(|n| format!("ns {n}")),
        pod.map(|p| format!("pod {p}")),
        container,
    ];
    let unit = unit.map_or(String::new(), |unit| {
        unit.replace(ID, "ID").replace(&POD.replace('-', "_"), "P_D")
    });
    (parts.into_iter().flatten().collect::<Vec<_>>().join(" "), unit)
}

fn docker() -> Drawn {
    let kept = r#"{"StreamConfig":{},"State":{"Running":true},"ID":"x","Name":"/web",
        "Config":{"Hostname":"h","Labels":{}},"HostConfig":null}"#;
    Drawn::default().with(&format!("/var/lib/docker/containers/{ID}/config.v2.json"), kept)
}

fn kubernetes(kind: &str, name: &str) -> Drawn {
    let config = format!(
        r#"{{"ociVersion":"1.0.2","linux":{{"cgroupsPath":"kubepods-podx.slice:cri-containerd:{ID}"}},
        "annotations":{{"io.kubernetes.cri.container-type":"{kind}",{name}
        "io.kubernetes.cri.sandbox-id":"s","io.kubernetes.cri.sandbox-name":"web-0",
        "io.kubernetes.cri.sandbox-namespace":"shop"}}}}"#
    );
    let kept = format!("/run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json");
    Drawn::default().with(&kept, &config)
}

fn podman() -> Drawn {
    let list = format!(
        r#"[{{"id":"00","names":["other"]}},{{"id":"{ID}","names":["db"],"metadata":"{{}}"}}]"#
    );
    let volatile = "/var/lib/containers/storage/overlay-containers/volatile-containers.json";
    Drawn::default().with(volatile, &list)
}

fn crio() -> Drawn {
    let config = r#"{"annotations":{"io.kubernetes.cri-o.ContainerType":"container",
        "io.kubernetes.container.name":"app","io.kubernetes.pod.name":"web-0",
        "io.kubernetes.pod.namespace":"shop"}}"#;
    let kept = format!("/run/containers/storage/overlay-containers/{ID}/userdata/config.json");
    Drawn::default().with(&kept, config)
}

fn check(files: &Drawn, cases: &[(&str, &str, &str)]) {
    for (path, whose, unit) in cases {
        assert_eq!(named(path, files), (whose.to_string(), unit.to_string()), "{path}");
    }
}

#[test]
fn docker_by_systemd_and_by_cgroupfs() {
    check(
        &docker(),
        &[
            ("/system.slice/docker-ID.scope", "docker web", "system.slice"),
            ("/docker/ID", "docker web", ""),
            ("/docker/ID/init", "docker web", ""),
            ("/docker/buildkit/ID", "docker web", ""),
            // A systemd inside the container: its units are not the machine's.
            (
                "/system.slice/docker-ID.scope/system.slice/cron.service",
                "docker web",
                "system.slice",
            ),
        ],
    );
    let nothing = Drawn::default();
    check(&nothing, &[("/docker/ID", "docker 4f0e1d2c3b4a", "")]);
    check(&nothing, &[("/system.slice/docker.service", "", "docker.service")]);
}

#[test]
fn kubernetes_on_containerd() {
    let files = kubernetes("container", r#""io.kubernetes.cri.container-name":"app","#);
    let whose = "containerd ns shop pod web-0 app";
    check(
        &files,
        &[
            ("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podP_D.slice/cri-containerd-ID.scope", whose, "kubepods-burstable.slice"),
            ("/kubepods.slice/kubepods-podP_D.slice/cri-containerd-ID.scope", whose, "kubepods.slice"),
            ("/kubepods/burstable/podPOD/ID", whose, ""),
            ("/kubepods/podPOD/ID", whose, ""),
            // runc got systemd's syntax and made the directory itself.
            ("/system.slice/containerd.service/kubepods-burstable-podP_D.slice:cri-containerd:ID", whose, "containerd.service"),
        ],
    );
    let sandbox = kubernetes("sandbox", "");
    check(&sandbox, &[("/kubepods/podPOD/ID", "containerd ns shop pod web-0 (sandbox)", "")]);
}

#[test]
fn pods_are_named_by_their_logs() {
    let logs = Drawn::default().with(&format!("/var/log/pods/shop_web-0_{POD}/app/0.log"), "");
    check(
        &logs,
        &[
            ("/kubepods/besteffort/podPOD", "ns shop pod web-0", ""),
            ("/kubepods.slice/kubepods-podP_D.slice", "ns shop pod web-0", "kubepods.slice"),
            ("/kubepods/podPOD/ID", "ns shop pod web-0 4f0e1d2c3b4a", ""),
        ],
    );
    let nothing = Drawn::default();
    assert_eq!(named("/kubepods/podPOD", &nothing).0, format!("pod {POD}"));
    assert_eq!(named("/kubepods/burstable", &nothing), (String::new(), String::new()));
}

#[test]
fn crio_and_its_monitor() {
    let whose = "cri-o ns shop pod web-0 app";
    let slice = "/kubepods.slice/kubepods-podP_D.slice";
    check(
        &crio(),
        &[
            (&format!("{slice}/crio-ID.scope"), whose, "kubepods.slice"),
            (&format!("{slice}/crio-ID.scope/container"), whose, "kubepods.slice"),
            ("/kubepods/besteffort/podPOD/crio-ID", whose, ""),
        ],
    );
    let (whose, unit) = named(&format!("{slice}/crio-conmon-ID.scope"), &crio());
    assert_eq!((whose, unit), (format!("pod {POD}"), "kubepods.slice".into()));
}

#[test]
fn podman_by_systemd_and_by_cgroupfs() {
    let inside = "/machine.slice/machine-libpod_pod_ID.slice/libpod-ID.scope/container";
    check(
        &podman(),
        &[
            ("/machine.slice/libpod-ID.scope", "podman db", "machine.slice"),
            ("/machine.slice/libpod-ID.scope/container", "podman db", "machine.slice"),
            (inside, "podman pod 4f0e1d2c3b4a db", "machine.slice"),
            ("/libpod_parent/libpod-ID", "podman db", ""),
            ("/libpod_parent/ID/libpod-ID", "podman pod 4f0e1d2c3b4a db", ""),
            ("/libpod_parent/ID", "pod 4f0e1d2c3b4a", ""),
            ("/system.slice/web.service/libpod-payload-ID", "podman db", "web.service"),
            ("/machine.slice/libpod-conmon-ID.scope", "", "machine.slice"),
        ],
    );
}

#[test]
fn machines_of_nspawn_and_lxc() {
    check(
        &Drawn::default(),
        &[
            ("/machine.slice/machine-web.scope", "nspawn web", "machine-web.scope"),
            (
                "/machine.slice/machine-my\\x2dweb.scope/payload/init.scope",
                "nspawn my-web",
                "machine-my\\x2dweb.scope",
            ),
            (
                "/machine.slice/systemd-nspawn@my\\x2dweb.service/payload",
                "nspawn my-web",
                "systemd-nspawn@my\\x2dweb.service",
            ),
            (
                "/machine.slice/machine-qemu\\x2d3\\x2dvm.scope",
                "",
                "machine-qemu\\x2d3\\x2dvm.scope",
            ),
            (
                "/machine.slice/machine-lxc\\x2d77\\x2dold.scope",
                "lxc old",
                "machine-lxc\\x2d77\\x2dold.scope",
            ),
            ("/lxc.payload.ct1", "lxc ct1", ""),
            ("/lxc.payload.ct1/system.slice/cron.service", "lxc ct1", ""),
            ("/lxc/101/ns/init.scope", "lxc 101", ""),
            ("/lxc.monitor.ct1", "", ""),
            // Other groups that a user may make are no machine.
            ("/machine.slice/machine-.scope", "", "machine-.scope"),
            ("/machine.slice/machine-lxc\\x2d7\\x2d.scope", "", "machine-lxc\\x2d7\\x2d.scope"),
            ("/machine.slice/systemd-nspawn@.service", "", "systemd-nspawn@.service"),
            ("/user.slice/machine-web.scope", "", "machine-web.scope"),
        ],
    );
}

#[test]
fn units_slices_and_sessions() {
    let user = "/user.slice/user-1000.slice";
    check(
        &Drawn::default(),
        &[
            ("/", "", ""),
            ("/init.scope", "", "init.scope"),
            ("/system.slice/nginx.service", "", "nginx.service"),
            ("/system.slice/system-getty.slice/getty@tty1.service", "", "getty@tty1.service"),
            ("/system.slice/system-systemd\\x2dfsck.slice", "", "system-systemd\\x2dfsck.slice"),
            ("/system.slice/_cpu.service", "", "cpu.service"),
            ("/system.slice/dbus.socket", "", "dbus.socket"),
            (&format!("{user}/session-2.scope"), "", "session-2.scope"),
            (user, "", "user-1000.slice"),
            ("/user.slice", "", "user.slice"),
            ("/a/b", "", ""),
        ],
    );
}

#[test]
fn a_users_groups_never_pass_as_the_systems() {
    let user = "/user.slice/user-1000.slice";
    let manager = format!("{user}/user@1000.service");
    let short = "4f0e1d2c3b4a";
    let logs = format!("/var/log/pods/shop_web-0_{POD}/app/0.log");
    let all = [docker(), podman(), crio(), kubernetes("container", "")];
    let all = all.into_iter().flat_map(|drawn| drawn.files);
    let files = Drawn { files: all.collect(), ..Drawn::default() }.with(&logs, "");
    let own = |runtime: &str| format!("{runtime}user@1000.service/{short}");
    let (nobody, unit) = (String::new(), "user@1000.service");
    for (below, whose, unit) in [
        ("", &nobody, unit),
        ("/app.slice", &nobody, unit),
        ("/app.slice/app-term.scope/x", &nobody, "user@1000.service/app-term.scope"),
        ("/init.scope", &nobody, "user@1000.service/init.scope"),
        ("/app.slice/nginx.service", &nobody, "user@1000.service/nginx.service"),
        ("/x/user@0.service/cron.service", &nobody, "user@1000.service/user@0.service"),
        // Ids of root's containers: files of root's name only root's groups.
        ("/app.slice/docker-ID.scope", &own("docker "), unit),
        (
            "/app.slice/docker.service/docker/ID",
            &own("docker "),
            "user@1000.service/docker.service",
        ),
        ("/user.slice/libpod-ID.scope/container", &own("podman "), unit),
        ("/ID", &own(""), unit),
        (
            "/kubepods.slice/kubepods-podP_D.slice/cri-containerd-ID.scope",
            &own("containerd "),
            unit,
        ),
        ("/kubepods/podPOD/crio-ID", &own("cri-o "), unit),
        ("/kubepods/podPOD", &nobody, unit),
        // Names that come from a path alone.
        ("/lxc.payload.victim", &nobody, unit),
        ("/runc-victim.scope", &nobody, "user@1000.service/runc-victim.scope"),
        (
            "/systemd-nspawn@victim.service",
            &nobody,
            "user@1000.service/systemd-nspawn@victim.service",
        ),
        ("/machine.slice/machine-victim.scope", &nobody, "user@1000.service/machine-victim.scope"),
    ] {
        check(&files, &[(&format!("{manager}{below}"), whose, unit)]);
        assert_eq!(files.asked.take(), [""; 0], "{below}: no file is read");
    }
    let pod = format!("podman pod user@1000.service/{short} user@1000.service/{short}");
    let podmans = format!("{manager}/user.slice/user-libpod_pod_ID.slice/libpod-ID.scope");
    check(&files, &[(&podmans, &pod, unit)]);
    // Not below a user's systemd, but still a user's.
    let session = format!("{user}/session-2.scope");
    check(
        &files,
        &[
            (&format!("{session}/nginx.service"), "", "session-2.scope"),
            (
                &format!("{session}/docker-ID.scope"),
                &format!("docker session-2.scope/{short}"),
                "session-2.scope",
            ),
            ("/user.slice/lxc.payload.victim", "", "user.slice"),
            // Groups that a service makes in its delegated group belong to the service.
            ("/system.slice/ci.service/nginx.service", "", "ci.service"),
        ],
    );
    let theirs = name(&path_of(&format!("{manager}/app.slice/docker-ID.scope")), &files);
    assert!(!is_called_by_its_id(&theirs), "it has no file to try again");
}

#[test]
fn containers_without_a_manager_are_named_by_their_files() {
    let config = r#"{"linux":{"cgroupsPath":"/default/job"}}"#;
    let kept = "/run/containerd/io.containerd.runtime.v2.task/default";
    let files = Drawn::default()
        .with(&format!("{kept}/job/config.json"), config)
        .with(&format!("{kept}/fake/config.json"), config)
        .with("/run/runc/batch-7/state.json", "");
    check(
        &files,
        &[
            ("/default/job", "containerd job", ""),
            ("/default/fake", "", ""),
            ("/batch-7", "runc batch-7", ""),
            ("/jobs/batch-7", "runc batch-7", ""),
            ("/batch-8", "", ""),
            ("/system.slice/runc-batch-9.scope", "runc batch-9", "runc-batch-9.scope"),
        ],
    );
}

#[test]
fn a_container_cannot_pass_for_another() {
    let files = docker();
    // From inside its own group a container can make any group, also with an existing id.
    let within = "/lxc.payload.mine/docker-ID.scope";
    check(&files, &[(within, "lxc mine", "")]);
    for path in ["/docker/../ID", "/docker/ID%2f..", "/system.slice/docker-ID.scope.d"] {
        let whose = named(path, &files).0;
        assert!(whose.is_empty() || whose == "docker web", "{path}: {whose}");
    }
    for odd in ["/default/..", "/../../etc", "/default/a b", "/.hidden", "/run/."] {
        files.asked.borrow_mut().clear();
        let _ = name(odd.as_bytes(), &files);
        let asked = files.asked.borrow();
        assert!(asked.iter().all(|path| !path.contains("..")), "{odd}: {asked:?}");
    }
}

#[test]
fn with_invalid_files_the_id_stays() {
    let kept = format!("/var/lib/docker/containers/{ID}/config.v2.json");
    let deep = "[".repeat(100_000);
    for text in ["", "{", "[]", "null", r#"{"Name":7}"#, r#"{"Name":""}"#, &deep] {
        let files = Drawn::default().with(&kept, text);
        check(&files, &[("/docker/ID", "docker 4f0e1d2c3b4a", "")]);
    }
    let long = format!(r#"{{"Name":"/{}"}}"#, "é".repeat(10_000));
    let cut = named("/docker/ID", &Drawn::default().with(&kept, &long)).0;
    assert!(cut.len() <= "docker ".len() + LONGEST, "{} bytes", cut.len());
    let too_long = " ".repeat(2 << 20);
    let files = Drawn::default().with(&kept, &too_long);
    check(&files, &[("/docker/ID", "docker 4f0e1d2c3b4a", "")]);
}

#[test]
fn links_of_others_are_not_followed() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("secret"), "{}").expect("a file");
    std::os::unix::fs::symlink(at("secret"), at("config.json")).expect("a link");
    std::fs::write(at("plain.json"), "{}").expect("a file");
    let directory = directory.path().to_str().expect("a plain path");
    assert_eq!(Machine.read(directory, "plain.json", 10).as_deref(), Some(&b"{}"[..]));
    assert_eq!(Machine.read(directory, "plain.json", 1), None, "longer than the limit");
    assert_eq!(Machine.read(directory, "config.json", 10), None);
    assert!(Machine.has(directory, "plain.json") && !Machine.has(directory, "none"));
    assert_eq!(Machine.names("/nowhere"), Vec::<String>::new());
}

/// The first byte chooses what the rest is: a path, or a runtime's file.
#[test]
fn fuzz_names_of_groups() {
    let examples = [
        &b"\0/system.slice/docker-"[..],
        b"\0/kubepods/burstable/pod9d2c0b1a-1f2e-4d3c-8b7a-001122334455/",
        b"\0/machine.slice/machine-my\\x2dweb.scope",
        br#"{"Name":"/web","Config":{"Labels":{"io.kubernetes.pod.name":"p"}}}"#,
        br#"{"annotations":{"io.kubernetes.cri.sandbox-name":"web-0"}}"#,
        br#"[{"id":"0","names":["db"]}]"#,
    ];
    Target::new(corpus!("names_of_groups"))
        .examples(examples)
        .words(["/", "docker-", "libpod-", "kubepods", "-pod", ".scope", ".slice", "\\x2d", ID])
        .run(|bytes| {
            let Some((&kind, rest)) = bytes.split_first() else { return };
            let text = String::from_utf8_lossy(rest).into_owned();
            let mut files = docker();
            files.files.values_mut().for_each(|kept| *kept = bytes.to_vec());
            let files = files
                .with(
                    &format!(
                        "/run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json"
                    ),
                    &text,
                )
                .with("/var/lib/containers/storage/overlay-containers/containers.json", &text)
                .with(&format!("/var/log/pods/{}", text.replace('/', "_")), "");
            let of_path = if kind == 0 { rest } else { b"/docker/x" };
            let ids = ["/docker/ID", "/kubepods/podPOD/ID", "/libpod_parent/libpod-ID"];
            let all = ids.iter().map(|path| path_of(path)).chain([of_path.to_vec()]);
            for path in all {
                let Named { unit, container, pod, namespace, .. } = name(&path, &files);
                for text in [unit, container, pod, namespace].into_iter().flatten() {
                    assert!(!text.is_empty() && text.len() <= LONGEST, "{text:?}");
                }
            }
            assert!(files.asked.borrow().iter().all(|path| !path.contains("/../")));
        });
}
