//! A record cut into chunks, as the operators of OLM keep what is too large for one Secret.
//!
//! ```text
//! compressed record ─┬─ index Secret (the first chunk, the names of the others)
//!                    └─ chunk Secrets, named by what they hold, never changed
//! ```

/// The type of the Secret that a chunked record is found by.
pub const INDEX_TYPE: &str = "operatorframework.io/index.v1";

/// The type of the Secrets that hold the other chunks.
pub const CHUNK_TYPE: &str = "operatorframework.io/chunk.v1";

/// The key of a chunk in a Secret's data.
pub const CHUNK_KEY: &str = "chunk";

/// The key of the names of the other chunks in the index.
pub const FURTHER_KEY: &str = "extraChunks";

/// The labels that the keepers of chunks set themselves, besides Helm's own.
pub const CHUNK_LABELS: [&str; 2] = ["key", "type"];

/// The most bytes of a chunk: a Secret has at most 1 MiB, of which the index needs some for names.
pub const CHUNK_SIZE: usize = 1000 * 1024;

/// The most chunks of a record; the readers of other programs give up beyond.
pub const MAX_CHUNKS: usize = 11;

/// The letters of the names, as upstream chose them.
const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz123456";

/// Returns the name of the Secret that holds a chunk of the record that is found by `key`.
pub fn chunk_name(key: &str, data: &[u8]) -> String {
    format!("{key}-{}", letters(fnv64a(data)))
}

/// The hash that upstream names chunks by (FNV-1a).
fn fnv64a(data: &[u8]) -> u64 {
    data.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Writes eight bytes in base 32, without padding: five bits a letter, the last letter's missing bits are zero.
fn letters(hash: u64) -> String {
    let bits = u128::from(hash) << 1;
    (0..13)
        .rev()
        .map(|place| LETTERS[((bits >> (place * 5)) & 31) as usize] as char)
        .collect()
}

/// Reads the names of the further chunks from the index.
pub fn further_names(data: &[u8]) -> Result<Vec<String>, serde_json::Error> {
    Ok(serde_json::from_slice::<Option<Vec<String>>>(data)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_named_as_upstream_names_it() {
        // FNV-1a of nothing is its starting value, 0xcbf29ce484222325.
        assert_eq!(fnv64a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv64a(b"a"), 0xaf63_dc4c_8601_ec8c);
        // In the usual letters of base 32 that is V5R5YTEGAHWIY; upstream's count digits from 1.
        assert_eq!(
            chunk_name("sh.helm.release.v1.a.v1", b"a"),
            "sh.helm.release.v1.a.v1-v4r4ytegahwiy"
        );
    }

    #[test]
    fn names_of_chunks_are_read() {
        assert_eq!(further_names(b"null").expect("none"), Vec::<String>::new());
        assert_eq!(further_names(br#"["a","b"]"#).expect("two"), ["a", "b"]);
        assert!(further_names(b"{").is_err());
    }
}
