//! The files of a server: for their owner alone, whatever they were before.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::running::{Running, client, get, kubeconfig};
use crate::world::World;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

/// Holds every file and some folders against what nobody else may see.
fn is_private(world: &World, folders: &[&str]) {
    for file in world.files() {
        assert_eq!(mode(&world.path(&file)), 0o600, "{file}");
        assert!(
            Path::new(&file).extension() != Some("new".as_ref()),
            "{file} was left behind"
        );
    }
    for folder in folders {
        assert_eq!(mode(&world.path(folder)), 0o700, "{folder}");
    }
}

#[test]
fn keys_tokens_and_data_are_for_their_owner_alone_also_when_others_could_read_them() {
    let world = World::new();
    let running = Running::start(&world, &["--data-dir", "data"]);
    let administrator = client(&kubeconfig(&world, "data/baton.kubeconfig"), true);
    is_private(&world, &["data", "data/keys"]);
    assert_eq!(running.stop(), Some(0));
    let files = world.files();
    for name in [
        "data/keys/administrator.token",
        "data/baton.kubeconfig",
        "data/store.redb",
    ] {
        assert!(
            files.iter().any(|file| file == name),
            "{name} is missing: {files:?}"
        );
    }
    for file in &files {
        fs::set_permissions(world.path(file), Permissions::from_mode(0o666)).expect("a mode");
    }
    for folder in ["data", "data/keys"] {
        fs::set_permissions(world.path(folder), Permissions::from_mode(0o777)).expect("a mode");
    }
    let running = Running::start(&world, &["--data-dir", "data"]);
    // A folder with something in it may be shared on purpose; nothing that is secret is.
    is_private(&world, &["data/keys"]);
    let (code, _) = get(&administrator, &format!("{}/api/v1/namespaces", running.url));
    assert_eq!(code, 200, "the keys are the same");
}

#[test]
fn a_folder_that_was_there_and_open_to_all_is_closed() {
    let world = World::new();
    fs::create_dir(world.path("data")).expect("a folder");
    fs::set_permissions(world.path("data"), Permissions::from_mode(0o777)).expect("a mode");
    let _running = Running::start(&world, &["--data-dir", "data"]);
    is_private(&world, &["data", "data/keys"]);
}

#[test]
fn only_this_machine_is_served_unless_told() {
    let world = World::new();
    let running = Running::start(&world, &[]);
    let address = running.url.trim_start_matches("https://");
    let port: u16 = address
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    TcpStream::connect(("127.0.0.1", port)).expect("a connection on this machine");
    // Another address of the same machine is as far away as another machine.
    assert!(
        TcpStream::connect(("127.0.0.2", port)).is_err(),
        "more than one address is served"
    );
    drop(running);

    let told = Running::of(world.command(&["stage", "--listen", "0.0.0.0:0", "--allow-remote"]));
    let port: u16 = told
        .url
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    TcpStream::connect(("127.0.0.2", port)).expect("a connection on another address");
}
