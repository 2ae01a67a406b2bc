//! A client of a Kubernetes API that sees what is on the wire: codes, warnings and documents.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine as _;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::reference::Reference;

/// How long anything may take that happens by itself, on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// The manager of every field that a scenario sets.
const FIELD_MANAGER: &str = "scenarios";

/// How long a server that doesn't answer is left alone.
const PAUSE: Duration = Duration::from_millis(100);

/// How long a watch is kept before it is begun anew.
const WATCH_SECONDS: u32 = 20;

/// What a server said.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    /// The document of a request that succeeded.
    pub(crate) fn successful(self, what: &str) -> Result<Value, String> {
        if (200..300).contains(&self.code) {
            Ok(self.body)
        } else {
            Err(format!("{what}: {} {}", self.code, self.message()))
        }
    }

    /// Why a request failed.
    pub(crate) fn message(&self) -> String {
        match self.body["message"].as_str() {
            Some(message) => message.to_owned(),
            None => self.body.to_string(),
        }
    }
}

/// Somebody who uses a cluster.
#[derive(Debug, Clone)]
pub(crate) struct Kubernetes {
    http: reqwest::Client,
    pub(crate) url: String,
    token: Option<String>,
    /// A user and a group that the administrator plays.
    role: Option<(String, String)>,
}

impl Kubernetes {
    /// The user of a kubeconfig.
    pub(crate) fn of(kubeconfig: &Path) -> Result<Self, String> {
        // A second installation is refused and harmless: the provider is the same.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let text = fs::read(kubeconfig).map_err(|error| error.to_string())?;
        let config = goyaml::to_value(&text).map_err(|error| error.to_string())?;
        let cluster = &config["clusters"][0]["cluster"];
        let user = &config["users"][0]["user"];
        let authority = match cluster["certificate-authority"].as_str() {
            Some(file) => fs::read(file).map_err(|error| error.to_string())?,
            None => decoded(&cluster["certificate-authority-data"])?,
        };
        let authority = reqwest::Certificate::from_pem(&authority).map_err(|error| error.to_string())?;
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([authority])
            // Each watch has a connection of its own: what one leaves unread must not hold up the others.
            .http1_only();
        if user["client-certificate-data"].is_string() {
            let mut identity = decoded(&user["client-certificate-data"])?;
            identity.extend(decoded(&user["client-key-data"])?);
            let identity = reqwest::Identity::from_pem(&identity).map_err(|error| error.to_string())?;
            builder = builder.identity(identity);
        }
        Ok(Self {
            http: builder.build().map_err(|error| error.to_string())?,
            url: cluster["server"].as_str().unwrap_or_default().to_owned(),
            token: user["token"].as_str().map(str::to_owned),
            role: None,
        })
    }

    /// The same cluster, used by somebody else.
    pub(crate) fn played_by(&self, user: &str, group: &str) -> Self {
        Self {
            role: Some((user.to_owned(), group.to_owned())),
            ..self.clone()
        }
    }

    /// Begins a request to a path.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some((user, group)) = &self.role {
            request = request
                .header("Impersonate-User", user)
                .header("Impersonate-Group", group)
                .header("Impersonate-Group", "system:authenticated");
        }
        request
    }

    async fn send(&self, request: RequestBuilder) -> Result<Answer, String> {
        let answer = request.send().await.map_err(|error| said(&error))?;
        let code = answer.status().as_u16();
        let warnings = answer.headers().get_all("Warning").iter();
        let warnings = warnings
            .filter_map(|warning| unquoted(warning.to_str().ok()?))
            .collect();
        let body = answer.bytes().await.map_err(|error| said(&error))?;
        Ok(Answer {
            code,
            body: serde_json::from_slice(&body).unwrap_or_default(),
            warnings,
        })
    }

    /// Sends a document in one of the notations of a patch.
    async fn patch_as(&self, notation: &str, path: &str, patch: &Value) -> Result<Answer, String> {
        let request = self
            .request(Method::PATCH, path)
            .header("Content-Type", notation)
            .body(patch.to_string());
        self.send(request).await
    }

    /// Applies a document and returns whatever the server says; `options` are more of the query.
    pub(crate) async fn apply_with(&self, object: &Value, options: &str) -> Result<Answer, String> {
        let path = Reference::of(object).path();
        let path = format!("{path}?fieldManager={FIELD_MANAGER}&force=true{options}");
        self.patch_as("application/apply-patch+yaml", &path, object).await
    }

    /// Applies a document.
    pub(crate) async fn apply(&self, object: &Value) -> Result<Value, String> {
        let what = format!("cannot apply {}", Reference::of(object));
        self.apply_with(object, "").await?.successful(&what)
    }

    /// Makes an object that isn't there.
    pub(crate) async fn create(&self, object: &Value) -> Result<Answer, String> {
        let request = self
            .request(Method::POST, &Reference::of(object).collection())
            .header("Content-Type", "application/json")
            .body(object.to_string());
        self.send(request).await
    }

    /// Gets a token of a ServiceAccount.
    pub(crate) async fn token(&self, namespace: &str, account: &str) -> Result<String, String> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
        let request = self
            .request(Method::POST, &path)
            .header("Content-Type", "application/json")
            .body(asked.to_string());
        let given = self.send(request).await?.successful("cannot get a token")?;
        Ok(given["status"]["token"].as_str().unwrap_or_default().to_owned())
    }

    /// Merges a document into an object.
    pub(crate) async fn merge(&self, reference: &Reference, patch: &Value) -> Result<Value, String> {
        let answer = self
            .patch_as("application/merge-patch+json", &reference.path(), patch)
            .await?;
        answer.successful(&format!("cannot patch {reference}"))
    }

    /// Merges a document into the status of a built-in kind, item by item of its lists.
    pub(crate) async fn merge_status(&self, reference: &Reference, patch: &Value) -> Result<Value, String> {
        let path = format!("{}/status", reference.path());
        let answer = self
            .patch_as("application/strategic-merge-patch+json", &path, patch)
            .await?;
        answer.successful(&format!("cannot patch the status of {reference}"))
    }

    /// Merges a document into the status of any kind; its lists take the place of those that are there.
    pub(crate) async fn replace_in_status(
        &self,
        reference: &Reference,
        patch: &Value,
    ) -> Result<Value, String> {
        let path = format!("{}/status", reference.path());
        let answer = self
            .patch_as("application/merge-patch+json", &path, patch)
            .await?;
        answer.successful(&format!("cannot patch the status of {reference}"))
    }

    /// Changes an object by single operations.
    pub(crate) async fn operate(&self, reference: &Reference, operations: &Value) -> Result<Value, String> {
        let answer = self
            .patch_as("application/json-patch+json", &reference.path(), operations)
            .await?;
        answer.successful(&format!("cannot patch {reference}"))
    }

    /// Deletes an object; its dependents go by themselves.
    pub(crate) async fn delete(&self, reference: &Reference) -> Result<(), String> {
        self.delete_with(reference, "Background").await
    }

    /// Deletes an object, and says what is to become of its dependents.
    pub(crate) async fn delete_with(&self, reference: &Reference, propagation: &str) -> Result<(), String> {
        let request = self
            .request(Method::DELETE, &reference.path())
            .header("Content-Type", "application/json")
            .body(json!({"propagationPolicy": propagation}).to_string());
        let answer = self.send(request).await?;
        answer.successful(&format!("cannot delete {reference}")).map(drop)
    }

    /// Reads an object; `None` where it isn't there.
    pub(crate) async fn get(&self, reference: &Reference) -> Result<Option<Value>, String> {
        let answer = self.send(self.request(Method::GET, &reference.path())).await?;
        if answer.code == 404 {
            return Ok(None);
        }
        answer.successful(&format!("cannot read {reference}")).map(Some)
    }

    /// Reads an object that must be there.
    pub(crate) async fn read(&self, reference: &Reference) -> Result<Value, String> {
        self.get(reference)
            .await?
            .ok_or_else(|| format!("{reference} isn't there"))
    }

    /// Lists objects; `query` is what stands behind the question mark.
    pub(crate) async fn list(&self, collection: &str, query: &str) -> Result<(Vec<Value>, String), String> {
        let path = format!("{collection}?{query}");
        let answer = self.send(self.request(Method::GET, &path)).await?;
        let list = answer.successful(&format!("cannot list {collection}"))?;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        Ok((
            list["items"].as_array().cloned().unwrap_or_default(),
            version.to_owned(),
        ))
    }

    /// Waits until the list of objects is as wanted; returns what was found in it.
    pub(crate) async fn until_all<T>(
        &self,
        collection: &str,
        query: &str,
        patience: Duration,
        wanted: impl Fn(&[Value]) -> Result<T, String>,
    ) -> Result<T, String> {
        let deadline = Instant::now() + patience;
        let mut last = "the server didn't answer".to_owned();
        while Instant::now() < deadline {
            let version = match self.list(collection, query).await {
                Ok((items, version)) => match wanted(&items) {
                    Ok(found) => return Ok(found),
                    Err(reason) => {
                        last = reason;
                        version
                    }
                },
                Err(reason) => {
                    last = reason;
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            let path = format!(
                "{collection}?{query}&watch=true&resourceVersion={version}&timeoutSeconds={WATCH_SECONDS}"
            );
            let left = deadline.saturating_duration_since(Instant::now());
            // Any event, the end of the watch and a server that is gone all mean: look again.
            let _ = tokio::time::timeout(left, self.event(&path)).await;
        }
        Err(format!("after {} s: {last}", patience.as_secs()))
    }

    /// Waits for one event of a watch, or its end.
    async fn event(&self, path: &str) {
        match self.request(Method::GET, path).send().await {
            Ok(mut answer) => {
                let _ = answer.chunk().await;
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }

    /// Waits until an object is as wanted; returns what was found in it.
    pub(crate) async fn until_within<T>(
        &self,
        reference: &Reference,
        patience: Duration,
        wanted: impl Fn(Option<&Value>) -> Result<T, String>,
    ) -> Result<T, String> {
        let query = format!("fieldSelector=metadata.name%3D{}", reference.name);
        self.until_all(&reference.collection(), &query, patience, |items| {
            wanted(items.first())
        })
        .await
        .map_err(|reason| format!("{reference}: {reason}"))
    }

    /// Waits until an object is as wanted, as long as things may take.
    pub(crate) async fn until<T>(
        &self,
        reference: &Reference,
        wanted: impl Fn(Option<&Value>) -> Result<T, String>,
    ) -> Result<T, String> {
        self.until_within(reference, PATIENCE, wanted).await
    }

    /// Waits until an object is there.
    pub(crate) async fn until_there(&self, reference: &Reference) -> Result<Value, String> {
        self.until(reference, |object| {
            object.cloned().ok_or_else(|| "it isn't there".to_owned())
        })
        .await
    }

    /// Waits until an object is gone.
    pub(crate) async fn until_gone(&self, reference: &Reference) -> Result<(), String> {
        self.until(reference, |object| match object {
            None => Ok(()),
            Some(object) => Err(format!("it is still there: {}", object["metadata"])),
        })
        .await
    }
}

/// Asks a plain server on this machine, whatever proxies the machine has; returns the code and the text.
pub(crate) async fn ask(url: &str) -> Result<(u16, String), String> {
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(|error| error.to_string())?;
    let answer = client.get(url).send().await;
    let answer = answer.map_err(|error| format!("GET {url}: {}", said(&error)))?;
    let code = answer.status().as_u16();
    let text = answer.text().await;
    Ok((
        code,
        text.map_err(|error| format!("GET {url}: {}", said(&error)))?,
    ))
}

/// Decodes a text in base64.
pub(crate) fn decoded(value: &Value) -> Result<Vec<u8>, String> {
    let text = value.as_str().unwrap_or_default();
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|error| error.to_string())
}

/// Returns the whole reason of a failure: the client's own text leaves out the interesting half.
fn said(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(one) = cause {
        text = format!("{text}: {one}");
        cause = one.source();
    }
    text
}

/// Reads the text of a warning header: `299 - "text"`.
fn unquoted(header: &str) -> Option<String> {
    let quoted = header.split_once('"')?.1.strip_suffix('"')?;
    Some(quoted.replace("\\\"", "\"").replace("\\\\", "\\"))
}
