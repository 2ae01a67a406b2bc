//! Release records that Helm 3 and Helm 4 wrote into a real cluster, read and written again.

use chart::release::{Release, Status, Stored, object_name};
use serde_json::Value;

/// Every Secret of the recorded sessions, with its path.
fn recorded_secrets() -> Vec<(std::path::PathBuf, Value)> {
    let Some(corpus) = corpus::open("operator") else {
        return Vec::new();
    };
    let mut secrets = Vec::new();
    let sessions = corpus.join("operator-corpus/helm-cli");
    for session in std::fs::read_dir(&sessions).expect("the sessions").flatten() {
        let Ok(entries) = std::fs::read_dir(session.path().join("secrets")) else {
            continue;
        };
        for entry in entries.flatten() {
            let text = std::fs::read(entry.path()).expect("a Secret");
            secrets.push((
                entry.path(),
                serde_json::from_slice(&text).expect("a Secret is JSON"),
            ));
        }
    }
    assert!(
        secrets.len() > 50,
        "only {} Secrets in {}",
        secrets.len(),
        sessions.display()
    );
    secrets
}

/// The JSON in a Secret, undone by other means than the code under test.
fn plain_json(secret: &Value) -> Vec<u8> {
    use base64::Engine as _;
    use std::io::Read as _;
    let decode = |text: &[u8]| {
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .expect("base64")
    };
    let inner = decode(secret["data"]["release"].as_str().expect("data").as_bytes());
    let mut json = Vec::new();
    flate2::read::GzDecoder::new(decode(&inner).as_slice())
        .read_to_end(&mut json)
        .expect("gzip");
    json
}

#[test]
fn records_survive_reading_and_writing() {
    for (path, secret) in recorded_secrets() {
        let original = plain_json(&secret);
        let release = Release::from_secret(&secret).expect("a record");
        let written = release.to_json();
        // Only what this version of Helm writes can be written byte for byte.
        let session = path.to_string_lossy().into_owned();
        let is_helm_3 = session.contains("-v3/") && !session.contains("v4");
        if is_helm_3 {
            assert_eq!(written, String::from_utf8_lossy(&original), "{}", path.display());
        } else {
            let parse = |text: &[u8]| serde_json::from_slice::<Value>(text).expect("JSON");
            assert_eq!(parse(written.as_bytes()), parse(&original), "{}", path.display());
        }
        let again = Release::decode(release.encode().as_bytes()).expect("a record");
        assert_eq!(again.to_json(), written, "{}", path.display());
    }
}

#[test]
fn secrets_have_helms_names_and_labels() {
    for (path, secret) in recorded_secrets() {
        let release = Release::from_secret(&secret).expect("a record");
        let name = secret["metadata"]["name"].as_str().expect("a name");
        assert_eq!(
            object_name(&release.name, release.version),
            name,
            "{}",
            path.display()
        );
        let recorded = &secret["metadata"]["labels"];
        let stored = match (recorded["createdAt"].as_str(), recorded["modifiedAt"].as_str()) {
            (Some(seconds), _) => Stored::Created(seconds.parse().expect("seconds")),
            (_, Some(seconds)) => Stored::Modified(seconds.parse().expect("seconds")),
            _ => panic!("no time in {}", path.display()),
        };
        let ours = release.to_secret(&std::collections::BTreeMap::new(), stored);
        assert_eq!(ours["metadata"]["labels"], *recorded, "{}", path.display());
        assert_eq!(ours["type"], secret["type"]);
        assert_ne!(release.info.status, Status::Unknown);
    }
}

#[test]
fn a_record_without_compression_is_read() {
    use base64::Engine as _;
    let json = r#"{"name":"x","info":{"status":"deployed"},"version":3,"future":{"a":1}}"#;
    let text = base64::engine::general_purpose::STANDARD.encode(json);
    let release = Release::decode(text.as_bytes()).expect("a record");
    assert_eq!((release.name.as_str(), release.version), ("x", 3));
    assert_eq!(release.info.status, Status::Deployed);
    assert_eq!(
        release.to_json(),
        r#"{"name":"x","info":{"status":"deployed"},"chart":{},"version":3,"future":{"a":1}}"#
    );
}

#[test]
fn damaged_records_are_refused() {
    use base64::Engine as _;
    use std::io::Write as _;
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..70 {
        bomb.write_all(&vec![b' '; 1 << 20]).expect("memory");
    }
    let bomb = encode(&bomb.finish().expect("memory"));
    for data in [
        "!",
        "",
        &encode(b"{"),
        &encode(b"[1]"),
        &encode(b"\x1f\x8b\x08broken"),
        &bomb,
    ] {
        assert!(Release::decode(data.as_bytes()).is_err());
    }
}
