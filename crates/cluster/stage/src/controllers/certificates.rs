//! Requests for certificates: those of nodes are approved, approved ones are signed, and old ones go.

use std::collections::BTreeSet;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use x509_parser::prelude::FromDer as _;

use super::conditions;
use super::work::{Affected, Controller, Item, Next, itself};
use crate::access::Attributes;
use crate::access::certificate_requests::CertificateRequest;
use crate::caller::Caller;
use crate::client::{Client, Named};
use crate::object::{Object, timestamp};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::ResourceKey;

const REQUESTS: Named<'static> = ("certificates.k8s.io", "certificatesigningrequests");

const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const NODE_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const NODE_SERVER: &str = "kubernetes.io/kubelet-serving";
const LEGACY: &str = "kubernetes.io/legacy-unknown";

/// How long a certificate is good where the request doesn't say, and at most.
const GOOD_FOR: SignedDuration = SignedDuration::from_hours(24 * 365);

/// How long it is good at least.
const GOOD_AT_LEAST: SignedDuration = SignedDuration::from_mins(10);

/// How long requests that were decided are kept.
const DECIDED_KEPT: SignedDuration = SignedDuration::from_hours(1);

/// How long requests that wait are kept.
const PENDING_KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Approves, signs and removes requests for certificates.
#[derive(Debug)]
pub struct Certificates;

impl Controller for Certificates {
    const NAME: &'static str = "certificate-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![(ResourceKey::new(REQUESTS.0, REQUESTS.1), itself)]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(request) = client.get(REQUESTS, "", &item.name)? else {
            return Ok(Next::Wait);
        };
        let now = Timestamp::now();
        let left = time_left(&request, now);
        if left.is_zero() {
            let options = DeleteOptions {
                uid: Some(request.uid().to_owned()),
                ..DeleteOptions::default()
            };
            client.delete(REQUESTS, "", &item.name, &options).await?;
            return Ok(Next::Wait);
        }
        let asked = STANDARD
            .decode(request["spec"]["request"].as_str().unwrap_or_default())
            .ok()
            .and_then(|text| CertificateRequest::read(&text).ok());
        // One that can't be read waits until it is removed.
        if let Some(asked) = asked {
            if is_undecided(&request) {
                approve(client, request, &asked, now).await?;
            } else {
                sign(client, request, &asked, now).await?;
            }
        }
        Ok(Next::After(left))
    }
}

fn has(request: &Value, kind: &str) -> bool {
    // A decision says nothing but `True`.
    conditions::find(&request["status"], kind).is_some()
}

fn certificate(request: &Value) -> &str {
    request["status"]["certificate"].as_str().unwrap_or_default()
}

fn is_undecided(request: &Value) -> bool {
    certificate(request).is_empty() && !has(request, "Approved") && !has(request, "Denied")
}

fn usages(request: &Value) -> Vec<&str> {
    let all = request["spec"]["usages"].as_array().into_iter().flatten();
    all.filter_map(Value::as_str).collect()
}

fn add_condition(request: &mut Value, kind: &str, reason: &str, message: &str, now: Timestamp) {
    let condition = json!({
        "type": kind, "status": "True", "reason": reason, "message": message,
        "lastUpdateTime": timestamp(now), "lastTransitionTime": timestamp(now),
    });
    conditions::put(&mut request["status"], condition);
}

/// Approves a node's request for its own certificate, where whoever asks may have it.
async fn approve(
    client: &Client,
    mut request: Value,
    asked: &CertificateRequest,
    now: Timestamp,
) -> Result<(), Status> {
    if request["spec"]["signerName"] != NODE_CLIENT || check_node_client(asked, &usages(&request)).is_err() {
        return Ok(());
    }
    let text = |field: &str| request["spec"][field].as_str().unwrap_or_default();
    let groups: Vec<&str> = request["spec"]["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let caller = Caller::named(text("username"), &groups);
    let may = |below: &str| {
        let wanted = Attributes::resource("create", "", REQUESTS.0, REQUESTS.1, "").below(below);
        client.api().access.allowed(&caller, &wanted).allowed
    };
    let message = if text("username") == asked.common_name && may("selfnodeclient") {
        "Auto approving self kubelet client certificate after SubjectAccessReview."
    } else if may("nodeclient") {
        "Auto approving kubelet client certificate after SubjectAccessReview."
    } else {
        return Ok(());
    };
    add_condition(&mut request, "Approved", "AutoApproved", message, now);
    client.update_below(REQUESTS, "approval", request).await?;
    Ok(())
}

/// Signs an approved request, or says why it isn't signed.
async fn sign(
    client: &Client,
    mut request: Value,
    asked: &CertificateRequest,
    now: Timestamp,
) -> Result<(), Status> {
    if !has(&request, "Approved")
        || has(&request, "Denied")
        || has(&request, "Failed")
        || !certificate(&request).is_empty()
    {
        return Ok(());
    }
    let usages = usages(&request);
    let keys = &client.api().access.keys;
    let (authority, checked) = match request["spec"]["signerName"].as_str().unwrap_or_default() {
        CLIENT => (&keys.client_authority, check_client(&usages)),
        NODE_CLIENT => (&keys.client_authority, check_node_client(asked, &usages)),
        NODE_SERVER => (&keys.authority, check_node_server(asked, &usages)),
        LEGACY => (&keys.authority, Ok(())),
        // Others sign these.
        _ => return Ok(()),
    };
    if let Err(why) = checked {
        add_condition(&mut request, "Failed", "SignerValidationFailure", &why, now);
        client.update_status(REQUESTS, request).await?;
        return Ok(());
    }
    let good_for = request["spec"]["expirationSeconds"]
        .as_i64()
        .map_or(GOOD_FOR, SignedDuration::from_secs)
        .clamp(GOOD_AT_LEAST, GOOD_FOR);
    match asked.sign(authority, &usages, good_for, now) {
        Ok(signed) => {
            request["status"]["certificate"] = STANDARD.encode(signed).into();
            client.update_status(REQUESTS, request).await?;
        }
        Err(why) => tracing::warn!(request = request.name(), why, "a certificate was not signed"),
    }
    Ok(())
}

fn check_client(usages: &[&str]) -> Result<(), String> {
    for usage in usages {
        if !matches!(*usage, "digital signature" | "key encipherment" | "client auth") {
            return Err(format!("invalid usage for client certificate: {usage}"));
        }
    }
    if usages.contains(&"client auth") {
        Ok(())
    } else {
        Err("missing required usage for client certificate: client auth".to_owned())
    }
}

/// Fails unless the usages are these two, with or without encipherment of keys.
fn check_usages(usages: &[&str], auth: &str) -> Result<(), String> {
    let there: BTreeSet<&str> = usages.iter().copied().collect();
    let least = BTreeSet::from(["digital signature", auth]);
    let most = BTreeSet::from(["digital signature", "key encipherment", auth]);
    if there == least || there == most {
        return Ok(());
    }
    let wanted: Vec<&str> = most.into_iter().collect();
    Err(format!("usages did not match [{}]", wanted.join(" ")))
}

fn check_node_client(asked: &CertificateRequest, usages: &[&str]) -> Result<(), String> {
    check_organization(asked)?;
    let names = asked.names;
    for (there, kind) in [
        (names.hosts, "DNS"),
        (names.mail, "Email"),
        (names.addresses, "IP"),
        (names.uris, "URI"),
    ] {
        if there {
            return Err(format!("{kind} subjectAltNames are not allowed"));
        }
    }
    check_common_name(asked)?;
    check_usages(usages, "client auth")
}

fn check_node_server(asked: &CertificateRequest, usages: &[&str]) -> Result<(), String> {
    check_organization(asked)?;
    let names = asked.names;
    if !names.hosts && !names.addresses {
        return Err("DNS or IP subjectAltName is required".to_owned());
    }
    for (there, kind) in [(names.mail, "Email"), (names.uris, "URI")] {
        if there {
            return Err(format!("{kind} subjectAltNames are not allowed"));
        }
    }
    check_usages(usages, "server auth")?;
    check_common_name(asked)
}

fn check_organization(asked: &CertificateRequest) -> Result<(), String> {
    if asked.organizations == ["system:nodes"] {
        return Ok(());
    }
    Err("subject organization is not system:nodes".to_owned())
}

fn check_common_name(asked: &CertificateRequest) -> Result<(), String> {
    if asked.common_name.starts_with("system:node:") {
        return Ok(());
    }
    Err("subject common name does not begin with system:node:".to_owned())
}

/// Returns how long a request is still kept.
fn time_left(request: &Value, now: Timestamp) -> Duration {
    let read = |text: Option<&str>| text.and_then(|text| text.parse::<Timestamp>().ok());
    let created = read(Some(request.metadata_text("creationTimestamp"))).unwrap_or(now);
    let since = |kind: &str| {
        let condition = conditions::find(&request["status"], kind)?;
        Some(read(condition["lastUpdateTime"].as_str()).unwrap_or(created))
    };
    let is_issued = !certificate(request).is_empty();
    let ends = [
        since("Approved").map(|at| (at, if is_issued { DECIDED_KEPT } else { PENDING_KEPT })),
        since("Denied").map(|at| (at, DECIDED_KEPT)),
        since("Failed").map(|at| (at, DECIDED_KEPT)),
    ];
    let decided = ends
        .into_iter()
        .flatten()
        .filter_map(|(at, kept)| at.checked_add(kept).ok())
        .min();
    let end = decided
        .or_else(|| created.checked_add(PENDING_KEPT).ok())
        .into_iter()
        .chain(certificate_end(request))
        .min()
        .unwrap_or(now);
    Duration::try_from(end.duration_since(now)).unwrap_or_default()
}

/// Returns when the certificate of a request expires.
fn certificate_end(request: &Value) -> Option<Timestamp> {
    let text = STANDARD.decode(certificate(request)).ok()?;
    let (_, pem) = x509_parser::pem::parse_x509_pem(&text).ok()?;
    let (_, certificate) = x509_parser::prelude::X509Certificate::from_der(&pem.contents).ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn requested(organization: &str, name: &str) -> String {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name = DistinguishedName::new();
        parameters
            .distinguished_name
            .push(DnType::OrganizationName, organization);
        parameters.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        let request = parameters.serialize_request(&key).expect("a request");
        STANDARD.encode(request.pem().expect("PEM"))
    }

    async fn until(client: &Client, name: &str, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let request = client
                .get(REQUESTS, "", name)
                .expect("a store")
                .expect("a request");
            if is(&request) {
                return request;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn an_approved_request_is_signed_and_a_wrong_one_fails() {
        let stage = crate::Stage::in_memory(crate::Options::default())
            .await
            .expect("a stage");
        let client = stage.client();
        for (name, signer, usages) in [
            ("good", CLIENT, json!(["client auth"])),
            ("bad", CLIENT, json!(["client auth", "server auth"])),
            ("other", "example.com/signer", json!(["client auth"])),
        ] {
            let request = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
                "metadata": {"name": name}, "spec": {"signerName": signer, "usages": usages,
                    "request": requested("devs", "alice"), "expirationSeconds": 3600}});
            let mut request = client.create(REQUESTS, request).await.expect("a request");
            add_condition(&mut request, "Approved", "Test", "approved", Timestamp::now());
            client
                .update_below(REQUESTS, "approval", request)
                .await
                .expect("approved");
        }
        let good = until(&client, "good", |request| !certificate(request).is_empty()).await;
        let end = certificate_end(&good).expect("an end");
        assert!(end.duration_since(Timestamp::now()) <= SignedDuration::from_hours(1));
        let bad = until(&client, "bad", |request| has(request, "Failed")).await;
        let failed = conditions::find(&bad["status"], "Failed").expect("a condition");
        assert_eq!(
            failed["message"],
            "invalid usage for client certificate: server auth"
        );
        let other = client
            .get(REQUESTS, "", "other")
            .expect("a store")
            .expect("a request");
        assert_eq!(certificate(&other), "");
    }

    #[test]
    fn nodes_ask_for_what_nodes_have() {
        let read = |organization, name| {
            CertificateRequest::read(&STANDARD.decode(requested(organization, name)).expect("base64"))
                .expect("a request")
        };
        let node = read("system:nodes", "system:node:a");
        let client = ["client auth", "digital signature"];
        assert_eq!(check_node_client(&node, &client), Ok(()));
        for (asked, usages, why) in [
            (
                read("devs", "system:node:a"),
                &client[..],
                "subject organization is not system:nodes",
            ),
            (
                read("system:nodes", "a"),
                &client[..],
                "subject common name does not begin with system:node:",
            ),
            (
                node.clone(),
                &client[..1],
                "usages did not match [client auth digital signature key encipherment]",
            ),
        ] {
            assert_eq!(check_node_client(&asked, usages), Err(why.to_owned()));
        }
        assert_eq!(
            check_node_server(&node, &["server auth", "digital signature"]),
            Err("DNS or IP subjectAltName is required".to_owned())
        );
    }

    #[test]
    fn requests_go_when_their_time_is_over() {
        let now: Timestamp = "2026-01-02T00:00:00Z".parse().expect("a time");
        let request = |conditions: Value| json!({"metadata": {"creationTimestamp": "2026-01-01T12:00:00Z"}, "status": {"conditions": conditions}});
        let condition = |kind: &str| json!([{"type": kind, "lastUpdateTime": "2026-01-01T23:30:00Z"}]);
        for (request, minutes) in [
            (request(json!([])), 12 * 60),
            (request(condition("Denied")), 30),
            (request(condition("Failed")), 30),
            (request(condition("Approved")), 23 * 60 + 30),
        ] {
            assert_eq!(time_left(&request, now).as_secs() / 60, minutes, "{request}");
        }
    }
}
