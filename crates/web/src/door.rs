//! Who may come in.
//!
//! A page of somebody else's may have a browser on this machine ask an address of this machine, and by a name
//! of its own that it lets lead there read the answer, too. So a request has to name where it is meant to go:
//! an address, or `localhost`.

use std::net::{IpAddr, SocketAddr};

/// What a request says, as far as it matters here.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said<'a> {
    pub host: Option<&'a str>,
    pub query: Option<&'a str>,
    /// `Sec-Fetch-Site`: from where a browser was led here.
    pub site: Option<&'a str>,
}

/// Where it listens, and what has to be known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// Where it listens.
    pub address: SocketAddr,
    /// What the address of the page has to hold.
    pub token: Option<String>,
}

impl Door {
    /// Whether one may come in; else why not.
    pub(crate) fn opens(&self, said: &Said) -> Result<(), &'static str> {
        if !said.host.is_some_and(|host| self.is_here(host)) {
            return Err("not here: ask by the address that exactop printed\n");
        }
        match &self.token {
            Some(token) if !said.query.is_some_and(|query| has(query, token)) => {
                Err("the token is missing or wrong: take the whole address that exactop printed\n")
            }
            _ => Ok(()),
        }
    }

    /// Whether windows may be read: by the page itself, or by no browser.
    pub(crate) fn is_own_page(&self, said: &Said) -> bool {
        matches!(said.site, None | Some("same-origin" | "none"))
    }

    /// Whether a name, with its port, is ours.
    fn is_here(&self, host: &str) -> bool {
        let (name, port) = match host.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, port.parse().ok()),
            _ => (host, Some(80)),
        };
        if port != Some(self.address.port()) {
            return false;
        }
        let own = self.address.ip();
        if name.eq_ignore_ascii_case("localhost") {
            return own.is_loopback();
        }
        let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let address = literal.map_or(name, |literal| literal).parse::<IpAddr>();
        address.is_ok_and(|address| own.is_unspecified() || address == own)
    }
}

/// Whether a query holds the token; how much of it is right is not to be told by the time it takes.
fn has(query: &str, token: &str) -> bool {
    let given = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    given.is_some_and(|given| {
        let differ = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        given.len() == token.len() && differ == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(address: &str, token: Option<&str>) -> Door {
        Door { address: address.parse().expect("an address"), token: token.map(String::from) }
    }

    #[test]
    fn a_request_names_where_it_goes() {
        for (address, host, is_here) in [
            ("127.0.0.1:9465", "127.0.0.1:9465", true),
            ("127.0.0.1:9465", "LOCALHOST:9465", true),
            ("127.0.0.1:80", "127.0.0.1", true),
            ("127.0.0.1:9465", "127.0.0.1", false),
            ("127.0.0.1:9465", "evil.example:9465", false),
            ("127.0.0.1:9465", "127.0.0.1.evil.example:9465", false),
            ("127.0.0.1:9465", "127.0.0.1:9466", false),
            ("127.0.0.1:9465", "", false),
            ("127.0.0.1:9465", ":", false),
            ("127.0.0.1:9465", "10.0.0.1:9465", false),
            ("[::1]:9465", "[::1]:9465", true),
            ("[::1]:80", "[::1]", true),
            ("0.0.0.0:9465", "10.0.0.1:9465", true),
            ("0.0.0.0:9465", "localhost:9465", false),
            ("0.0.0.0:9465", "evil.example:9465", false),
        ] {
            let said = Said { host: Some(host), ..Said::default() };
            assert_eq!(door(address, None).opens(&said).is_ok(), is_here, "{host} at {address}");
        }
        assert!(door("127.0.0.1:9465", None).opens(&Said::default()).is_err());
    }

    #[test]
    fn a_token_is_all_of_it() {
        let door = door("127.0.0.1:9465", Some("abc"));
        for (query, opens) in [
            (None, false),
            (Some("token=abc"), true),
            (Some("a=b&token=abc"), true),
            (Some("token="), false),
            (Some("token=ab"), false),
            (Some("token=abcd"), false),
            (Some("token=abd&token=abc"), false),
        ] {
            let said = Said { host: Some("localhost:9465"), query, site: None };
            assert_eq!(door.opens(&said).is_ok(), opens, "{query:?}");
        }
    }

    #[test]
    fn no_other_page_reads_windows() {
        let door = door("127.0.0.1:9465", None);
        for (site, is_own) in [
            (None, true),
            (Some("same-origin"), true),
            (Some("none"), true),
            (Some("same-site"), false),
            (Some("cross-site"), false),
        ] {
            assert_eq!(door.is_own_page(&Said { site, ..Said::default() }), is_own, "{site:?}");
        }
    }
}
