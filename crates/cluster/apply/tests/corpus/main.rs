//! The recorded cases of upstream: phases, Secrets, digests, probes, and the status of revisions.

mod packing;
mod probing;
mod revisions;
mod status;

use std::fs;

use serde_json::Value;

pub(crate) fn cases(file: &str) -> Option<Value> {
    let folder = corpus::open("olmv1")?;
    let text = fs::read(folder.join("olmv1-corpus").join(file)).expect("the cases");
    Some(serde_json::from_slice(&text).expect("JSON"))
}

pub(crate) fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(crate) fn texts(value: &Value) -> Vec<String> {
    rows(value).iter().map(text).collect()
}
