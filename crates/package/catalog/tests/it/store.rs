//! The store against a linear scan, under damage, while it is replaced, and with several writers at once.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use catalog::grpc::serving::{PrepareError, ServeOptions, prepare};
use catalog::reading::MetaRef;
use catalog::store::{CurrentStore, Query, Store, StoreError, StoreWriter};
use image::digest::Digest;
use proptest::prelude::*;

type Object = (String, String, String, String);

fn meta(object: &Object) -> MetaRef<'_> {
    let (schema, package, name, blob) = object;
    MetaRef {
        schema,
        package,
        name,
        blob: blob.as_bytes(),
    }
}

fn build(folder: &Path, digest: &Digest, objects: &[Object]) -> Store {
    let mut writer = StoreWriter::create(folder, digest).unwrap();
    for object in objects {
        writer.push(meta(object)).unwrap();
    }
    writer.finish().unwrap()
}

fn object() -> impl Strategy<Value = Object> {
    let text = prop_oneof![
        Just(String::new()),
        "[abc]",
        "[a-c]{2}",
        Just("olm.package".to_owned()),
        "\\PC{0,3}"
    ];
    (text.clone(), text.clone(), text, "[a-z]{0,20}")
}

/// What a query finds by looking at every object, as catalogd's rules have it.
fn scanned<'a>(objects: &'a [Object], query: Query<'_>) -> Vec<&'a str> {
    let Query {
        schema,
        package,
        name,
    } = query;
    let asks = !(schema.is_empty() && package.is_empty() && name.is_empty());
    objects
        .iter()
        .filter(|object| !asks || !object.0.is_empty())
        .filter(|object| schema.is_empty() || object.0 == schema)
        .filter(|object| package.is_empty() || object.1 == package)
        .filter(|object| name.is_empty() || object.2 == name)
        .map(|object| object.3.as_str())
        .collect()
}

fn found(store: &Store, query: Query<'_>) -> Result<Vec<String>, StoreError> {
    store
        .metas(query)
        .map(|meta| Ok(String::from_utf8(meta.blob()?.to_vec()).unwrap()))
        .collect()
}

fn queries(objects: &[Object]) -> Vec<[&str; 3]> {
    let mut queries = vec![["", "", ""], ["absent", "", ""], ["", "", "zzzz"]];
    for (schema, package, name, _) in objects {
        for mask in 0..8 {
            queries.push([
                if mask & 1 == 0 { "" } else { schema },
                if mask & 2 == 0 { "" } else { package },
                if mask & 4 == 0 { "" } else { name },
            ]);
        }
    }
    queries
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_query_answers_like_a_linear_scan(objects in proptest::collection::vec(object(), 0..24)) {
        let folder = tempfile::tempdir().unwrap();
        let digest = Digest::of(b"x");
        let written = build(folder.path(), &digest, &objects);
        let opened = Store::open(folder.path(), &digest).unwrap().unwrap();
        let body: String = objects
            .iter()
            .map(|object| if object.3.is_empty() { String::new() } else { format!("{}\n", object.3) })
            .collect();
        for store in [written, opened] {
            store.verify().unwrap();
            prop_assert_eq!(store.len(), objects.len());
            prop_assert_eq!(store.content().unwrap(), body.as_bytes());
            for start in 0..=body.len() {
                let end = (start + 7).min(body.len());
                prop_assert_eq!(
                    store.content_range(start as u64..end as u64).unwrap(),
                    &body.as_bytes()[start..end]
                );
            }
            for [schema, package, name] in queries(&objects) {
                let query = Query { schema, package, name };
                prop_assert_eq!(found(&store, query).unwrap(), scanned(&objects, query));
            }
        }
    }
}

/// A catalog with everything that a store can hold.
fn small_catalog(folder: &Path) {
    let text = r#"{"schema":"olm.package","name":"foo","defaultChannel":"stable","icon":{"base64data":"aGk=","mediatype":"image/png"}}
{"schema":"olm.channel","package":"foo","name":"stable","entries":[{"name":"foo.v1.0.0"},{"name":"foo.v1.1.0","replaces":"foo.v1.0.0","skips":["foo.v0.9.0"]}]}
{"schema":"olm.bundle","package":"foo","name":"foo.v1.0.0","image":"quay.io/a/foo:1","properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.0.0"}},{"type":"olm.gvk","value":{"group":"g","version":"v1","kind":"Foo"}},{"type":"olm.csv.metadata","value":{"displayName":"Foo"}}]}
{"schema":"olm.bundle","package":"foo","name":"foo.v1.1.0","image":"quay.io/a/foo:2","properties":[{"type":"olm.package","value":{"packageName":"foo","version":"1.1.0"}},{"type":"olm.gvk","value":{"group":"g","version":"v1","kind":"Foo"}}]}
{"schema":"custom","package":"foo","x":1}
"#;
    fs::write(folder.join("catalog.json"), text).unwrap();
}

/// Everything that a store can be asked, as one text; an error where the store refuses.
fn everything(store: &Store) -> Result<Vec<String>, StoreError> {
    let mut all = vec![format!("{:?}", store.content()?)];
    for query in ["olm.package", "olm.bundle", "custom"] {
        let query = Query {
            schema: query,
            ..Query::default()
        };
        all.push(format!("{:?}", found(store, query)?));
    }
    if let Some(registry) = store.registry() {
        for package in registry.packages() {
            all.push(format!("{} {:?}", package.name(), package.message()?));
            for channel in package.channels() {
                all.push(format!(
                    "{} {:?}",
                    channel.name(),
                    channel.head().map(|head| head.name())
                ));
            }
        }
        for entry in registry.entries() {
            let skips: Vec<&str> = entry.skips().collect();
            all.push(format!("{} {} {skips:?}", entry.name(), entry.replaces()));
            all.push(format!(
                "{:?} {:?}",
                entry.listed_message()?,
                entry.single_message()?
            ));
        }
        let provided = registry.entries_that_provide("g", "v1", "Foo");
        all.push(format!(
            "{:?}",
            provided.map(|entry| entry.name()).collect::<Vec<_>>()
        ));
    }
    Ok(all)
}

fn served_store(cache: &Path) -> (Store, Digest) {
    let configs = tempfile::tempdir().unwrap();
    small_catalog(configs.path());
    let options = ServeOptions {
        source: configs.path().to_path_buf(),
        cache_directory: Some(cache.to_path_buf()),
        cache_only: true,
        ..ServeOptions::default()
    };
    let store = prepare(&options).unwrap().store;
    let digest = *store.digest();
    (store, digest)
}

#[test]
fn a_store_torn_anywhere_is_detected_when_it_is_opened() {
    let cache = tempfile::tempdir().unwrap();
    let (_, digest) = served_store(cache.path());
    let folder = cache.path().join("baton.v1");
    let path = folder.join(format!("{}.catalog", digest.hex()));
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        // A torn file must not be written in place: others may have it mapped.
        fs::remove_file(&path).unwrap();
        fs::write(&path, &whole[..length]).unwrap();
        let error = Store::open(&folder, &digest).unwrap_err();
        assert!(error.calls_for_rebuild(), "{length}: {error}");
    }
}

#[test]
fn a_flipped_byte_is_an_error_and_never_another_answer() {
    let cache = tempfile::tempdir().unwrap();
    let (store, digest) = served_store(cache.path());
    let expected = everything(&store).unwrap();
    let folder = cache.path().join("baton.v1");
    let path = folder.join(format!("{}.catalog", digest.hex()));
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for position in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[position] ^= 1 << (position % 8);
        fs::remove_file(&path).unwrap();
        fs::write(&path, &bytes).unwrap();
        let answer = Store::open(&folder, &digest).and_then(|store| everything(&store.unwrap()));
        match answer {
            Ok(answer) => assert_eq!(answer, expected, "byte {position}"),
            Err(error) => {
                assert!(error.calls_for_rebuild(), "byte {position}: {error}");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, whole.len(), "every byte is under a checksum");
}

#[test]
fn an_unusable_store_is_built_again_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let digest = Digest::of(b"x");
    let path = folder.path().join(format!("{}.catalog", digest.hex()));
    fs::write(&path, "something else").unwrap();
    let error = Store::open(folder.path(), &digest).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("is not usable: it is another kind of file; delete it and it is built again")
    );
    let object = ("s".into(), "p".into(), "n".into(), "{}".into());
    let rebuilt = Store::open_or_build(
        folder.path(),
        &digest,
        |mut writer| -> Result<Store, StoreError> {
            writer.push(meta(&object))?;
            writer.finish()
        },
    );
    assert_eq!(rebuilt.unwrap().content().unwrap(), "{}\n");
    assert!(Store::open(folder.path(), &digest).unwrap().is_some());
}

#[test]
fn an_answer_never_mixes_two_catalogs_while_one_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = |letter: &str| {
        let objects: Vec<Object> = (0..200)
            .map(|number| ("s".into(), "p".into(), format!("{number}"), letter.repeat(50)))
            .collect();
        build(folder.path(), &Digest::of(letter.as_bytes()), &objects)
    };
    let stores = [catalog("a"), catalog("b")];
    let current = Arc::new(CurrentStore::new(stores[0].clone()));
    let done = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..8)
        .map(|_| {
            let (current, done) = (Arc::clone(&current), Arc::clone(&done));
            std::thread::spawn(move || {
                let mut reads = 0_u64;
                while !done.load(Ordering::Relaxed) || reads == 0 {
                    let store = current.get().unwrap();
                    let all = found(
                        &store,
                        Query {
                            package: "p",
                            ..Query::default()
                        },
                    )
                    .unwrap();
                    assert_eq!(all.len(), 200);
                    assert!(all.iter().all(|blob| *blob == all[0]));
                    reads += 1;
                }
            })
        })
        .collect();
    for round in 0..2000 {
        let replaced = current.replace(stores[round % 2].clone());
        assert!(replaced.is_some());
        if round == 1000 {
            stores[0].delete_others(folder.path()).unwrap();
        }
    }
    done.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().unwrap();
    }
    assert!(current.clear().is_some());
    assert!(current.get().is_none());
}

#[test]
fn writers_of_the_same_catalog_do_not_disturb_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let digest = Digest::of(b"x");
    let objects: Vec<Object> = (0..100)
        .map(|number| {
            (
                "s".into(),
                "p".into(),
                format!("{number}"),
                format!("{{\"n\":{number}}}"),
            )
        })
        .collect();
    let mut writers: Vec<StoreWriter> = (0..4)
        .map(|_| StoreWriter::create(folder.path(), &digest).unwrap())
        .collect();
    for object in &objects {
        for writer in &mut writers {
            writer.push(meta(object)).unwrap();
        }
    }
    drop(writers.pop());
    std::thread::scope(|scope| {
        for writer in writers {
            scope.spawn(|| writer.finish().unwrap().verify().unwrap());
        }
    });
    Store::open(folder.path(), &digest)
        .unwrap()
        .unwrap()
        .verify()
        .unwrap();
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "unfinished files are gone");
}

#[test]
fn a_package_is_found_with_everything_that_belongs_to_it() {
    let cache = tempfile::tempdir().unwrap();
    let (store, _) = served_store(cache.path());
    let package = store.package("foo").unwrap();
    assert_eq!(package.meta().unwrap().name(), "foo");
    assert_eq!(package.metas("olm.bundle").count(), 2);
    assert_eq!(package.metas("").count(), 4);
    assert_eq!(package.named("olm.bundle", "foo.v1.1.0").count(), 1);
    assert_eq!(store.packages().count(), 1);
    assert!(store.package("bar").is_none());
    assert!(store.package("").is_none());
}

#[test]
fn a_cache_is_used_rebuilt_or_refused_as_opm_serve_does() {
    let cache = tempfile::tempdir().unwrap();
    let configs = tempfile::tempdir().unwrap();
    small_catalog(configs.path());
    let serving = ServeOptions {
        source: configs.path().to_path_buf(),
        cache_directory: Some(cache.path().to_path_buf()),
        ..ServeOptions::default()
    };
    let building = ServeOptions {
        cache_only: true,
        ..serving.clone()
    };
    let error = prepare(&serving).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("integrity check failed: read existing cache digest: open "),
        "{error}"
    );
    prepare(&building).unwrap();
    prepare(&serving).unwrap();

    fs::write(configs.path().join("more.json"), r#"{"schema":"custom"}"#).unwrap();
    let error = prepare(&serving).unwrap_err().to_string();
    assert!(
        error.starts_with("integrity check failed: cache requires rebuild: cache reports digest as \""),
        "{error}"
    );
    let lenient = ServeOptions {
        enforce_integrity: Some(false),
        ..serving.clone()
    };
    prepare(&lenient).unwrap();
    prepare(&serving).unwrap();
    let stores = fs::read_dir(cache.path().join("baton.v1")).unwrap().count();
    assert_eq!(stores, 1, "the store of the earlier files is gone");

    let nowhere = ServeOptions {
        cache_directory: None,
        enforce_integrity: Some(true),
        ..serving
    };
    assert!(matches!(prepare(&nowhere), Err(PrepareError::NothingToEnforce)));
    let temporary = ServeOptions {
        enforce_integrity: None,
        ..nowhere
    };
    assert_eq!(prepare(&temporary).unwrap().store.len(), 6);
}

#[test]
fn a_cache_of_opm_itself_does_not_stand_in_the_way() {
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir(cache.path().join("pogreb.v1")).unwrap();
    fs::write(cache.path().join("pogreb.v1/digest"), "0123").unwrap();
    let configs = tempfile::tempdir().unwrap();
    small_catalog(configs.path());
    let options = ServeOptions {
        source: configs.path().to_path_buf(),
        cache_directory: Some(cache.path().to_path_buf()),
        ..ServeOptions::default()
    };
    assert_eq!(prepare(&options).unwrap().store.len(), 5);
    assert_eq!(
        fs::read_to_string(cache.path().join("pogreb.v1/digest")).unwrap(),
        "0123"
    );
}
