//! `baton stage` as a user starts, uses and stops it.

mod files;
mod full_disk;
mod kills;
mod pods;
mod refusals;
mod running;
mod stopping;
mod watchers;
#[expect(dead_code, reason = "the other test programs use the rest of it")]
#[path = "../world/mod.rs"]
mod world;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use running::{Running, client, get, kubeconfig};
use world::World;

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
