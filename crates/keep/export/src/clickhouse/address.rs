//! Where a store is, who asks it, and whom to believe that it is the one.

use exactop_files::FileError;
use exactop_model::text::escape::harmless;
use std::fmt;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use ureq::http::Uri;
use ureq::tls::{parse_pem, Certificate, PemItem};

/// A file with a name and a password is no longer.
const LOGIN: u64 = 4096;
/// Nor one with certificates.
const ROOTS: u64 = 8 << 20;
/// Where systems keep the certificates that they believe.
const SYSTEMS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];
/// Characters of what a store says that are kept.
const LONGEST: usize = 300;

/// Why a store does not take what is sent.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// No address of HTTP.
    #[error(
        "'{url}' is no address of a store ({why}): write https://HOST:8443 or http://HOST:8123"
    )]
    Url {
        /// What was asked for.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No name that a database can have.
    #[error("'{name}' is no name of a database: write letters, digits and '_'")]
    Database {
        /// What was asked for.
        name: String,
    },
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It holds no name and password, or others can read it.
    #[error("{}: {why}", .path.display())]
    Login {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A password would be there for all to read.
    #[error("the password would go to {host} in the clear: write https://, or go by this machine")]
    Clear {
        /// The store's.
        host: String,
    },
    /// Nobody to believe.
    #[error("{}: no certificate to believe is in it: name a file with --ca", .path.display())]
    Roots {
        /// The file.
        path: PathBuf,
    },
    /// It will not be taken.
    #[error("the store refuses: {text}{hint}")]
    Refused {
        /// What it says.
        text: String,
        /// What to do.
        hint: &'static str,
    },
    /// It answers no question, and was asked as long as was to be.
    #[error(
        "the store at {url} does not answer ({} in {seconds} s; the last: {last}): see whether it runs and the address is right; \
         --connect-timeout and --patience wait longer", tries(*attempts)
    )]
    Silent {
        /// The store's address.
        url: String,
        /// So often it was asked.
        attempts: u32,
        /// So long.
        seconds: u64,
        /// Why it failed the last time.
        last: String,
    },
    /// It is away, or has too much to do, for longer than was waited.
    #[error("the store took nothing for {seconds} s ({}; the last: {last}): send again when it is back", tries(*attempts))]
    Away {
        /// So often.
        attempts: u32,
        /// So long.
        seconds: u64,
        /// What was wrong last.
        last: String,
    },
    /// It is no store that answers.
    #[error("the store answers what was not asked ('{text}'): is it ClickHouse's HTTP port?")]
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

/// What others wrote: its first line, harmless and not too long.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or("nothing");
    harmless(line).chars().take(LONGEST).collect()
}

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    uri: Uri,
}

impl Address {
    /// Reads one.
    ///
    /// # Errors
    /// [`StoreError::Url`]
    pub fn read(url: &str) -> Result<Address, StoreError> {
        let wrong = |why| StoreError::Url { url: without_login(url), why };
        let uri: Uri = url.parse().map_err(|_| wrong("it cannot be read"))?;
        match uri.scheme_str() {
            Some("http" | "https") => {}
            _ => return Err(wrong("it begins with neither http:// nor https://")),
        }
        let authority = uri.authority().ok_or_else(|| wrong("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("a name and a password belong into a file, --login"));
        }
        if uri.query().is_some() {
            return Err(wrong("nothing belongs behind '?': a database is said with --database"));
        }
        Ok(Address { uri })
    }

    /// Whether what goes there is encrypted.
    pub fn is_secure(&self) -> bool {
        self.uri.scheme_str() == Some("https")
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.uri.port_u16().unwrap_or(if self.is_secure() { 443 } else { 80 })
    }

    fn host(&self) -> &str {
        self.uri.host().unwrap_or_default().trim_matches(['[', ']'])
    }

    /// Whether it is on this machine.
    fn is_here(&self) -> bool {
        let host = self.host();
        host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }

    /// Refuses a password that everyone could read on its way.
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

/// What may be told of an address that was wrong.
fn without_login(url: &str) -> String {
    match url.rsplit_once('@') {
        Some((_, host)) => format!("...@{}", harmless(host)),
        None => harmless(url),
    }
}

/// A name and a password.
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
    ///
    /// # Errors
    /// [`StoreError`]
    pub fn read(path: &Path) -> Result<Login, StoreError> {
        let wrong = |why| StoreError::Login { path: path.into(), why };
        let bytes = exactop_files::read(path, LOGIN)?;
        let mode = std::fs::metadata(path).map_err(|_| wrong("it is gone"))?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(wrong("everyone can reach this password: chmod o= takes it from them"));
        }
        let text = String::from_utf8(bytes).map_err(|_| wrong("it is no text"))?;
        let line = text.trim_end_matches(['\r', '\n']);
        // What a header can carry.
        if !line.chars().all(|c| c.is_ascii_graphic() || c == ' ') {
            return Err(wrong("it is more than one line of ASCII: write NAME:PASSWORD"));
        }
        let (name, password) =
            line.split_once(':').ok_or_else(|| wrong("it holds no NAME:PASSWORD"))?;
        Ok(Login { name: name.into(), password: password.into() })
    }
}

/// The certificates that are believed: those of a file, or the system's.
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
    fn an_address_says_where_and_nothing_else() {
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
    fn a_password_is_in_a_file_of_its_own_and_goes_nowhere_in_the_clear() {
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
