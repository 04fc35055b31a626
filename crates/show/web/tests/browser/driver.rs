//! Debian's Chromium without a window, driven by its own protocol over two pipes.

use serde_json::{json, Value};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{channel, Sender};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// One browser at a time: each is several processes.
static ONE: Mutex<()> = Mutex::new(());
/// A browser that does not answer is killed, so that a test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(300);

/// A browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    last_id: u64,
    session: Option<String>,
    events: Vec<Value>,
    _over: Sender<()>,
    _dir: tempfile::TempDir,
    _one: MutexGuard<'static, ()>,
}

/// Path of Chromium; `None`: not installed, which is reported, or fails the test if a browser is
/// required.
fn chromium() -> Option<PathBuf> {
    let names = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
    let found = names.iter().map(PathBuf::from).find(|path| path.exists());
    if found.is_none() {
        let why = "no Chromium (apt-get install chromium): the page was tried in no browser";
        assert!(std::env::var_os("EXACTOP_TEST_WEB").is_none(), "{why}");
        // Bypasses the harness, which hides the output of passing tests.
        let stderr = OpenOptions::new().append(true).open("/dev/stderr");
        let _ = stderr.map(|mut stderr| writeln!(stderr, "NOT TESTED: {why}"));
    }
    found
}

impl Browser {
    /// Starts the browser.
    pub fn start() -> Option<Browser> {
        let program = chromium()?;
        let one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let dir = tempfile::tempdir().expect("a directory");
        let script = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null";
        let mut profile = std::ffi::OsString::from("--user-data-dir=");
        profile.push(dir.path().join("profile"));
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .args([program.as_os_str(), &profile])
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--remote-debugging-pipe", "--no-first-run", "--hide-scrollbars"])
            .args(["--disable-background-networking", "--disable-component-update"])
            .args(["--disable-sync", "--disable-extensions", "--password-store=basic"])
            .arg(OsStr::new("about:blank"))
            .env("HOME", dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let over = watch(child.id());
        let to = child.stdin.take().expect("the pipe to it");
        let from = child.stdout.take().expect("the pipe from it");
        if let Some(status) = child.try_wait().expect("its status") {
            panic!("{} ended at once: {status}", program.display());
        }
        let mut browser = Browser {
            child,
            to,
            from: BufReader::new(from),
            last_id: 0,
            session: None,
            events: Vec::new(),
            _over: over,
            _dir: dir,
            _one: one,
        };
        browser.attach();
        Some(browser)
    }

    fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }));
        let id = &target["targetId"];
        let attached =
            self.call("Target.attachToTarget", json!({ "targetId": id, "flatten": true }));
        self.session = attached["sessionId"].as_str().map(String::from);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.call(&format!("{domain}.enable"), json!({}));
        }
        self.call("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
    }

    /// Runs a command and returns its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        loop {
            let message = self.next();
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn next(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("the browser speaks");
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Sets the size of the page, and dark mode.
    pub fn look(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 640 });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": feature }));
    }

    /// Opens a page from a file or a server.
    pub fn open(&mut self, url: &str) {
        self.load("about:blank");
        self.events.clear();
        self.load(url);
    }

    fn load(&mut self, url: &str) {
        let loader = self.call("Page.navigate", json!({ "url": url }))["loaderId"].clone();
        let is_loaded = |event: &Value| {
            let parameters = &event["params"];
            event["method"] == "Page.lifecycleEvent"
                && parameters["name"] == "load"
                && parameters["loaderId"] == loader
        };
        while !self.events.iter().any(is_loaded) {
            let event = self.next();
            self.events.push(event);
        }
    }

    /// Opens a file.
    pub fn open_file(&mut self, path: &Path) {
        self.open(&format!("file://{}", path.display()));
    }

    /// Value of an expression of the page's script.
    pub fn ask(&mut self, expression: &str) -> Value {
        let how = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let told = self.call("Runtime.evaluate", how);
        assert!(told["exceptionDetails"].is_null(), "{expression}: {}", told["exceptionDetails"]);
        told["result"]["value"].clone()
    }

    /// Drags the mouse from one place to another.
    pub fn drag(&mut self, from: (f64, f64), to: (f64, f64), shift: bool) {
        let between = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        let steps = [
            ("mousePressed", from),
            ("mouseMoved", between),
            ("mouseMoved", to),
            ("mouseReleased", to),
        ];
        for (what, (x, y)) in steps {
            let event = json!({
                "type": what, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1,
                "modifiers": if shift { 8 } else { 0 },
            });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses a key.
    pub fn key(&mut self, key: &str) {
        self.key_with(key, 0);
    }

    /// Presses a key with Shift.
    pub fn shift_key(&mut self, key: &str) {
        self.key_with(key, 8);
    }

    fn key_with(&mut self, key: &str, modifiers: u8) {
        for what in ["keyDown", "keyUp"] {
            let event = json!({ "type": what, "key": key, "code": key, "modifiers": modifiers });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// Presses a key with a text, or activates the focused element.
    pub fn press(&mut self, key: &str, code: u32, text: &str) {
        for what in ["keyDown", "keyUp"] {
            let text = if what == "keyDown" { text } else { "" };
            let event = json!({
                "type": what, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text,
            });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    /// All errors of the page, and its requests to other servers.
    pub fn complaints(&mut self, own: &str) -> Vec<String> {
        // Events before this answer have arrived by then.
        self.ask("1");
        let of = |event: &Value| {
            let parameters = &event["params"];
            match event["method"].as_str().map_or("", |method| method) {
                "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" => Some(parameters["args"].to_string()),
                // Warnings are about the way these tests read pixels.
                "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                    Some(parameters["entry"].to_string())
                }
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str().map_or("", |url| url);
                    (!url.starts_with(own) && !url.starts_with("data:")).then(|| url.into())
                }
                _ => None,
            }
        };
        self.events.iter().filter_map(of).collect()
    }

    /// Saves a picture if EXACTOP_TEST_PICTURES asks for it.
    pub fn picture(&mut self, name: &str) {
        let Some(dir) = std::env::var_os("EXACTOP_TEST_PICTURES") else { return };
        let told = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let data = told["data"].as_str().expect("a picture");
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).expect("base64");
        std::fs::write(Path::new(&dir).join(format!("{name}.png")), bytes).expect("a picture");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills a browser after PATIENCE, unless it ends before.
fn watch(pid: u32) -> Sender<()> {
    let (over, is_over) = channel::<()>();
    std::thread::spawn(move || {
        if is_over.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
    });
    over
}
