//! Host names to which a server answers: the header Host of a request.
//!
//! A web page can point a name of its own domain at an address of this machine. The browser then
//! sends requests here, and the page can read the answers (DNS rebinding). So a server answers only
//! requests to a loopback name or address, to its own address, and to the names in its settings. A
//! request by address cannot be redirected that way, so a server that listens on all addresses
//! answers each of them.

use std::net::IpAddr;

/// The host names of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The address at which it listens.
    address: IpAddr,
    names: Vec<String>,
}

impl Hosts {
    /// A server at this address, with these further names; addresses are allowed among them.
    pub fn new(address: IpAddr, names: Vec<String>) -> Hosts {
        Hosts { address, names }
    }

    /// True if a request with this header is for this server. The port is ignored: a tunnel or a
    /// published container port differs.
    pub fn has(&self, host: &str) -> bool {
        let Some((name, _)) = split(host) else { return false };
        let name = name.strip_suffix('.').unwrap_or(name);
        match literal(name) {
            Some(address) => self.has_address(address),
            None => {
                let is_name = |known: &str| known.eq_ignore_ascii_case(name);
                is_name("localhost") || self.names.iter().any(|known| is_name(known))
            }
        }
    }

    fn has_address(&self, address: IpAddr) -> bool {
        let own = self.address.to_canonical();
        address.is_loopback()
            || own.is_unspecified()
            || address == own
            || self.names.iter().any(|known| literal(known) == Some(address))
    }
}

/// Splits a name and its port, if it has one; `None`: the text is neither.
pub fn split(host: &str) -> Option<(&str, Option<u16>)> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port.parse().ok()?)),
        _ => (host, None),
    };
    // The port of an IPv6 address without brackets cannot be determined.
    let is_whole = !name.is_empty() && (!name.contains(':') || name.starts_with('['));
    is_whole.then_some((name, port))
}

/// An address, with or without brackets.
fn literal(name: &str) -> Option<IpAddr> {
    let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    inner.parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// Parses a name from the settings: a DNS name or an address, without a port.
///
/// # Errors
/// The text is no such name; the error says what to write.
pub fn parse(text: &str) -> Result<String, String> {
    let is_of_dns = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    match literal(text).is_some() || (!text.is_empty() && text.chars().all(is_of_dns)) {
        true => Ok(text.into()),
        false => Err(format!(
            "{text:?} is not a host name: write one without a scheme and a port, such as metrics.example.org"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(address: &str) -> Hosts {
        let names = ["Node-7.example".to_string(), "192.0.2.7".into()];
        Hosts::new(address.parse().expect("an address"), names.into())
    }

    #[test]
    fn a_request_names_the_server_that_it_is_for() {
        for (address, host, is_ours) in [
            ("127.0.0.1", "127.0.0.1:9464", true),
            ("127.0.0.1", "127.0.0.1", true),
            // A tunnel, and a published port.
            ("127.0.0.1", "LOCALHOST:8080", true),
            ("10.0.0.5", "localhost:9464", true),
            ("10.0.0.5", "127.8.9.1", true),
            ("10.0.0.5", "[::1]:9464", true),
            ("10.0.0.5", "10.0.0.5:9464", true),
            ("10.0.0.5", "10.0.0.6:9464", false),
            ("127.0.0.1", "10.0.0.1:9464", false),
            // Pods are scraped by their addresses.
            ("0.0.0.0", "10.244.1.17:9464", true),
            ("::", "10.244.1.17:9464", true),
            ("::", "[fd00::17]:9464", true),
            ("0.0.0.0", "[::ffff:10.0.0.1]:9464", true),
            ("0.0.0.0", "node-7.EXAMPLE:9464", true),
            ("0.0.0.0", "node-7.example.", true),
            ("127.0.0.1", "192.0.2.7:9464", true),
            ("0.0.0.0", "evil.example:9464", false),
            ("0.0.0.0", "10.0.0.1.evil.example", false),
            ("0.0.0.0", "localhost.evil.example", false),
            ("0.0.0.0", "sub.node-7.example", false),
            ("0.0.0.0", "", false),
            ("0.0.0.0", ":", false),
            ("0.0.0.0", ":9464", false),
            ("0.0.0.0", "localhost:http", false),
            ("0.0.0.0", "localhost:99999", false),
            ("::", "::1", false),
            ("0.0.0.0", "localhost evil.example", false),
        ] {
            assert_eq!(hosts(address).has(host), is_ours, "{host} at {address}");
        }
    }

    #[test]
    fn a_name_in_the_settings_is_a_name() {
        for fine in ["node-7", "metrics.example.org", "10.0.0.1", "fd00::1", "[fd00::1]", "a_b"] {
            assert_eq!(parse(fine).as_deref(), Ok(fine));
        }
        for wrong in ["", "http://node-7", "node-7:9464", "*", "a b", "\u{1b}[2J"] {
            let why = parse(wrong).expect_err(wrong);
            assert!(!why.contains('\u{1b}'), "{why}");
        }
    }
}
