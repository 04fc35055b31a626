//! The page in a real browser: drawn figures match measured ones, hostile text stays text, and the
//! page loads nothing. Without Chromium the tests report that they did not run; EXACTOP_TEST_WEB
//! makes that an error, and EXACTOP_TEST_PICTURES names a directory for pictures.

#![allow(missing_docs)]

#[path = "../drawn/mod.rs"]
mod drawn;
mod driver;

mod choosing;
mod drawing;
mod everyone;
mod files;
mod groups;
mod keys;
mod live;
mod looking;
mod looks;
mod pairs;
mod sizes;
mod table;
mod unknown;

use drawn::{document, Planted};
use driver::Browser;
use exactop_web::page::{html, Document, Limits};
use serde_json::Value;
use tempfile::TempDir;

/// A page in a browser, and its data.
pub struct Shown {
    pub browser: Browser,
    pub json: Value,
    pub url: String,
    _dir: TempDir,
}

/// Shows a drawn machine; `None` without a browser.
pub fn shown(planted: &Planted, limits: &Limits) -> Option<Shown> {
    shown_document(&document(planted, limits))
}

/// Shows this document; `None` without a browser.
pub fn shown_document(document: &Document) -> Option<Shown> {
    shown_json(&document.json().expect("JSON"))
}

/// Shows a document in JSON; `None` without a browser.
pub fn shown_json(json: &str) -> Option<Shown> {
    let mut browser = Browser::start()?;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("page.html");
    std::fs::write(&path, html("a <b>page</b>", Some(json))).expect("a file");
    browser.look(1200, 900, false);
    browser.open_file(&path);
    let url = format!("file://{}", path.display());
    let json = serde_json::from_str(json).expect("JSON");
    Some(Shown { browser, json, url, _dir: dir })
}

impl Shown {
    /// Checks that the page had no errors and made no requests.
    pub fn is_quiet(&mut self) {
        let complaints = self.browser.complaints(&self.url);
        assert!(complaints.is_empty(), "{complaints:#?}");
    }

    /// Value of an expression, as text.
    pub fn words(&mut self, expression: &str) -> String {
        match self.browser.ask(expression) {
            Value::String(words) => words,
            other => panic!("{expression}: {other}"),
        }
    }

    /// Value of an expression, as a number.
    pub fn number(&mut self, expression: &str) -> f64 {
        let told = self.browser.ask(expression);
        told.as_f64().unwrap_or_else(|| panic!("{expression}: {told}"))
    }
}
