//! Chromium without a window, spoken to over a pipe.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// How long the browser may take for one thing, on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(2);

/// The programs that are looked for, the wanted one first.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Finds the browser.
fn find() -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    PROGRAMS
        .iter()
        .flat_map(|program| std::env::split_paths(&folders).map(move |folder| folder.join(program)))
        .find(|program| program.is_file())
        .expect("there is no Chromium in PATH; on Debian: apt-get install chromium")
}

/// A browser with one tab.
pub(crate) struct Chromium {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    session: String,
    /// What the page complained about.
    pub(crate) complaints: Vec<String>,
    loads: usize,
    _profile: tempfile::TempDir,
}

impl Chromium {
    pub(crate) async fn start() -> Self {
        let program = find();
        let profile = tempfile::tempdir().expect("a folder");
        // The browser talks on the third and fourth file that it is born with; the shell puts our pipes there.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args([
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",
                "--disable-gpu",
            ])
            .args([
                "--no-first-run",
                "--disable-background-networking",
                "--disable-dev-shm-usage",
            ])
            .args(["--hide-scrollbars", "--window-size=1280,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .expect("a browser");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut browser = Self {
            _child: child,
            input,
            output,
            last: 0,
            session: String::new(),
            complaints: Vec::new(),
            loads: 0,
            _profile: profile,
        };
        let target = browser
            .call("Target.createTarget", json!({"url": "about:blank"}))
            .await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach).await;
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "DOM"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        browser
    }

    /// Asks the browser for something that it must be able to do.
    pub(crate) async fn call(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.ask(method, parameters).await;
        answer.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Asks the browser for something.
    async fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, Value> {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).await.expect("the browser listens");
        loop {
            let mut answer = self.read().await;
            if answer["id"] == id {
                return match answer["error"].take() {
                    Value::Null => Ok(answer["result"].take()),
                    error => Err(error),
                };
            }
        }
    }

    async fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        let reading = self.output.read_until(0, &mut bytes);
        let read = tokio::time::timeout(PATIENCE, reading)
            .await
            .expect("the browser answers in time");
        assert!(read.expect("the browser talks") > 0, "the browser is gone");
        bytes.pop();
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        self.note(&message);
        message
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" => self.loads += 1,
            "Log.entryAdded"
                if matches!(parameters["entry"]["level"].as_str(), Some("error" | "warning")) =>
            {
                let entry = &parameters["entry"];
                self.complaints
                    .push(format!("{} ({})", entry["text"], entry["url"]));
            }
            "Runtime.exceptionThrown" => self.complaints.push(parameters["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled"
                if matches!(parameters["type"].as_str(), Some("error" | "warning")) =>
            {
                self.complaints.push(parameters["args"].to_string());
            }
            _ => {}
        }
    }

    /// Opens a page, and waits until it is there.
    pub(crate) async fn open(&mut self, url: &str) {
        let before = self.loads;
        let answer = self.call("Page.navigate", json!({"url": url})).await;
        assert!(answer["errorText"].is_null(), "{url}: {}", answer["errorText"]);
        self.wait_loaded(before).await;
    }

    /// Waits until another page was loaded than those before.
    pub(crate) async fn wait_loaded(&mut self, before: usize) {
        while self.loads <= before {
            self.read().await;
        }
    }

    pub(crate) fn loads(&self) -> usize {
        self.loads
    }

    /// What an expression is in the page.
    pub(crate) async fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", parameters).await;
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression}: {}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].take()
    }

    /// Waits until an expression holds in the page.
    pub(crate) async fn wait_for(&mut self, expression: &str) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while self.evaluate(expression).await != Value::Bool(true) {
            assert!(tokio::time::Instant::now() < deadline, "never true: {expression}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The page as the browser has it, read without any script.
    pub(crate) async fn html(&mut self) -> String {
        loop {
            let document = self.call("DOM.getDocument", json!({})).await;
            let node = json!({"nodeId": document["root"]["nodeId"]});
            // Another page may have come between the two questions.
            if let Ok(html) = self.ask("DOM.getOuterHTML", node).await {
                return html["outerHTML"].as_str().expect("text").to_owned();
            }
        }
    }

    /// Where the tab is.
    pub(crate) async fn place(&mut self) -> String {
        let history = self.call("Page.getNavigationHistory", json!({})).await;
        let current = history["currentIndex"].as_u64().expect("a number") as usize;
        history["entries"][current]["url"]
            .as_str()
            .expect("an address")
            .to_owned()
    }

    /// Waits until a page has led on to another, and that one is there.
    pub(crate) async fn wait_place(&mut self, url: &str) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        // Between two pages the browser has no answer to either question.
        let is_there = "document.readyState === 'complete' && location.href";
        let parameters = json!({"expression": is_there, "returnByValue": true});
        loop {
            let answer = self.ask("Runtime.evaluate", parameters.clone()).await;
            if answer.is_ok_and(|answer| answer["result"]["value"] == url) {
                return;
            }
            assert!(tokio::time::Instant::now() < deadline, "never at {url}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Puts the focus on what a selector finds, without any script.
    pub(crate) async fn focus(&mut self, selector: &str) {
        let document = self.call("DOM.getDocument", json!({})).await;
        let query = json!({"nodeId": document["root"]["nodeId"], "selector": selector});
        let found = self.call("DOM.querySelector", query).await;
        assert_ne!(found["nodeId"], 0, "{selector} isn't there");
        self.call("DOM.focus", json!({"nodeId": found["nodeId"]})).await;
    }

    /// Presses a key and lets it go.
    pub(crate) async fn press(&mut self, key: &str) {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            "Escape" => ("Escape", 27, ""),
            "/" => ("Slash", 191, "/"),
            letter => (
                "",
                letter.to_uppercase().bytes().next().map_or(0, u32::from),
                letter,
            ),
        };
        let mut event = json!({"type": "keyDown", "key": key, "code": code, "windowsVirtualKeyCode": number});
        if !text.is_empty() {
            event["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", event.clone()).await;
        event["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", event).await;
    }

    /// Lets the page believe that the visitor's machine is light or dark.
    pub(crate) async fn prefer(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}))
            .await;
    }

    pub(crate) async fn disable_scripts(&mut self, disabled: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": disabled}))
            .await;
    }

    pub(crate) async fn size(&mut self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    /// A picture of the whole page.
    pub(crate) async fn picture(&mut self) -> Vec<u8> {
        let parameters = json!({"format": "png", "captureBeyondViewport": true});
        let taken = self.call("Page.captureScreenshot", parameters).await;
        let text = taken["data"].as_str().expect("a picture");
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .expect("base64")
    }
}
