//! Data folders that another version of baton wrote: an older one is used and brought to the present format, that of the next
//! version is used too, and those after it are left alone.
//!
//! `format-1.tar.gz` is a folder of `baton stage` in its first format, without its keys and without the word of its format, which
//! the first folders didn't have: a definition, a custom resource, a ConfigMap that was changed and one that was deleted. It is
//! never written anew; a new format gets an archive of its own.

#[expect(dead_code, reason = "the tests of the stage use the rest of it")]
#[path = "../stage/running.rs"]
mod running;
#[expect(dead_code, reason = "the other test programs use the rest of it")]
#[path = "../world/mod.rs"]
mod world;

use std::fs;
use std::path::Path;

use image::build::{self, ImageSettings};
use image::content::ContentStore;
use image::digest::Digest;
use image::layer::{Compression, LayerFiles};
use image::manifest;
use image::reference::Reference;
use image::registry::{Registry, RegistryOptions};
use image::remote::{Encryption, Remote, RemoteOptions};
use running::{Running, client, get, kubeconfig};
use serde_json::{Value, json};
use world::World;

const FORMAT_1: &[u8] = include_bytes!("format-1.tar.gz");

/// What this program writes.
const CURRENT: u64 = 3;

fn unpacked() -> World {
    let world = World::new();
    let archive = flate2::read::GzDecoder::new(FORMAT_1);
    tar::Archive::new(archive)
        .unpack(world.path(""))
        .expect("an archive");
    world
}

/// What a folder says of its format.
fn stamp(world: &World) -> Value {
    let text = fs::read(world.path("data/format.json")).expect("a file");
    serde_json::from_slice(&text).expect("JSON")
}

fn with_stamp(world: World, format: u64) -> World {
    let stamp = json!({"format": format, "readableFrom": format - 1, "writtenBy": "9.8.7"});
    world.file("data/format.json", stamp.to_string())
}

/// Starts the stage on the folder, and returns an object of it.
fn read(world: &World, path: &str) -> Value {
    let running = Running::start(world, &["--data-dir", "data"]);
    let administrator = client(&kubeconfig(world, "data/baton.kubeconfig"), true);
    let (code, object) = get(&administrator, &format!("{}{path}", running.url));
    assert_eq!(code, 200, "{object}");
    assert_eq!(running.stop(), Some(0));
    object
}

#[test]
fn what_a_version_before_wrote_is_there_and_in_the_present_format() {
    let world = unpacked();
    assert!(!world.path("data/format.json").exists());
    let map = read(&world, "/api/v1/namespaces/default/configmaps/kept");
    assert_eq!(map["data"]["version"], "second");
    let stack = read(&world, "/apis/example.com/v1/namespaces/default/stacks/one");
    assert_eq!(stack["spec"]["replicas"], 3);
    let maps = read(&world, "/api/v1/namespaces/default/configmaps");
    let names = maps["items"].as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(|map| map["metadata"]["name"].as_str()).collect();
    assert!(!names.contains(&"deleted"), "{names:?}");
    let written = stamp(&world);
    assert_eq!(
        (written["format"].as_u64(), written["readableFrom"].as_u64()),
        (Some(CURRENT), Some(CURRENT - 1))
    );
}

/// Pushes an image of one file to a registry that everyone may write to, as it was until format 2; returns its digest.
async fn push(host: &str, name: &str) -> Digest {
    let store = ContentStore::temporary().expect("a store");
    let mut files = LayerFiles::new();
    files.add_bytes("/baton", name, 0o755).expect("a file");
    let layer = files.write(&store, Compression::Gzip).expect("a layer");
    let settings = ImageSettings::default();
    let image = build::image(&store, &settings, manifest::host_architecture(), &[layer]).expect("an image");
    let remote = Remote::new(RemoteOptions {
        encryption: Encryption::Off,
        ..RemoteOptions::default()
    });
    let reference = Reference::parse(&format!("{host}/{name}:v1")).expect("a name");
    let pushed = remote.push(&store, &image.descriptor, &reference).await;
    pushed.expect("everyone may push");
    manifest::digest_of(&image.descriptor).expect("a digest")
}

#[test]
fn of_images_from_before_pushers_were_noted_only_those_count_that_the_node_ran() {
    let world = with_stamp(unpacked(), 2);
    let folder = world.path("data/registry");
    let options = || RegistryOptions::open_to_all(&folder);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (ran, never) = runtime.block_on(async {
        let open = Registry::open(options()).expect("a registry");
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a socket");
        let serving = open.serve(listener, None).expect("a registry");
        let host = serving.address().to_string();
        let pushed = (push(&host, "ran").await, push(&host, "never").await);
        serving.stop().await;
        pushed
    });
    fs::create_dir_all(world.path(&format!("data/node/images/{}", ran.hex()))).expect("a folder");
    fs::create_dir_all(world.path("data/node/content")).expect("a folder");
    fs::write(world.path("data/node/content/fetched"), "by anyone").expect("a file");
    read(&world, "/api/v1/namespaces/default/configmaps/kept");
    assert_eq!(stamp(&world)["format"], CURRENT);
    assert!(!world.path("data/node/content/fetched").exists());
    let registry = Registry::open(options()).expect("a registry");
    let pusher = |name: &str, digest: &Digest| registry.pusher(name, digest).expect("a look");
    assert_eq!(pusher("ran", &ran).as_deref(), Some("baton"));
    assert_eq!(pusher("never", &never), None);
}

#[test]
fn the_folder_of_the_next_version_is_used_after_going_back() {
    let world = with_stamp(unpacked(), CURRENT + 1);
    let map = read(&world, "/api/v1/namespaces/default/configmaps/kept");
    assert_eq!(map["data"]["version"], "second");
    // What is written from now on is in this format, and the next version has to know.
    assert_eq!(stamp(&world)["format"], CURRENT);
}

#[test]
fn a_folder_of_a_version_after_the_next_is_left_alone() {
    let world = with_stamp(unpacked(), CURRENT + 2);
    let files = || -> Vec<String> {
        let mut files = world.files();
        files.retain(|file| Path::new(file).extension() != Some("lock".as_ref()));
        files
    };
    let before = files();
    let up = ["--api", "--registry", "--catalogs", "--console"].map(|flag| [flag, "127.0.0.1:0"]);
    let mut up: Vec<&str> = up.into_iter().flatten().collect();
    up.insert(0, "up");
    for mut arguments in [
        vec!["stage", "--listen", "127.0.0.1:0"],
        vec!["controllers", "--listen", "127.0.0.1:0"],
        up,
    ] {
        arguments.extend(["--data-dir", "data"]);
        let told = world.see(&arguments);
        assert!(told.contains("\nexit code: 1\n"), "{told}");
        let format = CURRENT + 2;
        for part in [
            format!("/data is in format {format}, written by baton 9.8.7, and this is baton "),
            format!(
                ", which reads formats up to {CURRENT}; use baton 9.8.7, or name another folder with --data-dir"
            ),
        ] {
            // `controllers` was given a relative path, and says it so.
            let part = part.trim_start_matches('/');
            assert!(told.contains(part), "{told}");
        }
    }
    assert_eq!(files(), before);
}
