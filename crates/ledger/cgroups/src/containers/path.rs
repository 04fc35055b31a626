//! Parses a control group's path.

use super::id::{has_id, is_id, is_plain, is_uid, short};
use super::systemd::{is_of_user, slice, unescape, unit};
use exactop_model::ledger::named::Runtime;

/// The result of parsing a path.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct GroupLocation<'a> {
    /// The systemd unit of the group. If that is named after an id, the slice around it.
    pub unit: Option<String>,
    /// The outermost container.
    pub container: Option<Container<'a>>,
    /// The outermost pod, by its UID; a pod of podman by its id.
    pub pod: Option<String>,
    /// The innermost slice outside of units.
    slice: Option<&'a str>,
    /// Owner below which a user can make groups of any name.
    owner: Option<String>,
}

/// A container, as far as the path shows.
#[derive(Debug, PartialEq, Eq)]
pub enum Container<'a> {
    /// The path has its name.
    Called(Runtime, String),
    /// The path has its id; one of these runtimes made it.
    Id(&'static [Runtime], &'a str),
    /// A user's group with this name that looks like a container.
    OfUser(&'static [Runtime], String),
    /// The path does not show if it is one.
    Perhaps,
}

/// Prefixes of scopes and groups that are named after a runtime and an id.
const PREFIXES: &[(&str, &[Runtime])] = &[
    ("docker-", &[Runtime::Docker]),
    ("cri-containerd-", &[Runtime::Containerd]),
    ("nerdctl-", &[Runtime::Containerd]),
    ("libpod-payload-", &[Runtime::Podman]),
    ("libpod-", &[Runtime::Podman]),
    ("crio-", &[Runtime::CriO]),
];
/// Infixes of components that contain a slice and a scope. runc makes them if it gets systemd's
/// syntax but makes the directory itself.
const INFIXES: &[(&str, &[Runtime])] = &[
    (":cri-containerd:", &[Runtime::Containerd]),
    (":nerdctl:", &[Runtime::Containerd]),
    (":docker:", &[Runtime::Docker]),
    (":libpod:", &[Runtime::Podman]),
    (":crio:", &[Runtime::CriO]),
];

/// Parses a path from the root. The first container and the first unit count; what is inside them
/// belongs to them. The units of a user's own systemd are named below its name.
pub fn parse(path: &str) -> GroupLocation<'_> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let mut place = GroupLocation::default();
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

impl<'a> GroupLocation<'a> {
    /// Enters one component further in.
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
            // A unit named after an id is left out: new ids would make new units all the time.
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
    /// The same container below a user's groups. Only an id is accepted, because no system
    /// container's name contains an id.
    fn of_user<'b>(self, owner: &str) -> Option<Container<'b>> {
        match self {
            Container::Id(runtimes, id) => {
                Some(Container::OfUser(runtimes, format!("{owner}/{}", short(id))))
            }
            _ => None,
        }
    }
}

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

/// Runtimes that may have made a group with an id alone.
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

/// Containers whose name is in the path.
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

/// A machine registered with machined: libvirt names its machines KIND-NUMBER-NAME; all others are
/// nspawn's. A virtual machine is no container.
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

/// The pod of a Kubernetes component: `podUID`, or `kubepods[-QOS]-podUID.slice`, in which systemd
/// writes `_` for `-`.
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

/// The pod of a podman component, which has only its id.
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
