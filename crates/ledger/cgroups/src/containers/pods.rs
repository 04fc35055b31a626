//! Names of pods by their UID: kubelet keeps a directory of logs for each pod, whose name contains
//! the UID.

use super::files::Files;

const LOGS: &str = "/var/log/pods";

/// Namespace and name of a pod, from `NAMESPACE_NAME_UID`. Neither can contain a `_`.
pub fn of_uid(uid: &str, files: &dyn Files) -> Option<(String, String)> {
    files.names(LOGS).iter().find_map(|entry| {
        let mut parts = entry.split('_');
        let (namespace, name, of) = (parts.next()?, parts.next()?, parts.next()?);
        let fits = of == uid && parts.next().is_none() && !name.is_empty() && !namespace.is_empty();
        fits.then(|| (namespace.into(), name.into()))
    })
}
