//! Bundles with something changed in their ClusterServiceVersion.

use serde_json::Value;

use crate::bundles::Contents;
use crate::scenario::Scenario;

/// The file of a bundle with its ClusterServiceVersion.
const SERVICE_VERSION: &str = "manifests/csv.yaml";

/// The contents of a bundle of a scenario's package, with a ClusterServiceVersion that is changed.
pub(crate) fn changed(
    contents: &Contents,
    scenario: &Scenario,
    version: &str,
    change: impl FnOnce(&mut Value),
) -> Contents {
    let mut files = contents.files(&scenario.id, &scenario.package(), version);
    let text = files.get(SERVICE_VERSION).expect("a ClusterServiceVersion");
    let mut object: Value = serde_json::from_slice(text).expect("JSON is what bundles are made of");
    change(&mut object);
    files.insert(SERVICE_VERSION.to_owned(), object.to_string().into_bytes());
    Contents::of_files(files)
}
