//! Certificates of webhooks: made with the operator, and made anew before they end.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::catalogs::{operator, provided};
use crate::images::Entry;
use crate::reference::Reference;
use crate::scenario::{Scenario, expect};

type Outcome = Result<(), String>;

/// How long a certificate is good that is about to be replaced: less than the day before its end.
const NEARLY_OVER: Duration = Duration::from_hours(23);

/// Adds a webhook to a ClusterServiceVersion; nobody has to answer it.
pub(crate) fn with_webhook(version: &mut Value, scenario: &Scenario) {
    version["spec"]["webhookdefinitions"] = json!([{
        "generateName": format!("check.{}.example.com", scenario.id),
        "type": "ValidatingAdmissionWebhook",
        "deploymentName": scenario.deployment().name,
        "containerPort": 443, "targetPort": 8443,
        "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
        "webhookPath": "/check",
        "rules": [{"apiGroups": [provided(&scenario.id)["group"]], "apiVersions": ["v1"],
            "operations": ["CREATE"], "resources": ["*"]}],
    }]);
}

/// A certificate that is about to end is replaced, with the authority that the API server believes.
pub(crate) async fn a_certificate_is_replaced_before_it_ends(scenario: Scenario) -> Outcome {
    let contents = crate::files::changed(&operator(), &scenario, "1.0.0", |version| {
        with_webhook(version, &scenario);
    });
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", contents)])
        .await?;
    let kubectl = scenario.kubectl();
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    scenario.has_version("1.0.0").await?;
    let service = format!("{}-service", scenario.deployment().name);
    let secret = Reference::namespaced("v1", "Secret", &scenario.namespace(), &format!("{service}-cert"));
    let first = kubectl.read(&secret).await?;
    expect(
        "what the API server believes",
        believed(&scenario).await?,
        first["data"]["olmCAKey"].clone(),
    )?;
    let version = kubectl.read(&scenario.version("1.0.0")).await?;
    expect(
        "it is known when it is due",
        version["status"]["certsRotateAt"].is_string(),
        true,
    )?;

    let mut reasons = kubectl.watch(&scenario.version("1.0.0"))?;
    let ending = nearly_over(&service, &scenario.namespace())?;
    kubectl.merge(&secret, &json!({"data": ending})).await?;
    reasons
        .until(|version| version["status"]["reason"] == "NeedsCertRotation")
        .await?;
    reasons
        .until(|version| version["status"]["phase"] == "Succeeded")
        .await?;
    let renewed = kubectl.read(&secret).await?;
    expect(
        "another certificate",
        renewed["data"]["tls.crt"] != ending["tls.crt"],
        true,
    )?;
    expect(
        "what the API server believes",
        believed(&scenario).await?,
        renewed["data"]["olmCAKey"].clone(),
    )?;
    // The operator gets it too: its pods are of another template.
    let deployment = kubectl.read(&scenario.deployment()).await?;
    let hash = &deployment["spec"]["template"]["metadata"]["annotations"]["olmcahash"];
    expect(
        "the hash that its pods have",
        hash.clone(),
        renewed["metadata"]["annotations"]["olmcahash"].clone(),
    )
}

/// The authority that the API server believes when it calls the webhook.
async fn believed(scenario: &Scenario) -> Result<Value, String> {
    let label = format!("olm.owner={}", scenario.version("1.0.0").name);
    let kind = "validatingwebhookconfigurations.admissionregistration.k8s.io";
    let found = scenario
        .kubectl()
        .list(kind, &scenario.namespace(), &["-l", &label])
        .await?;
    expect("the number of webhooks", found.len(), 1)?;
    Ok(found[0]["webhooks"][0]["clientConfig"]["caBundle"].clone())
}

/// The data of a Secret with a certificate for a Service that is good for less than a day.
fn nearly_over(service: &str, namespace: &str) -> Result<Value, String> {
    let failed = |error: rcgen::Error| error.to_string();
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = since_epoch.map_err(|error| error.to_string())?;
    let until = rcgen::date_time_ymd(1970, 1, 1) + (now + NEARLY_OVER);
    let mut of_authority = CertificateParams::default();
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    of_authority.not_after = until;
    let authority_key = KeyPair::generate().map_err(failed)?;
    let authority = of_authority.self_signed(&authority_key).map_err(failed)?.pem();
    let issuer = Issuer::new(of_authority, authority_key);
    let hosts = ["", ".svc", ".svc.cluster.local"].map(|end| format!("{service}.{namespace}{end}"));
    let mut of_server = CertificateParams::new(hosts.to_vec()).map_err(failed)?;
    of_server.not_after = until;
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = of_server.signed_by(&key, &issuer).map_err(failed)?.pem();
    Ok(json!({
        "tls.crt": STANDARD.encode(certificate),
        "tls.key": STANDARD.encode(key.serialize_pem()),
        "olmCAKey": STANDARD.encode(authority),
    }))
}
