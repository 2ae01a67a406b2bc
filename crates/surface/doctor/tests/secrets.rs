//! No secret of whatever shape, put wherever people put them, is in what may be shown.

use doctor::redaction::Redactor;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A secret that stands out: no other text of the tests has it in it.
fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        // A password that people choose, with what breaks quoting.
        "[a-z]{4,8}[0-9]{2}[!#%+/=:?@ _.-][A-Za-z0-9]{4,8}",
        // What generators make.
        "[A-Za-z0-9+/]{24,64}",
        "[0-9a-f]{32,40}",
        "ghp_[A-Za-z0-9]{36}",
        "eyJ[A-Za-z0-9_-]{20}\\.[A-Za-z0-9_-]{30}\\.[A-Za-z0-9_-]{20}",
        "AKIA[A-Z0-9]{16}",
    ]
    .prop_filter("it has an end", |secret| {
        secret.trim() == secret && !secret.ends_with('\\')
    })
}

/// A name that means a secret.
fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "password",
        "DB_PASSWORD",
        "apiKey",
        "api-key",
        "clientSecret",
        "token",
        "HF_TOKEN",
        "aws_secret_access_key",
        "auth.password",
        "privateKey",
        "adminPwd",
        "connectionString",
    ])
}

/// Puts a secret somewhere in an object.
fn planted(place: usize, name: &str, secret: &str) -> Value {
    let quoted = Value::from(secret).to_string();
    match place {
        0 => json!({"kind": "Secret", "metadata": {"name": "a"}, "stringData": {"anything": secret}}),
        1 => json!({"kind": "Secret", "metadata": {"name": "a"}, "data": {"anything": encoded(secret)}}),
        2 => {
            json!({"kind": "Pod", "spec": {"containers": [{"env": [{"name": "ANYTHING", "value": secret}]}]}})
        }
        3 => json!({"kind": "Pod", "spec": {"initContainers": [{"args": [format!("--{name}={secret}")]}]}}),
        4 => {
            json!({"kind": "Pod", "spec": {"containers": [{"command": ["run", format!("--{name}"), secret]}]}})
        }
        5 => json!({"kind": "ConfigMap", "data": {name: secret}}),
        6 => json!({"kind": "ConfigMap", "data": {"a.yaml": format!("a:\n  {name}: {quoted}\n  b: 1\n")}}),
        7 => json!({"kind": "ConfigMap", "data": {"a.json": json!({"a": {name: secret}}).to_string()}}),
        8 => json!({"kind": "ConfigMap", "binaryData": {"a": encoded(secret)}}),
        9 => json!({"kind": "Stack", "spec": {"a": [{"b": {name: {"c": [secret]}}}]}}),
        10 => json!({"kind": "Stack", "metadata": {"annotations":
            {"kubectl.kubernetes.io/last-applied-configuration": json!({"spec": {"x": secret}}).to_string()}}}),
        11 => {
            let manifest =
                json!({"kind": "Secret", "metadata": {"name": "b"}, "stringData": {"x": secret}}).to_string();
            json!({"kind": "InstallPlan", "status": {"plan": [{"resource": {"manifest": manifest}}]}})
        }
        12 => {
            let inner = json!({"kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"c.json": json!({name: secret}).to_string()}});
            json!({"kind": "ClusterObjectSet", "spec": {"phases": [{"objects": [{"object": inner}]}]}})
        }
        _ => {
            json!({"kind": "ConfigMap", "data": {"a.ini": format!("[db]\n{name} = {secret}\nuser = bob\n")}})
        }
    }
}

const PLACES: usize = 14;

fn encoded(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

/// What a program prints that handles a secret.
fn logged(place: usize, name: &str, secret: &str) -> String {
    match place {
        0 => format!("level=info msg=connecting {name}={} user=bob", unspaced(secret)),
        1 => format!("{{\"level\":\"info\",\"{name}\":{}}}", Value::from(secret)),
        2 => format!("starting with --{name} {} --verbose", unspaced(secret)),
        3 => format!("{name}: {secret}"),
        4 => format!("GET https://bob:{}@example.com/path", in_address(secret)),
        5 => format!("header Authorization: Bearer {}", in_address(secret)),
        _ => format!(
            "read \"{{\\\"{name}\\\":\\\"{}\\\"}}\" from a file",
            in_address(secret)
        ),
    }
}

const LOGS: usize = 7;

/// Without the characters that would end a word.
fn unspaced(secret: &str) -> String {
    secret.replace([' ', '&', ',', ';'], "x")
}

/// Without the characters that an address or a header can't have.
fn in_address(secret: &str) -> String {
    secret.replace(|character: char| !character.is_ascii_alphanumeric(), "x")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_planted_secret_is_shown(place in 0..PLACES, name in name(), secret in secret()) {
        let object = planted(place, name, &secret);
        let mut redactor = Redactor::default();
        redactor.learn(&object);
        let shown = redactor.finish().object(&object).to_string();
        prop_assert!(!shown.contains(&secret) && !shown.contains(&encoded(&secret)), "{shown}");
    }

    #[test]
    fn no_logged_secret_is_shown(place in 0..LOGS, name in name(), secret in secret()) {
        let text = logged(place, name, &secret);
        let shown = Redactor::default().finish().text(&text);
        for shape in [secret.clone(), unspaced(&secret), in_address(&secret)] {
            prop_assert!(!shown.contains(&shape), "{text}\n{shown}");
        }
    }

    #[test]
    fn a_secret_of_an_object_is_cut_out_of_every_text(secret in secret(), before in "[a-z ]{0,20}", after in "[a-z ]{0,20}") {
        let mut redactor = Redactor::default();
        redactor.learn(&planted(0, "", &secret));
        let shown = redactor.finish().text(&format!("{before}{secret}{after}"));
        prop_assert!(!shown.contains(&secret), "{shown}");
    }

    #[test]
    fn no_text_is_too_odd(text in ".{0,400}") {
        Redactor::default().finish().text(&text);
    }
}
