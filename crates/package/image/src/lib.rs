//! OCI images without a container tool: naming, fetching, trusting, building, unpacking and serving them.
//!
//! ```text
//! reference ─► mirrors ─► policy ─► remote ◄─ credentials          (the network side)
//!                                     │ blobs by digest
//!                                     ▼
//!             build ─► layer ─►  content store  ◄─► layout (directory or tar)
//!                                     │
//!                                     ▼
//!                                  unpack ─► files
//! attachment: documents about an image, beside it in its registry; materials: what a program says it is made of
//! registry: the embedded OCI registry, which keeps its own blobs on disk
//! ```
//!
//! Everything meets in the [`content`] store: pulling, building and importing write blobs into it by digest; pushing,
//! exporting and unpacking read from it. The crate knows nothing of what an image holds.

pub mod attachment;
pub mod build;
pub mod content;
pub mod credentials;
pub mod digest;
pub mod layer;
pub mod layout;
pub mod manifest;
pub mod materials;
pub mod mirrors;
pub mod policy;
pub mod program;
pub mod reference;
pub mod registry;
pub mod remote;
pub mod surroundings;
pub mod unpack;

pub use oci_spec::image::Descriptor;
