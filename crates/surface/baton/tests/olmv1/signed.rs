//! Signed catalogs: what an administrator's policy demands is demanded, and the status says who signed.

use std::sync::Arc;

use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::digest::Digest;
use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::conditions::Says;
use crate::images::Entry;
use crate::processes::{Controllers, Server};
use crate::reference::Reference;
use crate::scenario::Scenario;
use crate::world::{World, catalog};

type Outcome = Result<(), String>;

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Somebody with a key, who signs images as cosign does.
struct Signer {
    key: EcdsaKeyPair,
    public: Vec<u8>,
    client: reqwest::Client,
}

impl Signer {
    fn new() -> Result<Self, String> {
        let key =
            EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).map_err(|error| error.to_string())?;
        let public = key.public_key().as_der().map_err(|error| error.to_string())?;
        Ok(Self {
            public: public.as_ref().to_vec(),
            key,
            client: reqwest::Client::builder()
                .no_proxy()
                .build()
                .map_err(|error| error.to_string())?,
        })
    }

    /// A policy that demands this signer's signature of one repository, and nothing of others.
    fn policy(&self, repository: &str) -> Value {
        let pem = format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(&self.public)
        );
        json!({
            "default": [{"type": "insecureAcceptAnything"}],
            "transports": {"docker": {repository: [{
                "type": "sigstoreSigned", "keyData": STANDARD.encode(pem),
                "signedIdentity": {"type": "matchRepository"},
            }]}},
        })
    }

    /// Signs an image in a registry.
    async fn sign(&self, host: &str, repository: &str, tag: &str) -> Outcome {
        let failed = |error: reqwest::Error| error.to_string();
        let base = format!("http://{host}/v2/{repository}");
        let found = self
            .client
            .get(format!("{base}/manifests/{tag}"))
            .header("Accept", INDEX)
            .send()
            .await
            .map_err(failed)?;
        let digest = Digest::of(&found.bytes().await.map_err(failed)?);
        let payload = json!({
            "critical": {
                "identity": {"docker-reference": format!("{host}/{repository}:{tag}")},
                "image": {"docker-manifest-digest": digest.to_string()},
                "type": "cosign container image signature",
            },
            "optional": null,
        })
        .to_string();
        let signature = self.key.sign(&SystemRandom::new(), payload.as_bytes());
        let signature = signature.map_err(|error| error.to_string())?;
        let part = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": Digest::of(bytes).to_string(), "size": bytes.len()});
        for blob in [payload.as_bytes(), b"{}"] {
            let address = format!("{base}/blobs/uploads/?digest={}", Digest::of(blob));
            let sent = self.client.post(address).body(blob.to_vec()).send().await;
            let sent = sent.map_err(failed)?;
            if !sent.status().is_success() {
                return Err(format!("a blob of a signature is answered by {}", sent.status()));
            }
        }
        let mut layer = part(
            "application/vnd.dev.cosign.simplesigning.v1+json",
            payload.as_bytes(),
        );
        layer["annotations"] = json!({"dev.cosignproject.cosign/signature": STANDARD.encode(signature)});
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST,
            "config": part("application/vnd.oci.image.config.v1+json", b"{}"),
            "layers": [layer],
        });
        let address = format!("{base}/manifests/{}.sig", digest.to_string().replace(':', "-"));
        let sent = self
            .client
            .put(address)
            .header("Content-Type", MANIFEST)
            .body(manifest.to_string())
            .send()
            .await
            .map_err(failed)?;
        if sent.status().is_success() {
            Ok(())
        } else {
            Err(format!("a signature is answered by {}", sent.status()))
        }
    }
}

/// A catalog that has to be signed isn't served before it is, and then says by whom.
pub(crate) async fn signatures_are_demanded_and_told(server: Server) -> Outcome {
    let world = World::prepared_on(server, &[]).await?;
    let told = |world| Scenario {
        world,
        id: "signed".to_owned(),
    };
    let signer = Signer::new()?;
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let policy = folder.path().join("policy.json");
    let host = world.images.host.clone();
    let world = Arc::new(world);
    let told = told(Arc::clone(&world));
    let image = told
        .image("test", "v1", &[Entry::new("1.0.0", "stable", Contents::small())])
        .await?;
    let repository = image
        .strip_prefix(&format!("{host}/"))
        .and_then(|rest| rest.strip_suffix(":v1"))
        .ok_or_else(|| format!("{image} is elsewhere"))?;
    let scope = format!("{host}/{repository}");
    std::fs::write(&policy, signer.policy(&scope).to_string()).map_err(|error| error.to_string())?;
    let controllers = Controllers::of(&world.server, &[])?
        .without_classic()
        .with_flags(vec![format!("--signature-policy={}", policy.display())]);
    controllers.start()?;
    world.until_served().await?;
    told.with_namespace().await?;
    let name = told.catalog_name("test");
    world.kubernetes.apply(&catalog(&name, &image)).await?;
    let reference = Reference::olm("ClusterCatalog", &name);
    let missing = Says::Something("A signature was required, but no signature exists");
    told.reports(&reference, "SignatureVerified", "False", "Rejected", missing)
        .await?;
    told.reports(&reference, "Progressing", "True", "Retrying", missing)
        .await?;
    signer.sign(&host, repository, "v1").await?;
    let by = format!("signed by sigstore key {}", Digest::of(&signer.public));
    told.reports(
        &reference,
        "SignatureVerified",
        "True",
        "Signed",
        Says::Something(&by),
    )
    .await?;
    told.reports(&reference, "Serving", "True", "Available", Says::Anything)
        .await?;
    // Bundles lie elsewhere, and nothing is demanded of them.
    told.install(&told.extension()).await?;
    controllers.stop().await
}
