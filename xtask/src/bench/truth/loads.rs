//! The loads: stressors of stress-ng that keep the scheduler busy, hackbench, a database and a web
//! server. They are scripts of sh(1) that leave nothing behind.

use super::super::peers;
use anyhow::{bail, Context, Result};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The stressors, and the number of each.
const STRESSORS: [(&str, u32); 22] = [
    ("poll", 4),
    ("nanosleep", 4),
    ("io-uring", 2),
    ("switch", 2),
    ("futex", 2),
    ("pipe", 2),
    ("yield", 2),
    ("fork", 2),
    ("vfork", 2),
    ("clone", 2),
    ("pthread", 2),
    ("exec", 2),
    ("zombie", 2),
    ("mq", 2),
    ("msg", 2),
    ("sem", 2),
    ("sock", 2),
    ("eventfd", 2),
    ("timerfd", 2),
    ("sigq", 2),
    ("context", 2),
    ("schedpolicy", 2),
];

/// For a stressor that refuses to run as root.
const AS_NOBODY: &str = "setpriv --reuid=nobody --regid=nogroup --clear-groups";

/// A load that can run repeatedly.
pub struct Load {
    pub name: String,
    /// The command as a person would type it.
    pub command: String,
    pub script: String,
    /// Files of the script, removed with this value.
    _files: Option<TempDir>,
}

impl Load {
    /// A command without files.
    pub fn plain(name: &str, command: String) -> Load {
        Load { name: name.into(), script: command.clone(), command, _files: None }
    }
}

/// All loads that can run here, each for about `seconds`; missing programs are reported.
pub fn all(seconds: u32) -> Vec<Load> {
    let mut loads = Vec::new();
    if peers::find("stress-ng").is_some() {
        loads.extend(STRESSORS.map(|(name, count)| {
            let options = format!("--{name} {count} --timeout {seconds}");
            let command = match name {
                "exec" => format!("{AS_NOBODY} stress-ng {options} --temp-path /tmp"),
                _ => format!("stress-ng {options}"),
            };
            Load::plain(&format!("--{name} {count}"), command)
        }));
    }
    if peers::find("hackbench").is_some() {
        loads.push(Load::plain("hackbench", format!("hackbench -g 4 -l {}", 1_500 * seconds)));
    }
    for (name, made) in [("pgbench", database(seconds)), ("nginx", web_server(seconds))] {
        match made {
            Ok(load) => loads.push(load),
            Err(error) => eprintln!("bench: {name}: left out: {error:#}"),
        }
    }
    loads
}

/// Debian keeps a server's programs in directories by version.
fn postgres() -> Result<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").context("no PostgreSQL server")?;
    let programs = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    let mut programs: Vec<PathBuf> = programs.filter(|dir| dir.join("initdb").exists()).collect();
    programs.sort();
    programs.pop().context("no PostgreSQL server")
}

fn database(seconds: u32) -> Result<Load> {
    let programs = postgres()?;
    let files = tempfile::tempdir().context("making a directory")?;
    let (bin, dir) = (programs.display(), files.path().display());
    let as_postgres = "setpriv --reuid=postgres --regid=postgres --clear-groups";
    prepare(&format!(
        "chown postgres {dir} && cd {dir} && {as_postgres} {bin}/initdb -D {dir}/data -A trust"
    ))?;
    let server = format!(
        "cd {dir}; {as_postgres} {bin}/postgres -D {dir}/data -k {dir} -c listen_addresses= \
         -c fsync=off & server=$!; until {bin}/pg_isready -q -h {dir}; do sleep 0.1; done"
    );
    let client = format!("{bin}/pgbench -h {dir} -U postgres");
    // The exit code is the client's.
    let end = "status=$?; kill -INT $server; wait $server; (exit $status)";
    prepare(&format!("{server}; {client} -i -s 4 postgres; {end}"))?;
    let options = format!("-c 4 -j 2 -T {seconds}");
    Ok(Load {
        name: "pgbench, with the server".into(),
        command: format!("pgbench {options} (and postgres -c fsync=off)"),
        script: format!("{server}; {client} {options} postgres; {end}"),
        _files: Some(files),
    })
}

fn web_server(seconds: u32) -> Result<Load> {
    for program in ["nginx", "wrk"] {
        peers::find(program).with_context(|| format!("no {program}"))?;
    }
    let files = tempfile::tempdir().context("making a directory")?;
    let port = TcpListener::bind("127.0.0.1:0").context("finding a port")?.local_addr()?.port();
    std::fs::write(files.path().join("index.html"), "<p>a page</p>\n")?;
    std::fs::write(files.path().join("nginx.conf"), configuration(files.path(), port))?;
    let dir = files.path().display();
    let options = format!("-t 2 -c 32 -d {seconds}");
    let address = format!("http://127.0.0.1:{port}/");
    Ok(Load {
        name: "nginx and wrk".into(),
        command: format!("wrk {options} (and nginx with 2 workers)"),
        script: format!(
            "/usr/sbin/nginx -c {dir}/nginx.conf & server=$!; until [ -s {dir}/pid ]; do sleep 0.1; \
             done; wrk {options} {address}; status=$?; kill $server; wait $server; (exit $status)"
        ),
        _files: Some(files),
    })
}

fn configuration(dir: &Path, port: u16) -> String {
    let dir = dir.display();
    format!(
        "daemon off;\nuser root;\nworker_processes 2;\npid {dir}/pid;\nerror_log {dir}/errors;\n\
         events {{}}\nhttp {{ access_log off; server {{ listen 127.0.0.1:{port}; root {dir}; }} }}\n"
    )
}

fn prepare(script: &str) -> Result<()> {
    let output = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).output();
    let output = output.context("running sh")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
