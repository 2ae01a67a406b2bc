//! An archive of files within limits: the same bytes for the same files.

use std::collections::BTreeMap;
use std::io::{self, Write};

use apply::digests::hexadecimal;
use aws_lc_rs::digest::{SHA256, digest};
use flate2::{Compression, GzBuilder};
use serde::Serialize;

/// The permissions of every file.
const FILE_MODE: u32 = 0o644;

/// The longest path that is written; a longer one is cut and told apart by its digest.
const LONGEST_PATH: usize = 200;

/// The file that lists the others.
pub const CONTENTS: &str = "contents.json";

/// How large an archive may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of all files together, before they are compressed.
    pub total: usize,
    /// The most bytes of one file; what is longer is cut.
    pub file: usize,
}

/// What was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LeftOut {
    /// What.
    pub what: String,
    /// Why.
    pub why: String,
}

/// One file, as the list of contents has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    path: String,
    bytes: usize,
    sha256: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

/// Which end of a file is dropped where it is too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The beginning stays, as of an object.
    Start,
    /// The end stays, as of a log.
    End,
}

/// Files that become an archive.
#[derive(Debug, Clone)]
pub struct Archive {
    limits: Limits,
    size: usize,
    files: BTreeMap<String, (Vec<u8>, bool)>,
    left_out: Vec<LeftOut>,
}

impl Archive {
    /// An archive without files.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            size: 0,
            files: BTreeMap::new(),
            left_out: Vec::new(),
        }
    }

    /// Adds a file, as far as there is room; what matters most comes first.
    pub fn add(&mut self, path: &str, content: &str, keep: Keep) {
        let path = safe_path(path);
        let shown = shortened(content, self.limits.file, keep);
        let is_cut = shown.len() < content.len();
        if self.size + shown.len() > self.limits.total {
            self.leave_out(
                &path,
                format!("the archive would be larger than {} bytes", self.limits.total),
            );
            return;
        }
        if is_cut {
            let why = format!("only {} of {} bytes", shown.len(), content.len());
            self.leave_out(&format!("the rest of {path}"), why);
        }
        self.size += shown.len();
        self.files.insert(path, (shown.as_bytes().to_vec(), is_cut));
    }

    /// Notes what is not in the archive.
    pub fn leave_out(&mut self, what: &str, why: impl Into<String>) {
        self.left_out.push(LeftOut {
            what: what.to_owned(),
            why: why.into(),
        });
    }

    /// Returns what is not in the archive, in an order of its own.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut left_out = self.left_out.clone();
        left_out.sort();
        left_out.dedup();
        left_out
    }

    /// Returns how many files there are.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// Writes the archive below a folder of this name, with a list of its contents.
    pub fn write(&self, folder: &str, output: impl Write) -> io::Result<()> {
        let compressed = GzBuilder::new()
            .operating_system(255)
            .write(output, Compression::default());
        let mut tar = tar::Builder::new(compressed);
        let list = self.contents()?;
        let list = (CONTENTS, list.as_slice());
        let files = self
            .files
            .iter()
            .map(|(path, (content, _))| (path.as_str(), content.as_slice()));
        for (path, content) in [list].into_iter().chain(files) {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(FILE_MODE);
            // The same files are the same archive, whenever and by whom it is made.
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            tar.append_data(&mut header, format!("{folder}/{path}"), content)?;
        }
        tar.into_inner()?.finish()?.flush()
    }

    fn contents(&self) -> io::Result<Vec<u8>> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Contents {
            files: Vec<Entry>,
            left_out: Vec<LeftOut>,
        }
        let files = self.files.iter().map(|(path, (content, is_cut))| Entry {
            path: path.clone(),
            bytes: content.len(),
            sha256: hexadecimal(digest(&SHA256, content).as_ref()),
            is_cut: *is_cut,
        });
        let contents = Contents {
            files: files.collect(),
            left_out: self.left_out(),
        };
        let mut text = serde_json::to_vec_pretty(&contents)?;
        text.push(b'\n');
        Ok(text)
    }
}

/// Returns the part of a text that fits, between characters.
fn shortened(text: &str, most: usize, keep: Keep) -> &str {
    if text.len() <= most {
        return text;
    }
    match keep {
        Keep::Start => text.get(..text.floor_char_boundary(most)),
        Keep::End => text.get(text.ceil_char_boundary(text.len() - most)..),
    }
    .unwrap_or_default()
}

/// Returns a path that unpacks everywhere: names of objects may have colons, and may be long.
fn safe_path(path: &str) -> String {
    let plain: String = path
        .chars()
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' | '/' => character,
            _ => '_',
        })
        .collect();
    let plain = plain
        .split('/')
        .filter(|part| !part.is_empty() && !part.bytes().all(|byte| byte == b'.'))
        .collect::<Vec<_>>()
        .join("/");
    if plain == path && plain.len() <= LONGEST_PATH {
        return plain;
    }
    // Two that become the same are told apart.
    let mark = hexadecimal(&digest(&SHA256, path.as_bytes()).as_ref()[..4]);
    let start = plain.get(..plain.len().min(LONGEST_PATH)).unwrap_or_default();
    format!("{start}-{mark}")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    const ROOMY: Limits = Limits {
        total: 1000,
        file: 1000,
    };

    fn files(bytes: &[u8]) -> BTreeMap<String, String> {
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
        let entries = archive.entries().expect("entries");
        entries
            .map(|entry| {
                let mut entry = entry.expect("an entry");
                let path = entry.path().expect("a path").display().to_string();
                let mut text = String::new();
                entry.read_to_string(&mut text).expect("a text");
                (path, text)
            })
            .collect()
    }

    fn written(archive: &Archive) -> Vec<u8> {
        let mut bytes = Vec::new();
        archive.write("snapshot", &mut bytes).expect("an archive");
        bytes
    }

    #[test]
    fn an_archive_is_the_same_in_whatever_order_it_was_filled() {
        let mut one = Archive::new(ROOMY);
        let mut other = Archive::new(ROOMY);
        one.add("a", "1", Keep::Start);
        one.add("b/c", "2", Keep::Start);
        other.add("b/c", "2", Keep::Start);
        other.add("a", "1", Keep::Start);
        assert_eq!(written(&one), written(&other));
        let files = files(&written(&one));
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(names, ["snapshot/a", "snapshot/b/c", "snapshot/contents.json"]);
        assert_eq!(files["snapshot/b/c"], "2");
    }

    #[test]
    fn what_is_too_large_is_cut_or_left_out_and_told() {
        let mut archive = Archive::new(Limits { total: 10, file: 6 });
        archive.add("object", "äöüß", Keep::Start);
        archive.add("log", "0123456789", Keep::End);
        archive.add("log2", "0123", Keep::End);
        archive.leave_out("metrics", "not reachable");
        let told: Vec<String> = archive
            .left_out()
            .iter()
            .map(|one| format!("{}: {}", one.what, one.why))
            .collect();
        assert_eq!(
            told,
            [
                "log: the archive would be larger than 10 bytes",
                "metrics: not reachable",
                "the rest of object: only 6 of 8 bytes"
            ]
        );
        let files = files(&written(&archive));
        assert_eq!(files["snapshot/object"], "äöü");
        assert_eq!(files["snapshot/log2"], "0123");
        assert!(files["snapshot/contents.json"].contains("\"isCut\": true"));
    }

    #[test]
    fn a_path_unpacks_everywhere() {
        assert_eq!(safe_path("objects/a/b.yaml"), "objects/a/b.yaml");
        for odd in [
            "../../etc/passwd",
            "/etc/passwd",
            "a/system:node",
            "a//b",
            &"x".repeat(400),
        ] {
            let path = safe_path(odd);
            assert!(
                !path.starts_with('/') && !path.contains("..") && path.len() < 220,
                "{path}"
            );
        }
        assert_ne!(safe_path("a:b"), safe_path("a_b"));
    }
}
