//! How `baton up` ends whatever runs: a push that never ends, a watch that somebody reads.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::running::{Events, client, kubeconfig};
use super::world::World;
use super::{FOLDER, Up, read, text, until};

/// Begins to push something, as one that takes for ever: a clean end waits for that.
fn push_for_ever(world: &World, up: &Up<'_>) -> TcpStream {
    let registry = up.place("registry").trim_start_matches("http://").to_owned();
    let record: Value = serde_json::from_str(&read(world, &format!("{FOLDER}/up.json"))).expect("a record");
    let password = record["registryPassword"].as_str().expect("a password");
    let login = STANDARD.encode(format!("baton:{password}"));
    let mut slow = TcpStream::connect(&registry).expect("a connection");
    let head = format!(
        "PUT /v2/a/manifests/b HTTP/1.1\r\nHost: {registry}\r\nAuthorization: Basic {login}\r\nExpect: 100-continue\r\n\
         Content-Type: application/vnd.oci.image.manifest.v1+json\r\nContent-Length: 1000\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).expect("a request");
    // Said when the registry begins to read what is pushed.
    let mut go_on = [0; b"HTTP/1.1 100 Continue".len()];
    slow.read_exact(&mut go_on).expect("an answer");
    assert_eq!(text(&go_on), "HTTP/1.1 100 Continue");
    slow.write_all(b"{").expect("a beginning");
    slow
}

#[test]
fn it_ends_whatever_runs_and_keeps_what_was_acknowledged() {
    let world = World::new();
    let up = Up::start(&world, &[]);
    let _slow = push_for_ever(&world, &up);
    let watching = tokio::runtime::Runtime::new().expect("a runtime");
    let administrator = client(&kubeconfig(&world, &format!("{FOLDER}/baton.kubeconfig")), true);
    let url = format!("{}/api/v1/namespaces?watch=true", up.place("API"));
    let mut events = watching
        .block_on(Events::start(administrator.get(url)))
        .expect("a watch");
    watching.block_on(events.next()).expect("an event");
    let namespace = json!({"metadata": {"name": "kept"}});
    let (code, made) = up.ask("POST", "/api/v1/namespaces", Some(&namespace));
    assert_eq!(code, 201, "{made}");
    up.signal("-TERM");
    assert_eq!(up.end(), Some(0));
    let log = read(&world, "up.log");
    assert!(log.contains("what still ran after 4 s is broken off\n"), "{log}");
    assert!(!world.path(&format!("{FOLDER}/up.json")).exists());

    let up = Up::start(&world, &[]);
    let (_, again) = up.ask("GET", "/api/v1/namespaces/kept", None);
    assert_eq!(again["metadata"]["uid"], made["metadata"]["uid"]);
    let log = read(&world, "up.log");
    assert!(!log.contains("the store was not closed"), "{log}");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let world = World::new();
        let up = Up::start(&world, &["--in-memory"]);
        let _slow = push_for_ever(&world, &up);
        up.signal("-INT");
        until("a remark is waited for", || {
            read(&world, "up.log").contains("stopping\n")
        });
        up.signal(signal);
        assert_eq!(up.end(), Some(code));
        assert!(read(&world, "up.log").contains("stopping at once\n"));
        for file in ["up.json", "baton.kubeconfig"] {
            assert!(!world.path(&format!("{FOLDER}/{file}")).exists(), "{file}");
        }
    }
}
