//! The name under which a control group is summed.

use super::By;
use crate::ledger::named::{GroupName, Named};
use crate::text::escape::{escape, escape_str};

impl GroupName {
    /// Name under this key, escaped; `None`: the group has none.
    pub fn under(&self, by: By) -> Option<String> {
        match by {
            By::Cgroup => Some(escape(&self.path)),
            _ => self.named.under(by).map(|name| escape_str(&name)),
        }
    }
}

impl Named {
    /// Name under this key, unescaped; `None`: the group has none. Pods and containers of pods have
    /// their namespace in front: NAMESPACE/POD/CONTAINER.
    pub fn under(&self, by: By) -> Option<String> {
        let inside = |outer: Option<String>, name: &String| match outer {
            Some(outer) => format!("{outer}/{name}"),
            None => name.clone(),
        };
        let pod = || self.pod.as_ref().map(|pod| inside(self.namespace.clone(), pod));
        match by {
            By::Container => self.container.as_ref().map(|name| inside(pod(), name)),
            By::Pod => pod(),
            By::Namespace => self.namespace.clone(),
            By::Unit => self.unit.clone(),
            By::User | By::Command | By::Cgroup | By::Process | By::Host => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_of_one_name_in_two_pods_are_separate() {
        let app = |pod: &str| Named {
            container: Some("app".into()),
            pod: Some(pod.into()),
            namespace: Some("shop".into()),
            ..Named::default()
        };
        assert_eq!(app("web-0").under(By::Container).as_deref(), Some("shop/web-0/app"));
        assert_ne!(app("web-0").under(By::Container), app("web-1").under(By::Container));
        assert_eq!(app("web-0").under(By::Pod).as_deref(), Some("shop/web-0"));
        assert_eq!(app("web-0").under(By::Namespace), app("web-1").under(By::Namespace));
        let alone = Named { container: Some("db".into()), ..Named::default() };
        assert_eq!(alone.under(By::Container).as_deref(), Some("db"));
        assert_eq!((alone.under(By::Pod), alone.under(By::Unit)), (None, None));
    }
}
