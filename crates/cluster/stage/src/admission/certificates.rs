//! Who may approve and sign requests for certificates, and which are never granted.

use base64::Engine as _;
use expression::{Access, ResourceAccess};
use serde_json::Value;

use super::{Operation, Review};
use crate::access::certificate_requests::CertificateRequest;
use crate::status::Status;

/// The signer of certificates with which clients prove themselves to this server.
const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// Refuses what the caller may not do with a request for a certificate.
pub fn validate(review: &Review<'_>) -> Result<(), Status> {
    if !review
        .place
        .resource
        .is("certificates.k8s.io", "certificatesigningrequests")
    {
        return Ok(());
    }
    match (review.operation, review.place.subresource.as_str()) {
        (Operation::Create, "") => check_subject(review),
        (Operation::Update, "approval") => {
            let signer = signer(review.old);
            may(review, "approve", signer)
        }
        (Operation::Update, "status") => {
            let (new, old) = (review.object.as_ref(), review.old);
            let field = |object: Option<&Value>, name: &str| {
                object
                    .map(|object| object["status"][name].clone())
                    .unwrap_or_default()
            };
            let same = ["certificate", "conditions"]
                .iter()
                .all(|name| field(new, name) == field(old, name));
            if same {
                return Ok(());
            }
            may(review, "sign", signer(old))
        }
        _ => Ok(()),
    }
}

fn signer(request: Option<&Value>) -> &str {
    request
        .and_then(|request| request["spec"]["signerName"].as_str())
        .unwrap_or_default()
}

fn may(review: &Review<'_>, verb: &str, signer: &str) -> Result<(), Status> {
    let domain = signer.split_once('/').map_or(signer, |(domain, _)| domain);
    let allowed = [signer.to_owned(), format!("{domain}/*")]
        .into_iter()
        .any(|name| {
            let access = Access::Resource(ResourceAccess {
                group: "certificates.k8s.io".to_owned(),
                resource: "signers".to_owned(),
                name,
                ..ResourceAccess::default()
            });
            review.may(&review.call.caller, verb, &access).allowed
        });
    if allowed {
        return Ok(());
    }
    Err(review.forbidden(format_args!(
        "user not permitted to {verb} requests with signerName \"{signer}\""
    )))
}

/// Refuses a certificate that would make its holder an administrator.
fn check_subject(review: &Review<'_>) -> Result<(), Status> {
    let Some(object) = review
        .object
        .as_ref()
        .filter(|_| signer(review.object.as_ref()) == CLIENT_SIGNER)
    else {
        return Ok(());
    };
    let encoded = object["spec"]["request"].as_str().unwrap_or_default();
    let failed = |why: &str| review.forbidden(format_args!("failed to parse CSR: {why}"));
    let pem = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .map_err(|error| failed(&error.to_string()))?;
    let request = CertificateRequest::read(&pem).map_err(|why| failed(&why))?;
    let administers = request
        .organizations
        .iter()
        .any(|one| one == crate::caller::MASTERS);
    if administers {
        return Err(review.forbidden(format_args!(
            "use of {CLIENT_SIGNER} signer with system:masters group is not allowed"
        )));
    }
    Ok(())
}
