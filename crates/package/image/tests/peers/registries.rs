//! The embedded registry and the tools that people have: skopeo copies into it and out of it, and Debian's
//! docker-registry is the other side.

use std::io::Write as _;
use std::path::Path;

use image::credentials::Secret;
use image::registry::{Access, Registry, RegistryOptions, Serving, TlsIdentity, Users};
use serde_json::{Value, json};

use crate::attached::{both_documents, listed, push_with_attachments};

/// Runs skopeo and returns what it printed; its failure fails the test.
async fn skopeo(arguments: &[&str]) -> String {
    let (succeeded, printed) = try_skopeo(arguments).await;
    assert!(succeeded, "skopeo {} failed:\n{printed}", arguments.join(" "));
    printed
}

async fn try_skopeo(arguments: &[&str]) -> (bool, String) {
    let mut command = tokio::process::Command::new("skopeo");
    // Without a trust policy of the machine: what may be pulled is not what is tested here.
    command.arg("--insecure-policy").args(arguments);
    let output = command.output().await.expect("skopeo can be run");
    let text = if output.status.success() {
        output.stdout
    } else {
        output.stderr
    };
    (output.status.success(), String::from_utf8(text).unwrap())
}

fn sha256(bytes: &[u8]) -> String {
    image::digest::Digest::of(bytes).to_string()
}

/// Writes an OCI layout with an image of two layers; returns the bytes of its manifest.
fn write_layout(folder: &Path, tag: &str, content: &str) -> Vec<u8> {
    let blobs = folder.join("blobs/sha256");
    std::fs::create_dir_all(&blobs).unwrap();
    let keep = |media_type: &str, bytes: &[u8]| {
        let digest = sha256(bytes);
        std::fs::write(blobs.join(digest.strip_prefix("sha256:").unwrap()), bytes).unwrap();
        json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() })
    };
    let layers = [
        tar(&[("first", content)]),
        tar(&[("second", &content.repeat(100_000))]),
    ];
    let diff_ids: Vec<String> = layers.iter().map(|layer| sha256(layer)).collect();
    let config = json!({
        "architecture": "amd64", "os": "linux", "config": {},
        "rootfs": { "type": "layers", "diff_ids": diff_ids },
    });
    let layers: Vec<Value> = layers
        .iter()
        .map(|layer| keep("application/vnd.oci.image.layer.v1.tar+gzip", &gzip(layer)))
        .collect();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": keep("application/vnd.oci.image.config.v1+json", config.to_string().as_bytes()),
        "layers": layers,
    })
    .to_string()
    .into_bytes();
    let mut descriptor = keep("application/vnd.oci.image.manifest.v1+json", &manifest);
    descriptor["annotations"] = json!({ "org.opencontainers.image.ref.name": tag });
    let index = json!({ "schemaVersion": 2, "manifests": [descriptor] });
    std::fs::write(folder.join("index.json"), index.to_string()).unwrap();
    std::fs::write(folder.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    manifest
}

/// Compressed, because skopeo would otherwise do it on the way and change the digest.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, name, content.as_bytes())
            .unwrap();
    }
    builder.into_inner().unwrap()
}

pub(crate) async fn skopeo_copies_in_and_out_inspects_lists_and_deletes() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let manifest = write_layout(&source, "v1", "hello ");
    let serving = Registry::serve_on_loopback(folder.path().join("registry"))
        .await
        .unwrap();
    let image = format!("docker://{}/team/operator", serving.address());
    let source = format!("oci:{}:v1", source.display());

    let insecure_target = "--dest-tls-verify=false";
    skopeo(&["copy", insecure_target, &source, &format!("{image}:v1")]).await;
    skopeo(&["copy", insecure_target, &source, &format!("{image}:v2")]).await;
    let inspected: Value =
        serde_json::from_str(&skopeo(&["inspect", "--tls-verify=false", &format!("{image}:v1")]).await)
            .unwrap();
    assert_eq!(inspected["Digest"], json!(sha256(&manifest)));
    assert_eq!(inspected["RepoTags"], json!(["v1", "v2"]));
    let raw = skopeo(&["inspect", "--raw", "--tls-verify=false", &format!("{image}:v1")]).await;
    assert_eq!(raw.as_bytes(), manifest);
    let listed: Value =
        serde_json::from_str(&skopeo(&["list-tags", "--tls-verify=false", &image]).await).unwrap();
    assert_eq!(listed["Tags"], json!(["v1", "v2"]));

    let back = folder.path().join("back");
    let target = format!("oci:{}:v1", back.display());
    skopeo(&["copy", "--src-tls-verify=false", &format!("{image}:v1"), &target]).await;
    let blob = back
        .join("blobs/sha256")
        .join(sha256(&manifest).strip_prefix("sha256:").unwrap());
    assert_eq!(std::fs::read(blob).unwrap(), manifest);

    // From repository to repository within the registry, which mounts the layers.
    let copy = format!("docker://{}/team/copy:v1", serving.address());
    let both_insecure = ["--src-tls-verify=false", insecure_target];
    skopeo(&[
        "copy",
        both_insecure[0],
        both_insecure[1],
        &format!("{image}:v1"),
        &copy,
    ])
    .await;
    let raw = skopeo(&["inspect", "--raw", "--tls-verify=false", &copy]).await;
    assert_eq!(raw.as_bytes(), manifest);

    // Docker's kinds of manifest as well: skopeo converts on the way.
    let docker = format!("{image}:docker");
    skopeo(&["copy", insecure_target, "--format", "v2s2", &source, &docker]).await;
    let raw: Value =
        serde_json::from_str(&skopeo(&["inspect", "--raw", "--tls-verify=false", &docker]).await).unwrap();
    assert_eq!(
        raw["mediaType"],
        json!("application/vnd.docker.distribution.manifest.v2+json")
    );

    skopeo(&["delete", "--tls-verify=false", &format!("{image}:v1")]).await;
    // skopeo deletes the manifest that the tag stands for, and with it both tags.
    let listed: Value =
        serde_json::from_str(&skopeo(&["list-tags", "--tls-verify=false", &image]).await).unwrap();
    assert_eq!(listed["Tags"], json!(["docker"]));
    let (found, message) = try_skopeo(&["inspect", "--tls-verify=false", &format!("{image}:v1")]).await;
    assert!(!found && message.contains("manifest unknown"), "{message}");
    serving.stop().await;
}

pub(crate) async fn skopeo_logs_in_over_tls_and_is_told_what_is_published() {
    let folder = tempfile::tempdir().unwrap();
    let (serving, certificates) = serve_guarded(folder.path()).await;
    let image = format!("docker://localhost:{}/team/operator:v1", serving.address().port());
    let (first, second) = (folder.path().join("first"), folder.path().join("second"));
    write_layout(&first, "v1", "one ");
    write_layout(&second, "v1", "two ");
    let (first, second) = (
        format!("oci:{}:v1", first.display()),
        format!("oci:{}:v1", second.display()),
    );
    let trust = format!("--dest-cert-dir={}", certificates.display());
    let credentials = "--dest-creds=ann:secret";

    let (pushed, message) = try_skopeo(&["copy", &trust, "--dest-creds=ann:wrong", &first, &image]).await;
    assert!(!pushed && message.contains("unauthorized"), "{message}");
    skopeo(&["copy", &trust, credentials, &first, &image]).await;
    let (pushed, message) = try_skopeo(&["copy", &trust, credentials, &second, &image]).await;
    assert!(
        !pushed && message.contains("doesn't change what is published"),
        "{message}"
    );
    serving.stop().await;
}

/// A registry with a password, TLS and immutable tags; returns it with the folder of certificates to trust.
async fn serve_guarded(folder: &Path) -> (Serving, std::path::PathBuf) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificates = folder.join("certificates");
    std::fs::create_dir(&certificates).unwrap();
    std::fs::write(certificates.join("ca.crt"), made.cert.pem()).unwrap();
    let passwords = folder.join("htpasswd");
    std::fs::write(
        &passwords,
        format!("ann:{}\n", bcrypt::hash("secret", 4).unwrap()),
    )
    .unwrap();
    let mut options = RegistryOptions::open_to_all(folder.join("registry"));
    options.access = Access::users_only(Users::from_htpasswd(&passwords).unwrap());
    options.immutable_tags = true;
    let registry = Registry::open(options).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let key = made.signing_key.serialize_pem();
    let identity = TlsIdentity::from_pem(made.cert.pem().as_bytes(), key.as_bytes()).unwrap();
    (registry.serve(listener, Some(identity)).unwrap(), certificates)
}

/// Debian's registry, served until it is dropped.
struct DockerRegistry {
    process: tokio::process::Child,
    address: std::net::SocketAddr,
}

impl DockerRegistry {
    async fn start(folder: &Path) -> Self {
        // A port that was free a moment ago: the registry can't be asked for one.
        let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = probe.local_addr().unwrap();
        drop(probe);
        let configuration = folder.join("docker-registry.yml");
        let text = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: \"{address}\"}}\n",
            folder.join("docker-registry").display()
        );
        std::fs::write(&configuration, text).unwrap();
        let mut process = tokio::process::Command::new("docker-registry")
            .arg("serve")
            .arg(configuration)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        while tokio::net::TcpStream::connect(address).await.is_err() {
            let ended = process.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "docker-registry ended before it listened: {ended:?}"
            );
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        Self { process, address }
    }
}

pub(crate) async fn images_go_to_debian_s_registry_and_back_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("source");
    let manifest = write_layout(&source, "v1", "there and back ");
    let serving = Registry::serve_on_loopback(folder.path().join("registry"))
        .await
        .unwrap();
    let mut other = DockerRegistry::start(folder.path()).await;
    let ours = format!("docker://{}/team/operator:v1", serving.address());
    let theirs = format!("docker://{}/team/operator:v1", other.address);
    let again = format!("docker://{}/team/again:v1", serving.address());
    let both_insecure = ["copy", "--src-tls-verify=false", "--dest-tls-verify=false"];
    let local = format!("oci:{}:v1", source.display());
    for (from, to) in [(&local, &ours), (&ours, &theirs), (&theirs, &again)] {
        skopeo(&[&both_insecure[..], &[from, to]].concat()).await;
        let raw = skopeo(&["inspect", "--raw", "--tls-verify=false", to]).await;
        assert_eq!(raw.as_bytes(), manifest, "{from} to {to}");
    }
    other.process.kill().await.unwrap();
    serving.stop().await;
}

pub(crate) async fn a_registry_without_a_list_gets_one_under_a_tag() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = DockerRegistry::start(folder.path()).await;
    let host = other.address.to_string();
    let digest = push_with_attachments(&host).await;
    let tag = digest.to_string().replace(':', "-");
    let name = format!("docker://{host}/team/operator:{tag}");
    let raw = skopeo(&["inspect", "--raw", "--tls-verify=false", &name]).await;
    assert_eq!(listed(&raw), both_documents());
    other.process.kill().await.unwrap();
}

/// A registry that everyone may read and who has the password may write, as that of `baton up`.
async fn serve_readable(folder: &Path) -> Serving {
    let access = Access::one_writer("baton", &Secret::new("right")).unwrap();
    let mut options = RegistryOptions::guarded(folder.join("registry"), access);
    options.hosts = Some(hosts::Hosts::loopback());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    Registry::open(options).unwrap().serve(listener, None).unwrap()
}

pub(crate) async fn skopeo_reads_without_a_password_and_writes_with_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let manifest = write_layout(&folder.path().join("source"), "v1", "a password ");
    let serving = serve_readable(folder.path()).await;
    let target = format!("docker://{}/team/operator:v1", serving.address());
    let source = format!("oci:{}:v1", folder.path().join("source").display());
    let copy = ["copy", "--dest-tls-verify=false"];
    for password in [None, Some("baton:wrong")] {
        let credentials = password.map(|password| format!("--dest-creds={password}"));
        let arguments: Vec<&str> = copy
            .into_iter()
            .chain(credentials.as_deref())
            .chain([source.as_str(), &target])
            .collect();
        let (succeeded, printed) = try_skopeo(&arguments).await;
        assert!(!succeeded, "{password:?}: {printed}");
    }
    skopeo(&[copy[0], copy[1], "--dest-creds=baton:right", &source, &target]).await;
    let raw = skopeo(&["inspect", "--raw", "--tls-verify=false", "--no-creds", &target]).await;
    assert_eq!(raw.as_bytes(), manifest);
    serving.stop().await;
}

pub(crate) async fn docker_logs_in_with_the_right_password_alone() {
    let folder = tempfile::tempdir().unwrap();
    let serving = serve_readable(folder.path()).await;
    let host = serving.address().to_string();
    let configuration = folder.path().join("docker");
    let log_in = async |password: &str| {
        let mut process = tokio::process::Command::new("docker")
            .arg("--config")
            .arg(&configuration)
            .args(["login", &host, "--username", "baton", "--password-stdin"])
            // Without its server: the program logs in by itself then.
            .env("DOCKER_HOST", "tcp://127.0.0.1:1")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = process.stdin.take().unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut input, password.as_bytes())
            .await
            .unwrap();
        drop(input);
        let output = process.wait_with_output().await.unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), said)
    };
    let (succeeded, said) = log_in("wrong").await;
    assert!(!succeeded && said.contains("unauthorized"), "{said}");
    assert!(!configuration.join("config.json").exists());
    let (succeeded, said) = log_in("right").await;
    assert!(succeeded && said.contains("Login Succeeded"), "{said}");
    assert!(
        std::fs::read_to_string(configuration.join("config.json"))
            .unwrap()
            .contains(&host)
    );
    serving.stop().await;
}
