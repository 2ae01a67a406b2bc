//! Who may write to the registry, by which names what is served is asked, and what runs of the registry's content.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;

use image::build::{self, BuiltImage, ImageSettings};
use image::content::ContentStore;
use image::credentials::{Credentials, Login, Secret};
use image::layer::{Compression, LayerFiles};
use image::manifest;
use image::program::BUILT_BY_BATON_LABEL;
use image::reference::Reference;
use image::registry::{Registry, RegistryOptions};
use image::remote::{Encryption, Remote, RemoteError, RemoteOptions, Retry};
use serde_json::{Value, json};

use super::running::{client, kubeconfig};
use super::world::World;
use super::{FOLDER, Up, command, run, text, until};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

fn remote(login: Login) -> Remote {
    Remote::new(RemoteOptions {
        credentials: Credentials::fixed(login),
        encryption: Encryption::Off,
        retry: Retry {
            attempts: 1,
            ..Retry::default()
        },
        ..RemoteOptions::default()
    })
}

/// The payload of an attack: an image that says that baton built it, whose program writes a file.
fn payload(store: &ContentStore, writes: &str) -> BuiltImage {
    let mut files = LayerFiles::new();
    let program = format!("#!/bin/sh\necho ran >{writes}\nsleep 1000\n");
    files.add_bytes("/baton", program, 0o755).expect("a file");
    let layer = files.write(store, Compression::Gzip).expect("a layer");
    let settings = ImageSettings {
        labels: [(BUILT_BY_BATON_LABEL.to_owned(), "/baton".to_owned())].into(),
        entrypoint: vec!["/baton".to_owned()],
        ..ImageSettings::default()
    };
    build::image(store, &settings, manifest::host_architecture(), &[layer]).expect("an image")
}

fn host(up: &Up<'_>) -> String {
    up.place("registry").trim_start_matches("http://").to_owned()
}

/// A client that knows nothing of the user.
fn plain_client() -> reqwest::Client {
    // A second installation is refused and harmless: the provider is the same.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().expect("a client")
}

/// Sends a request as a program of another user, or a page in a browser, does; returns the status and what is said.
fn attack(method: &str, url: &str, headers: &[(&str, &str)]) -> (u16, String) {
    let client = plain_client();
    let mut request = client.request(method.parse().expect("a method"), url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    wait(async {
        let answer = request.send().await.expect("an answer");
        (answer.status().as_u16(), answer.text().await.expect("a text"))
    })
}

/// What a process of another user does to the demonstration: new content over its tags.
pub(super) fn attack_the_demonstration(up: &Up<'_>) {
    let host = host(up);
    let store = ContentStore::temporary().expect("a store");
    let image = payload(&store, "/dev/null");
    let catalog: Value = up
        .ask(
            "GET",
            "/apis/olm.operatorframework.io/v1/clustercatalogs/inference-stack",
            None,
        )
        .1;
    let catalog = catalog["spec"]["source"]["image"]["ref"]
        .as_str()
        .expect("a name");
    assert!(catalog.starts_with(&host), "{catalog}");
    let operator = catalog.replace("-catalog:latest", ":2.0.0");
    let bundle = catalog.replace("-catalog:latest", "-bundle:2.0.0");
    wait(async {
        for name in [catalog, &operator, &bundle] {
            let name = Reference::parse(name).expect("a name");
            let before = remote(Login::Anonymous)
                .resolve(&name)
                .await
                .expect("it is there");
            for login in [
                Login::Anonymous,
                Login::Password {
                    username: "baton".to_owned(),
                    password: Secret::new("guessed"),
                },
            ] {
                let pushed = remote(login).push(&store, &image.descriptor, &name).await;
                let refused = pushed.expect_err("nobody knows the password");
                assert!(matches!(refused, RemoteError::Unauthorized { .. }), "{refused}");
            }
            let after = remote(Login::Anonymous)
                .resolve(&name)
                .await
                .expect("it is there");
            assert_eq!(before, after, "{name}");
        }
    });
}

#[test]
fn the_registry_is_written_with_its_password_alone_which_commands_know() {
    let world = World::new();
    let up = Up::start(&world, &[]);
    let host = host(&up);
    let file = format!("{FOLDER}/registry.password");
    let password = fs::read_to_string(world.path(&file)).expect("a password");
    let password = password.trim();
    let mode = fs::metadata(world.path(&file))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!up.page.contains(password));

    // Without it nothing is written, whatever a request says of itself.
    for headers in [
        vec![],
        vec![("host", "localhost:5000")],
        vec![("host", "evil.example.com")],
        vec![("origin", "http://evil.example.com")],
        vec![("origin", up.place("registry"))],
        vec![("authorization", "Basic YmF0b246d3Jvbmc=")],
    ] {
        for (method, path) in [
            ("POST", "/v2/a/blobs/uploads/"),
            ("PUT", "/v2/a/manifests/v1"),
            ("DELETE", "/v2/a/manifests/v1"),
        ] {
            let mut headers = headers.clone();
            headers.push(("content-type", MANIFEST));
            let (status, said) = attack(method, &format!("http://{host}{path}"), &headers);
            assert!(
                matches!(status, 401 | 403 | 421),
                "{method} {path} {headers:?}: {status} {said}"
            );
        }
    }
    let (status, repositories) = attack("GET", &format!("http://{host}/v2/_catalog"), &[]);
    assert_eq!((status, repositories.as_str()), (200, r#"{"repositories":[]}"#));

    // Its owner's commands know it by themselves.
    let bundle = format!("{host}/team/bundle:v1");
    let manifests = world.path("bundle/manifests");
    fs::create_dir_all(&manifests).expect("a folder");
    let version = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"name": "team.v1.0.0"},
        "spec": {"version": "1.0.0", "displayName": "team", "installModes": [{"type": "AllNamespaces", "supported": true}],
                 "install": {"strategy": "deployment", "spec": {"deployments": []}}},
    });
    fs::write(manifests.join("version.json"), version.to_string()).expect("a file");
    let built = run(
        &world,
        &[
            "opm",
            "alpha",
            "bundle",
            "build",
            "--directory",
            "bundle/manifests",
            "--tag",
            &bundle,
            "--package",
            "team",
            "--channels",
            "stable",
            "--default",
            "stable",
        ],
    );
    assert!(built.status.success(), "{}", text(&built.stderr));
    let elsewhere = command(&world, &["bundle", "push", &bundle])
        .env("XDG_DATA_HOME", world.path("nowhere"))
        .output()
        .expect("the program runs");
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(
        text(&elsewhere.stderr).contains("log in"),
        "{}",
        text(&elsewhere.stderr)
    );
    let pushed = run(&world, &["bundle", "push", &bundle]);
    assert!(pushed.status.success(), "{}", text(&pushed.stderr));
    // By its kubeconfig, whatever folder it is in.
    let by_kubeconfig = command(&world, &["bundle", "push", &bundle])
        .env("XDG_DATA_HOME", world.path("nowhere"))
        .env("KUBECONFIG", world.path(&format!("{FOLDER}/baton.kubeconfig")))
        .output()
        .expect("the program runs");
    assert!(by_kubeconfig.status.success(), "{}", text(&by_kubeconfig.stderr));

    up.signal("-TERM");
    assert_eq!(up.end(), Some(0));
    let up = Up::start(&world, &[]);
    let again = fs::read_to_string(world.path(&file)).expect("a password");
    assert_eq!(again.trim(), password, "copies of it stay good");
    drop(up);
}

#[test]
fn who_else_listens_where_localhost_leads_to_is_noticed_before_a_password_is_sent_there() {
    let Ok(other) = std::net::TcpListener::bind("[::1]:0") else {
        println!("SKIPPED: this machine has no address ::1");
        return;
    };
    let port = other.local_addr().expect("an address").port();
    let registry = format!("127.0.0.1:{port}");
    let mut all = vec!["up", "--in-memory"];
    for pair in super::ANY_PORTS.chunks(2) {
        all.extend([
            pair[0],
            if pair[0] == "--registry" {
                &registry
            } else {
                pair[1]
            },
        ]);
    }
    let world = World::new();
    let refused = run(&world, &all);
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        text(&refused.stderr),
        format!(
            "Error: cannot listen on [::1]:{port}: the port is in use, and who listens there would be sent what is meant for \
             localhost:{port}, the password of the registry too; end that program, or give another address with --registry\n"
        )
    );
    // A registry that runs answers at both, and nobody comes between.
    let world = World::new();
    let up = Up::start(&world, &["--in-memory"]);
    let own = host(&up);
    let port = own.rsplit(':').next().expect("a port");
    let twin = format!("[::1]:{port}");
    std::net::TcpListener::bind(&twin).expect_err("it is taken");
    let localhost = format!("localhost:{port}");
    for name in [&own, &twin, &localhost] {
        let url = format!("http://{twin}/v2/_catalog");
        let (status, said) = attack("GET", &url, &[("host", name)]);
        assert_eq!(status, 200, "{name}: {said}");
    }
}

#[test]
fn login_keeps_what_the_registry_takes_where_docker_keeps_it() {
    let world = World::new();
    let up = Up::start(&world, &[]);
    let host = host(&up);
    let password =
        fs::read_to_string(world.path(&format!("{FOLDER}/registry.password"))).expect("a password");
    let config = || -> Value {
        let text = fs::read(world.path("home/.docker/config.json")).unwrap_or_else(|_| b"null".to_vec());
        serde_json::from_slice(&text).expect("JSON")
    };
    let login = |arguments: &[&str], typed: &str| {
        let mut all = vec!["login"];
        all.extend(arguments);
        let mut process = command(&world, &all)
            .env_remove("DOCKER_CONFIG")
            .env_remove("REGISTRY_AUTH_FILE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        std::io::Write::write_all(&mut process.stdin.take().expect("an input"), typed.as_bytes()).ok();
        process.wait_with_output().expect("an end")
    };
    let typed = [host.as_str(), "--username", "baton", "--password-stdin"];
    let refused = login(&typed, "wrong\n");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("\"baton\" is not known there, has another password"));
    assert_eq!(config(), Value::Null, "what doesn't let in isn't kept");

    let done = login(&[], "");
    assert_eq!(
        text(&done.stdout),
        format!("Login Succeeded: {host}\n"),
        "{}",
        text(&done.stderr)
    );
    let entry = |config: &Value| config["auths"][&*host]["auth"].as_str().map(str::to_owned);
    let first = entry(&config());
    assert!(first.is_some());
    let done = login(&typed, &password);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert_eq!(entry(&config()), first);
    // With what is kept there, any program that reads it may write.
    let header = format!("Basic {}", first.expect("an entry"));
    let (status, _) = attack(
        "POST",
        &format!("http://{host}/v2/a/blobs/uploads/"),
        &[("authorization", &header)],
    );
    assert_eq!(status, 202);

    let out = run(&world, &["logout"]);
    assert_eq!(text(&out.stdout), format!("Removed the login of {host}\n"));
    assert_eq!(config()["auths"], json!({}));
    let unknown = login(&["registry.example.com"], "");
    assert!(
        text(&unknown.stderr).contains("give a name with --username"),
        "{}",
        text(&unknown.stderr)
    );
    drop(up);
    let nobody = login(&[], "");
    assert!(
        text(&nobody.stderr).contains("no `baton up` runs in"),
        "{}",
        text(&nobody.stderr)
    );
}

#[test]
fn no_port_answers_a_strangers_name_or_a_strangers_page() {
    let world = World::new();
    let up = Up::start(&world, &[]);
    let config = kubeconfig(&world, &format!("{FOLDER}/baton.kubeconfig"));
    let administrator = client(&config, true);
    let console = up.place("console");
    let catalogs = up.place("catalogs").trim_end_matches("/catalogs");
    let places = [
        // As it is printed, for who opens it.
        up.place("catalogs").to_owned(),
        format!("{}/v2/_catalog", up.place("registry")),
        format!("{catalogs}/metrics"),
        format!("{catalogs}/healthz"),
        format!("{}/api", up.place("API")),
        console.to_owned(),
    ];
    for url in &places {
        let own = url.split('/').nth(2).expect("a host").to_owned();
        let rebound = format!("evil.example.com:{}", own.rsplit(':').next().expect("a port"));
        let is_console = url == console;
        for (host, origin, allowed) in [
            (own.as_str(), None, true),
            (own.as_str(), Some("https://evil.example.com".to_owned()), false),
            (own.as_str(), Some("null".to_owned()), false),
            (rebound.as_str(), None, false),
            (rebound.as_str(), Some(format!("http://{rebound}")), false),
        ] {
            // A page that is looked at has no origin; the console asks for one where something is changed.
            if is_console && origin.is_some() && host == own {
                continue;
            }
            let mut request = administrator.get(url).header("host", host);
            if url.starts_with("http://") {
                let plain = plain_client();
                request = plain.get(url).header("host", host);
            }
            if let Some(origin) = &origin {
                request = request.header("origin", origin);
            }
            let status = wait(async { request.send().await.expect("an answer").status().as_u16() });
            if allowed {
                assert_eq!(status, 200, "{url}");
            } else {
                let expected: &[u16] = if is_console {
                    &[400, 403, 404, 421]
                } else {
                    &[403, 421]
                };
                assert!(expected.contains(&status), "{url} {host} {origin:?}: {status}");
            }
        }
    }
}

/// Starts `up` on a folder whose registry everyone could write to: as it was before there was a password, or with
/// `baton registry serve` on the same folder.
#[test]
fn an_image_that_nobody_logged_in_to_push_is_not_run() {
    let world = World::new();
    let up = Up::start(&world, &[]);
    let host = host(&up);
    up.signal("-TERM");
    assert_eq!(up.end(), Some(0));

    let mark = world.path("mark");
    let store = ContentStore::temporary().expect("a store");
    let image = payload(&store, &mark.display().to_string());
    let name = format!("{host}/attack:v1");
    let reference = Reference::parse(&name).expect("a name");
    wait(async {
        let folder = world.path(&format!("{FOLDER}/registry"));
        let open = Registry::open(RegistryOptions::open_to_all(folder)).expect("a registry");
        let listener = tokio::net::TcpListener::bind(&host).await.expect("its port");
        let serving = open.serve(listener, None).expect("a registry");
        let pushed = remote(Login::Anonymous)
            .push(&store, &image.descriptor, &reference)
            .await;
        pushed.expect("everyone could push");
        serving.stop().await;
    });

    // The payload is a script, so that the machine's shell has to be accepted for it.
    let up = Up::start(&world, &["--host-programs"]);
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "attack"}, "spec": {"containers": [{"name": "c", "image": name}]}});
    // The ServiceAccount of a namespace comes a moment after the namespace.
    until("the pod is made", || up.ask("POST", pods, Some(&pod)).0 == 201);
    let waiting = |up: &Up<'_>| {
        let (_, pod) = up.ask("GET", &format!("{pods}/attack"), None);
        pod["status"]["containerStatuses"][0]["state"]["waiting"].clone()
    };
    until("the pod is refused", || waiting(&up)["reason"] == "ErrImagePull");
    let message = waiting(&up)["message"].as_str().expect("a message").to_owned();
    let digest = manifest::digest_of(&image.descriptor)
        .expect("a digest")
        .to_string();
    for part in [
        name.as_str(),
        &digest,
        "nobody knows who pushed",
        "`baton login`",
        "push it again",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    until("an event says so", || {
        let (_, events) = up.ask("GET", "/api/v1/namespaces/default/events", None);
        events["items"]
            .as_array()
            .is_some_and(|events| events.iter().any(|event| event["message"] == message.as_str()))
    });
    assert!(!mark.exists());

    // Who pushes it with the password says that it is his.
    let password =
        fs::read_to_string(world.path(&format!("{FOLDER}/registry.password"))).expect("a password");
    let login = Login::Password {
        username: "baton".to_owned(),
        password: Secret::new(password.trim()),
    };
    wait(remote(login).push(&store, &image.descriptor, &reference)).expect("a push");
    until("it runs", || mark.exists());
}

#[test]
fn a_registry_of_its_own_asks_for_what_its_flags_say_and_by_its_names() {
    let world = World::new();
    let hash = bcrypt::hash("secret", 4).expect("a hash");
    fs::write(world.path("htpasswd"), format!("ann:{hash}\n")).expect("a file");
    let ann = "Basic YW5uOnNlY3JldA==";
    // What strangers get for reading and for writing, and what the user gets.
    for (flags, expected) in [
        (&[][..], [200, 202, 202]),
        (&["--htpasswd", "htpasswd"][..], [401, 401, 202]),
        (
            &["--htpasswd", "htpasswd", "--anonymous-read"][..],
            [200, 401, 202],
        ),
    ] {
        let mut all = vec![
            "registry",
            "serve",
            "--address",
            "127.0.0.1:0",
            "--host",
            "registry.example.com",
        ];
        all.extend(flags);
        let mut process = command(&world, &all)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut line = String::new();
        let output = process.stderr.take().expect("its remarks");
        BufReader::new(output).read_line(&mut line).expect("a line");
        let url = line
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .expect("its address");
        let read = format!("{url}/v2/_catalog");
        let write = format!("{url}/v2/a/blobs/uploads/");
        let got = [
            attack("GET", &read, &[]).0,
            attack("POST", &write, &[]).0,
            attack("POST", &write, &[("authorization", ann)]).0,
        ];
        assert_eq!(got, expected, "{flags:?}");
        for (headers, status) in [
            (&[("host", "registry.example.com"), ("authorization", ann)], 200),
            (&[("host", "evil.example.com"), ("authorization", ann)], 421),
            (
                &[("origin", "https://evil.example.com"), ("authorization", ann)],
                403,
            ),
        ] {
            assert_eq!(attack("GET", &read, headers).0, status, "{headers:?}");
        }
        process.kill().expect("a running process");
        process.wait().expect("an end");
    }
}
