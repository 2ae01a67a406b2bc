use super::*;
use crate::ready::Ready;
use crate::signing::{self, issue};
use crate::{issuer, request};

fn certificate(spec: &Value) -> Value {
    let mut certificate = json!({"metadata": {"name": "c", "namespace": "n"},
        "spec": {"secretName": "s", "commonName": "a.n", "dnsNames": ["a.n", "a.n.svc"], "issuerRef": {"name": "i"}}});
    for (field, value) in spec.as_object().into_iter().flatten() {
        certificate["spec"][field] = value.clone();
    }
    certificate
}

fn request(spec: &Value) -> Request {
    Request::read(&certificate(spec)).expect("a request")
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a moment")
}

fn after(days: i64) -> Timestamp {
    now() + SignedDuration::from_hours(24 * days)
}

fn issued(spec: &Value, signer: &Signer<'_>) -> Value {
    let issued = issue(&request(spec), signer, now()).expect("issued");
    secret(&certificate(spec), &request(spec), &issued)
}

fn authority(name: &str) -> Value {
    issued(
        &json!({"isCA": true, "commonName": name, "duration": "8760h"}),
        &Signer::Itself,
    )
}

#[test]
fn another_is_issued_when_what_there_is_is_not_what_is_asked_for() {
    let good = issued(&Value::Null, &Signer::Itself);
    let other = issued(&Value::Null, &Signer::Itself);
    let changed = |path: &str, value: &Value| {
        let mut secret = good.clone();
        *secret.pointer_mut(path).expect("a field") = value.clone();
        secret
    };
    for (case, spec, secret, expected) in [
        ("as asked", Value::Null, good.clone(), None),
        (
            "names in another order",
            json!({"dnsNames": ["a.n.svc", "a.n"]}),
            good.clone(),
            None,
        ),
        (
            "another issuer",
            json!({"issuerRef": {"name": "j"}}),
            good.clone(),
            Some("the Secret is of another issuer"),
        ),
        (
            "an issuer of the cluster",
            json!({"issuerRef": {"name": "i", "kind": "ClusterIssuer"}}),
            good.clone(),
            Some("the Secret is of another issuer"),
        ),
        (
            "a name more",
            json!({"dnsNames": ["a.n", "a.n.svc", "b.n.svc"]}),
            good.clone(),
            Some("the Certificate asks for something else"),
        ),
        (
            "an address",
            json!({"ipAddresses": ["10.0.0.1"]}),
            good.clone(),
            Some("the Certificate asks for something else"),
        ),
        (
            "an organization",
            json!({"subject": {"organizations": ["o"]}}),
            good.clone(),
            Some("the Certificate asks for something else"),
        ),
        (
            "an authority",
            json!({"isCA": true}),
            good.clone(),
            Some("the Certificate asks for something else"),
        ),
        (
            "another's key",
            Value::Null,
            changed("/data/tls.key", &other["data"]["tls.key"]),
            Some("the key is another certificate's"),
        ),
        (
            "another's authority",
            Value::Null,
            changed("/data/ca.crt", &other["data"]["ca.crt"]),
            Some("the issuer signs with another key"),
        ),
        (
            "an empty entry",
            Value::Null,
            changed("/data/tls.crt", &json!("")),
            Some("the Secret lacks a part"),
        ),
        (
            "no certificate",
            Value::Null,
            changed("/data/tls.crt", &json!("bm90aGluZw==")),
            Some("the certificate can't be read"),
        ),
    ] {
        let due = decide(&request(&spec), Some(&secret), &Signer::Itself, now());
        let reason = match due {
            Due::Issue(reason) => Some(reason),
            Due::Nothing(_) => None,
        };
        assert_eq!(reason, expected, "{case}");
    }
    assert_eq!(
        decide(&request(&Value::Null), None, &Signer::Itself, now()),
        Due::Issue("the Secret isn't there")
    );
}

#[test]
fn a_certificate_is_renewed_after_two_thirds_of_its_lifetime_or_when_it_says() {
    for (spec, good_on, renewed_on) in [
        // 90 days.
        (Value::Null, 59, 60),
        (
            json!({"duration": "17520h0m0s", "renewBefore": "24h0m0s"}),
            728,
            730,
        ),
    ] {
        let secret = issued(&spec, &Signer::Itself);
        let due = |day| decide(&request(&spec), Some(&secret), &Signer::Itself, after(day));
        let Due::Nothing(validity) = due(good_on) else {
            panic!("it is good on day {good_on}: {:?}", due(good_on));
        };
        assert!(after(good_on) < validity.renew_at && validity.renew_at <= after(renewed_on));
        assert_eq!(due(renewed_on), Due::Issue("it is time to renew it"));
        // The clock was set back.
        assert_eq!(due(-1), Due::Issue("it is time to renew it"));
    }
}

#[test]
fn an_authority_of_a_secret_signs_and_its_successor_signs_again() {
    let (first, second) = (authority("first"), authority("second"));
    let read = |secret: &Value| Authority::read(secret).expect("an authority");
    let (first, second) = (read(&first), read(&second));
    let secret = issued(&Value::Null, &Signer::Authority(&first));
    let due = |signer: &Signer<'_>, day| decide(&request(&Value::Null), Some(&secret), signer, after(day));
    assert!(matches!(due(&Signer::Authority(&first), 1), Due::Nothing(_)));
    assert_eq!(
        due(&Signer::Authority(&second), 1),
        Due::Issue("the issuer signs with another key")
    );
    assert_eq!(
        due(&Signer::Itself, 1),
        Due::Issue("the issuer signs with another key")
    );
    assert_eq!(trusted(&secret), Some(encoded(first.trusted())));
    // What it signs ends with it.
    let spec = json!({"duration": "87600h"});
    let long = issued(&spec, &Signer::Authority(&first));
    let Due::Nothing(validity) = decide(&request(&spec), Some(&long), &Signer::Authority(&first), now())
    else {
        panic!("it is good");
    };
    assert_eq!(validity.until, first.until);
}

#[test]
fn an_issuer_says_what_it_lacks() {
    let issuer = |spec: &Value| json!({"metadata": {"name": "i", "namespace": "n"}, "spec": spec});
    let with_authority = issuer(&json!({"ca": {"secretName": "s"}}));
    let leaf = issued(&Value::Null, &Signer::Itself);
    let mut other_key = authority("a");
    other_key["data"]["tls.key"] = leaf["data"]["tls.key"].clone();
    for (issuer, secret, is_ready, said) in [
        (issuer(&json!({"selfSigned": {}})), None, true, "its own key"),
        (with_authority.clone(), Some(authority("a")), true, "Secret \"s\""),
        (
            with_authority.clone(),
            None,
            false,
            "no Secret \"s\" in namespace \"n\"",
        ),
        (with_authority.clone(), Some(json!({})), false, "no tls.crt"),
        (with_authority.clone(), Some(leaf), false, "isCA: true"),
        (
            with_authority,
            Some(other_key),
            false,
            "key of another certificate",
        ),
        (issuer(&json!({"acme": {}})), None, false, "install cert-manager"),
    ] {
        let ready: Ready = issuer::ready(&issuer, secret.as_ref());
        assert_eq!(ready.is_ready, is_ready, "{issuer}");
        assert!(ready.message.contains(said), "{}", ready.message);
    }
    assert_eq!(
        issuer::namespace_of(&json!({"metadata": {"name": "i"}})),
        issuer::CLUSTER_NAMESPACE
    );
}

#[test]
fn every_kind_of_key_can_be_made_and_read_again() {
    for key in [
        json!({"algorithm": "RSA", "size": 2048}),
        json!({"algorithm": "ECDSA", "size": 256}),
        json!({"algorithm": "ECDSA", "size": 384}),
        json!({"algorithm": "Ed25519"}),
    ] {
        let spec = json!({"privateKey": key, "ipAddresses": ["10.0.0.1", "fd00::1"], "uris": ["spiffe://a/b"],
            "emailAddresses": ["a@example.com"], "subject": {"organizations": ["o"]}});
        let secret = issued(&spec, &Signer::Itself);
        assert!(
            matches!(
                decide(&request(&spec), Some(&secret), &Signer::Itself, now()),
                Due::Nothing(_)
            ),
            "{key}"
        );
    }
    let kind = request(&json!({"privateKey": {"algorithm": "RSA"}})).key;
    assert_eq!(kind, request::KeyKind::Rsa(2048));
}

#[test]
fn the_secret_is_one_that_cert_manager_knows_as_its_own() {
    let spec = json!({"secretTemplate": {"labels": {"a": "b"}, "annotations": {"c": "d"}}});
    let secret = issued(&spec, &Signer::Itself);
    assert_eq!(
        secret["metadata"],
        json!({"name": "s", "namespace": "n", "labels": {"a": "b", "controller.cert-manager.io/fao": "true"},
            "annotations": {"c": "d", "cert-manager.io/certificate-name": "c", "cert-manager.io/issuer-name": "i",
                "cert-manager.io/issuer-kind": "Issuer", "cert-manager.io/issuer-group": "cert-manager.io"}})
    );
    assert_eq!(secret["type"], "kubernetes.io/tls");
    assert!(signing::entry(&secret, KEY_ENTRY).is_some());
}
