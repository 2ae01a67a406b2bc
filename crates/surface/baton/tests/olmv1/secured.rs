//! Scenarios 52 and 56–60: metrics with TLS, for those whom the cluster allows it, with the versions, ciphers and curves
//! that the flags name.
//!
//! Upstream's clients offer `secp521r1` as the curve that is refused; the TLS of this test has no such curve and offers
//! `secp384r1` instead.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::crypto::aws_lc_rs::{self, cipher_suite, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::pki_types::CertificateDer;
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, ProtocolVersion, SupportedCipherSuite, SupportedProtocolVersion};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::processes::{Controllers, Server, free_address};
use crate::reference::Reference;
use crate::world::World;

type Outcome = Result<(), String>;

/// How long a program may take until it listens.
const START_DEADLINE: Duration = Duration::from_mins(1);

/// The namespace of those who read metrics.
const NAMESPACE: &str = "metrics-readers";

/// The versions that clients speak.
static BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// What a client that is not up to date speaks.
static OLD: [&SupportedProtocolVersion; 1] = [&TLS12];

/// The cipher that the flags name.
const CIPHER: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256";

/// 52 and 56–60, one after the other on one cluster.
pub(crate) async fn metrics_are_served_with_tls(server: Server) -> Outcome {
    let world = World::prepared_on(server, &[]).await?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let certificate = Certificate::make(folder.path())?;
    let flags = |custom: &[&str]| certificate.flags(custom);

    let serving = Serving::start(
        &world,
        &flags(&["--tls-profile", "custom", "--tls-custom-version", "TLSv1.3"]),
    )
    .await?;
    world.until_served().await?;
    readers_need_the_role(&world, &certificate, &serving.address).await?;
    // 56
    let agreed = certificate.agree(&serving.address, &Offer::default()).await?;
    expect(agreed.0 == ProtocolVersion::TLSv1_3, "TLS 1.3 is agreed on")?;
    let old = Offer::of_tls12();
    certificate.is_refused(&serving.address, &old, "TLS 1.2").await?;
    serving.stop().await?;

    // 57 and 58, and 59 with the curve's other name.
    for curve in ["prime256v1", "secp256r1"] {
        let custom = [
            "--tls-profile",
            "custom",
            "--tls-custom-version",
            "TLSv1.2",
            "--tls-custom-ciphers",
            CIPHER,
            "--tls-custom-curves",
            curve,
        ];
        let serving = Serving::start(&world, &flags(&custom)).await?;
        let agreed = certificate.agree(&serving.address, &Offer::of_tls12()).await?;
        let expected = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256;
        expect(agreed.1 == Some(expected), "the cipher of the flag is agreed on")?;
        let other_cipher = Offer {
            ciphers: vec![cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384],
            ..Offer::of_tls12()
        };
        certificate
            .is_refused(&serving.address, &other_cipher, "another cipher")
            .await?;
        certificate
            .agree(&serving.address, &Offer::of_curve(kx_group::SECP256R1))
            .await?;
        let other_curve = Offer::of_curve(kx_group::SECP384R1);
        certificate
            .is_refused(&serving.address, &other_curve, "another curve")
            .await?;
        serving.stop().await?;
    }

    // 60
    let custom = [
        "--tls-profile",
        "custom",
        "--tls-custom-curves",
        "SecP256r1MLKEM768,secp256r1",
    ];
    let serving = Serving::start(&world, &flags(&custom)).await?;
    certificate
        .agree(&serving.address, &Offer::of_curve(kx_group::SECP256R1MLKEM768))
        .await?;
    let other_curve = Offer::of_curve(kx_group::SECP384R1);
    certificate
        .is_refused(&serving.address, &other_curve, "another curve")
        .await?;
    serving.stop().await
}

/// 52: who has the role of a metrics reader reads them, and nobody else.
async fn readers_need_the_role(world: &World, certificate: &Certificate, address: &str) -> Outcome {
    world.namespace(NAMESPACE).await?;
    for account in ["reader", "stranger"] {
        let object = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": account, "namespace": NAMESPACE}});
        world.kubernetes.apply(&object).await?;
    }
    for component in ["catalogd", "operator-controller"] {
        let role = format!("{component}-metrics-reader");
        let role_reference = Reference::cluster("rbac.authorization.k8s.io/v1", "ClusterRole", &role);
        world.kubernetes.until_there(&role_reference).await?;
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": format!("{role}-test")},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": NAMESPACE}]});
        world.kubernetes.apply(&binding).await?;
    }
    let reader = world.kubernetes.token(NAMESPACE, "reader").await?;
    let stranger = world.kubernetes.token(NAMESPACE, "stranger").await?;
    // The server may learn of the binding a moment later than of the question.
    let deadline = Instant::now() + START_DEADLINE;
    let text = loop {
        let (code, text) = certificate.read_metrics(address, Some(&reader)).await?;
        match code {
            200 => break text,
            // A refusal is believed for a minute by who serves metrics: another token is somebody else.
            403 if Instant::now() < deadline => tokio::time::sleep(Duration::from_secs(1)).await,
            _ => return Err(format!("a reader gets {code} {text}")),
        }
    };
    for family in [
        "# TYPE catalogd_http_request_duration_seconds histogram",
        "# TYPE controller_runtime_",
    ] {
        expect(text.contains(family), &format!("metrics hold {family:?}"))?;
    }
    let (code, text) = certificate.read_metrics(address, Some(&stranger)).await?;
    let denied = format!("Authorization denied for user system:serviceaccount:{NAMESPACE}:stranger\n");
    expect(
        (code, text.as_str()) == (403, &denied),
        &format!("a stranger is denied: {code} {text}"),
    )?;
    for token in [None, Some("nobody")] {
        let (code, text) = certificate.read_metrics(address, token).await?;
        expect(
            code == 401,
            &format!("without a token that counts: {code} {text}"),
        )?;
    }
    Ok(())
}

/// The controllers with metrics at an address of their own.
struct Serving {
    controllers: Controllers,
    address: String,
}

impl Serving {
    async fn start(world: &World, flags: &[String]) -> Result<Self, String> {
        let address = free_address()?;
        let mut all = vec!["--metrics-bind-address".to_owned(), address.clone()];
        all.extend(flags.iter().cloned());
        let controllers = Controllers::of(&world.server, &[])?
            .without_classic()
            .with_flags(all);
        controllers.start()?;
        let deadline = Instant::now() + START_DEADLINE;
        while TcpStream::connect(&address).await.is_err() {
            if Instant::now() > deadline {
                return Err(format!(
                    "nobody listens at {address}:\n{}",
                    controllers.last_words(20)
                ));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(Self { controllers, address })
    }

    async fn stop(self) -> Outcome {
        self.controllers.stop().await
    }
}

/// What a client offers to agree on.
struct Offer {
    versions: &'static [&'static SupportedProtocolVersion],
    ciphers: Vec<SupportedCipherSuite>,
    curves: Vec<&'static dyn SupportedKxGroup>,
}

impl Default for Offer {
    fn default() -> Self {
        Self {
            versions: &BOTH,
            ciphers: aws_lc_rs::ALL_CIPHER_SUITES.to_vec(),
            curves: aws_lc_rs::ALL_KX_GROUPS.to_vec(),
        }
    }
}

impl Offer {
    fn of_tls12() -> Self {
        Self {
            versions: &OLD,
            curves: vec![kx_group::SECP256R1, kx_group::SECP384R1, kx_group::X25519],
            ..Self::default()
        }
    }

    fn of_curve(curve: &'static dyn SupportedKxGroup) -> Self {
        Self {
            curves: vec![curve],
            ..Self::default()
        }
    }
}

/// A certificate for this machine, and those who trust it.
struct Certificate {
    der: CertificateDer<'static>,
    pem: String,
    flags: [String; 4],
}

impl Certificate {
    fn make(folder: &Path) -> Result<Self, String> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])
            .map_err(|error| error.to_string())?;
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| error.to_string())?;
            Ok::<String, String>(path.display().to_string())
        };
        let pem = made.cert.pem();
        let certificate = write("tls.crt", &pem)?;
        let key = write("tls.key", &made.signing_key.serialize_pem())?;
        Ok(Self {
            der: made.cert.der().clone(),
            pem,
            flags: ["--tls-cert".to_owned(), certificate, "--tls-key".to_owned(), key],
        })
    }

    fn flags(&self, custom: &[&str]) -> Vec<String> {
        let custom = custom.iter().map(|flag| (*flag).to_owned());
        self.flags.iter().cloned().chain(custom).collect()
    }

    /// Agrees on TLS with a server; returns the version and the cipher.
    async fn agree(
        &self,
        address: &str,
        offer: &Offer,
    ) -> Result<(ProtocolVersion, Option<CipherSuite>), String> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.der.clone()).map_err(|error| error.to_string())?;
        let provider = CryptoProvider {
            cipher_suites: offer.ciphers.clone(),
            kx_groups: offer.curves.clone(),
            ..aws_lc_rs::default_provider()
        };
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(offer.versions)
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(address)
            .await
            .map_err(|error| error.to_string())?;
        let name = rustls::pki_types::ServerName::try_from("127.0.0.1").map_err(|error| error.to_string())?;
        let agreed = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let agreed = agreed.map_err(|error| format!("nothing is agreed on with {address}: {error}"))?;
        let (_, connection) = agreed.get_ref();
        let version = connection.protocol_version().ok_or("no version")?;
        let cipher = connection.negotiated_cipher_suite().map(|cipher| cipher.suite());
        Ok((version, cipher))
    }

    /// Holds that nothing is agreed on.
    async fn is_refused(&self, address: &str, offer: &Offer, what: &str) -> Outcome {
        match self.agree(address, offer).await {
            Ok(agreed) => Err(format!("{what} is accepted: {agreed:?}")),
            Err(_) => Ok(()),
        }
    }

    async fn read_metrics(&self, address: &str, token: Option<&str>) -> Result<(u16, String), String> {
        let trusted =
            reqwest::Certificate::from_pem(self.pem.as_bytes()).map_err(|error| error.to_string())?;
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only([trusted])
            .build()
            .map_err(|error| error.to_string())?;
        let mut request = client.get(format!("https://{address}/metrics"));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.map_err(|error| format!("{error:?}"))?;
        let code = answer.status().as_u16();
        Ok((code, answer.text().await.map_err(|error| error.to_string())?))
    }
}

fn expect(holds: bool, what: &str) -> Outcome {
    if holds {
        Ok(())
    } else {
        Err(format!("this does not hold: {what}"))
    }
}
