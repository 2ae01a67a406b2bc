//! `APIServices`, certificates that are asked for, and how requests are queued.

use schema::structural::name_rules::{dns_1035_label, dns_label, dns_subdomain, path_segment};

use super::metadata;
use super::reading::Reading;
use super::report::{Errors, Path, Shown, listed};
use super::seen::Seen;
use super::syntax::{port_number, signer_name};
use crate::tree::{Fields, Tree};

const SPEC: Path<'_> = Path::new("spec");

/// Checks an `APIService`; `old` is the one that it replaces.
pub(super) fn api_service(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    if let Some(old) = old {
        metadata::check_update(errors, "apiregistration.k8s.io", object, old);
    }
    let spec = object.at("spec");
    let (group, version) = (spec.text("group"), spec.text("version"));
    let required = format!("{version}.{group}");
    metadata::check_with(errors, object, false, &|name, _| {
        let faults = path_segment(name, false);
        if faults.is_empty() && name != required {
            let quoted = required.as_str().shown();
            return vec![format!("must be `spec.version+\".\"+spec.group`: {quoted}")];
        }
        faults
    });
    if group.is_empty() {
        if version != "v1" {
            errors.required(
                &SPEC.child("group"),
                "only v1 may have an empty group and it better be legacy kube",
            );
        }
    } else {
        errors.faults(&SPEC.child("group"), group, dns_subdomain(group));
    }
    errors.faults(&SPEC.child("version"), version, dns_1035_label(version));
    for (name, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)] {
        let number = spec.number(name);
        if !(1..=most).contains(&number) {
            errors.invalid(
                &SPEC.child(name),
                number,
                format!("must be positive and less than {most}"),
            );
        }
    }
    let bundle = spec.text("caBundle");
    let is_careless = spec.flag("insecureSkipTLSVerify");
    let careless_path = SPEC.child("insecureSkipTLSVerify");
    if !spec.has("service") {
        if !bundle.is_empty() {
            let bytes = bundle.trim_end_matches('=').len() * 3 / 4;
            errors.invalid(
                &SPEC.child("caBundle"),
                &format!("{bytes} bytes"),
                "local APIServices may not have a caBundle",
            );
        }
        if is_careless {
            errors.invalid(
                &careless_path,
                true,
                "local APIServices may not have insecureSkipTLSVerify",
            );
        }
        return;
    }
    let service = spec.at("service");
    for name in ["namespace", "name"] {
        if service.is_zero(name) {
            errors.required(&SPEC.child("service").child(name), "");
        }
    }
    let port = service.number("port");
    let faults = port_number(port);
    if !faults.is_empty() {
        errors.invalid(
            &SPEC.child("service.port"),
            port,
            format!("port is not valid: {}", faults.join(", ")),
        );
    }
    if is_careless && !bundle.is_empty() {
        errors.invalid(&careless_path, true, "may not be true if caBundle is present");
    }
}

/// Checks a status of an `APIService`.
pub(super) fn api_service_status(errors: &mut Errors, new: &Fields, old: &Fields) {
    metadata::check_update(errors, "apiregistration.k8s.io", new, old);
    let list = Path::new("status.conditions");
    for (index, condition) in new.at("status").numbered("conditions") {
        errors.one_of_if_set(
            &list.index(index).child("status"),
            Some(condition.text("status")),
            &["True", "False", "Unknown"],
        );
    }
}

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// Checks a new `CertificateSigningRequest`.
pub(super) fn signing_request(errors: &mut Errors, object: &Fields) {
    metadata::check_with(errors, object, false, &|_, _| Vec::new());
    let spec = object.at("spec");
    if let Some(fault) = request_fault(spec.text("request")) {
        errors.invalid(&SPEC.child("request"), spec.text("request"), fault);
    }
    let usages = SPEC.child("usages");
    if spec.is_zero("usages") {
        errors.required(&usages, "");
    }
    for (index, usage) in spec.texts("usages").enumerate() {
        errors.one_of_if_set(&usages.index(index), Some(usage), &USAGES);
    }
    let mut seen: Seen<&str> = Seen::default();
    for (index, usage) in spec.texts("usages").enumerate() {
        if seen.contains(&usage) {
            errors.duplicate(&usages.index(index), usage);
        }
        seen.push(usage);
    }
    let signer = spec.text("signerName");
    let path = SPEC.child("signerName");
    if signer == "kubernetes.io/legacy-unknown" {
        errors.invalid(
            &path,
            signer,
            "the legacy signerName is not allowed via this API version",
        );
    } else {
        signer_name(errors, &path, signer);
    }
    if let Some(seconds) = spec
        .set_number("expirationSeconds")
        .filter(|seconds| *seconds < 600)
    {
        errors.invalid(
            &SPEC.child("expirationSeconds"),
            seconds,
            "may not specify a duration less than 600 seconds (10 minutes)",
        );
    }
}

/// Returns what keeps a request from being a PEM block of the right type.
fn request_fault(encoded: &str) -> Option<String> {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let begins = text.starts_with("-----BEGIN CERTIFICATE REQUEST-----")
        || text.contains("\n-----BEGIN CERTIFICATE REQUEST-----");
    let is_block = begins && text.contains("\n-----END CERTIFICATE REQUEST-----");
    (!is_block).then(|| "PEM block type must be CERTIFICATE REQUEST".to_owned())
}

/// Checks a `FlowSchema`.
pub(super) fn flow_schema(errors: &mut Errors, object: &Fields) {
    /// The lowest precedence.
    const LARGEST: i64 = 10_000;
    metadata::check(errors, "flowcontrol.apiserver.k8s.io", "FlowSchema", object);
    let spec = object.at("spec");
    let precedence = spec.number("matchingPrecedence");
    let path = SPEC.child("matchingPrecedence");
    if precedence <= 0 {
        errors.invalid(&path, precedence, "must be a positive value");
    }
    if precedence > LARGEST {
        errors.invalid(&path, precedence, format!("must not be greater than {LARGEST}"));
    }
    if precedence == 1 && object.at("metadata").text("name") != "exempt" {
        errors.invalid(
            &path,
            precedence,
            "only the schema named 'exempt' may have matchingPrecedence 1",
        );
    }
    if spec.has("distinguisherMethod") {
        let kind = spec.at("distinguisherMethod").text("type");
        if !matches!(kind, "ByNamespace" | "ByUser") {
            let shown = super::internal::shown(
                "flowcontrol.FlowDistinguisherMethod",
                spec.get("distinguisherMethod"),
            );
            errors.not_supported(
                &SPEC.child("distinguisherMethod.type"),
                shown,
                &["ByNamespace", "ByUser"],
            );
        }
    }
    let level = spec.at("priorityLevelConfiguration").text("name");
    let path = SPEC.child("priorityLevelConfiguration.name");
    if level.is_empty() {
        errors.required(&path, "must reference a priority level");
    } else {
        errors.faults(&path, level, dns_subdomain(level));
    }
    let list = SPEC.child("rules");
    for (index, rule) in spec.numbered("rules") {
        flow_rule(errors, &list.index(index), rule);
    }
}

fn flow_rule(errors: &mut Errors, path: &Path<'_>, rule: &Fields) {
    let subjects = path.child("subjects");
    if rule.is_zero("subjects") {
        errors.required(&subjects, "subjects must contain at least one value");
    }
    for (index, subject) in rule.numbered("subjects") {
        flow_subject(errors, &subjects.index(index), subject);
    }
    if rule.is_zero("resourceRules") && rule.is_zero("nonResourceRules") {
        errors.required(
            path,
            "at least one of resourceRules and nonResourceRules has to be non-empty",
        );
    }
    let list = path.child("resourceRules");
    for (index, rule) in rule.numbered("resourceRules") {
        let path = list.index(index);
        flow_verbs(errors, &path, rule);
        for (name, one, many) in [
            ("apiGroups", "api group", "api groups"),
            ("resources", "resource", "resources"),
        ] {
            if rule.is_zero(name) {
                errors.required(
                    &path.child(name),
                    format!("resource rules must supply at least one {one}"),
                );
            } else {
                alone(errors, &path.child(name), rule, name, many);
            }
        }
        let namespaces = path.child("namespaces");
        if rule.is_zero("namespaces") && !rule.flag("clusterScope") {
            errors.required(
                &namespaces,
                "resource rules that are not cluster scoped must supply at least one namespace",
            );
        } else if rule.texts("namespaces").any(|name| name == "*") {
            alone(errors, &namespaces, rule, "namespaces", "namespaces");
        } else {
            for (index, name) in rule.texts("namespaces").enumerate() {
                for fault in dns_label(name) {
                    errors.invalid(
                        &namespaces.index(index),
                        name,
                        format!("each member of this list must be '*' or a DNS-1123 label; {fault}"),
                    );
                }
            }
        }
    }
    let list = path.child("nonResourceRules");
    for (index, rule) in rule.numbered("nonResourceRules") {
        let path = list.index(index);
        flow_verbs(errors, &path, rule);
        let urls = path.child("nonResourceURLs");
        if rule.is_zero("nonResourceURLs") {
            errors.required(&urls, "nonResourceURLs must contain at least one value");
        } else if rule.texts("nonResourceURLs").any(|url| url == "*") {
            alone(errors, &urls, rule, "nonResourceURLs", "non-resource URLs");
        } else {
            for (index, url) in rule.texts("nonResourceURLs").enumerate() {
                flow_url(errors, &urls.index(index), url);
            }
        }
    }
}

/// Checks that a wildcard stands alone.
fn alone(errors: &mut Errors, path: &Path<'_>, rule: &Fields, name: &str, what: &str) {
    if rule.list(name).len() > 1 && rule.texts(name).any(|text| text == "*") {
        errors.invalid(
            path,
            listed(rule.get(name)),
            format!("if '*' is present, must not specify other {what}"),
        );
    }
}

fn flow_verbs(errors: &mut Errors, path: &Path<'_>, rule: &Fields) {
    const VERBS: [&str; 9] = [
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "proxy",
        "update",
        "watch",
    ];
    let path = path.child("verbs");
    if rule.is_zero("verbs") {
        errors.required(&path, "verbs must contain at least one value");
    } else if rule.texts("verbs").any(|verb| verb == "*") {
        alone(errors, &path, rule, "verbs", "verbs");
    } else if !rule.texts("verbs").all(|verb| VERBS.contains(&verb)) {
        errors.not_supported(&path, listed(rule.get("verbs")), &VERBS);
    }
}

fn flow_subject(errors: &mut Errors, path: &Path<'_>, subject: &Fields) {
    const KINDS: [(&str, &str); 3] = [
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
        ("Group", "group"),
    ];
    let kind = subject.text("kind");
    let Some((_, field)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        errors.not_supported(&path.child("kind"), kind, &["Group", "ServiceAccount", "User"]);
        return;
    };
    let own = path.child(field);
    let part = subject.at(field);
    if !subject.has(field) {
        errors.required(&own, format!("{field} is required when subject kind is '{kind}'"));
    } else if part.is_zero("name") {
        errors.required(&own.child("name"), "");
    }
    if kind == "ServiceAccount" && subject.has(field) {
        let (name, namespace) = (part.text("name"), part.text("namespace"));
        if !name.is_empty() && name != "*" {
            errors.faults(&own.child("name"), name, dns_subdomain(name));
        }
        if namespace.is_empty() {
            errors.required(
                &own.child("namespace"),
                "must specify namespace for service account",
            );
        } else {
            errors.faults(&own.child("namespace"), namespace, dns_label(namespace));
        }
    }
    for (other, field) in KINDS.iter().filter(|(known, _)| *known != kind) {
        if subject.has(field) {
            errors.forbidden(
                &path.child(field),
                format!("{field} is forbidden when subject kind is not '{other}'"),
            );
        }
    }
}

fn flow_url(errors: &mut Errors, path: &Path<'_>, url: &str) {
    let fault = if url.is_empty() {
        "must not be empty"
    } else if url == "/" {
        return;
    } else if !url.starts_with('/') {
        "must start with slash"
    } else if url.contains(' ') {
        "must not contain white-space"
    } else if url.contains("//") {
        "must not contain double slash"
    } else if url.strip_suffix('*').unwrap_or(url).contains('*')
        || (url.ends_with('*') && !url.ends_with("/*"))
    {
        "wildcard can only do suffix matching"
    } else {
        return;
    };
    errors.invalid(path, url, fault);
}

/// Checks a `PriorityLevelConfiguration`.
pub(super) fn priority_level(errors: &mut Errors, object: &Fields) {
    metadata::check(
        errors,
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        object,
    );
    let spec = object.at("spec");
    let kind = spec.text("type");
    if (object.at("metadata").text("name") == "exempt") != (kind == "Exempt") {
        errors.invalid(
            &SPEC.child("type"),
            kind,
            "must be 'Exempt' if and only if `name` is 'exempt'",
        );
    }
    match kind {
        "Exempt" => {
            if spec.has("limited") {
                errors.forbidden(&SPEC.child("limited"), "must be nil if the type is not Limited");
            }
            shares(errors, &SPEC.child("exempt"), spec.at("exempt"));
        }
        "Limited" => {
            if spec.has("exempt") {
                errors.forbidden(&SPEC.child("exempt"), "must be nil if the type is Limited");
            }
            let path = SPEC.child("limited");
            if spec.has("limited") {
                limited(errors, &path, spec.at("limited"));
            } else {
                errors.required(&path, "must not be empty when type is Limited");
            }
        }
        "" => errors.required(&SPEC.child("type"), ""),
        other => errors.not_supported(&SPEC.child("type"), other, &["Exempt", "Limited"]),
    }
}

fn shares(errors: &mut Errors, path: &Path<'_>, level: &Fields) {
    let number = level.number("nominalConcurrencyShares");
    if number < 0 {
        errors.invalid(
            &path.child("nominalConcurrencyShares"),
            number,
            "must be a non-negative integer",
        );
    }
    lendable(errors, path, level);
}

fn lendable(errors: &mut Errors, path: &Path<'_>, level: &Fields) {
    if let Some(percent) = level.set_number("lendablePercent")
        && !(0..=100).contains(&percent)
    {
        errors.invalid(
            &path.child("lendablePercent"),
            percent,
            "must be between 0 and 100, inclusive",
        );
    }
}

fn limited(errors: &mut Errors, path: &Path<'_>, level: &Fields) {
    let number = level.number("nominalConcurrencyShares");
    if number < 0 {
        errors.invalid(
            &path.child("nominalConcurrencyShares"),
            number,
            "must be a non-negative integer",
        );
    }
    let response = level.at("limitResponse");
    let own = path.child("limitResponse");
    match response.text("type") {
        "Reject" => {
            if response.has("queuing") {
                errors.forbidden(
                    &own.child("queuing"),
                    "must be nil if limited.limitResponse.type is not Limited",
                );
            }
        }
        "Queue" => {
            if response.has("queuing") {
                queuing(errors, &own.child("queuing"), response.at("queuing"));
            } else {
                errors.required(
                    &own.child("queuing"),
                    "must not be empty if limited.limitResponse.type is Limited",
                );
            }
        }
        "" => errors.required(&own.child("type"), ""),
        other => errors.not_supported(&own.child("type"), other, &["Queue", "Reject"]),
    }
    lendable(errors, path, level);
    if let Some(percent) = level
        .set_number("borrowingLimitPercent")
        .filter(|percent| *percent < 0)
    {
        errors.invalid(
            &path.child("borrowingLimitPercent"),
            percent,
            "if specified, must be a non-negative integer",
        );
    }
}

fn queuing(errors: &mut Errors, path: &Path<'_>, queuing: &Fields) {
    /// The most queues, and the most bits of chance that dealing requests to them may need.
    const MOST: (i64, i64) = (10_000_000, 60);
    let (length, queues, hand) = (
        queuing.number("queueLengthLimit"),
        queuing.number("queues"),
        queuing.number("handSize"),
    );
    if length <= 0 {
        errors.invalid(&path.child("queueLengthLimit"), length, "must be positive");
    }
    if queues <= 0 {
        errors.invalid(&path.child("queues"), queues, "must be positive");
    } else if queues > MOST.0 {
        errors.invalid(
            &path.child("queues"),
            queues,
            format!("must not be greater than {}", MOST.0),
        );
    }
    let hand_path = path.child("handSize");
    if hand <= 0 {
        errors.invalid(&hand_path, hand, "must be positive");
    } else if hand > queues {
        errors.invalid(
            &hand_path,
            hand,
            format!("should not be greater than queues ({queues})"),
        );
    } else if bits(queues).saturating_mul(hand) > MOST.1 {
        errors.invalid(
            &hand_path,
            hand,
            format!(
                "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {}",
                MOST.1
            ),
        );
    }
}

/// Returns how many bits tell one of so many queues.
fn bits(queues: i64) -> i64 {
    let largest = u64::try_from(queues - 1).unwrap_or_default();
    i64::from(u64::BITS - largest.leading_zeros())
}
