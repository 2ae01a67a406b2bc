use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// A home and a system directory, empty at first.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn file(self, path: &str, contents: &str) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, contents).expect("a file");
        self
    }

    fn helper(self, name: &str, script: &str) -> Self {
        let world = self.file(&format!("bin/docker-credential-{name}"), script);
        let path = world.folder.path().join(format!("bin/docker-credential-{name}"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
        world
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings::under(self.folder.path())
            .with_home(&self.folder.path().join("home"))
            .with_variable("PATH", self.folder.path().join("bin"))
    }

    async fn login(&self, reference: &str) -> Result<Login, CredentialsError> {
        self.login_in(&self.surroundings(), reference).await
    }

    async fn login_in(
        &self,
        surroundings: &Surroundings,
        reference: &str,
    ) -> Result<Login, CredentialsError> {
        let reference = Reference::parse(reference).expect(reference);
        Credentials::from_surroundings(surroundings)
            .login_for(&reference)
            .await
    }

    /// The message of a failure, with the folder's random name taken out.
    async fn failure(&self, reference: &str) -> String {
        let error = self.login(reference).await.expect_err("an error").to_string();
        error.replace(&*self.folder.path().to_string_lossy(), "")
    }
}

fn auth(username: &str, password: &str) -> String {
    BASE64.encode(format!("{username}:{password}"))
}

fn password(username: &str, password: &str) -> Login {
    Login::Password {
        username: username.to_owned(),
        password: Secret::new(password),
    }
}

const DOCKER: &str = "home/.docker/config.json";

#[tokio::test]
async fn the_longest_prefix_of_a_repository_wins() {
    let world = World::new().file(
        DOCKER,
        &format!(
            r#"{{"auths": {{"quay.io": {{"auth": "{}"}}, "quay.io/team": {{"auth": "{}"}}, "quay.io/team/app": {{"auth": "{}"}}}}}}"#,
            auth("host", "a"),
            auth("team", "b:with:colons"),
            auth("app", "c"),
        ),
    );
    assert_eq!(
        world.login("quay.io/other/app:1").await.unwrap(),
        password("host", "a")
    );
    assert_eq!(
        world.login("quay.io/team/x:1").await.unwrap(),
        password("team", "b:with:colons")
    );
    assert_eq!(
        world.login("quay.io/team/app").await.unwrap(),
        password("app", "c")
    );
    assert_eq!(
        world.login("quay.io/teammate/app").await.unwrap(),
        password("host", "a")
    );
    assert_eq!(world.login("ghcr.io/team/app").await.unwrap(), Login::Anonymous);
}

#[tokio::test]
async fn docker_hub_is_found_under_each_of_its_names() {
    for key in [
        "https://index.docker.io/v1/",
        "docker.io",
        "index.docker.io",
        "registry-1.docker.io",
    ] {
        let world = World::new().file(
            DOCKER,
            &format!(r#"{{"auths": {{"{key}": {{"auth": "{}"}}}}}}"#, auth("me", "x")),
        );
        assert_eq!(
            world.login("docker.io/library/nginx").await.unwrap(),
            password("me", "x"),
            "{key}"
        );
    }
}

#[tokio::test]
async fn files_are_asked_in_order_and_an_explicit_one_alone() {
    let entry = |name: &str| format!(r#"{{"auths": {{"quay.io": {{"auth": "{}"}}}}}}"#, auth(name, "x"));
    let world = World::new()
        .file("run/containers/auth.json", r#"{"auths": {}}"#)
        .file("home/.config/containers/auth.json", &entry("podman"))
        .file(DOCKER, &entry("docker"))
        .file("elsewhere/config.json", &entry("elsewhere"))
        .file("explicit.json", r#"{"auths": {"ghcr.io": {}}}"#);
    let root = world.folder.path().to_owned();
    let surroundings = world
        .surroundings()
        .with_variable("XDG_RUNTIME_DIR", root.join("run"));
    let image = "quay.io/a/b";
    assert_eq!(
        world.login_in(&surroundings, image).await.unwrap(),
        password("podman", "x")
    );
    fs::remove_file(root.join("home/.config/containers/auth.json")).expect("removed");
    assert_eq!(
        world.login_in(&surroundings, image).await.unwrap(),
        password("docker", "x")
    );
    let surroundings = surroundings.with_variable("DOCKER_CONFIG", root.join("elsewhere"));
    assert_eq!(
        world.login_in(&surroundings, image).await.unwrap(),
        password("elsewhere", "x")
    );
    let surroundings = surroundings.with_variable("REGISTRY_AUTH_FILE", root.join("explicit.json"));
    assert_eq!(
        world.login_in(&surroundings, image).await.unwrap(),
        Login::Anonymous
    );
}

#[tokio::test]
async fn the_oldest_format_is_still_read() {
    let world = World::new().file(
        "home/.dockercfg",
        &format!(r#"{{"https://quay.io/v1/": {{"auth": "{}"}}}}"#, auth("old", "x")),
    );
    assert_eq!(world.login("quay.io/a/b").await.unwrap(), password("old", "x"));
}

#[tokio::test]
async fn an_identity_token_is_used_before_the_password() {
    let world = World::new().file(
        DOCKER,
        &format!(
            r#"{{"auths": {{"reg.example": {{"auth": "{}", "identitytoken": "tok"}}}}}}"#,
            auth("u", "")
        ),
    );
    assert_eq!(
        world.login("reg.example/a").await.unwrap(),
        Login::IdentityToken(Secret::new("tok"))
    );
}

#[tokio::test]
async fn helpers_are_asked_for_their_registries_and_the_store_for_the_rest() {
    let world = World::new()
        .helper("one", "#!/bin/sh\nread registry\necho \"{\\\"Username\\\": \\\"<token>\\\", \\\"Secret\\\": \\\"$registry\\\"}\"\n")
        .helper("store", "#!/bin/sh\nread registry\ncase $registry in quay.io) echo '{\"Username\":\"u\",\"Secret\":\"s\"}';; *) echo 'credentials not found in native keychain'; exit 1;; esac\n")
        .file(DOCKER, r#"{"credHelpers": {"gcr.io": "one", "docker.io": "one"}, "credsStore": "store", "auths": {"quay.io": {}}}"#);
    assert_eq!(
        world.login("gcr.io/a/b").await.unwrap(),
        Login::IdentityToken(Secret::new("gcr.io"))
    );
    assert_eq!(
        world.login("docker.io/a/b").await.unwrap(),
        Login::IdentityToken(Secret::new("https://index.docker.io/v1/"))
    );
    assert_eq!(world.login("quay.io/a/b").await.unwrap(), password("u", "s"));
    assert_eq!(world.login("ghcr.io/a/b").await.unwrap(), Login::Anonymous);
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_an_error_that_keeps_its_secrets() {
    let image = "quay.io/a/b";
    let mut messages = Vec::new();
    messages.push(
        World::new()
            .file(DOCKER, r#"{"auths": {"quay.io": {"auth": ["hunter2"]}}}"#)
            .failure(image)
            .await,
    );
    messages.push(
        World::new()
            .file(DOCKER, r#"{"auths": {"quay.io": {"auth": "hunter2!"}}}"#)
            .failure(image)
            .await,
    );
    let no_colon = BASE64.encode("hunter2");
    messages.push(
        World::new()
            .file(
                DOCKER,
                &format!(r#"{{"auths": {{"quay.io": {{"auth": "{no_colon}"}}}}}}"#),
            )
            .failure(image)
            .await,
    );
    messages.push(
        World::new()
            .file(&format!("{DOCKER}/folder"), "")
            .failure(image)
            .await,
    );
    messages.push(
        World::new()
            .file(DOCKER, r#"{"credHelpers": {"quay.io": "missing"}}"#)
            .failure(image)
            .await,
    );
    messages.push(
        World::new()
            .file(DOCKER, r#"{"credsStore": "../evil"}"#)
            .failure(image)
            .await,
    );
    messages.push(
        World::new()
            .helper("broken", "#!/bin/sh\necho keychain is locked\nexit 3\n")
            .file(DOCKER, r#"{"credsStore": "broken"}"#)
            .failure(image)
            .await,
    );
    messages.push(
        World::new()
            .helper("noise", "#!/bin/sh\necho hunter2\n")
            .file(DOCKER, r#"{"credsStore": "noise"}"#)
            .failure(image)
            .await,
    );
    let text = messages.join("\n");
    assert!(!text.contains("hunter2"), "{text}");
    insta::assert_snapshot!(text);
}

#[tokio::test]
async fn an_explicit_file_must_exist() {
    let world = World::new();
    let surroundings = world
        .surroundings()
        .with_variable("REGISTRY_AUTH_FILE", "/nowhere/auth.json");
    let error = world
        .login_in(&surroundings, "quay.io/a/b")
        .await
        .expect_err("no file");
    assert!(
        error
            .to_string()
            .starts_with("cannot read the credentials file /nowhere/auth.json: ")
    );
}

#[test]
fn passwords_do_not_show_in_debug_output() {
    let shown = format!(
        "{:?} {:?}",
        password("me", "hunter2"),
        Login::IdentityToken(Secret::new("hunter2"))
    );
    assert!(shown.contains("me"));
    assert!(!shown.contains("hunter2"));
}

#[tokio::test]
async fn documents_are_asked_before_files_and_choose_no_program() {
    let document = |content: &str, is_legacy| CredentialsDocument {
        origin: "Secret default/registry".to_owned(),
        content: Secret::new(content),
        is_legacy,
    };
    let reference = Reference::parse("registry.example/team/catalog:v1").expect("a reference");
    let fallback = Login::Password {
        username: "from-file".to_owned(),
        password: Secret::new("x"),
    };
    let user = |login: Login| match login {
        Login::Password { username, .. } => username,
        other => format!("{other:?}"),
    };
    for (documents, expected) in [
        (
            vec![document(
                r#"{"auths": {"registry.example/team": {"username": "a", "password": "b"}}}"#,
                false,
            )],
            "a",
        ),
        (
            vec![document(
                r#"{"https://registry.example": {"auth": "Yzpk"}}"#,
                true,
            )],
            "c",
        ),
        (
            vec![
                document(r#"{"auths": {"other.example": {"auth": "eDp5"}}}"#, false),
                document(
                    r#"{"credHelpers": {"registry.example": "evil"}, "credsStore": "evil"}"#,
                    false,
                ),
            ],
            "from-file",
        ),
    ] {
        let credentials = Credentials::fixed(fallback.clone()).with_documents(documents);
        let login = credentials.login_for(&reference).await.expect("a login");
        assert_eq!(user(login), expected);
    }
    let broken = Credentials::none().with_documents(vec![document("{\"auths\": hunter2", false)]);
    let error = broken
        .login_for(&reference)
        .await
        .expect_err("no JSON")
        .to_string();
    assert!(
        error.contains("Secret default/registry") && !error.contains("hunter2"),
        "{error}"
    );
}
