//! `baton stage` as a user starts, uses and stops it.

mod pods;
#[expect(dead_code, reason = "the other test programs use the rest of it")]
#[path = "../world/mod.rs"]
mod world;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use serde_json::Value;
use world::World;

/// A running server, which is stopped at the latest when the test is over.
struct Running {
    process: Child,
    url: String,
}

impl Running {
    fn start(world: &World, arguments: &[&str]) -> Self {
        let mut all = vec!["stage", "--listen", "127.0.0.1:0"];
        all.extend(arguments);
        let mut process = world
            .command(&all)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut lines = BufReader::new(process.stderr.take().expect("its remarks")).lines();
        let first = lines.next().expect("a line").expect("a text");
        // The kubeconfig is written before the lines, and the second line ends what it says.
        lines.next().expect("a line").expect("a text");
        std::thread::spawn(move || lines.for_each(drop));
        let url = first
            .split_whitespace()
            .find(|word| word.starts_with("https://"))
            .expect("an address")
            .to_owned();
        Self { process, url }
    }

    fn stop(mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        let signalled = Command::new("kill").args(["-TERM", &id]).status().expect("kill");
        assert!(signalled.success());
        self.process.wait().expect("an end").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn kubeconfig(world: &World, file: &str) -> Value {
    let path = world.path(file);
    let mode = fs::metadata(&path).expect("a kubeconfig").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    goyaml::to_value(&fs::read(path).expect("a kubeconfig")).expect("YAML")
}

fn decoded(value: &Value) -> Vec<u8> {
    let text = value.as_str().expect("base64");
    base64::engine::general_purpose::STANDARD
        .decode(text)
        .expect("base64")
}

/// A client with what the kubeconfig says, and nothing else.
fn client(config: &Value, with_certificate: bool) -> reqwest::Client {
    // A second installation is refused and harmless: the provider is the same.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let authority = decoded(&config["clusters"][0]["cluster"]["certificate-authority-data"]);
    let mut builder = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([reqwest::Certificate::from_pem(&authority).expect("an authority")]);
    if with_certificate {
        let user = &config["users"][0]["user"];
        let mut identity = decoded(&user["client-certificate-data"]);
        identity.extend(decoded(&user["client-key-data"]));
        builder = builder.identity(reqwest::Identity::from_pem(&identity).expect("an identity"));
    }
    builder.build().expect("a client")
}

fn get(client: &reqwest::Client, url: &str) -> (u16, Value) {
    tokio::runtime::Runtime::new()
        .expect("a runtime")
        .block_on(async {
            let answer = client.get(url).send().await.expect("an answer");
            let code = answer.status().as_u16();
            let body = answer.bytes().await.expect("a body");
            (code, serde_json::from_slice(&body).unwrap_or_default())
        })
}

#[test]
fn the_administrator_of_the_kubeconfig_is_let_in_and_the_data_stays() {
    let world = World::new();
    let running = Running::start(&world, &["--data-dir", "data"]);
    let config = kubeconfig(&world, "data/baton.kubeconfig");
    assert_eq!(config["clusters"][0]["cluster"]["server"], running.url.as_str());
    let administrator = client(&config, true);
    let (code, version) = get(&administrator, &format!("{}/version", running.url));
    assert_eq!((code, version["major"].as_str()), (200, Some("1")));
    let (code, namespace) = get(
        &administrator,
        &format!("{}/api/v1/namespaces/default", running.url),
    );
    assert_eq!(code, 200);
    let (code, _) = get(
        &client(&config, false),
        &format!("{}/api/v1/namespaces", running.url),
    );
    assert_ne!(code, 200, "a stranger is kept out");
    assert_eq!(running.stop(), Some(0));

    let running = Running::start(
        &world,
        &["--data-dir", "data", "--kubeconfig", "other.kubeconfig"],
    );
    // The keys stay as well: the administrator of yesterday is let in today.
    let (_, again) = get(
        &administrator,
        &format!("{}/api/v1/namespaces/default", running.url),
    );
    assert_eq!(again["metadata"]["uid"], namespace["metadata"]["uid"]);
    kubeconfig(&world, "other.kubeconfig");
    for file in world.files().iter().filter(|file| file.starts_with("data/keys/")) {
        let mode = fs::metadata(world.path(file))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn other_machines_are_kept_out_unless_told() {
    let world = World::new();
    let output = world.run(&["stage", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("cannot listen on 0.0.0.0:0: other machines could reach it")
            && text.contains("--allow-remote"),
        "{text}"
    );
    assert!(world.files().is_empty(), "nothing is made");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let world = World::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = world.run(&["stage", "--listen", &address]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains(&format!("cannot listen on {address}: the port is in use")),
        "{text}"
    );
}

#[test]
fn a_kubeconfig_of_other_clusters_is_not_written_over() {
    let content = "clusters:\n- name: production\n  cluster: {}\ncontexts: []\nusers: []\n";
    let world = World::new().file("config", content);
    let output = world.run(&["stage", "--listen", "127.0.0.1:0", "--kubeconfig", "config"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("cannot write the kubeconfig config"), "{text}");
    assert_eq!(fs::read_to_string(world.path("config")).expect("a file"), content);
}
