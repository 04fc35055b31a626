//! Address, login and trusted certificates of a store.

use exactop_files::FileError;
use exactop_model::text::escape::harmless;
use std::fmt;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use ureq::http::Uri;
use ureq::tls::{parse_pem, Certificate, PemItem};

/// Longest login file, bytes.
const LOGIN: u64 = 4096;
/// Longest file of certificates, bytes.
const ROOTS: u64 = 8 << 20;
/// Default certificate files of Linux distributions.
const SYSTEMS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Most characters kept of a store's message.
const LONGEST: usize = 300;

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The names of the fields say it.
pub enum StoreError {
    /// The address is invalid.
    #[error(
        "'{url}' is not the address of a store ({why}): write https://HOST:8443 or http://HOST:8123"
    )]
    Url {
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The database name is invalid.
    #[error("'{name}' is not a valid database name: use letters, digits and '_'")]
    Database { name: String },
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The login file has no name and password, or others can read it.
    #[error("{}: {why}", .path.display())]
    Login {
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The password would be sent unencrypted.
    #[error("the password would go to {host} in the clear: write https://, or use a proxy here")]
    Clear { host: String },
    /// No certificate to trust.
    #[error("{}: the file holds no certificate: name another with --ca", .path.display())]
    Roots { path: PathBuf },
    /// The store refused, and a retry would not help.
    #[error("cannot use the store: {text}{hint}")]
    Refused {
        /// The store's message.
        text: String,
        /// What to do.
        hint: &'static str,
    },
    /// The store did not answer the first request in time.
    #[error(
        "the store at {url} does not answer ({} in {seconds} s; the last: {last}): check that it runs and that the address is right, \
         or wait longer with --connect-timeout and --patience", tries(*attempts)
    )]
    Silent {
        /// Address of the store.
        url: String,
        /// Number of attempts.
        attempts: u32,
        /// Time of all attempts, s.
        seconds: u64,
        /// Last error.
        last: String,
    },
    /// The store was away or overloaded for longer than the patience.
    #[error("the store accepted nothing for {seconds} s ({}; the last: {last}): send again when it is back", tries(*attempts))]
    Away {
        /// Number of attempts.
        attempts: u32,
        /// Time of all attempts, s.
        seconds: u64,
        /// Last error.
        last: String,
    },
    /// The answer is not ClickHouse's.
    #[error("the answer is not ClickHouse's ('{text}'): give the address of its HTTP port")]
    Answer {
        /// The answer.
        text: String,
    },
}

fn tries(attempts: u32) -> String {
    match attempts {
        1 => "1 attempt".into(),
        n => format!("{n} attempts"),
    }
}

impl StoreError {
    pub(super) fn answer(text: &str) -> StoreError {
        StoreError::Answer { text: shortened(text) }
    }
}

/// First line of a foreign text, escaped and truncated.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("nothing");
    harmless(line).chars().take(LONGEST).collect()
}

/// Address of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    uri: Uri,
}

impl Address {
    /// Parses an address.
    ///
    /// # Errors
    /// [`StoreError::Url`]
    pub fn read(url: &str) -> Result<Address, StoreError> {
        let wrong = |why| StoreError::Url { url: without_login(url), why };
        let uri: Uri = url.parse().map_err(|_| wrong("it is not a URL"))?;
        match uri.scheme_str() {
            Some("http" | "https") => {}
            _ => return Err(wrong("its scheme is neither http nor https")),
        }
        let authority = uri.authority().ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("name and password belong in a file: use --login"));
        }
        if uri.query().is_some() {
            return Err(wrong("it has a '?': name the database with --database"));
        }
        Ok(Address { uri })
    }

    /// True for https.
    pub fn is_secure(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// TCP port.
    pub fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or(if self.is_secure() { 443 } else { 80 })
    }

    fn host(&self) -> &str {
        self.uri.host().unwrap_or_default().trim_matches(['[', ']'])
    }

    /// True if the host is this machine.
    fn is_here(&self) -> bool {
        let host = self.host();
        host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    /// Refuses to send a password unencrypted to another machine.
    ///
    /// # Errors
    /// [`StoreError::Clear`]
    pub(crate) fn may_have(&self, login: Option<&Login>) -> Result<(), StoreError> {
        match self.is_secure() || self.is_here() || login.is_none() {
            true => Ok(()),
            false => Err(StoreError::Clear { host: harmless(self.host()) }),
        }
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.uri
    }
}

/// The address for an error message: without a login, escaped.
fn without_login(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, host)) => format!("...@{}", harmless(host)),
        None => harmless(url),
    }
}

/// Name and password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub(crate) name: String,
    pub(crate) password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Login {
    /// Reads `NAME:PASSWORD` from a file that others cannot read.
    pub fn read(path: &Path) -> Result<Login, StoreError> {
        let wrong = |why| StoreError::Login { path: path.into(), why };
        let bytes = exactop_files::read(path, LOGIN)?;
        let mode = std::fs::metadata(path)
            .map_err(|_| wrong("it does not exist any more: give another file"))?
            .permissions()
            .mode();
        if mode & 0o007 != 0 {
            return Err(wrong("other users can read the password: run chmod o= on it"));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| wrong("it is not UTF-8 text: write NAME:PASSWORD"))?;
        let line = text.trim_end_matches(['\r', '\n']);
        // Only characters that an HTTP header can carry.
        if !line.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
            return Err(wrong("it is more than one line of ASCII: write NAME:PASSWORD"));
        }
        let (name, password) =
            line.split_once(':').ok_or_else(|| wrong("it has no colon: write NAME:PASSWORD"))?;
        Ok(Login { name: name.into(), password: password.into() })
    }
}

/// Trusted certificates: those of the file, else the system's.
pub(crate) fn roots(path: Option<&Path>) -> Result<Vec<Certificate<'static>>, StoreError> {
    let system = || SYSTEMS.iter().map(Path::new).find(|path| path.exists());
    let path = path.or_else(system).unwrap_or(Path::new(SYSTEMS[0]));
    let bytes = exactop_files::read(path, ROOTS)?;
    let certificate = |item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(certificate),
        _ => None,
    };
    let roots: Vec<_> = parse_pem(&bytes).filter_map(certificate).collect();
    if roots.is_empty() {
        return Err(StoreError::Roots { path: path.into() });
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{set_permissions, write, Permissions};

    #[test]
    fn an_address_has_no_login_and_no_query() {
        for (url, port, secure, here) in [
            ("http://127.0.0.1:8123", 8123, false, true),
            ("http://[::1]:8123/", 8123, false, true),
            ("https://store/clickhouse", 443, true, false),
            ("http://localhost", 80, false, true),
        ] {
            let address = Address::read(url).expect(url);
            assert_eq!(
                (address.port(), address.is_secure(), address.is_here()),
                (port, secure, here)
            );
        }
        for url in
            ["store:8123", "", "ftp://x", "http://", "https://jo:secret@store", "http://a?b=c"]
        {
            let error = Address::read(url).expect_err(url).to_string();
            assert!(error.contains("write https://") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_password_is_in_its_own_file_and_never_sent_unencrypted() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("login");
        for (text, mode, name) in [
            ("jo:se:cret\n", 0o600, Some("jo")),
            ("jo:", 0o400, Some("jo")),
            ("jo:secret", 0o604, None),
            ("jo", 0o600, None),
            ("jo:secret\nX-Other: 1", 0o600, None),
        ] {
            write(&path, text).expect("a file");
            set_permissions(&path, Permissions::from_mode(mode)).expect("chmod");
            let login = Login::read(&path).ok();
            assert_eq!(login.as_ref().map(|login| &*login.name), name, "{text}");
            assert!(!format!("{login:?}").contains("cret"));
            set_permissions(&path, Permissions::from_mode(0o600)).expect("chmod");
        }
        let login = Login { name: "jo".into(), password: "secret".into() };
        let may = |url: &str, login| Address::read(url).expect(url).may_have(login).is_ok();
        assert!(may("https://store", Some(&login)) && may("http://127.0.0.2:1", Some(&login)));
        assert!(may("http://store", None) && !may("http://store", Some(&login)));
    }
}
