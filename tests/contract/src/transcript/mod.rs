//! Cases that are written as transcripts: what is asked, and what Kubernetes answered when it was asked.
//!
//! A transcript is a text file of cases. The answers were taken down from a real kube-apiserver, with everything that
//! is new in each run (uids, revisions, times, the case's own name) replaced by placeholders; the suite then expects
//! them of every server.
//!
//! ```text
//! === a case's name is a sentence
//! ! differs: why stage may answer otherwise        (rare; the answer is then compared on the real server only)
//! >> POST configmaps                               (`>>`: has to succeed; the answer is of no interest)
//! {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
//! > GET configmaps/a?resourceVersion={rv1}         (`>`: the answer is compared)
//! > Accept: application/json                       (a header)
//! ! show metadata.name, data                       (compare these fields only)
//! < 200
//! data: null
//! metadata.name: a
//! ```
//!
//! Paths are those of [`crate::Context::path`]. `PATCH:merge`, `PATCH:json`, `PATCH:strategic` and `PATCH:apply` are
//! the four patches; `CRD` defines custom resources and waits until they are served. A body is YAML and is sent as
//! JSON, unless `! raw` or `! base64` says otherwise. `! until path = value` and `! until path exists` ask until the field has that value or is there,
//! `! with managedFields` keeps them in the comparison, `! headers A, B` compares headers too. Placeholders of answers
//! (`<rv1>`, `<uid1>`, `<continue1>`, `<name1>`, `<token1>`) can be used in later requests as `{rv1}` and so on.

mod normal;
mod parse;
mod play;

pub use parse::{Exchange, Expected, Script, Transcript};
pub use play::{Mode, play};
