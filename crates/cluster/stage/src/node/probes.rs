//! Probes: whether a container has started, is alive and is ready.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;

use super::process::{self, Launch};
use super::requests::items;

/// What a probe asks, and how often.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// How it is asked.
    pub question: Question,
    /// How long it waits before the first time.
    pub delay: Duration,
    /// How often it asks.
    pub period: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// How many good answers in a row count as good.
    pub successes: u32,
    /// How many bad answers in a row count as bad.
    pub failures: u32,
}

/// How a container is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Question {
    /// An HTTP request that is answered with a code from 200 to 399.
    Get {
        /// The whole URL.
        url: String,
        /// Headers, by name.
        headers: Vec<(String, String)>,
    },
    /// A connection that is accepted.
    Connect(u16),
    /// A command that ends with 0.
    Run(Vec<String>),
}

impl Probe {
    /// Reads a probe of a container; `None` where it has none of that name.
    pub fn read(container: &Value, name: &str) -> Option<Self> {
        let probe = container.get(name).filter(|probe| probe.is_object())?;
        let number = |field: &str, usual: u64, least: u64| probe[field].as_u64().unwrap_or(usual).max(least);
        let count = |field: &str, usual: u64| u32::try_from(number(field, usual, 1)).unwrap_or(u32::MAX);
        Some(Self {
            question: Question::read(container, probe)?,
            delay: Duration::from_secs(number("initialDelaySeconds", 0, 0)),
            period: Duration::from_secs(number("periodSeconds", 10, 1)),
            timeout: Duration::from_secs(number("timeoutSeconds", 1, 1)),
            successes: count("successThreshold", 1),
            failures: count("failureThreshold", 3),
        })
    }
}

impl Question {
    /// Reads what a probe or a hook asks for.
    pub fn read(container: &Value, handler: &Value) -> Option<Self> {
        if let Some(get) = handler.get("httpGet").filter(|get| get.is_object()) {
            let port = port(container, &get["port"])?;
            let scheme = if get["scheme"] == "HTTPS" { "https" } else { "http" };
            let path = get["path"].as_str().unwrap_or("/");
            let slash = if path.starts_with('/') { "" } else { "/" };
            let headers = items(&get["httpHeaders"])
                .filter_map(|header| {
                    Some((
                        header["name"].as_str()?.to_owned(),
                        header["value"].as_str()?.to_owned(),
                    ))
                })
                .collect();
            return Some(Self::Get {
                url: format!("{scheme}://127.0.0.1:{port}{slash}{path}"),
                headers,
            });
        }
        if let Some(connect) = handler.get("tcpSocket").filter(|connect| connect.is_object()) {
            return port(container, &connect["port"]).map(Self::Connect);
        }
        // The health protocol of gRPC isn't spoken; a port that is open is taken as an answer.
        if let Some(grpc) = handler.get("grpc").filter(|grpc| grpc.is_object()) {
            return port(container, &grpc["port"]).map(Self::Connect);
        }
        let command = items(handler.get("exec")?.get("command")?);
        Some(Self::Run(
            command.filter_map(Value::as_str).map(str::to_owned).collect(),
        ))
    }

    /// Asks, and returns whether the answer is good, and what it was.
    pub async fn ask(&self, launch: &Launch, timeout: Duration) -> (bool, String) {
        match self {
            Self::Run(command) => {
                let Some((program, arguments)) = command.split_first() else {
                    return (false, "the probe has no command".to_owned());
                };
                let launch = Launch {
                    program: launch.paths.rewrite(program).into(),
                    arguments: arguments
                        .iter()
                        .map(|argument| launch.paths.rewrite(argument))
                        .collect(),
                    ..launch.clone()
                };
                process::run(&launch, timeout).await
            }
            Self::Connect(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                match tokio::time::timeout(timeout, TcpStream::connect(address)).await {
                    Ok(Ok(_)) => (true, String::new()),
                    Ok(Err(_)) => (false, format!("dial tcp {address}: connect: connection refused")),
                    Err(_) => (false, format!("dial tcp {address}: i/o timeout")),
                }
            }
            Self::Get { url, headers } => get(url, headers, timeout).await,
        }
    }
}

async fn get(url: &str, headers: &[(String, String)], timeout: Duration) -> (bool, String) {
    // Probes don't check certificates, as upstream's don't: the container's own is rarely one that others know.
    let tls = match crate::callback::trust::configuration_without_checks(None) {
        Ok(tls) => tls,
        Err(why) => return (false, why),
    };
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(timeout)
        .build();
    let client = match client {
        Ok(client) => client,
        Err(error) => return (false, error.to_string()),
    };
    let mut request = client.get(url).header("User-Agent", "kube-probe/1.36");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match request.send().await {
        Ok(answer) if (200..400).contains(&answer.status().as_u16()) => (true, String::new()),
        Ok(answer) => (
            false,
            format!("HTTP probe failed with statuscode: {}", answer.status().as_u16()),
        ),
        Err(error) if error.is_timeout() => (
            false,
            format!(
                "Get \"{url}\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            ),
        ),
        Err(_) => (false, format!("Get \"{url}\": connect: connection refused")),
    }
}

/// Returns a port by its number, or by its name among the container's ports.
pub fn port(container: &Value, port: &Value) -> Option<u16> {
    let number = match port {
        Value::Number(number) => number.as_u64()?,
        Value::String(name) => match name.parse() {
            Ok(number) => number,
            Err(_) => {
                items(&container["ports"]).find(|one| one["name"] == **name)?["containerPort"].as_u64()?
            }
        },
        _ => return None,
    };
    u16::try_from(number).ok()
}

/// Counts answers until they decide something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Count {
    good: u32,
    bad: u32,
}

impl Count {
    /// Notes an answer; returns what is decided, if it decides.
    pub fn note(&mut self, is_good: bool, probe: &Probe) -> Option<bool> {
        if is_good {
            self.bad = 0;
            self.good = self.good.saturating_add(1);
            (self.good >= probe.successes).then_some(true)
        } else {
            self.good = 0;
            self.bad = self.bad.saturating_add(1);
            (self.bad >= probe.failures).then_some(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_probe_is_read_with_upstreams_defaults() {
        let container = json!({
            "ports": [{"name": "web", "containerPort": 8081}],
            "readinessProbe": {"httpGet": {"path": "readyz", "port": "web", "scheme": "HTTPS"}},
            "livenessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 0, "failureThreshold": 5},
            "startupProbe": {"exec": {"command": ["a", "b"]}},
        });
        let readiness = Probe::read(&container, "readinessProbe").expect("a probe");
        assert_eq!(
            readiness.question,
            Question::Get {
                url: "https://127.0.0.1:8081/readyz".to_owned(),
                headers: vec![]
            }
        );
        assert_eq!((readiness.period.as_secs(), readiness.timeout.as_secs()), (10, 1));
        assert_eq!((readiness.successes, readiness.failures), (1, 3));
        let liveness = Probe::read(&container, "livenessProbe").expect("a probe");
        assert_eq!(
            (&liveness.question, liveness.period.as_secs(), liveness.failures),
            (&Question::Connect(80), 1, 5)
        );
        let startup = Probe::read(&container, "startupProbe").expect("a probe");
        assert_eq!(
            startup.question,
            Question::Run(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(Probe::read(&json!({}), "livenessProbe"), None);
    }

    #[test]
    fn answers_in_a_row_decide() {
        let container =
            json!({"p": {"tcpSocket": {"port": 1}, "successThreshold": 2, "failureThreshold": 3}});
        let probe = Probe::read(&container, "p").expect("a probe");
        let mut count = Count::default();
        let decided: Vec<Option<bool>> = [true, false, true, true, false, false, false, false, true]
            .into_iter()
            .map(|answer| count.note(answer, &probe))
            .collect();
        assert_eq!(
            decided,
            [
                None,
                None,
                None,
                Some(true),
                None,
                None,
                Some(false),
                Some(false),
                None
            ]
        );
    }
}
