//! The listening end, as clients reach it: over TLS, with certificates and tokens, until it stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};
use reqwest::{Client, Identity, StatusCode};
use serde_json::Value;
use stage::server::{ServeError, ServeOptions, Serving};
use stage::{Options, Stage};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

struct World {
    stage: Stage,
    serving: Serving,
}

impl World {
    async fn start() -> Self {
        let tokens = vec![(
            "alice-token".to_owned(),
            "alice".to_owned(),
            vec!["devs".to_owned()],
        )];
        let stage = Stage::in_memory(Options {
            tokens,
            without_controllers: true,
            ..Options::default()
        })
        .await
        .expect("a stage");
        let serving = stage
            .serve(ANY_PORT, &ServeOptions::default())
            .await
            .expect("a server");
        Self { stage, serving }
    }

    fn client(&self, identity: Option<Identity>) -> Client {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let authority = self.stage.api().access.keys.authority.certificate_pem();
        let authority = reqwest::Certificate::from_pem(authority.as_bytes()).expect("a certificate");
        let mut builder = Client::builder().no_proxy().tls_certs_only([authority]);
        if let Some(identity) = identity {
            builder = builder.identity(identity);
        }
        builder.build().expect("a client")
    }

    fn administrator(&self) -> Identity {
        let identity = &self.stage.api().access.keys.administrator;
        let pem = format!("{}{}", identity.certificate_pem(), identity.key_pem());
        Identity::from_pem(pem.as_bytes()).expect("an identity")
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.serving.url())
    }
}

/// Someone whom nobody vouches for, with the administrator's name.
fn impostor() -> Identity {
    let key = KeyPair::generate().expect("a key");
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::OrganizationName, "system:masters");
    parameters
        .distinguished_name
        .push(DnType::CommonName, "kubernetes-admin");
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = parameters.self_signed(&key).expect("a certificate");
    let pem = format!("{}{}", certificate.pem(), key.serialize_pem());
    Identity::from_pem(pem.as_bytes()).expect("an identity")
}

#[tokio::test]
async fn the_administrators_certificate_opens_everything() {
    let world = World::start().await;
    let client = world.client(Some(world.administrator()));
    let answer = client
        .post(world.url("/apis/authentication.k8s.io/v1/selfsubjectreviews"))
        .body("{}")
        .header("Content-Type", "application/json")
        .send()
        .await
        .expect("an answer");
    let who: Value = serde_json::from_slice(&answer.bytes().await.expect("a body")).expect("JSON");
    let info = &who["status"]["userInfo"];
    assert_eq!(info["username"], "kubernetes-admin");
    assert_eq!(
        info["groups"],
        serde_json::json!(["system:masters", "system:authenticated"])
    );
    let id = info["extra"]["authentication.kubernetes.io/credential-id"][0]
        .as_str()
        .unwrap_or_default();
    assert!(id.starts_with("X509SHA256="), "{id}");
}

#[tokio::test]
async fn a_certificate_of_somebody_else_is_unauthorized_unless_a_token_is_good() {
    let world = World::start().await;
    let client = world.client(Some(impostor()));
    let get = |token: Option<&str>| {
        let mut request = client.get(world.url("/version"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send()
    };
    assert_eq!(
        get(None).await.expect("an answer").status(),
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        get(Some("wrong")).await.expect("an answer").status(),
        StatusCode::UNAUTHORIZED
    );
    assert_eq!(
        get(Some("alice-token")).await.expect("an answer").status(),
        StatusCode::OK
    );
}

#[tokio::test]
async fn strangers_and_users_without_rights_are_refused() {
    let world = World::start().await;
    let client = world.client(None);
    let get = |token: &'static str| {
        client
            .get(world.url("/api/v1/namespaces"))
            .bearer_auth(token)
            .send()
    };
    let answer = client
        .get(world.url("/api/v1/namespaces"))
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), StatusCode::FORBIDDEN);
    assert_eq!(
        get("alice-token").await.expect("an answer").status(),
        StatusCode::FORBIDDEN
    );
    assert_eq!(
        get("wrong").await.expect("an answer").status(),
        StatusCode::UNAUTHORIZED
    );
    let token = world.stage.api().access.administrator_token().to_owned();
    let answer = client
        .get(world.url("/api/v1/namespaces"))
        .bearer_auth(token)
        .send()
        .await;
    assert_eq!(answer.expect("an answer").status(), StatusCode::OK);
}

#[tokio::test]
async fn clients_choose_between_http_1_and_2() {
    let world = World::start().await;
    let mut roots = rustls::RootCertStore::empty();
    let authority = world.stage.api().access.keys.authority.certificate().clone();
    roots.add(authority).expect("an authority");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let offers: [&[&[u8]]; 3] = [&[b"h2", b"http/1.1"], &[b"http/1.1"], &[]];
    for (offered, chosen) in offers.into_iter().zip([Some("h2"), Some("http/1.1"), None]) {
        let mut config = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
        let stream = tokio::net::TcpStream::connect(world.serving.address())
            .await
            .expect("a connection");
        let name = "kubernetes.default.svc".try_into().expect("a name");
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await
            .expect("a handshake");
        let found = stream.get_ref().1.alpn_protocol();
        assert_eq!(found, chosen.map(str::as_bytes));
    }
}

#[tokio::test]
async fn other_machines_are_kept_out_unless_told() {
    let world = World::start().await;
    let anywhere: SocketAddr = ([0, 0, 0, 0], 0).into();
    let refused = world.stage.serve(anywhere, &ServeOptions::default()).await;
    assert!(matches!(refused, Err(ServeError::Remote { .. })), "{refused:?}");
    let options = ServeOptions {
        allow_remote: true,
        ..ServeOptions::default()
    };
    let serving = world.stage.serve(anywhere, &options).await.expect("a server");
    assert!(
        serving.url().starts_with("https://127.0.0.1:"),
        "{}",
        serving.url()
    );
}

#[tokio::test]
async fn a_port_that_is_taken_is_told() {
    let world = World::start().await;
    let again = world
        .stage
        .serve(world.serving.address(), &ServeOptions::default())
        .await;
    assert!(matches!(again, Err(ServeError::Taken { .. })), "{again:?}");
}

#[tokio::test]
async fn stopping_ends_watches_and_lets_go_of_the_port() {
    let World { stage, serving } = World::start().await;
    let world = Arc::new(World { stage, serving });
    let client = world.client(Some(world.administrator()));
    let mut watch = client
        .get(world.url("/api/v1/namespaces?watch=true"))
        .send()
        .await
        .expect("a watch");
    assert!(watch.chunk().await.expect("an event").is_some());
    let World { stage, serving } = Arc::into_inner(world).expect("the only handle");
    let address = serving.address();
    serving.stop().await;
    let rest = async { while watch.chunk().await.is_ok_and(|chunk| chunk.is_some()) {} };
    tokio::time::timeout(Duration::from_secs(30), rest)
        .await
        .expect("the watch ends");
    stage
        .serve(address, &ServeOptions::default())
        .await
        .expect("the port is free");
}
