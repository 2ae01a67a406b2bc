//! Probes: whether a container has started, is alive and is ready.

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
    /// How long a container that the probe ends has for that; `None` for as long as its pod says.
    pub grace: Option<Duration>,
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
    Connect {
        /// The host; empty for this machine.
        host: String,
        /// The port.
        port: u16,
    },
    /// The health service of gRPC, which says that it serves.
    Health {
        /// The port.
        port: u16,
        /// The service that is asked for; empty for the server as a whole.
        service: String,
    },
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
            grace: probe["terminationGracePeriodSeconds"]
                .as_u64()
                .map(Duration::from_secs),
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
            let host = host_of(get);
            let host = if host.is_empty() { "127.0.0.1" } else { host };
            return Some(Self::Get {
                url: format!("{scheme}://{host}:{port}{slash}{path}"),
                headers,
            });
        }
        if let Some(connect) = handler.get("tcpSocket").filter(|connect| connect.is_object()) {
            let host = host_of(connect).to_owned();
            return port(container, &connect["port"]).map(|port| Self::Connect { host, port });
        }
        if let Some(grpc) = handler.get("grpc").filter(|grpc| grpc.is_object()) {
            let service = grpc["service"].as_str().unwrap_or_default().to_owned();
            return port(container, &grpc["port"]).map(|port| Self::Health { port, service });
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
                let program = match launch.programs.find(program) {
                    Ok(program) => program,
                    Err(why) => return (false, why.to_string()),
                };
                let launch = Launch {
                    program,
                    arguments: arguments
                        .iter()
                        .map(|argument| launch.programs.paths.rewrite(argument))
                        .collect(),
                    ..launch.clone()
                };
                process::run(&launch, timeout).await
            }
            Self::Connect { host, port } => {
                let host = if host.is_empty() { "127.0.0.1" } else { host };
                match tokio::time::timeout(timeout, TcpStream::connect((host, *port))).await {
                    Ok(Ok(_)) => (true, String::new()),
                    Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => (
                        false,
                        format!("dial tcp {host}:{port}: connect: connection refused"),
                    ),
                    Ok(Err(error)) => (false, format!("dial tcp {host}:{port}: {error}")),
                    Err(_) => (false, format!("dial tcp {host}:{port}: i/o timeout")),
                }
            }
            Self::Health { port, service } => {
                match tokio::time::timeout(timeout, healthy(*port, service)).await {
                    Ok(answer) => answer,
                    Err(_) => (
                        false,
                        format!(
                            "timeout: health rpc did not complete within {}s",
                            timeout.as_secs()
                        ),
                    ),
                }
            }
            Self::Get { url, headers } => get(url, headers, timeout).await,
        }
    }
}

fn host_of(handler: &Value) -> &str {
    handler["host"].as_str().unwrap_or_default()
}

/// Asks the health service of gRPC.
async fn healthy(port: u16, service: &str) -> (bool, String) {
    use tonic_health::pb::HealthCheckRequest;
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_health::pb::health_client::HealthClient;
    let address = format!("127.0.0.1:{port}");
    let connected = match tonic::transport::Endpoint::from_shared(format!("http://{address}")) {
        Ok(endpoint) => endpoint.connect().await,
        Err(error) => Err(error),
    };
    let mut client = match connected {
        Ok(channel) => HealthClient::new(channel),
        Err(error) => {
            let why = format!("error: failed to connect service at \"{address}\": {error}");
            return (false, why);
        }
    };
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    match client.check(request).await {
        Ok(answer) => {
            let status = answer.into_inner().status();
            let name = status.as_str_name();
            (
                status == ServingStatus::Serving,
                if status == ServingStatus::Serving {
                    "service healthy".to_owned()
                } else {
                    format!("service unhealthy (responded with \"{name}\")")
                },
            )
        }
        Err(status) if status.code() == tonic::Code::Unimplemented => (
            false,
            format!(
                "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): {}",
                status.message()
            ),
        ),
        Err(status) => (
            false,
            format!(
                "error: health rpc probe failed: rpc error: code = {:?} desc = {}",
                status.code(),
                status.message()
            ),
        ),
    }
}

/// How many redirects a probe follows, as upstream.
const MOST_REDIRECTS: usize = 10;

/// Follows redirects within a host: one that leads elsewhere is an answer, as upstream has it.
fn within_host(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let first = attempt.previous().first().and_then(|url| url.host_str());
    let elsewhere = first != attempt.url().host_str();
    if elsewhere || attempt.previous().len() > MOST_REDIRECTS {
        attempt.stop()
    } else {
        attempt.follow()
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
        .redirect(reqwest::redirect::Policy::custom(within_host))
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
        Err(error) => (
            false,
            format!("Get \"{url}\": {}", crate::callback::in_go_words(&error, url)),
        ),
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
            (
                &Question::Connect {
                    host: String::new(),
                    port: 80
                },
                1,
                5
            )
        );
        let startup = Probe::read(&container, "startupProbe").expect("a probe");
        assert_eq!(
            startup.question,
            Question::Run(vec!["a".to_owned(), "b".to_owned()])
        );
        assert_eq!(Probe::read(&json!({}), "livenessProbe"), None);
        let grpc = json!({"livenessProbe": {"grpc": {"port": 9, "service": "s"}, "terminationGracePeriodSeconds": 4}});
        let liveness = Probe::read(&grpc, "livenessProbe").expect("a probe");
        assert_eq!(
            (liveness.question, liveness.grace.map(|grace| grace.as_secs())),
            (
                Question::Health {
                    port: 9,
                    service: "s".to_owned()
                },
                Some(4)
            )
        );
    }

    #[tokio::test]
    async fn the_health_service_of_grpc_is_asked() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (reporter, service) = tonic_health::server::health_reporter();
        reporter
            .set_service_status("bad", tonic_health::ServingStatus::NotServing)
            .await;
        let incoming = tokio_stream::wrappers::TcpListenerStream::new(listener);
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming),
        );
        let ask = async |service: &str| {
            let question = Question::Health {
                port,
                service: service.to_owned(),
            };
            question.ask(&Launch::default(), Duration::from_secs(20)).await
        };
        assert_eq!(ask("").await, (true, "service healthy".to_owned()));
        assert_eq!(
            ask("bad").await,
            (
                false,
                "service unhealthy (responded with \"NOT_SERVING\")".to_owned()
            )
        );
        let (good, why) = ask("unknown").await;
        assert!(!good && why.contains("code = NotFound"), "{why}");
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
