//! Volumes that hold files made from other objects.

use schema::structural::name_rules::dns_subdomain;

use super::super::environment::{field_reference, resource_reference};
use super::super::internal;
use super::super::pods::Options;
use super::super::reading::Reading;
use super::super::report::{Errors, Path};
use super::super::seen::Seen;
use super::super::selectors;
use super::super::syntax::{local_unreserved_path, signer_name};
use super::{demand, key_to_path, mode};
use crate::tree::{Fields, Tree};

const FIELDS: [&str; 5] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

const CONFLICT: &str = "conflicting duplicate paths";

/// Checks files that hold fields of the pod.
pub(super) fn downward(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    mode(errors, path, source, "defaultMode");
    for file in source.items("items") {
        downward_file(errors, path, file);
    }
}

fn downward_file(errors: &mut Errors, path: &Path<'_>, file: &Fields) {
    demand(errors, path, file, &["path"]);
    local_unreserved_path(errors, &path.child("path"), file.text("path"));
    if file.has("fieldRef") {
        field_reference(errors, &path.child("fieldRef"), file.at("fieldRef"), &FIELDS);
        if file.has("resourceFieldRef") {
            errors.invalid(
                path,
                "resource",
                "fieldRef and resourceFieldRef can not be specified simultaneously",
            );
        }
    } else if file.has("resourceFieldRef") {
        let path = path.child("resourceFieldRef");
        resource_reference(errors, &path, file.at("resourceFieldRef"), true);
    } else {
        errors.required(path, "one of fieldRef and resourceFieldRef is required");
    }
    mode(errors, path, file, "mode");
}

/// The paths that were seen, each of which may be there once.
#[derive(Default)]
struct Paths<'a>(Seen<&'a str>);

impl<'a> Paths<'a> {
    fn note(&mut self, errors: &mut Errors, path: &Path<'_>, file: &'a str, shown: &str) {
        if self.0.contains(&file) {
            errors.invalid(path, shown, CONFLICT);
        } else {
            self.0.push(file);
        }
    }
}

/// Checks a volume with several sources of files.
pub(super) fn check(errors: &mut Errors, path: &Path<'_>, volume: &Fields, options: &Options) {
    mode(errors, path, volume, "defaultMode");
    let mut seen = Paths::default();
    let sources = path.child("sources");
    for (index, source) in volume.numbered("sources") {
        let source_path = sources.index(index);
        let mut count = 0;
        for name in ["secret", "configMap"] {
            if source.has(name) {
                count += 1;
                let own = source_path.child(name);
                let source = source.at(name);
                demand(errors, &own, source, &["name"]);
                let items = own.child("items");
                for (index, item) in source.numbered("items") {
                    key_to_path(errors, &items.index(index), item);
                    if !item.is_zero("path") {
                        seen.note(errors, path, item.text("path"), source.text("name"));
                    }
                }
            }
        }
        if source.has("downwardAPI") {
            count += 1;
            let own = source_path.child("downwardAPI");
            for file in source.at("downwardAPI").items("items") {
                downward_file(errors, &own, file);
                let file = file.text("path");
                if !file.is_empty() {
                    seen.note(errors, path, file, file);
                }
            }
        }
        if source.has("serviceAccountToken") {
            count += 1;
            let own = source_path.child("serviceAccountToken");
            token(errors, path, &own, source.at("serviceAccountToken"), options);
        }
        if source.has("clusterTrustBundle") {
            count += 1;
            let own = source_path.child("clusterTrustBundle");
            let bundle = source.at("clusterTrustBundle");
            trust_bundle(errors, &own, source);
            let file = bundle.text("path");
            seen.note(errors, path, file, file);
        }
        if source.has("podCertificate") {
            count += 1;
            let own = source_path.child("podCertificate");
            certificate(errors, path, &own, source.at("podCertificate"), &mut seen);
        }
        if count > 1 {
            errors.forbidden(&source_path, "may not specify more than 1 volume type per source");
        }
    }
}

fn token(errors: &mut Errors, volume: &Path<'_>, path: &Path<'_>, token: &Fields, options: &Options) {
    let seconds = token.number("expirationSeconds");
    let seconds_path = path.child("expirationSeconds");
    if seconds < 600 {
        errors.invalid(
            &seconds_path,
            seconds,
            "may not specify a duration less than 10 minutes",
        );
    }
    if seconds > 1 << 32 {
        errors.invalid(
            &seconds_path,
            seconds,
            "may not specify a duration larger than 2^32 seconds",
        );
    }
    let file = token.text("path");
    if file.is_empty() {
        errors.required(&volume.child("path"), "");
    } else if !options.allows.token_path {
        local_unreserved_path(errors, &volume.child("path"), file);
    }
}

fn trust_bundle(errors: &mut Errors, path: &Path<'_>, source: &Fields) {
    let bundle = source.at("clusterTrustBundle");
    match (bundle.set_text("name"), bundle.set_text("signerName")) {
        (Some(_), Some(_)) => errors.invalid(
            path,
            internal::shown(
                "core.ClusterTrustBundleProjection",
                source.get("clusterTrustBundle"),
            ),
            "only one of name and signerName may be used",
        ),
        (Some(name), None) => {
            let name_path = path.child("name");
            if name.is_empty() {
                errors.required(&name_path, "must be a valid object name");
            }
            for fault in trust_bundle_name(name) {
                errors.invalid(
                    &name_path,
                    name,
                    format!("not a valid clustertrustbundlename: {fault}"),
                );
            }
            if let Some(selector) = bundle.set_value("labelSelector") {
                errors.invalid(
                    &path.child("labelSelector"),
                    selector,
                    "labelSelector must be unset if name is specified",
                );
            }
        }
        (None, Some(signer)) => {
            let signer_path = path.child("signerName");
            if signer.is_empty() {
                errors.required(&signer_path, "must be a valid signer name");
            }
            signer_name(errors, &signer_path, signer);
            selectors::check(
                errors,
                &path.child("labelSelector"),
                bundle.part("labelSelector"),
                false,
            );
        }
        (None, None) => errors.required(path, "either name or signerName must be specified"),
    }
    demand(errors, path, bundle, &["path"]);
    local_unreserved_path(errors, &path.child("path"), bundle.text("path"));
}

/// Returns what is wrong with the name of a `ClusterTrustBundle`; the front of it may be the name of its signer.
fn trust_bundle_name(name: &str) -> Vec<String> {
    let rest = name.rsplit_once(':').map_or(name, |(_, rest)| rest);
    dns_subdomain(rest)
}

fn certificate<'a>(
    errors: &mut Errors,
    volume: &Path<'_>,
    path: &Path<'_>,
    source: &'a Fields,
    seen: &mut Paths<'a>,
) {
    /// The shortest and the longest lives of certificates, in seconds; Kubernetes' own signers give short ones only.
    const SECONDS: (i64, i64, i64) = (3_600, 7_862_400, 86_400);
    let signer = source.text("signerName");
    signer_name(errors, &path.child("signerName"), signer);
    let key_types = [
        "RSA3072",
        "RSA4096",
        "ECDSAP256",
        "ECDSAP384",
        "ECDSAP521",
        "ED25519",
    ];
    let key_type = source.text("keyType");
    if !key_types.contains(&key_type) {
        errors.not_supported(&path.child("keyType"), key_type, &key_types);
    }
    if let Some(seconds) = source.set_number("maxExpirationSeconds") {
        let path = path.child("maxExpirationSeconds");
        if seconds < SECONDS.0 {
            errors.invalid(
                &path,
                seconds,
                "if provided, maxExpirationSeconds must be >= 3600",
            );
        }
        let host = signer.split('/').next().unwrap_or_default();
        let is_own = host == "kubernetes.io" || host.ends_with(".kubernetes.io");
        let most = if is_own { SECONDS.2 } else { SECONDS.1 };
        if seconds > most {
            errors.invalid(
                &path,
                seconds,
                format!("if provided, maxExpirationSeconds must be <= {most}"),
            );
        }
    }
    let mut count = 0;
    for name in ["credentialBundlePath", "keyPath", "certificateChainPath"] {
        let file = source.text(name);
        if !file.is_empty() {
            count += 1;
            local_unreserved_path(errors, &path.child(name), file);
            seen.note(errors, volume, file, file);
        }
    }
    if count == 0 {
        errors.required(
            path,
            "specify at least one of credentialBundlePath, keyPath, and certificateChainPath",
        );
    }
}
