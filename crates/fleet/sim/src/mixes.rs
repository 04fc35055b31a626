//! Mixes of services, for typical kinds of hosts.

use crate::recorded::Recorded;
use crate::service::Service;
use exactop_model::ledger::named::Named;
use rand::rngs::StdRng;
use rand::RngExt;
use std::sync::Arc;

/// Kind of a host.
#[derive(Clone, Debug)]
pub enum Mix {
    /// Pods: more than have their own rows.
    Web,
    /// A few processes that wait for locks and disks.
    Database,
    /// A build: processes that live for a second.
    Build,
    /// A shell that starts processes as fast as it can.
    Storm,
    /// The services in a recording.
    Recorded(Arc<Recorded>),
}

impl Mix {
    /// Name of the kind, used in host names.
    pub fn name(&self) -> &str {
        match self {
            Mix::Web => "web",
            Mix::Database => "db",
            Mix::Build => "build",
            Mix::Storm => "storm",
            Mix::Recorded(recorded) => &recorded.name,
        }
    }

    /// Draws one of the recorded mixes; without any, a made-up one.
    pub fn drawn(draw: &mut StdRng, recorded: &[Arc<Recorded>]) -> Mix {
        if !recorded.is_empty() {
            return Mix::Recorded(Arc::clone(&recorded[draw.random_range(0..recorded.len())]));
        }
        match draw.random_range(0..10) {
            0..5 => Mix::Web,
            5..8 => Mix::Database,
            8 => Mix::Build,
            _ => Mix::Storm,
        }
    }

    /// Services of a host of this kind, including those of all hosts.
    pub fn services(&self, draw: &mut StdRng) -> Vec<Service> {
        let mut all = everywhere();
        match self {
            Mix::Web => all.extend(web(draw)),
            Mix::Database => all.extend(database()),
            Mix::Build => all.extend(build()),
            Mix::Storm => all.extend(storm()),
            Mix::Recorded(recorded) => all.extend(recorded.services.iter().cloned()),
        }
        all
    }
}

fn of_unit(command: &str, unit: &str, share: u32, waits: [u32; 4]) -> Service {
    let named = Named { unit: Some(unit.into()), ..Named::default() };
    Service { command: command.into(), named, share, waits, ..Service::default() }
}

fn ending(service: Service, exits: u32) -> Service {
    Service { exits, ..service }
}

/// Services of every host, including the one that is rolled out.
fn everywhere() -> Vec<Service> {
    let kernel =
        |command: &str, share| Service { command: command.into(), share, ..Service::default() };
    // The size of the host sets its share.
    let agent = of_unit("agent", "agent.service", 0, [60, 0, 20, 10]);
    vec![
        kernel("rcu_preempt", 8),
        kernel("ksoftirqd/0", 15),
        kernel("kswapd0", 3),
        of_unit("systemd", "init.scope", 5, [10, 0, 0, 0]),
        of_unit("systemd-journal", "systemd-journald.service", 12, [20, 0, 0, 300]),
        of_unit("sshd", "ssh.service", 2, [10, 0, 0, 0]),
        of_unit("node_exporter", "node_exporter.service", 20, [30, 0, 5, 0]),
        of_unit("exactop", "exactop.service", 15, [5, 0, 0, 0]),
        of_unit("containerd", "containerd.service", 30, [20, 0, 40, 10]),
        Service { is_new: true, ..agent },
    ]
}

/// 24 pods of two containers each; one kind is throttled.
fn web(draw: &mut StdRng) -> Vec<Service> {
    let apps = [
        ("shop", "cart", "node", 160, [250, 0, 30, 5]),
        ("shop", "front", "nginx", 70, [120, 0, 0, 5]),
        ("shop", "search", "java", 240, [300, 120, 400, 10]),
        ("pay", "ledger", "go-ledger", 110, [100, 0, 60, 40]),
        ("media", "resize", "ffmpeg", 190, [80, 900, 0, 60]),
        ("batch", "mail", "python3", 40, [60, 0, 0, 20]),
    ];
    let mut all = Vec::new();
    for n in 0..24 {
        let (namespace, app, command, share, waits) = apps[n % apps.len()];
        let named = |container: &str| Named {
            unit: Some("kubelet.service".into()),
            namespace: Some(namespace.into()),
            container: Some(container.into()),
            ..Named::default()
        };
        // A name like a ReplicaSet's.
        let pod = format!("{app}-{:08x}-{n:05}", draw.random::<u32>());
        let parts = [(command, app, share, waits), ("envoy", "proxy", share / 6, [90, 0, 0, 0])];
        for (command, container, share, waits) in parts {
            let named = Named { pod: Some(pod.clone()), ..named(container) };
            let service =
                Service { command: command.into(), named, share, waits, ..Service::default() };
            all.push(service);
        }
    }
    all
}

fn database() -> Vec<Service> {
    let of = |command: &str, share, waits| of_unit(command, "postgresql.service", share, waits);
    vec![
        of("postgres", 3800, [180, 0, 1500, 900]),
        of("walwriter", 160, [40, 0, 10, 4000]),
        of("checkpointer", 120, [30, 0, 10, 9000]),
        of("autovacuum", 210, [60, 0, 20, 1200]),
        of_unit("pgbouncer", "pgbouncer.service", 240, [90, 0, 30, 0]),
        // A herd: many wake for work that needs one.
        of_unit("sidekiq", "sidekiq.service", 60, [4000, 0, 5000, 0]),
        ending(of_unit("psql", "cron.service", 10, [20, 0, 0, 0]), 1),
    ]
}

fn build() -> Vec<Service> {
    let of = |command: &str, share, waits| of_unit(command, "builder.service", share, waits);
    vec![
        of("ninja", 60, [100, 0, 0, 20]),
        of("sccache", 210, [140, 0, 90, 300]),
        ending(of("cc1plus", 6200, [350, 0, 0, 90]), 8),
        ending(of("as", 420, [300, 0, 0, 60]), 8),
        ending(of("ld.lld", 700, [200, 0, 30, 500]), 1),
        ending(of("sh", 90, [300, 0, 0, 5]), 16),
    ]
}

fn storm() -> Vec<Service> {
    let of = |command: &str, share, waits| of_unit(command, "session-3.scope", share, waits);
    vec![
        of("sh", 2400, [700, 0, 0, 0]),
        ending(of("true", 2900, [900, 0, 0, 0]), 4000),
        ending(of("date", 300, [900, 0, 0, 0]), 200),
    ]
}
