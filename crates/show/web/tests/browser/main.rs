//! The page in a real browser: what is drawn is what was measured, what is hostile is text, and nothing
//! is asked of anybody. Without Chromium nothing is tested, and that is said; EXACTOP_TEST_WEB demands it,
//! and EXACTOP_TEST_PICTURES names a directory that gets what was seen.

#![allow(missing_docs)]

#[path = "../drawn/mod.rs"]
mod drawn;
mod driver;

mod choosing;
mod drawing;
mod everyone;
mod groups;
mod live;
mod looking;
mod looks;
mod table;

use drawn::{document, Planted};
use driver::Browser;
use exactop_web::page::{html, Limits};
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
    let mut browser = Browser::start()?;
    let json = document(planted, limits).json().expect("JSON");
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("page.html");
    std::fs::write(&path, html("a <b>page</b>", Some(&json))).expect("a file");
    browser.look(1200, 900, false);
    browser.open_file(&path);
    let url = format!("file://{}", path.display());
    let json = serde_json::from_str(&json).expect("JSON");
    Some(Shown { browser, json, url, _dir: dir })
}

impl Shown {
    /// Nothing went wrong, and nobody was asked.
    pub fn is_quiet(&mut self) {
        let complaints = self.browser.complaints(&self.url);
        assert!(complaints.is_empty(), "{complaints:#?}");
    }

    /// What an expression comes to, in words.
    pub fn words(&mut self, expression: &str) -> String {
        match self.browser.ask(expression) {
            Value::String(words) => words,
            other => panic!("{expression}: {other}"),
        }
    }

    /// A number.
    pub fn number(&mut self, expression: &str) -> f64 {
        let told = self.browser.ask(expression);
        told.as_f64().unwrap_or_else(|| panic!("{expression}: {told}"))
    }
}
