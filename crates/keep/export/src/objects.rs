//! Writes files to a server by HTTP PUT: WebDAV (nginx, Apache), or an object store behind a
//! gateway with a password or none. A PUT replaces the file, so it can be repeated.

use crate::clickhouse::address::{shortened, Address, Login, StoreError};
use crate::days::Files;
use crate::wire::{after, agent, failed, may_pass, Failed, Patience};
use crate::ExportError;
use base64::prelude::{Engine, BASE64_STANDARD};
use bytes::Bytes;
use std::path::Path;
use std::time::Duration;
use ureq::http::{Method, Request, Response, StatusCode};
use ureq::{Agent, Body};

/// Longest time to accept a file: a day's rows may be some hundred megabytes.
const FILE: Duration = Duration::from_secs(900);
/// Most bytes read of a file.
const LONGEST: u64 = 1 << 30;
/// Most bytes read of an answer.
const ANSWER: u64 = 65_536;

/// Client of such a server.
#[derive(Debug)]
pub struct Objects {
    agent: Agent,
    /// Address of the directory, without a slash at its end.
    below: String,
    /// Authorization header.
    login: Option<String>,
    patience: Patience,
}

impl Objects {
    /// Creates a client; sends nothing yet. `believed` is a file of trusted certificates, else the
    /// system's.
    pub fn new(
        address: &Address,
        login: Option<&Login>,
        believed: Option<&Path>,
        patience: Patience,
    ) -> Result<Objects, StoreError> {
        address.may_have(login)?;
        let agent = agent(address, believed, FILE)?;
        let below = address.uri().to_string().trim_end_matches('/').to_string();
        let told = |Login { name, password }: &Login| {
            format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
        };
        Ok(Objects { agent, below, login: login.map(told), patience })
    }

    /// Address of the directory, without a login.
    pub(crate) fn display_name(&self) -> &str {
        &self.below
    }

    /// True if a file exists; false if the server does not say.
    pub(crate) fn has(&self, path: &str) -> Result<bool, StoreError> {
        self.patience.carry(|| {
            let mut answer = self.ask(&Method::HEAD, path, &[])?;
            match answer.status() {
                status if status.is_success() => Ok(true),
                StatusCode::NOT_FOUND
                | StatusCode::GONE
                | StatusCode::CONFLICT
                | StatusCode::METHOD_NOT_ALLOWED
                | StatusCode::NOT_IMPLEMENTED => Ok(false),
                status if may_pass(status) => {
                    let after = after(&answer);
                    Err(Failed::Later { why: status_line(&mut answer), after })
                }
                _ => Err(refused(&mut answer)),
            }
        })
    }

    /// Reads a file; `None` if it does not exist.
    fn get(&self, path: &str) -> Result<Option<Bytes>, StoreError> {
        self.patience.carry(|| {
            let mut answer = self.ask(&Method::GET, path, &[])?;
            match answer.status() {
                status if status.is_success() => {
                    let bytes = answer.body_mut().with_config().limit(LONGEST).read_to_vec();
                    bytes.map(|bytes| Some(bytes.into())).map_err(|error| failed(&error))
                }
                StatusCode::NOT_FOUND | StatusCode::GONE | StatusCode::CONFLICT => Ok(None),
                status if may_pass(status) && status != StatusCode::NOT_IMPLEMENTED => {
                    let after = after(&answer);
                    Err(Failed::Later { why: status_line(&mut answer), after })
                }
                status => {
                    let hint = match status.as_u16() {
                        401 | 403 => {
                            " (pass --login FILE, or replace files unchecked with --replace)"
                        }
                        _ => " (it serves no files: replace them unchecked with --replace)",
                    };
                    let text = status_line(&mut answer);
                    Err(Failed::Refused(StoreError::Refused { text, hint }))
                }
            }
        })
    }

    pub(crate) fn put(&self, path: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let (directory, _) = path.split_once('/').unwrap_or_default();
        let put = Method::PUT;
        self.patience.carry(|| {
            let mut answer = self.ask(&put, path, bytes)?;
            // The directory is missing, as WebDAV (RFC 4918) and as nginx report it. Another client
            // may create it meanwhile.
            let no_directory = [StatusCode::CONFLICT, StatusCode::INTERNAL_SERVER_ERROR];
            if no_directory.contains(&answer.status()) {
                let mkcol = Method::from_bytes(b"MKCOL").map_err(|_| refused(&mut answer))?;
                self.ask(&mkcol, &format!("{directory}/"), &[])?;
                answer = self.ask(&put, path, bytes)?;
            }
            match answer.status() {
                status if status.is_success() => Ok(()),
                status if may_pass(status) => {
                    let after = after(&answer);
                    Err(Failed::Later { why: status_line(&mut answer), after })
                }
                _ => Err(refused(&mut answer)),
            }
        })
    }

    fn ask(&self, method: &Method, path: &str, bytes: &[u8]) -> Result<Response<Body>, Failed> {
        let mut request = Request::builder().method(method).uri(format!("{}/{path}", self.below));
        if let Some(login) = &self.login {
            request = request.header("Authorization", login);
        }
        let request = request.body(bytes).map_err(|error| {
            let text = shortened(&error.to_string());
            Failed::Refused(StoreError::Refused { text, hint: "" })
        })?;
        self.agent.run(request).map_err(|error| failed(&error))
    }
}

/// The server's message in one line.
fn status_line(answer: &mut Response<Body>) -> String {
    let status = answer.status();
    let text = answer.body_mut().with_config().limit(ANSWER).read_to_string();
    match text.unwrap_or_default().trim_start() {
        // An HTML page that only repeats the status.
        "" => status.to_string(),
        page if page.starts_with('<') => status.to_string(),
        text => format!("{status}: {}", shortened(text)),
    }
}

fn refused(answer: &mut Response<Body>) -> Failed {
    let hint = match answer.status().as_u16() {
        401 | 403 => " (pass name and password with --login FILE; requests are not signed for S3)",
        404 | 409 => " (check that the directory above exists)",
        405 | 501 => " (it does not accept PUT: use WebDAV or an object store)",
        413 => " (it does not accept files as large as that)",
        _ => "",
    };
    Failed::Refused(StoreError::Refused { text: status_line(answer), hint })
}

impl Files for Objects {
    fn get(&mut self, day: &str, name: &str) -> Result<Option<Bytes>, ExportError> {
        Ok(Objects::get(self, &format!("{day}/{name}"))?)
    }

    fn put(&mut self, day: &str, name: &str, bytes: &[u8]) -> Result<(), ExportError> {
        Ok(Objects::put(self, &format!("{day}/{name}"), bytes)?)
    }
}
