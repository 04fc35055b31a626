//! The names by which a server may be asked: the header Host of a request.
//!
//! A web page may have a browser ask an address of this machine by a name of the page's own domain, and then
//! reads the answer (DNS rebinding). So a server answers requests by a loopback name or address, by its own address,
//! and by names that its settings have. An address cannot be led elsewhere, so a server that listens on all
//! addresses of the machine answers each of them.

use std::net::IpAddr;

/// The names of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// Where it listens.
    address: IpAddr,
    names: Vec<String>,
}

impl Hosts {
    /// Of a server at an address, with these names beside; an address may stand among them.
    pub fn new(address: IpAddr, names: Vec<String>) -> Hosts {
        Hosts { address, names }
    }

    /// True if a request with this header is for this server. The port does not matter: a tunnel or a published port
    /// of a container has another one.
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

/// A name and its port, if it has one; `None`: it is neither.
pub fn split(host: &str) -> Option<(&str, Option<u16>)> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port.parse().ok()?)),
        _ => (host, None),
    };
    // Of an IPv6 address without brackets no port can be told.
    let is_whole = !name.is_empty() && (!name.contains(':') || name.starts_with('['));
    is_whole.then_some((name, port))
}

/// An address, with or without brackets.
fn literal(name: &str) -> Option<IpAddr> {
    let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    inner.parse().ok().map(|address: IpAddr| address.to_canonical())
}

/// A name as settings have it: of DNS, or an address, without a port.
///
/// # Errors
/// What is wrong with it.
pub fn parse(text: &str) -> Result<String, String> {
    let is_of_dns = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    match literal(text).is_some() || (!text.is_empty() && text.chars().all(is_of_dns)) {
        true => Ok(text.into()),
        false => Err(format!(
            "{text:?} is no name of a host: write one without a scheme and a port, such as metrics.example.org"
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
