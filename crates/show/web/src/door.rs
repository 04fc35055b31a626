//! Decides which requests are allowed.
//!
//! A request must name this server (`exactop_http`) and the page's port, and hold the token, if
//! there is one.

use exactop_http::{split, Hosts};
use std::net::SocketAddr;

/// The parts of a request that decide.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestHeaders<'a> {
    pub host: Option<&'a str>,
    pub query: Option<&'a str>,
    /// `Sec-Fetch-Site`: the relation of the page that made the request to this server.
    pub site: Option<&'a str>,
    /// `Origin`: the origin of the page that made the request; browsers send it for other origins
    /// and for methods other than reading.
    pub origin: Option<&'a str>,
}

impl<'a> RequestHeaders<'a> {
    /// A parameter of the query.
    pub fn word(&self, name: &str) -> Option<&'a str> {
        let mut pairs = self.query?.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(of, _)| *of == name).map(|(_, word)| word)
    }
}

/// Address and token of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Door {
    /// The address at which it listens.
    pub address: SocketAddr,
    /// The token that the page's address must hold.
    pub token: Option<String>,
}

impl Door {
    /// Checks a request; else returns the reason of the refusal.
    pub(crate) fn opens(&self, said: &RequestHeaders) -> Result<(), &'static str> {
        if !said.host.is_some_and(|host| self.is_here(host)) {
            return Err("wrong host name: use the address that exactop printed\n");
        }
        match &self.token {
            Some(token) if !said.query.is_some_and(|query| has(query, token)) => {
                Err("the token is missing or wrong: use the whole address that exactop printed\n")
            }
            _ => Ok(()),
        }
    }

    /// True if the request comes from the page itself, or not from a browser.
    pub(crate) fn is_own_page(&self, said: &RequestHeaders) -> bool {
        let origin = said.origin.map(|origin| origin.strip_prefix("http://"));
        matches!(said.site, None | Some("same-origin" | "none"))
            && origin.is_none_or(|origin| origin.is_some() && origin == said.host)
    }

    /// True if programs may be attached: only for the page itself, which has the key. Another
    /// site's page can also make browsers send requests, and would need no answer to attach
    /// programs; older browsers do not name the page.
    pub(crate) fn may_look(&self, said: &RequestHeaders, key: &str) -> bool {
        self.is_own_page(said) && said.word("key").is_some_and(|given| is_same(given, key))
    }

    /// True if a name with its port is this server's.
    fn is_here(&self, host: &str) -> bool {
        let port = split(host).map(|(_, port)| port.unwrap_or(80));
        port == Some(self.address.port()) && Hosts::new(self.address.ip(), Vec::new()).has(host)
    }
}

/// True if a query holds the token. The comparison takes the same time for every guess.
fn has(query: &str, token: &str) -> bool {
    let given = query.split('&').find_map(|pair| pair.strip_prefix("token="));
    given.is_some_and(|given| is_same(given, token))
}

fn is_same(given: &str, secret: &str) -> bool {
    let differ = given.bytes().zip(secret.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == secret.len() && differ == 0
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
            ("0.0.0.0:9465", "localhost:9465", true),
            ("10.0.0.5:9465", "127.0.0.1:9465", true),
            ("0.0.0.0:9465", "evil.example:9465", false),
        ] {
            let said = RequestHeaders { host: Some(host), ..RequestHeaders::default() };
            assert_eq!(door(address, None).opens(&said).is_ok(), is_here, "{host} at {address}");
        }
        assert!(door("127.0.0.1:9465", None).opens(&RequestHeaders::default()).is_err());
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
            let said =
                RequestHeaders { host: Some("localhost:9465"), query, ..RequestHeaders::default() };
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
            assert_eq!(
                door.is_own_page(&RequestHeaders { site, ..RequestHeaders::default() }),
                is_own,
                "{site:?}"
            );
        }
    }

    #[test]
    fn only_a_page_with_the_key_has_programs_attached() {
        let door = door("127.0.0.1:9465", None);
        let host = Some("127.0.0.1:9465");
        let own =
            RequestHeaders { host, query: Some("key=abc&pid=7"), ..RequestHeaders::default() };
        let with = |origin| RequestHeaders { origin, ..own };
        for (said, may) in [
            (own, true),
            (RequestHeaders { site: Some("same-origin"), ..own }, true),
            (with(Some("http://127.0.0.1:9465")), true),
            (with(Some("https://127.0.0.1:9465")), false),
            (with(Some("http://evil.example")), false),
            (with(Some("null")), false),
            (RequestHeaders { site: Some("cross-site"), ..own }, false),
            (RequestHeaders { site: Some("same-site"), ..own }, false),
            (RequestHeaders { query: Some("pid=7"), ..own }, false),
            (RequestHeaders { query: Some("key=abd&pid=7"), ..own }, false),
            (RequestHeaders { query: Some("key=&pid=7"), ..own }, false),
            (RequestHeaders { query: None, ..own }, false),
        ] {
            assert_eq!(door.may_look(&said, "abc"), may, "{said:?}");
        }
    }
}
