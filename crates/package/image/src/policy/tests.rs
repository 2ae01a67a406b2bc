use std::fs;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use aws_lc_rs::{encoding::AsDer, rsa::KeySize};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pgp::composed::{
    ArmorOptions, EncryptionCaps, KeyType, MessageBuilder, SecretKeyParamsBuilder, SignedPublicKey,
    SignedSecretKey,
};
use pgp::crypto::hash::HashAlgorithm;
use pgp::types::{CompressionAlgorithm, Password};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::*;

const IMAGE: &str = "quay.io/team/app:1";

fn reference(text: &str) -> Reference {
    Reference::parse(text).expect(text)
}

fn policy(json: &str) -> Policy {
    Policy::from_slice(json.as_bytes(), Path::new("/policy.json")).expect(json)
}

fn refusal(json: &str) -> String {
    let error = Policy::from_slice(json.as_bytes(), Path::new("/policy.json")).expect_err(json);
    error.to_string()
}

fn manifest() -> Digest {
    Digest::of(b"manifest")
}

fn payload(kind: &str, digest: Digest, name: &str) -> String {
    format!(
        r#"{{"critical":{{"identity":{{"docker-reference":"{name}"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"{kind}"}},"optional":{{"creator":"test","timestamp":1}}}}"#
    )
}

const COSIGN: &str = "cosign container image signature";
const SIMPLE: &str = "atomic container signature";

/// A key that signs as cosign does.
enum Signer {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl Signer {
    fn ecdsa_p256() -> Self {
        Self::Ecdsa(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key"))
    }

    fn public_pem(&self) -> String {
        let der = match self {
            Self::Ecdsa(key) => key.public_key().as_der().expect("a key").as_ref().to_vec(),
            Self::Ed25519(key) => key.public_key().as_der().expect("a key").as_ref().to_vec(),
            Self::Rsa(key) => key.public_key().as_der().expect("a key").as_ref().to_vec(),
        };
        format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(der)
        )
    }

    fn sign(&self, payload: &str) -> SigstoreSignature {
        let random = SystemRandom::new();
        let bytes = match self {
            Self::Ecdsa(key) => key
                .sign(&random, payload.as_bytes())
                .expect("a signature")
                .as_ref()
                .to_vec(),
            Self::Ed25519(key) => key.sign(payload.as_bytes()).as_ref().to_vec(),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, payload.as_bytes(), &mut signature)
                    .expect("a signature");
                signature
            }
        };
        SigstoreSignature {
            payload: payload.as_bytes().to_vec(),
            signature: STANDARD.encode(bytes),
        }
    }

    fn policy(&self) -> Policy {
        let data = STANDARD.encode(self.public_pem());
        policy(&format!(
            r#"{{"default":[{{"type":"sigstoreSigned","keyData":"{data}"}}]}}"#
        ))
    }
}

fn sigstore(signatures: Vec<SigstoreSignature>) -> Signatures {
    Signatures {
        sigstore: signatures,
        ..Signatures::default()
    }
}

#[test]
fn cosign_signatures_of_every_kind_of_key_are_verified() {
    for signer in [
        Signer::ecdsa_p256(),
        Signer::Ed25519(Ed25519KeyPair::generate().expect("a key")),
        Signer::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).expect("a key")),
    ] {
        let policy = signer.policy();
        let image = reference(IMAGE);
        assert_eq!(
            policy.needs(&image),
            Needs {
                simple_signing: false,
                sigstore: true
            }
        );
        let right = signer.sign(&payload(COSIGN, manifest(), IMAGE));
        policy
            .evaluate(&image, &manifest(), &sigstore(vec![right.clone()]))
            .expect("signed");
        let null = payload(COSIGN, manifest(), IMAGE).replace(r#"{"creator":"test","timestamp":1}"#, "null");
        policy
            .evaluate(&image, &manifest(), &sigstore(vec![signer.sign(&null)]))
            .expect("signed");
        let mut altered = right;
        altered.payload = payload(COSIGN, manifest(), IMAGE)
            .replace("test", "evil")
            .into_bytes();
        policy
            .evaluate(&image, &manifest(), &sigstore(vec![altered]))
            .expect_err("altered");
    }
}

/// Made with `openssl dgst -sha256 -sign`, because cosign hashes with SHA-256 for this curve, too.
#[test]
fn a_cosign_signature_with_a_p384_key_is_verified() {
    let pem = "-----BEGIN PUBLIC KEY-----
MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAErO09mEmDYtoDdlEfTxC1ikbgoeIrYO/I
BIj+MhL9tQ9KbwB3TNiWJsAgGUqfwYtE02iQBaUuC2LRqb5UVMM2qI6wi/jNAdN+
/uI6xAFnZG+BEK3L6Ggo+z4+y8xwMG8V
-----END PUBLIC KEY-----
";
    let signature = SigstoreSignature {
        payload: payload(COSIGN, manifest(), IMAGE).into_bytes(),
        signature: "MGUCMDauMA82jh831yO/A9nob+Marpdjn0tyWRm5vZ2oWCUSEd03rITKVwgBDIfIdjn8gQIxANcXiS8VErnS1Urd540DLodKrb5YCqhRWaLeEy/rGASKIQuoNPCZOtKIJZWUi4MYrg==".to_owned(),
    };
    let data = STANDARD.encode(pem);
    let policy = policy(&format!(
        r#"{{"default":[{{"type":"sigstoreSigned","keyData":"{data}"}}]}}"#
    ));
    policy
        .evaluate(&reference(IMAGE), &manifest(), &sigstore(vec![signature]))
        .expect("signed");
}

/// Made with `gpg --sign`, as the container tools do.
#[test]
fn a_signature_that_gnupg_made_is_verified() {
    let key = STANDARD.encode(include_bytes!("testdata/gnupg-key.asc"));
    let policy = policy(&format!(
        r#"{{"default":[{{"type":"signedBy","keyType":"GPGKeys","keyData":"{key}"}}]}}"#
    ));
    let signature = include_bytes!("testdata/gnupg-signature").to_vec();
    policy
        .evaluate(&reference(IMAGE), &manifest(), &simple(vec![signature.clone()]))
        .expect("signed");
    policy
        .evaluate(&reference(IMAGE), &Digest::of(b"other"), &simple(vec![signature]))
        .expect_err("another image");
}

#[test]
fn a_signature_that_does_not_fit_is_refused_with_its_reason() {
    let signer = Signer::ecdsa_p256();
    let other = Signer::ecdsa_p256();
    let policy = signer.policy();
    let image = reference(IMAGE);
    let right = payload(COSIGN, manifest(), IMAGE);
    let reasons: Vec<String> = [
        vec![],
        vec![other.sign(&right)],
        vec![signer.sign(&payload(COSIGN, Digest::of(b"other"), IMAGE))],
        vec![signer.sign(&payload(COSIGN, manifest(), "quay.io/team/app:2"))],
        vec![signer.sign(&payload(SIMPLE, manifest(), IMAGE))],
        vec![signer.sign(&right.replace(r#""type""#, r#""extra":1,"type""#))],
        vec![signer.sign(&right.replace(r#""optional""#, r#""other""#))],
        vec![signer.sign("not json")],
        vec![SigstoreSignature {
            payload: Vec::new(),
            signature: "?".to_owned(),
        }],
        vec![
            other.sign(&right),
            signer.sign(&payload(COSIGN, Digest::of(b"other"), IMAGE)),
        ],
    ]
    .into_iter()
    .map(|signatures| {
        let result = policy.evaluate(&image, &manifest(), &sigstore(signatures));
        result.expect_err("refused").to_string()
    })
    .collect();
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn every_requirement_has_to_be_met() {
    let first = Signer::ecdsa_p256();
    let second = Signer::ecdsa_p256();
    let data = |signer: &Signer| STANDARD.encode(signer.public_pem());
    let both = policy(&format!(
        r#"{{"default":[{{"type":"sigstoreSigned","keyData":"{}"}},{{"type":"sigstoreSigned","keyData":"{}"}}]}}"#,
        data(&first),
        data(&second)
    ));
    let either = policy(&format!(
        r#"{{"default":[{{"type":"sigstoreSigned","keyDatas":["{}","{}"]}}]}}"#,
        data(&first),
        data(&second)
    ));
    let text = payload(COSIGN, manifest(), IMAGE);
    let one = sigstore(vec![second.sign(&text)]);
    let two = sigstore(vec![second.sign(&text), first.sign(&text)]);
    let image = reference(IMAGE);
    both.evaluate(&image, &manifest(), &one)
        .expect_err("one is missing");
    both.evaluate(&image, &manifest(), &two).expect("both are there");
    either.evaluate(&image, &manifest(), &one).expect("one suffices");
}

/// A GPG key, made anew from a fixed seed.
struct Gpg {
    secret: SignedSecretKey,
    random: StdRng,
}

impl Gpg {
    fn new(seed: u64, with_subkey: bool) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut parameters = SecretKeyParamsBuilder::default();
        parameters
            .key_type(KeyType::Ed25519Legacy)
            .can_certify(true)
            .can_sign(!with_subkey)
            .primary_user_id("Test <test@example.com>".to_owned());
        if with_subkey {
            let subkey = pgp::composed::SubkeyParamsBuilder::default()
                .key_type(KeyType::Ed25519Legacy)
                .can_sign(true)
                .can_encrypt(EncryptionCaps::None)
                .build()
                .expect("parameters");
            parameters.subkeys(vec![subkey]);
        }
        let secret = parameters
            .build()
            .expect("parameters")
            .generate(&mut random)
            .expect("a key");
        Self { secret, random }
    }

    fn public_armored(&self) -> String {
        SignedPublicKey::from(self.secret.clone())
            .to_armored_string(ArmorOptions::default())
            .expect("a key")
    }

    fn sign(&mut self, text: &str, compressed: bool) -> Vec<u8> {
        let mut builder = MessageBuilder::from_bytes("", text.as_bytes().to_vec());
        if compressed {
            builder.compression(CompressionAlgorithm::ZLIB);
        }
        match self.secret.secret_subkeys.first() {
            Some(subkey) => builder.sign(&subkey.key, Password::empty(), HashAlgorithm::Sha256),
            None => builder.sign(&self.secret.primary_key, Password::empty(), HashAlgorithm::Sha256),
        };
        builder.to_vec(&mut self.random).expect("a signature")
    }
}

fn simple(signatures: Vec<Vec<u8>>) -> Signatures {
    Signatures {
        simple_signing: signatures,
        ..Signatures::default()
    }
}

#[test]
fn gpg_signatures_are_verified_with_keys_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    for with_subkey in [false, true] {
        let mut key = Gpg::new(1, with_subkey);
        let other = Gpg::new(2, false);
        let path = folder.path().join("key.asc");
        let other_path = folder.path().join("other.asc");
        fs::write(&path, key.public_armored()).expect("a file");
        fs::write(&other_path, other.public_armored()).expect("a file");
        let policy_for = |keys: &str| {
            policy(&format!(
                r#"{{"default":[{{"type":"signedBy","keyType":"GPGKeys",{keys}}}]}}"#
            ))
        };
        let by_path = policy_for(&format!(r#""keyPath":{path:?}"#));
        let by_paths = policy_for(&format!(r#""keyPaths":[{other_path:?},{path:?}]"#));
        let by_data = policy_for(&format!(
            r#""keyData":"{}""#,
            STANDARD.encode(key.public_armored())
        ));
        let by_other = policy_for(&format!(r#""keyPath":{other_path:?}"#));
        let image = reference(IMAGE);
        assert!(by_path.needs(&image).simple_signing);
        for compressed in [false, true] {
            let signature = key.sign(&payload(SIMPLE, manifest(), IMAGE), compressed);
            for policy in [&by_path, &by_paths, &by_data] {
                policy
                    .evaluate(&image, &manifest(), &simple(vec![signature.clone()]))
                    .expect("signed");
            }
            let by_another = by_other.evaluate(&image, &manifest(), &simple(vec![signature.clone()]));
            let message = by_another.expect_err("another key").to_string();
            assert!(
                message.contains("the key that signed is not in the keyring"),
                "{message}"
            );
            let mut damaged = signature;
            let middle = damaged.len() / 2;
            damaged[middle] ^= 1;
            by_path
                .evaluate(&image, &manifest(), &simple(vec![damaged]))
                .expect_err("damaged");
        }
        let elsewhere = key.sign(&payload(SIMPLE, Digest::of(b"other"), IMAGE), false);
        by_path
            .evaluate(&image, &manifest(), &simple(vec![elsewhere]))
            .expect_err("another image");
        let cosign = key.sign(&payload(COSIGN, manifest(), IMAGE), false);
        by_path
            .evaluate(&image, &manifest(), &simple(vec![cosign]))
            .expect_err("another kind");
        by_path
            .evaluate(
                &image,
                &manifest(),
                &simple(vec![payload(SIMPLE, manifest(), IMAGE).into_bytes(), Vec::new()]),
            )
            .expect_err("not signed at all");
    }
}

#[test]
fn a_key_file_that_is_missing_refuses_the_image() {
    for requirement in [
        r#"{"type":"sigstoreSigned","keyPath":"/nowhere/key.pem"}"#,
        r#"{"type":"signedBy","keyType":"GPGKeys","keyPath":"/nowhere/key.pem"}"#,
    ] {
        let policy = policy(&format!(r#"{{"default":[{requirement}]}}"#));
        let error = policy
            .evaluate(&reference(IMAGE), &manifest(), &Signatures::default())
            .expect_err("no key");
        assert!(
            error
                .to_string()
                .contains("cannot read the key file /nowhere/key.pem"),
            "{error}"
        );
    }
}

#[test]
fn the_narrowest_scope_decides() {
    let policy = policy(
        r#"{"default":[{"type":"reject"}],"transports":{
            "docker":{
                "quay.io":[{"type":"insecureAcceptAnything"}],
                "quay.io/bad":[{"type":"reject"}],
                "quay.io/bad/good:1":[{"type":"insecureAcceptAnything"}],
                "*.corp.example":[{"type":"insecureAcceptAnything"}]
            },
            "docker-daemon":{"":[{"type":"insecureAcceptAnything"}]}}}"#,
    );
    for (image, accepted) in [
        ("quay.io/a/b:1", true),
        ("quay.io/bad/b:1", false),
        ("quay.io/bad/good:1", true),
        ("quay.io/bad/good:2", false),
        ("quay.io/badly/b:1", true),
        ("x.corp.example:5000/b:1", true),
        ("corp.example/b:1", false),
        ("docker.io/library/b:1", false),
    ] {
        let image = reference(image);
        assert_eq!(policy.refuse_early(&image).is_ok(), accepted, "{image}");
        assert_eq!(
            policy
                .evaluate(&image, &manifest(), &Signatures::default())
                .is_ok(),
            accepted,
            "{image}"
        );
        assert_eq!(policy.needs(&image), Needs::default());
    }
    let error = policy
        .refuse_early(&reference("ghcr.io/a/b:1"))
        .expect_err("rejected");
    insta::assert_snapshot!(error, @"image ghcr.io/a/b:1 is rejected by the signature policy /policy.json: Running image docker://ghcr.io/a/b:1 is rejected by policy; sign it as the policy demands, or change the policy");
}

#[test]
fn a_policy_that_is_not_understood_is_refused_as_a_whole() {
    let accept = r#"[{"type":"insecureAcceptAnything"}]"#;
    let refusals: Vec<String> = [
        "",
        "{}",
        "[]",
        r#"{"default":[]}"#,
        r#"{"default":[{}]}"#,
        r#"{"default":[{"type":"acceptAll"}]}"#,
        r#"{"default":[{"type":"reject","but":"not really"}]}"#,
        r#"{"default":[{"type":"insecureAcceptAnything","type":"reject"}]}"#,
        &format!(r#"{{"default":{accept},"default":{accept}}}"#),
        &format!(r#"{{"default":{accept},"defualt":{accept}}}"#),
        &format!(r#"{{"default":{accept},"transports":{{"docker":{{"a.io":{accept},"a.io":{accept}}}}}}}"#),
        &format!(r#"{{"default":{accept},"transports":{{"docker":{{"a.io":[]}}}}}}"#),
        &format!(r#"{{"default":{accept},"transports":{{"docker":{{}},"docker":{{}}}}}}"#),
        r#"{"default":[{"type":"signedBy","keyPath":"/k"}]}"#,
        r#"{"default":[{"type":"signedBy","keyType":"GPGKeys"}]}"#,
        r#"{"default":[{"type":"signedBy","keyType":"GPGKeys","keyPath":"/k","keyData":"AAAA"}]}"#,
        r#"{"default":[{"type":"signedBy","keyType":"PGP","keyPath":"/k"}]}"#,
        r#"{"default":[{"type":"signedBy","keyType":"GPGKeys","keyPath":""}]}"#,
        r#"{"default":[{"type":"signedBy","keyType":"GPGKeys","keyData":"?"}]}"#,
        r#"{"default":[{"type":"sigstoreSigned"}]}"#,
        r#"{"default":[{"type":"sigstoreSigned","keyPath":"/k","rekorPublicKeyPath":"/r"}]}"#,
        r#"{"default":[{"type":"sigstoreSigned","fulcio":{"caPath":"/c"}}]}"#,
        r#"{"default":[{"type":"sigstoreSigned","pki":{}}]}"#,
        r#"{"default":[{"type":"sigstoreSigned","keyPath":"/k","signedIdentity":{"type":"matchExact","x":1}}]}"#,
        r#"{"default":[{"type":"sigstoreSigned","keyPath":"/k","signedIdentity":{"type":"exactReference","dockerReference":"a"}}]}"#,
    ]
    .iter()
    .map(|json| refusal(json))
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

#[test]
fn kinds_of_keys_that_nobody_implements_refuse_every_image() {
    for requirement in [
        r#"{"type":"signedBy","keyType":"X509Certificates","keyPath":"/k"}"#,
        r#"{"type":"signedBaseLayer","baseLayerIdentity":{"type":"matchExact"}}"#,
    ] {
        let policy = policy(&format!(r#"{{"default":[{requirement}]}}"#));
        policy.refuse_early(&reference(IMAGE)).expect_err("refused");
        policy
            .evaluate(&reference(IMAGE), &manifest(), &Signatures::default())
            .expect_err("refused");
    }
}

#[test]
fn who_asks_decides_what_having_no_policy_means() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    let surroundings = Surroundings::under(folder.path()).with_home(&home);
    let image = reference(IMAGE);
    let none = Policy::load(&PolicySource::Required, &surroundings)
        .expect_err("none")
        .to_string();
    assert!(
        none.starts_with("no policy.json file found at any of the following: \""),
        "{none}"
    );
    let accepted = Policy::load(&PolicySource::Optional, &surroundings).expect("everything");
    accepted
        .evaluate(&image, &manifest(), &Signatures::default())
        .expect("accepted");

    let system = folder.path().join("etc/containers");
    fs::create_dir_all(&system).expect("folders");
    fs::write(system.join("policy.json"), r#"{"default":[{"type":"reject"}]}"#).expect("a file");
    for source in [PolicySource::Required, PolicySource::Optional] {
        let policy = Policy::load(&source, &surroundings).expect("the system's");
        policy.refuse_early(&image).expect_err("rejected");
    }
    let user = home.join(".config/containers/policy.json");
    fs::create_dir_all(&user).expect("a folder in place of the file");
    Policy::load(&PolicySource::Optional, &surroundings).expect_err("unreadable, and not passed over");
    fs::remove_dir(&user).expect("removed");
    fs::write(&user, "{").expect("a file");
    Policy::load(&PolicySource::Optional, &surroundings).expect_err("broken, and not passed over");
    Policy::load(
        &PolicySource::File(folder.path().join("nowhere.json")),
        &surroundings,
    )
    .expect_err("must exist");
}
