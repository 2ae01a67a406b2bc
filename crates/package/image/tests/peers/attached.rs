//! An image with two documents attached to it, and what a list of referrers says of them.

use image::attachment::{Attachment, BILL_OF_MATERIALS, Provenance, STATEMENT};
use image::build::{self, ImageSettings};
use image::content::ContentStore;
use image::manifest;
use image::reference::Reference;
use image::remote::{Encryption, Remote, RemoteOptions};
use serde_json::{Value, json};

/// Pushes an image and two documents about it; returns the image's digest.
pub(crate) async fn push_with_attachments(host: &str) -> image::digest::Digest {
    let store = ContentStore::temporary().unwrap();
    let remote = Remote::new(RemoteOptions {
        encryption: Encryption::Off,
        ..RemoteOptions::default()
    });
    let name = Reference::parse(&format!("{host}/team/operator:v1")).unwrap();
    let image =
        build::for_architectures(&store, &ImageSettings::default(), &["amd64", "arm64"], &[]).unwrap();
    let digest = manifest::digest_of(&image.descriptor).unwrap();
    remote.push(&store, &image.descriptor, &name).await.unwrap();
    let list = Attachment::bill_of_materials(br#"{"bomFormat":"CycloneDX"}"#.to_vec());
    let provenance = Provenance {
        recipe: "test",
        parameters: json!({}),
        materials: Vec::new(),
        version: "1.0.0".to_owned(),
    };
    let statement = provenance.attachment(&format!("{host}/team/operator"), &digest);
    // Twice: what is there already isn't listed again.
    for attachment in [&list, &statement, &list] {
        remote
            .attach(&store, attachment, &image.descriptor, &name)
            .await
            .unwrap();
    }
    for (attachment, kind) in [(&list, BILL_OF_MATERIALS), (&statement, STATEMENT)] {
        let found = remote.attachments(&name, kind, "amd64").await.unwrap();
        assert_eq!(found, std::slice::from_ref(attachment), "{kind}");
    }
    digest
}

/// What a list of referrers says of each: the type and the annotations.
pub(crate) fn listed(list: &str) -> Vec<(String, Value)> {
    let list: Value = serde_json::from_str(list).unwrap();
    let mut listed: Vec<(String, Value)> = list["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|referrer| {
            let kind = referrer["artifactType"].as_str().unwrap_or_default();
            (kind.to_owned(), referrer["annotations"].clone())
        })
        .collect();
    listed.sort_by(|left, right| left.0.cmp(&right.0));
    listed
}

/// Both documents, as a list of referrers has them.
pub(crate) fn both_documents() -> Vec<(String, Value)> {
    let predicate = json!({"in-toto.io/predicate-type": "https://slsa.dev/provenance/v1"});
    vec![
        (BILL_OF_MATERIALS.to_owned(), Value::Null),
        (STATEMENT.to_owned(), predicate),
    ]
}
