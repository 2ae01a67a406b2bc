use std::fs;
use std::io::{Read, Write};

use super::{ContentError, ContentStore};
use crate::digest::Digest;

fn store(capacity: u64) -> (tempfile::TempDir, ContentStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = ContentStore::open(directory.path(), capacity).unwrap();
    (directory, store)
}

#[test]
fn what_is_inserted_can_be_read() {
    let (_directory, store) = store(1000);
    let digest = store.insert(b"content").unwrap();
    assert_eq!(digest, Digest::of(b"content"));
    assert!(store.contains(&digest));
    assert_eq!(store.size(&digest), Some(7));
    assert_eq!(store.read(&digest, 7).unwrap(), b"content");
    let mut text = String::new();
    store
        .open_blob(&digest)
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "content");
    assert_eq!(store.insert(b"content").unwrap(), digest);
    assert_eq!(store.blobs().unwrap(), [(digest, 7)]);
    assert!(matches!(
        store.read(&digest, 6),
        Err(ContentError::TooLarge {
            size: 7,
            limit: 6,
            ..
        })
    ));
}

#[test]
fn an_empty_blob_is_a_blob() {
    let (_directory, store) = store(1000);
    let digest = store.insert(b"").unwrap();
    assert_eq!(store.read(&digest, 0).unwrap(), b"");
}

#[test]
fn a_missing_blob_is_named() {
    let (_directory, store) = store(1000);
    let digest = Digest::of(b"nothing");
    assert!(!store.contains(&digest));
    let error = store.read(&digest, 10).unwrap_err().to_string();
    assert!(error.contains(&digest.to_string()) && error.contains(&*store.root().to_string_lossy()));
}

#[test]
fn a_tampered_blob_is_reported_set_aside_and_taken_again() {
    for damaged in [&b"kontent"[..], b"cont", b"", b"content and more"] {
        let (_directory, store) = store(1000);
        let digest = store.insert(b"content").unwrap();
        fs::write(store.blob_path(&digest), damaged).unwrap();
        match store.read(&digest, 100).unwrap_err() {
            ContentError::Damaged { found, aside, .. } => {
                assert_eq!(found, Digest::of(damaged));
                assert_eq!(fs::read(aside).unwrap(), damaged);
            }
            other => panic!("{other}"),
        }
        assert!(!store.contains(&digest));
        store.insert(b"content").unwrap();
        assert_eq!(store.read(&digest, 100).unwrap(), b"content");
    }
}

#[test]
fn a_tampered_blob_is_found_while_it_is_streamed() {
    let (_directory, store) = store(1000);
    let digest = store.insert(b"content").unwrap();
    fs::write(store.blob_path(&digest), "kontent").unwrap();
    let mut blob = store.open_verified(&digest).unwrap();
    let mut start = [0; 3];
    blob.read_exact(&mut start).unwrap();
    let error = blob.finish().unwrap_err();
    assert!(matches!(
        ContentError::of_stream(error, store.root(), "read"),
        ContentError::Damaged { .. }
    ));
    assert!(!store.contains(&digest));
}

#[test]
fn a_partial_is_continued_by_the_next_attempt() {
    let (_directory, store) = store(1000);
    let digest = Digest::of(b"content");
    let mut first = store.ingest(&digest, Some(7)).unwrap();
    assert_eq!(first.offset(), 0);
    first.write_all(b"con").unwrap();
    drop(first);
    assert!(!store.contains(&digest));
    let other_process = ContentStore::open(store.root(), 1000).unwrap();
    let mut second = other_process.ingest(&digest, Some(7)).unwrap();
    assert_eq!(second.offset(), 3);
    assert!(!second.is_complete());
    second.write_all(b"tent").unwrap();
    assert!(second.is_complete());
    assert_eq!(second.commit().unwrap(), digest);
    assert_eq!(store.read(&digest, 7).unwrap(), b"content");
    let third = store.ingest(&digest, Some(7)).unwrap();
    assert!(third.is_complete());
    assert_eq!(third.offset(), 7);
    assert_eq!(third.commit().unwrap(), digest);
}

#[test]
fn a_partial_can_be_begun_again() {
    let (_directory, store) = store(1000);
    let digest = Digest::of(b"content");
    let mut ingest = store.ingest(&digest, None).unwrap();
    ingest.write_all(b"wrong").unwrap();
    ingest.restart().unwrap();
    assert_eq!(ingest.offset(), 0);
    ingest.write_all(b"content").unwrap();
    assert_eq!(ingest.commit().unwrap(), digest);
}

#[test]
fn content_with_the_wrong_digest_is_thrown_away() {
    let (_directory, store) = store(1000);
    let digest = Digest::of(b"content");
    let mut ingest = store.ingest(&digest, Some(7)).unwrap();
    ingest.write_all(b"kontent").unwrap();
    assert!(matches!(ingest.commit(), Err(ContentError::WrongDigest { .. })));
    assert!(!store.contains(&digest));
    assert_eq!(store.ingest(&digest, Some(7)).unwrap().offset(), 0);
}

#[test]
fn content_of_the_wrong_size_is_refused_and_what_is_short_can_be_continued() {
    let (_directory, store) = store(1000);
    let digest = Digest::of(b"content");
    let mut ingest = store.ingest(&digest, Some(7)).unwrap();
    assert!(ingest.write_all(b"content and more").is_err());
    ingest.write_all(b"con").unwrap();
    assert!(matches!(
        ingest.commit(),
        Err(ContentError::WrongSize {
            expected: 7,
            found: 3,
            ..
        })
    ));
    let mut ingest = store.ingest(&digest, Some(7)).unwrap();
    assert_eq!(ingest.offset(), 3);
    ingest.write_all(b"tent").unwrap();
    ingest.commit().unwrap();
}

#[test]
fn one_blob_is_written_by_one_at_a_time() {
    let (_directory, store) = store(1000);
    let digest = Digest::of(b"content");
    let mut ingest = store.ingest(&digest, Some(7)).unwrap();
    assert!(store.try_ingest(&digest, Some(7)).unwrap().is_none());
    ingest.write_all(b"content").unwrap();
    let waiting = std::thread::spawn({
        let store = store.clone();
        move || store.ingest(&digest, Some(7)).unwrap().commit().unwrap()
    });
    ingest.commit().unwrap();
    assert_eq!(waiting.join().unwrap(), digest);
    assert!(store.try_ingest(&digest, None).unwrap().unwrap().is_complete());
    assert_eq!(fs::read_dir(store.root().join("partial")).unwrap().count(), 0);
}

#[test]
fn many_writers_of_the_same_blobs_agree() {
    let (_directory, store) = store(u64::MAX);
    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..20_u8 {
                    let content = vec![number; 4000];
                    let digest = Digest::of(&content);
                    let mut ingest = store.ingest(&digest, Some(4000)).unwrap();
                    let offset = ingest.offset() as usize;
                    // Some give up half-way, as a lost connection does.
                    let end = if (writer + number) % 3 == 0 { 2000 } else { 4000 };
                    if offset < end {
                        ingest.write_all(&content[offset..end]).unwrap();
                    }
                    if end == 4000 {
                        ingest.commit().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(store.blobs().unwrap().len(), 20);
    for (digest, _) in store.blobs().unwrap() {
        store.read(&digest, 4000).unwrap();
    }
}

#[test]
fn content_without_a_name_gets_its_digest_at_the_end() {
    let (_directory, store) = store(1000);
    let mut ingest = store.ingest_unnamed().unwrap();
    ingest.write_all(b"con").unwrap();
    ingest.write_all(b"tent").unwrap();
    assert_eq!(ingest.commit().unwrap(), Digest::of(b"content"));
    drop(store.ingest_unnamed().unwrap());
    assert_eq!(fs::read_dir(store.root().join("partial")).unwrap().count(), 0);
}

#[test]
fn the_least_recently_used_blobs_go_first() {
    let (_directory, store) = store(30);
    let digests: Vec<_> = [b"aaaaaaaaaa", b"bbbbbbbbbb", b"cccccccccc"]
        .map(|content| store.insert(content).unwrap())
        .into();
    store.read(&digests[0], 10).unwrap();
    let new = store.insert(b"dddddddddd").unwrap();
    let present: Vec<_> = digests.iter().map(|digest| store.contains(digest)).collect();
    assert_eq!(present, [true, false, true]);
    assert!(store.contains(&new));
}

#[test]
fn pinned_blobs_stay_even_beyond_the_capacity() {
    let (_directory, store) = store(20);
    let first = store.insert(b"aaaaaaaaaa").unwrap();
    let other_process = ContentStore::open(store.root(), 20).unwrap();
    let pin = other_process.pin(&first).unwrap();
    let second = store.insert(b"bbbbbbbbbb").unwrap();
    let third = store.insert(b"cccccccccc").unwrap();
    assert_eq!(
        [first, second, third].map(|digest| store.contains(&digest)),
        [true, false, true]
    );
    drop(pin);
    assert_eq!(fs::read_dir(store.root().join("pins")).unwrap().count(), 0);
    let fourth = store.insert(b"dddddddddd").unwrap();
    assert_eq!(
        [first, third, fourth].map(|digest| store.contains(&digest)),
        [false, true, true]
    );
}

#[test]
fn a_blob_can_be_pinned_before_it_arrives() {
    let (_directory, store) = store(10);
    let content = b"aaaaaaaaaa";
    let pin = store.pin(&Digest::of(content)).unwrap();
    store.insert(content).unwrap();
    store.insert(b"bbbbbbbbbb").unwrap();
    assert!(store.contains(pin.digest()));
}

#[test]
fn what_is_damaged_or_abandoned_goes_before_good_blobs() {
    let (_directory, store) = store(30);
    let good = store.insert(b"aaaaaaaaaa").unwrap();
    let bad = store.insert(b"bbbbbbbbbb").unwrap();
    fs::write(store.blob_path(&bad), "kkkkkkkkkk").unwrap();
    store.read(&bad, 10).unwrap_err();
    fs::write(
        store.partial_path("unnamed-left-by-a-killed-process"),
        "zzzzzzzzzz",
    )
    .unwrap();
    let new = store.insert(b"cccccccccc").unwrap();
    assert_eq!([good, new].map(|digest| store.contains(&digest)), [true, true]);
    assert_eq!(fs::read_dir(store.root().join("partial")).unwrap().count(), 0);
}

#[test]
fn a_blob_bigger_than_the_store_is_refused_early() {
    let (_directory, store) = store(10);
    let digest = Digest::of(b"content beyond");
    assert!(matches!(
        store.ingest(&digest, Some(14)),
        Err(ContentError::BeyondCapacity {
            size: 14,
            capacity: 10,
            ..
        })
    ));
    let mut endless = store.ingest_unnamed().unwrap();
    endless.write_all(b"0123456789").unwrap();
    let error = endless.write_all(b"0").unwrap_err();
    assert!(matches!(
        ContentError::of_stream(error, store.root(), "write to"),
        ContentError::BeyondCapacity { size: 11, .. }
    ));
}

#[test]
fn a_temporary_store_leaves_nothing_behind() {
    let store = ContentStore::temporary().unwrap();
    let root = store.root().to_path_buf();
    let digest = store.insert(b"content").unwrap();
    let pin = store.pin(&digest).unwrap();
    drop(store);
    assert!(root.exists());
    drop(pin);
    assert!(!root.exists());
}

#[test]
fn pins_are_counted_and_cost_one_open_file() {
    let (_directory, store) = store(20);
    let first = store.insert(b"aaaaaaaaaa").unwrap();
    let pin = store.pin(&first).unwrap();
    let again = store.pin(&first).unwrap();
    let many: Vec<_> = (0..3000_u32)
        .map(|number| store.pin(&Digest::of(&number.to_le_bytes())).unwrap())
        .collect();
    assert_eq!(fs::read_dir(store.root().join("pins")).unwrap().count(), 1);
    drop(pin);
    store.insert(b"bbbbbbbbbb").unwrap();
    store.insert(b"cccccccccc").unwrap();
    assert!(store.contains(&first));
    drop(again);
    store.insert(b"dddddddddd").unwrap();
    assert!(!store.contains(&first));
    drop(many);
    assert_eq!(fs::read_dir(store.root().join("pins")).unwrap().count(), 0);
}
