//! Certificates of operators that have ended or are about to.

use apply::object::{label, text};
use classic::keys;
use jiff::Timestamp;
use serde_json::Value;
use service_version::certificates::bytes;
use x509_parser::pem::Pem;

use crate::conditions::{Said, condition};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Risky};
use crate::kinds;
use crate::moment::words;
use crate::picture::Picture;
use crate::subject::Subject;

/// How long before its end a certificate is worth a word.
const WARN_SECONDS: i64 = 7 * 86_400;

/// The same for those of OLM v0, which are made anew a day before.
const WARN_MANAGED_SECONDS: i64 = 43_200;

/// How many certificates of a bundle are read: bundles are short, and anybody may write one.
const MOST_CERTIFICATES: usize = 200;

/// How long a certificate is still good, with the time in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Validity {
    Good,
    Ending(String),
    Ended(String),
    Unreadable,
}

fn judge_end(end: Option<i64>, now: Timestamp, warn: i64) -> Validity {
    let Some(left) = end.map(|end| end - now.as_second()) else {
        return Validity::Unreadable;
    };
    match left {
        left if left < 0 => Validity::Ended(words(-left)),
        left if left < warn => Validity::Ending(words(left)),
        _ => Validity::Good,
    }
}

/// The ends of the certificates in a PEM, in seconds, in their order.
fn ends(pem: &[u8]) -> Vec<i64> {
    Pem::iter_from_buffer(pem)
        .take(MOST_CERTIFICATES)
        .filter_map(Result::ok)
        .filter_map(|block| Some(block.parse_x509().ok()?.validity().not_after.timestamp()))
        .collect()
}

/// Judges authorities: the last that ends counts, since one is enough.
pub(crate) fn of_authority(pem: &[u8], now: Timestamp) -> Validity {
    judge_end(ends(pem).into_iter().max(), now, WARN_SECONDS)
}

/// Reads a field that holds bytes in base64.
pub(crate) fn decoded(object: &Value, pointer: &str) -> Option<Vec<u8>> {
    bytes(object, pointer).filter(|bytes| !bytes.is_empty())
}

/// Looks at the certificates of bundles: those that OLM v0 made, and those of cert-manager.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let secrets = picture
        .all(kinds::SECRET)
        .filter_map(|secret| of_secret(picture, secret));
    let ordered = picture
        .all(kinds::CERTIFICATE)
        .filter_map(|certificate| of_manager(picture, certificate));
    secrets.chain(ordered).collect()
}

fn of_secret(picture: &Picture, secret: &Value) -> Option<Finding> {
    // The certificate itself comes first, then those that vouch for it.
    let end = ends(&decoded(secret, "/data/tls.crt")?).first().copied();
    let is_managed = label(secret, keys::MANAGED) == Some(keys::MANAGED_VALUE);
    let warn = if is_managed {
        WARN_MANAGED_SECONDS
    } else {
        WARN_SECONDS
    };
    let (severity, said) = match judge_end(end, picture.now, warn) {
        Validity::Ended(ago) => (
            Broken,
            format!("its certificate ended {ago} ago, so that nobody trusts who uses it"),
        ),
        Validity::Ending(left) => (
            Risky,
            format!("its certificate ends in {left}, and should have been made anew"),
        ),
        Validity::Unreadable => (Broken, "it holds no certificate that can be read".to_owned()),
        Validity::Good => return None,
    };
    Some(
        Finding::new(severity, "certificate-ends", secret)
            .at("data[tls.crt]")
            .because(said)
            .next(format!(
                "see that OLM v0 runs, which makes another one; to have it made at once: kubectl delete {}",
                Subject::of(secret).for_kubectl()
            ))
            .suspecting(super::leases::of_subscriptions(picture)),
    )
}

fn of_manager(picture: &Picture, certificate: &Value) -> Option<Finding> {
    let describe = Subject::of(certificate).describe();
    if let Some(unready) = condition(certificate, "Ready").filter(Said::is_false) {
        return Some(
            Finding::new(Broken, "certificate-not-issued", certificate)
                .at_condition("Ready")
                .because(format!("cert-manager hasn't issued it: {}", unready.words()))
                .next(describe),
        );
    }
    let end: Timestamp = text(certificate, "/status/notAfter").parse().ok()?;
    let (severity, said) = match judge_end(Some(end.as_second()), picture.now, WARN_SECONDS) {
        Validity::Ended(ago) => (Broken, format!("it ended {ago} ago")),
        Validity::Ending(left) => (
            Risky,
            format!("it ends in {left}, and cert-manager hasn't renewed it"),
        ),
        Validity::Good | Validity::Unreadable => return None,
    };
    Some(
        Finding::new(severity, "certificate-ends", certificate)
            .at("status.notAfter")
            .because(said)
            .next(format!("see that cert-manager runs; then: {describe}")),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{conditions, object, picture, told};

    /// Makes a certificate that is good until a day.
    pub(crate) fn certificate((year, month, day): (i32, u8, u8)) -> String {
        let mut parameters =
            rcgen::CertificateParams::new(vec!["web.apps.svc".to_owned()]).expect("parameters");
        parameters.not_before = rcgen::date_time_ymd(2024, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(year, month, day);
        let key = rcgen::KeyPair::generate().expect("a key");
        parameters.self_signed(&key).expect("a certificate").pem()
    }

    #[test]
    fn a_certificate_that_ends_is_told_of() {
        let secret = |pem: &str, labels: Value| {
            object(
                "v1",
                "Secret",
                "apps",
                "web-cert",
                json!({
                "metadata": {"labels": labels}, "data": {"tls.crt": STANDARD.encode(pem)}}),
            )
        };
        let managed = || json!({keys::MANAGED: keys::MANAGED_VALUE});
        for (secret, expected) in [
            (secret(&certificate((2026, 6, 4)), managed()), None),
            (
                secret(&certificate((2026, 6, 4)), json!({})),
                Some(
                    "risky certificate-ends Secret apps/web-cert: its certificate ends in 2 days, and should have been made anew",
                ),
            ),
            (
                secret(&certificate((2026, 5, 1)), managed()),
                Some(
                    "broken certificate-ends Secret apps/web-cert: its certificate ended 31 days ago, so that nobody trusts who uses it",
                ),
            ),
            (
                secret("nonsense", managed()),
                Some(
                    "broken certificate-ends Secret apps/web-cert: it holds no certificate that can be read",
                ),
            ),
        ] {
            let findings = told(&look(&picture([secret])));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_certificate_of_cert_manager_is_issued_and_renewed() {
        let certificate = |ready: &str, end: &str| {
            let mut rest = conditions(&[("Ready", ready, "Pending", "no issuer")]);
            rest["status"]["notAfter"] = json!(end);
            object("cert-manager.io/v1", "Certificate", "apps", "web", rest)
        };
        for (certificate, expected) in [
            (certificate("True", "2026-09-01T00:00:00Z"), None),
            (
                certificate("True", "2026-06-03T12:00:00Z"),
                Some(
                    "risky certificate-ends Certificate apps/web: it ends in 2 days, and cert-manager hasn't renewed it",
                ),
            ),
            (
                certificate("False", ""),
                Some(
                    "broken certificate-not-issued Certificate apps/web: cert-manager hasn't issued it: no issuer",
                ),
            ),
        ] {
            let findings = told(&look(&picture([certificate])));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
