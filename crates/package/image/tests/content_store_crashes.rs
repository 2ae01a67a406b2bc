//! Kills processes while they write to a content store, and looks at what is left.

use std::io::{BufRead as _, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use image::content::ContentStore;
use image::digest::Digest;

/// Names the store for the process that is to be killed.
const STORE: &str = "BATON_TEST_CONTENT_STORE";

/// What a process that is to be killed says when a blob of it is whole.
const COMMITTED: &str = "committed";

const BLOBS: u32 = 40;
const BLOB_BYTES: usize = 60_000;

/// So little that blobs are evicted while others are written.
const CAPACITY: u64 = BLOB_BYTES as u64 * 25;

fn content(number: u32) -> Vec<u8> {
    (0..BLOB_BYTES as u32 / 4)
        .flat_map(|word| (word.wrapping_mul(2_654_435_761) ^ number).to_le_bytes())
        .collect()
}

/// Not a test of its own: what the killed processes run.
#[test]
#[ignore = "runs only as a process that is killed"]
fn writes_until_it_is_killed() {
    let Some(root) = std::env::var_os(STORE) else {
        return;
    };
    let store = ContentStore::open(Path::new(&root), CAPACITY).unwrap();
    let mut has_said = false;
    for number in (0..BLOBS).cycle() {
        let content = content(number);
        let digest = Digest::of(&content);
        if number % 3 == 0 {
            let mut ingest = store.ingest_unnamed().unwrap();
            ingest.write_all(&content).unwrap();
            ingest.commit().unwrap();
            // Once: nobody reads on.
            if !std::mem::replace(&mut has_said, true) {
                println!("{COMMITTED}");
            }
            continue;
        }
        let _pin = store.pin(&digest).unwrap();
        let mut ingest = store.ingest(&digest, Some(content.len() as u64)).unwrap();
        let offset = ingest.offset() as usize;
        for piece in content[offset..].chunks(7000) {
            ingest.write_all(piece).unwrap();
        }
        ingest.commit().unwrap();
    }
}

/// Waits until a writer has a whole blob.
fn until_committed(writer: &mut Child) {
    let output = BufReader::new(writer.stdout.take().unwrap());
    let mut lines = output.lines().map_while(Result::ok);
    assert!(
        lines.any(|line| line.ends_with(COMMITTED)),
        "no writer got as far as its first blob"
    );
}

#[test]
fn every_visible_blob_is_whole_after_processes_were_killed() {
    let directory = tempfile::tempdir().unwrap();
    let mut seen = 0;
    for round in 0..12_u64 {
        let mut writers: Vec<_> = (0..2)
            .map(|_| {
                Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", "writes_until_it_is_killed", "--ignored", "--nocapture"])
                    .env(STORE, directory.path())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        // Half of them are killed before they may have written anything, the others after their first blob.
        if round % 2 == 1 {
            writers.iter_mut().for_each(until_committed);
        }
        // A different moment in every round and every run.
        let random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), round) % 40_000;
        std::thread::sleep(Duration::from_micros(10_000 + random));
        for writer in &mut writers {
            writer.kill().unwrap();
            writer.wait().unwrap();
        }
        let store = ContentStore::open(directory.path(), CAPACITY).unwrap();
        for (digest, _) in store.blobs().unwrap() {
            store.read(&digest, BLOB_BYTES as u64).unwrap();
            seen += 1;
        }
    }
    assert!(seen > 0, "no blob outlived its writer");

    // Whatever was left behind is continued or swept away.
    let store = ContentStore::open(directory.path(), CAPACITY).unwrap();
    for number in 0..BLOBS {
        let content = content(number);
        let mut ingest = store
            .ingest(&Digest::of(&content), Some(content.len() as u64))
            .unwrap();
        let offset = ingest.offset() as usize;
        ingest
            .write_all(content.get(offset..).unwrap_or_default())
            .unwrap();
        let digest = ingest.commit().unwrap();
        assert_eq!(store.read(&digest, BLOB_BYTES as u64).unwrap(), content);
    }
    let used: u64 = store.blobs().unwrap().iter().map(|(_, size)| size).sum();
    assert!(used <= CAPACITY, "{used} bytes are kept");
    for folder in ["partial", "pins"] {
        let left = std::fs::read_dir(directory.path().join(folder)).unwrap().count();
        assert_eq!(left, 0, "something was left in {folder}");
    }
}
