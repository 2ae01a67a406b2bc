use std::fs;

use super::*;

fn configured(text: &str) -> Mirrors {
    let mut mirrors = Mirrors::none();
    mirrors.merge(
        Path::new("/etc/containers/registries.conf"),
        file::parse(text, file::Role::Main).expect("a configuration"),
    );
    mirrors
}

/// The places for an image, an insecure one marked with `!`.
fn places(mirrors: &Mirrors, reference: &str) -> Vec<String> {
    let reference = Reference::parse(reference).expect(reference);
    let endpoints = mirrors.endpoints(&reference).expect("endpoints");
    endpoints
        .iter()
        .map(|endpoint| {
            format!(
                "{}{}",
                endpoint.reference,
                if endpoint.insecure { "!" } else { "" }
            )
        })
        .collect()
}

const DIGEST: &str = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

#[test]
fn without_configuration_an_image_is_where_its_name_says() {
    assert_eq!(places(&Mirrors::none(), "quay.io/a/b:1"), ["quay.io/a/b:1"]);
}

#[test]
fn mirrors_come_first_and_in_order() {
    let mirrors = configured(
        r#"
        [[registry]]
        location = "quay.io"
        [[registry.mirror]]
        location = "mirror.example/quay/"
        insecure = true
        [[registry.mirror]]
        location = "digests.example"
        pull-from-mirror = "digest-only"
        [[registry.mirror]]
        location = "tags.example"
        pull-from-mirror = "tag-only"
        "#,
    );
    assert_eq!(
        places(&mirrors, "quay.io/a/b:1"),
        [
            "mirror.example/quay/a/b:1!",
            "tags.example/a/b:1",
            "quay.io/a/b:1"
        ]
    );
    assert_eq!(
        places(&mirrors, &format!("quay.io/a/b{DIGEST}")),
        [
            format!("mirror.example/quay/a/b{DIGEST}!"),
            format!("digests.example/a/b{DIGEST}"),
            format!("quay.io/a/b{DIGEST}")
        ]
    );
    assert_eq!(places(&mirrors, "quay.io.example/a:1"), ["quay.io.example/a:1"]);
}

#[test]
fn the_longest_prefix_decides_and_the_name_is_rewritten() {
    let mirrors = configured(
        r#"
        [[registry]]
        prefix = "quay.io"
        location = "one.example"
        [[registry]]
        prefix = "quay.io/team"
        location = "two.example/moved"
        insecure = true
        mirror-by-digest-only = true
        [[registry.mirror]]
        location = "cache.example"
        [[registry]]
        prefix = "*.corp.example"
        [[registry.mirror]]
        location = "corp-cache.example"
        "#,
    );
    assert_eq!(places(&mirrors, "quay.io/other/x:1"), ["one.example/other/x:1"]);
    assert_eq!(places(&mirrors, "quay.io/team/x:1"), ["two.example/moved/x:1!"]);
    assert_eq!(
        places(&mirrors, "quay.io/teammate/x:1"),
        ["one.example/teammate/x:1"]
    );
    assert_eq!(
        places(&mirrors, &format!("quay.io/team/x{DIGEST}")),
        [
            format!("cache.example/x{DIGEST}"),
            format!("two.example/moved/x{DIGEST}!")
        ]
    );
    assert_eq!(
        places(&mirrors, "a.b.corp.example/x:1"),
        ["corp-cache.example/x:1", "a.b.corp.example/x:1"]
    );
    assert_eq!(places(&mirrors, "corp.example/x:1"), ["corp.example/x:1"]);
}

#[test]
fn a_push_goes_where_the_name_says() {
    let mirrors = configured(
        "[[registry]]\nlocation = \"quay.io\"\ninsecure = true\n[[registry.mirror]]\nlocation = \"m.example\"\n",
    );
    let reference = Reference::parse("quay.io/a/b:1").expect("a reference");
    let target = mirrors.push_target(&reference).expect("a target");
    assert_eq!(
        target,
        Endpoint {
            reference,
            insecure: true
        }
    );
}

#[test]
fn a_blocked_registry_is_neither_pulled_from_nor_pushed_to() {
    let mirrors = configured("[[registry]]\nlocation = \"quay.io/bad\"\nblocked = true\n");
    let reference = Reference::parse("quay.io/bad/x:1").expect("a reference");
    let error = mirrors.endpoints(&reference).expect_err("blocked").to_string();
    assert_eq!(
        error,
        "registry quay.io/bad is blocked in /etc/containers/registries.conf; remove \"blocked\" there or use another registry"
    );
    assert!(mirrors.push_target(&reference).is_err());
    assert_eq!(places(&mirrors, "quay.io/good/x:1"), ["quay.io/good/x:1"]);
}

#[test]
fn the_first_format_is_converted() {
    let mirrors = configured(
        "[registries.insecure]\nregistries = [\"a.example\"]\n[registries.block]\nregistries = [\"b.example\"]\n",
    );
    assert_eq!(places(&mirrors, "a.example/x:1"), ["a.example/x:1!"]);
    assert!(
        mirrors
            .endpoints(&Reference::parse("b.example/x:1").expect("a reference"))
            .is_err()
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    let refusals: Vec<String> = [
        "[[registry]]\n",
        "[[registry]]\nprefix = \"quay.io\"\n",
        "[[registry]]\nlocation = \"https://quay.io\"\n",
        "[[registry]]\nprefix = \"*.example.com/x\"\n",
        "[[registry]]\nlocation = \"a\"\npull-from-mirror = \"all\"\n",
        "[[registry]]\nlocation = \"a\"\n[[registry.mirror]]\n",
        "[[registry]]\nlocation = \"a\"\n[[registry.mirror]]\nlocation = \"m\"\npull-from-mirror = \"some\"\n",
        "[[registry]]\nlocation = \"a\"\nmirror-by-digest-only = true\n[[registry.mirror]]\nlocation = \"m\"\npull-from-mirror = \"all\"\n",
        "[[registry]]\nlocation = \"a\"\n[[registry]]\nprefix = \"b\"\nlocation = \"a\"\nblocked = true\n",
        "unqualified-search-registries = []\n[registries.block]\nregistries = []\n",
        "short-name-mode = \"guess\"\n",
        "[[registry]]\nblocked = \"yes\"\n",
    ]
    .iter()
    .map(|text| file::parse(text, file::Role::Main).expect_err(text))
    .collect();
    insta::assert_snapshot!(refusals.join("\n"));
    assert_eq!(
        file::parse("[registries.block]\nregistries = []\n", file::Role::DropIn),
        Err("registry must be in v2 format but is in v1".to_owned())
    );
}

#[test]
fn drop_ins_change_what_the_file_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path().join("home");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("a file");
    };
    let entry = |location: &str| format!("[[registry]]\nprefix = \"quay.io\"\nlocation = \"{location}\"\n");
    write("etc/containers/registries.conf", &entry("system.example"));
    let surroundings = Surroundings::under(folder.path()).with_home(&home);
    let now = || {
        places(
            &Mirrors::from_surroundings(&surroundings).expect("a configuration"),
            "quay.io/a:1",
        )
    };
    assert_eq!(now(), ["system.example/a:1"]);
    write(
        "etc/containers/registries.conf.d/10-a.conf",
        &entry("ten.example"),
    );
    write(
        "etc/containers/registries.conf.d/20-b.conf",
        &entry("twenty.example"),
    );
    write("etc/containers/registries.conf.d/README", "not toml");
    assert_eq!(now(), ["twenty.example/a:1"]);
    write(
        "home/.config/containers/registries.conf.d/user.conf",
        &entry("user.example"),
    );
    assert_eq!(now(), ["user.example/a:1"]);
    write("home/.config/containers/registries.conf", "");
    fs::remove_file(home.join(".config/containers/registries.conf.d/user.conf")).expect("removed");
    assert_eq!(now(), ["quay.io/a:1"]);
    let surroundings = surroundings
        .clone()
        .with_variable("CONTAINERS_REGISTRIES_CONF", folder.path().join("nowhere.conf"));
    assert!(Mirrors::from_surroundings(&surroundings).is_err());
}
