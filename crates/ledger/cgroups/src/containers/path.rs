//! What a group's path says by itself.

use super::id::{has_id, is_id, is_plain, is_uid, short};
use super::systemd::{is_of_user, slice, unescape, unit};
use exactop_model::ledger::named::Runtime;

/// Where a group is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Place<'a> {
    /// The unit that the group is of; of what is called after an id, the slice that it is in.
    pub unit: Option<String>,
    /// The outermost container.
    pub container: Option<Container<'a>>,
    /// The outermost pod, by its UID; podman's by its id.
    pub pod: Option<String>,
    /// The innermost slice outside of units.
    slice: Option<&'a str>,
    /// Below what everyone can make groups of any name.
    owner: Option<String>,
}

/// A container, as far as a path tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Container<'a> {
    /// Its name is in the path.
    Called(Runtime, String),
    /// Its id is; one of these made it.
    Id(&'static [Runtime], &'a str),
    /// What a user says is one, called so.
    OfUser(&'static [Runtime], String),
    /// Nothing in the path speaks for one or against it.
    Perhaps,
}

/// Scopes and groups that are called after a runtime and an id.
const PREFIXES: &[(&str, &[Runtime])] = &[
    ("docker-", &[Runtime::Docker]),
    ("cri-containerd-", &[Runtime::Containerd]),
    ("nerdctl-", &[Runtime::Containerd]),
    ("libpod-payload-", &[Runtime::Podman]),
    ("libpod-", &[Runtime::Podman]),
    ("crio-", &[Runtime::CriO]),
];
/// A slice and a scope in one component: how runc writes what systemd was to make and did not.
const INFIXES: &[(&str, &[Runtime])] = &[
    (":cri-containerd:", &[Runtime::Containerd]),
    (":nerdctl:", &[Runtime::Containerd]),
    (":docker:", &[Runtime::Docker]),
    (":libpod:", &[Runtime::Podman]),
    (":crio:", &[Runtime::CriO]),
];

/// Takes a path apart. What lies within a container is the container's own affair, and so is what lies
/// within a unit: the first that is met from the root counts. But the units of a user's own systemd are
/// told, below its name.
pub fn parse(path: &str) -> Place<'_> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let mut place = Place::default();
    let mut alien = false;
    for (at, part) in parts.iter().enumerate() {
        let above = &parts[..at];
        let podmans = podmans_pod(above, part);
        let pod = pod_of(part);
        alien |= pod.is_some() || podmans.is_some() || unit(part).or(slice(part)).is_some();
        let container = container(above, part).filter(|_| podmans.is_none());
        let is_called_after_an_id = pod.is_some() || podmans.is_some() || has_id(part);
        let (pod, container) = match &place.owner {
            None => (pod.or(podmans), container),
            Some(owner) => {
                let theirs = |id: String| format!("{owner}/{id}");
                (podmans.map(theirs), container.and_then(|container| container.of_user(owner)))
            }
        };
        place.pod = place.pod.take().or(pod);
        place.enter(part, is_called_after_an_id);
        if container.is_some() {
            place.container = container;
            break;
        }
    }
    place.unit = place.unit.or(place.slice.map(String::from));
    if place.container.is_none() && !alien && !parts.is_empty() {
        place.container = Some(Container::Perhaps);
    }
    place
}

impl<'a> Place<'a> {
    /// A component further in.
    fn enter(&mut self, part: &'a str, is_called_after_an_id: bool) {
        if let Some(name) = slice(part).filter(|_| self.unit.is_none()) {
            if self.slice.is_none() && name == "user.slice" {
                self.owner = Some(name.into());
            }
            if !is_called_after_an_id {
                self.slice = Some(name);
            }
        }
        let Some(name) = unit(part) else { return };
        match &mut self.unit {
            // Ever new ids would be ever new units.
            _ if is_called_after_an_id => {}
            None => self.unit = Some(name.into()),
            Some(manager) if is_of_user(manager) => {
                manager.push('/');
                manager.push_str(name);
            }
            Some(_) => {}
        }
        let is_users = self.owner.is_some() || is_of_user(name);
        if is_users && self.owner.as_ref().is_none_or(|owner| owner == "user.slice") {
            self.owner = self.unit.clone();
        }
    }
}

impl Container<'_> {
    /// As it is told where a user may have made it: with an id, which no name of the system's has.
    fn of_user<'b>(self, owner: &str) -> Option<Container<'b>> {
        match self {
            Container::Id(runtimes, id) => {
                Some(Container::OfUser(runtimes, format!("{owner}/{}", short(id))))
            }
            _ => None,
        }
    }
}

/// The container that a component below others is.
fn container<'a>(above: &[&'a str], part: &'a str) -> Option<Container<'a>> {
    let bare = part.strip_suffix(".scope").unwrap_or(part);
    for (prefix, runtimes) in PREFIXES {
        if let Some(id) = bare.strip_prefix(prefix).filter(|id| is_id(id)) {
            return Some(Container::Id(runtimes, id));
        }
    }
    for (infix, runtimes) in INFIXES {
        if let Some((_, id)) = part.split_once(infix).filter(|(_, id)| is_id(id)) {
            return Some(Container::Id(runtimes, id));
        }
    }
    if is_id(part) {
        return Some(Container::Id(makers(above), part));
    }
    called(above, part, bare)
}

/// Who may have given a group nothing but an id.
fn makers(above: &[&str]) -> &'static [Runtime] {
    const OF_PODS: &[Runtime] = &[Runtime::Containerd, Runtime::Docker, Runtime::CriO];
    const ANY: &[Runtime] = &[Runtime::Docker, Runtime::Podman, Runtime::Containerd];
    if above.contains(&"docker") {
        &[Runtime::Docker]
    } else if above.iter().any(|part| part.starts_with("kubepods")) {
        OF_PODS
    } else {
        ANY
    }
}

/// Those whose name is in the path.
fn called<'a>(above: &[&str], part: &str, bare: &str) -> Option<Container<'a>> {
    let of =
        |runtime, name: &str| (!name.is_empty()).then(|| Container::Called(runtime, name.into()));
    if let Some(name) = bare.strip_prefix("machine-").filter(|_| bare != part) {
        return machine(&unescape(name)).filter(|_| above.last() == Some(&"machine.slice"));
    }
    if let Some(name) = bare.strip_prefix("runc-").filter(|name| bare != part && is_plain(name)) {
        return of(Runtime::Runc, name);
    }
    let service = part.strip_suffix(".service");
    if let Some(name) = service.and_then(|name| name.strip_prefix("systemd-nspawn@")) {
        return of(Runtime::Nspawn, &unescape(name));
    }
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return of(Runtime::Lxc, name);
    }
    match above {
        ["lxc" | "lxc.payload"] => of(Runtime::Lxc, part),
        _ => None,
    }
}

/// What is registered with machined: libvirt's are called KIND-NUMBER-NAME, all others are nspawn's.
/// A virtual machine is no container.
fn machine<'a>(name: &str) -> Option<Container<'a>> {
    let mut parts = name.splitn(3, '-');
    let (kind, number, rest) = (parts.next(), parts.next(), parts.next());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (runtime, name) = match (kind, number.filter(|text| is_number(text)), rest) {
        (Some("qemu" | "xen" | "ch"), Some(_), Some(_)) => return None,
        (Some("lxc"), Some(_), Some(rest)) => (Runtime::Lxc, rest),
        _ => (Runtime::Nspawn, name),
    };
    (!name.is_empty()).then(|| Container::Called(runtime, name.into()))
}

/// The pod that a component of kubernetes is: `podUID`, or `kubepods[-QOS]-podUID.slice`, where systemd
/// has `_` for `-`.
fn pod_of(part: &str) -> Option<String> {
    let part = part.split_once(':').map_or(part, |(slice, _)| slice);
    let bare = part.strip_suffix(".slice").unwrap_or(part);
    let kubernetes = bare.starts_with("kubepods").then(|| bare.rsplit_once("-pod")).flatten();
    let uid = match kubernetes {
        Some((_, uid)) => uid.replace('_', "-"),
        None => bare.strip_prefix("pod")?.into(),
    };
    is_uid(&uid).then_some(uid)
}

/// The pod of podman that a component is: it tells nothing but its id.
fn podmans_pod(above: &[&str], part: &str) -> Option<String> {
    let bare = part.strip_suffix(".slice").unwrap_or(part);
    let id = match bare.split_once("-libpod_pod_") {
        Some((_, id)) => id,
        None => bare
            .strip_prefix("libpod_pod_")
            .or((above.last() == Some(&"libpod_parent") && bare == part).then_some(part))?,
    };
    is_id(id).then(|| short(id))
}
