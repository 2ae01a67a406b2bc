//! Volumes of real pods, as directories: configuration, secrets, tokens and scratch space.
//!
//! Files appear and change together, as with upstream's kubelet: they are written to a new directory, and the link `..data`
//! is then moved to it. A reader sees all of the old or all of the new.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::environment::{self, Lookup, data_of, keys_of};
use super::requests::items;

/// The files of a volume: path below it, mode, content.
pub type Files = BTreeMap<String, (u32, Vec<u8>)>;

/// The mode of files where the pod says nothing.
const USUAL_MODE: u32 = 0o644;

/// The mode of tokens, whatever the pod says: they are the machine's user's alone.
const TOKEN_MODE: u32 = 0o600;

/// Gives tokens of service accounts.
pub trait Tokens {
    /// Returns a token of the pod's ServiceAccount for an audience, that is good for so many seconds.
    fn token(&self, audience: &str, seconds: i64) -> Result<Vec<u8>, String>;
}

/// What a volume is.
#[derive(Debug, PartialEq, Eq)]
pub enum Volume {
    /// Files that the node writes and keeps up to date.
    Files(Files),
    /// A directory that is empty at first.
    Scratch,
    /// A directory that outlives the pod, by the name of the claim.
    Claimed(String),
    /// A path of this machine.
    Host(PathBuf),
}

/// Returns what a volume of a pod is, or why it can't be had: in the kubelet's words.
pub fn read(
    pod: &Value,
    volume: &Value,
    lookup: &impl Lookup,
    tokens: &impl Tokens,
) -> Result<Volume, String> {
    let has = |kind: &str| volume.get(kind).is_some_and(|source| !source.is_null());
    if has("configMap") || has("secret") || has("downwardAPI") {
        let mode = ["configMap", "secret", "downwardAPI"]
            .iter()
            .find_map(|kind| volume[*kind]["defaultMode"].as_u64())
            .and_then(|mode| u32::try_from(mode).ok())
            .unwrap_or(USUAL_MODE);
        let mut source = volume.clone();
        if let Some(name) = source["secret"]["secretName"].as_str().map(str::to_owned) {
            source["secret"]["name"] = name.into();
        }
        return files_of(pod, &source, mode, lookup, tokens).map(Volume::Files);
    }
    if has("projected") {
        let projected = &volume["projected"];
        let mode = projected["defaultMode"]
            .as_u64()
            .and_then(|mode| u32::try_from(mode).ok())
            .unwrap_or(USUAL_MODE);
        let mut files = Files::new();
        for source in items(&projected["sources"]) {
            files.extend(files_of(pod, source, mode, lookup, tokens)?);
        }
        return Ok(Volume::Files(files));
    }
    if let Some(claim) = volume["persistentVolumeClaim"]["claimName"].as_str() {
        return Ok(Volume::Claimed(claim.to_owned()));
    }
    if let Some(path) = volume["hostPath"]["path"].as_str() {
        return Ok(Volume::Host(path.into()));
    }
    if has("emptyDir") || has("ephemeral") {
        return Ok(Volume::Scratch);
    }
    let kind = volume
        .as_object()
        .into_iter()
        .flatten()
        .map(|(kind, _)| kind.as_str())
        .find(|kind| *kind != "name");
    Err(format!(
        "volume \"{}\" is of kind {}, which this node doesn't have; use configMap, secret, projected, downwardAPI, \
         emptyDir, hostPath or persistentVolumeClaim",
        volume["name"].as_str().unwrap_or_default(),
        kind.unwrap_or("unknown")
    ))
}

fn files_of(
    pod: &Value,
    source: &Value,
    mode: u32,
    lookup: &impl Lookup,
    tokens: &impl Tokens,
) -> Result<Files, String> {
    let mut files = Files::new();
    for (field, plural, kind) in [
        ("configMap", "configmaps", "configmap"),
        ("secret", "secrets", "secret"),
    ] {
        let Some(name) = source[field]["name"].as_str() else {
            continue;
        };
        let optional = source[field]["optional"] == true;
        let Some(object) = lookup.object(plural, name) else {
            if optional {
                continue;
            }
            return Err(format!("{kind} \"{name}\" not found"));
        };
        let chosen = source[field]["items"]
            .as_array()
            .filter(|chosen| !chosen.is_empty());
        match chosen {
            None => {
                for key in keys_of(&object) {
                    if let Some(bytes) = data_of(plural, &object, &key) {
                        files.insert(key, (mode, bytes));
                    }
                }
            }
            Some(chosen) => {
                for item in chosen {
                    let key = item["key"].as_str().unwrap_or_default();
                    match data_of(plural, &object, key) {
                        Some(bytes) => {
                            files.insert(path_of(item), (mode_of(item, mode), bytes));
                        }
                        None if optional => {}
                        None => return Err(format!("references non-existent {kind} key: {key}")),
                    }
                }
            }
        }
    }
    for item in items(&source["downwardAPI"]["items"]) {
        let text = match item["fieldRef"]["fieldPath"].as_str() {
            Some(path) => environment::field(pod, path),
            None => environment::resource(pod, &Value::Null, &item["resourceFieldRef"]),
        };
        files.insert(
            path_of(item),
            (mode_of(item, mode), text.unwrap_or_default().into_bytes()),
        );
    }
    if let Some(token) = source
        .get("serviceAccountToken")
        .filter(|token| token.is_object())
    {
        let seconds = token["expirationSeconds"].as_i64().unwrap_or(3600);
        let bytes = tokens.token(token["audience"].as_str().unwrap_or_default(), seconds)?;
        files.insert(path_of(token), (TOKEN_MODE, bytes));
    }
    Ok(files)
}

/// Returns the path of an item below its volume; what would lead out of it is left out.
fn path_of(item: &Value) -> String {
    let path = item["path"].as_str().unwrap_or_default();
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && !matches!(*part, "." | ".."))
        .collect();
    parts.join("/")
}

fn mode_of(item: &Value, usual: u32) -> u32 {
    item["mode"]
        .as_u64()
        .and_then(|mode| u32::try_from(mode).ok())
        .unwrap_or(usual)
}

/// Makes a directory that only this user can enter.
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file that only this user can read, in one step.
pub fn private_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    write_file(Path::new(&beside), TOKEN_MODE, bytes)?;
    fs::rename(beside, path)
}

fn write_file(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode & 0o777)
        .open(path)?;
    file.write_all(bytes)
}

/// Makes a directory hold these files, all at once; whether anything changed.
pub fn publish(directory: &Path, files: &Files) -> io::Result<bool> {
    private_directory(directory)?;
    let link = directory.join("..data");
    let old = fs::read_link(&link).ok();
    if old.is_some()
        && files
            .iter()
            .all(|(path, (_, bytes))| fs::read(link.join(path)).is_ok_and(|there| there == *bytes))
    {
        let count = count_files(&link)?;
        if count == files.len() {
            return Ok(false);
        }
    }
    let stamp = format!("..{}", uuid::Uuid::new_v4().simple());
    let fresh = directory.join(&stamp);
    private_directory(&fresh)?;
    for (path, (mode, bytes)) in files {
        let place = fresh.join(path);
        if let Some(parent) = place.parent() {
            private_directory(parent)?;
        }
        write_file(&place, *mode, bytes)?;
    }
    let beside = directory.join("..data_tmp");
    let _ = fs::remove_file(&beside);
    symlink(&stamp, &beside)?;
    fs::rename(&beside, &link)?;
    // What the pod sees are links into `..data`, one for the first part of each path.
    let mut visible: Vec<&str> = files.keys().filter_map(|path| path.split('/').next()).collect();
    visible.dedup();
    for name in &visible {
        let place = directory.join(name);
        if fs::symlink_metadata(&place).is_err() {
            symlink(Path::new("..data").join(name), &place)?;
        }
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with("..") && !visible.contains(&&*name) {
            fs::remove_file(entry.path())?;
        }
    }
    if let Some(old) = old {
        let _ = fs::remove_dir_all(directory.join(old));
    }
    Ok(true)
}

fn count_files(directory: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        count += if entry.file_type()?.is_dir() {
            count_files(&entry.path())?
        } else {
            1
        };
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;

    struct World;

    impl Lookup for World {
        fn object(&self, plural: &str, name: &str) -> Option<Value> {
            match (plural, name) {
                ("configmaps", "settings") => Some(json!({"data": {"a": "1", "b": "2"}})),
                ("secrets", "keys") => Some(json!({"data": {"k": "c2VjcmV0"}})),
                _ => None,
            }
        }
    }

    impl Tokens for World {
        fn token(&self, audience: &str, seconds: i64) -> Result<Vec<u8>, String> {
            Ok(format!("token for {audience} {seconds}").into_bytes())
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
    fn volume(volume: Value) -> Result<Vec<String>, String> {
        let pod = json!({"metadata": {"name": "p", "namespace": "n", "labels": {"app": "x"}}});
        match read(&pod, &volume, &World, &World)? {
            Volume::Files(files) => Ok(files
                .into_iter()
                .map(|(path, (mode, bytes))| format!("{path} {mode:o} {}", String::from_utf8_lossy(&bytes)))
                .collect()),
            other => Ok(vec![format!("{other:?}")]),
        }
    }

    #[test]
    fn volumes_are_files_directories_and_paths() {
        for (source, expected) in [
            (
                json!({"configMap": {"name": "settings"}}),
                Ok(vec!["a 644 1", "b 644 2"]),
            ),
            (
                json!({"configMap": {"name": "settings", "defaultMode": 256, "items": [{"key": "b", "path": "x/../y", "mode": 384}]}}),
                Ok(vec!["x/y 600 2"]),
            ),
            (
                json!({"configMap": {"name": "settings", "items": [{"key": "z", "path": "z"}]}}),
                Err("references non-existent configmap key: z"),
            ),
            (
                json!({"configMap": {"name": "none"}}),
                Err("configmap \"none\" not found"),
            ),
            (
                json!({"configMap": {"name": "none", "optional": true}}),
                Ok(vec![]),
            ),
            (
                json!({"secret": {"secretName": "keys"}}),
                Ok(vec!["k 644 secret"]),
            ),
            (
                json!({"downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}}),
                Ok(vec!["labels 644 app=\"x\""]),
            ),
            (
                json!({"projected": {"sources": [
                {"serviceAccountToken": {"path": "token", "audience": "me", "expirationSeconds": 600}},
                {"configMap": {"name": "settings", "items": [{"key": "a", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}]}}),
                Ok(vec![
                    "ca.crt 644 1",
                    "namespace 644 n",
                    "token 600 token for me 600",
                ]),
            ),
            (json!({"emptyDir": {}}), Ok(vec!["Scratch"])),
            (json!({"hostPath": {"path": "/dev"}}), Ok(vec!["Host(\"/dev\")"])),
            (
                json!({"persistentVolumeClaim": {"claimName": "c"}}),
                Ok(vec!["Claimed(\"c\")"]),
            ),
            (
                json!({"name": "v", "nfs": {"server": "s"}}),
                Err("volume \"v\" is of kind nfs, which this node doesn't have; use \
                configMap, secret, projected, downwardAPI, emptyDir, hostPath or persistentVolumeClaim"),
            ),
        ] {
            let expected = expected
                .map(|all: Vec<&str>| all.iter().map(ToString::to_string).collect::<Vec<_>>())
                .map_err(str::to_owned);
            assert_eq!(volume(source.clone()), expected, "{source}");
        }
    }

    #[test]
    fn files_change_all_at_once_and_old_ones_go() {
        let directory = tempfile::tempdir().expect("a directory");
        let place = directory.path().join("v");
        let files = |all: &[(&str, &str)]| -> Files {
            all.iter()
                .map(|(path, text)| ((*path).to_owned(), (0o640, text.as_bytes().to_vec())))
                .collect()
        };
        assert!(publish(&place, &files(&[("a", "1"), ("d/b", "2")])).expect("written"));
        assert!(!publish(&place, &files(&[("a", "1"), ("d/b", "2")])).expect("the same"));
        assert_eq!(fs::read_to_string(place.join("d/b")).expect("read"), "2");
        assert!(publish(&place, &files(&[("a", "3")])).expect("written"));
        assert_eq!(fs::read_to_string(place.join("a")).expect("read"), "3");
        assert!(fs::symlink_metadata(place.join("d")).is_err(), "it is gone");
        let mode = fs::metadata(place.join("a"))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o640);
        let versions = fs::read_dir(&place).expect("a directory").filter(|entry| {
            entry
                .as_ref()
                .is_ok_and(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        });
        assert_eq!(versions.count(), 1, "old versions are removed");
    }
}
