//! The name under which a control group is summed.

use super::Grouping;
use crate::ledger::named::{GroupName, Named};
use crate::text::escape::{escape, escape_str};

impl GroupName {
    /// Name under this key, escaped; `None`: the group has none.
    pub fn under(&self, by: Grouping) -> Option<String> {
        match by {
            Grouping::Cgroup => Some(escape(&self.path)),
            _ => self.named.under(by).map(|name| escape_str(&name)),
        }
    }
}

impl Named {
    /// Name under this key, unescaped; `None`: the group has none. Pods and containers of pods have
    /// their namespace in front: NAMESPACE/POD/CONTAINER.
    pub fn under(&self, by: Grouping) -> Option<String> {
        let inside = |outer: Option<String>, name: &String| match outer {
            Some(outer) => format!("{outer}/{name}"),
            None => name.clone(),
        };
        let pod = || self.pod.as_ref().map(|pod| inside(self.namespace.clone(), pod));
        match by {
            Grouping::Container => self.container.as_ref().map(|name| inside(pod(), name)),
            Grouping::Pod => pod(),
            Grouping::Namespace => self.namespace.clone(),
            Grouping::Unit => self.unit.clone(),
            Grouping::User
            | Grouping::Command
            | Grouping::Cgroup
            | Grouping::Process
            | Grouping::Session
            | Grouping::Host => None,
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
        assert_eq!(app("web-0").under(Grouping::Container).as_deref(), Some("shop/web-0/app"));
        assert_ne!(
            app("web-0").under(Grouping::Container),
            app("web-1").under(Grouping::Container)
        );
        assert_eq!(app("web-0").under(Grouping::Pod).as_deref(), Some("shop/web-0"));
        assert_eq!(
            app("web-0").under(Grouping::Namespace),
            app("web-1").under(Grouping::Namespace)
        );
        let alone = Named { container: Some("db".into()), ..Named::default() };
        assert_eq!(alone.under(Grouping::Container).as_deref(), Some("db"));
        assert_eq!((alone.under(Grouping::Pod), alone.under(Grouping::Unit)), (None, None));
    }
}
