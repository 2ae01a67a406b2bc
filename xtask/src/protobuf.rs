//! The Rust code of the catalog's gRPC API, generated from its description without a protobuf compiler.
//!
//! ```text
//! registry.proto ─ protox ─► descriptors ─┬─► registry.bin   what gRPC reflection answers with
//!                                         ├─► messages.rs    the messages, and a client
//!                                         └─► server.rs      the services; they answer with messages that are encoded already
//! ```

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use prost::Message as _;

/// Where the description of the API lies, below the repository.
const DESCRIPTIONS: &str = "crates/package/catalog/proto";

/// Where the generated files lie, below the repository.
const GENERATED: &str = "crates/package/catalog/src/grpc/generated";

/// The module that the generated messages are in, as the generated services name it.
const MESSAGES: &str = "crate::grpc::messages";

/// The type of an answer that the store holds in its encoded form.
const ENCODED: &str = "crate::grpc::encoded::Encoded";

/// A generated file: its name and its bytes.
type Generated = (&'static str, Vec<u8>);

/// Writes the generated files.
pub(crate) fn write() -> Result<(), Box<dyn Error>> {
    let folder = repository().join(GENERATED);
    fs::create_dir_all(&folder)?;
    for (name, bytes) in generate()? {
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

/// Generates every file.
fn generate() -> Result<Vec<Generated>, Box<dyn Error>> {
    let descriptors = protox::compile(["registry.proto"], [repository().join(DESCRIPTIONS)])?;
    let folder = tempfile::tempdir()?;
    let generated = |configured: tonic_prost_build::Builder| -> Result<Vec<u8>, Box<dyn Error>> {
        configured
            .out_dir(folder.path())
            .build_transport(false)
            .compile_fds(descriptors.clone())?;
        Ok(fs::read(folder.path().join("api.rs"))?)
    };
    let messages = generated(tonic_prost_build::configure().build_server(false))?;
    let server = generated(
        tonic_prost_build::configure()
            .build_client(false)
            .extern_path(".api", MESSAGES)
            .extern_path(".api.Bundle", ENCODED)
            .extern_path(".api.Package", ENCODED),
    )?;
    Ok(vec![
        ("registry.bin", descriptors.encode_to_vec()),
        ("messages.rs", messages),
        ("server.rs", server),
    ])
}

/// Returns the root of the repository.
fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_code_is_what_the_description_generates() {
        let folder = repository().join(GENERATED);
        for (name, bytes) in generate().expect("the description compiles") {
            let committed = fs::read(folder.join(name)).unwrap_or_default();
            assert!(
                committed == bytes,
                "{GENERATED}/{name} is out of date; run: cargo run -p xtask -- protobuf"
            );
        }
    }
}
