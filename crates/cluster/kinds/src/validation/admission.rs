//! Webhooks and policies that judge other objects. Whether their expressions can be read is judged elsewhere.

use schema::structural::definition::webhook_address_faults;
use schema::structural::name_rules::{dns_1035_label, dns_subdomain, is_reserved_word, label_key};

use super::reading::Reading;
use super::report::{Errors, Path, listed};
use super::seen::Seen;
use super::{metadata, selectors, syntax};
use crate::tree::{Fields, Tree, same};

const SPEC: Path<'_> = Path::new("spec");
const GROUP: &str = "admissionregistration.k8s.io";

const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];
const NO_SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// What new webhooks must be, and old ones only if they were.
#[derive(Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says of another field whether it is checked"
)]
struct Demands {
    no_side_effects: bool,
    known_versions: bool,
    unique_names: bool,
    right_selectors: bool,
    conditions: bool,
}

impl Demands {
    fn of(object: &Fields, old: Option<&Fields>) -> Self {
        let Some(old) = old else {
            return Self {
                no_side_effects: true,
                known_versions: true,
                unique_names: true,
                right_selectors: true,
                conditions: true,
            };
        };
        let hooks = || old.items("webhooks");
        let names: Vec<&str> = hooks().map(|hook| hook.text("name")).collect();
        let has_known_version = |hook: &Fields| {
            hook.is_zero("admissionReviewVersions")
                || hook
                    .texts("admissionReviewVersions")
                    .any(|version| REVIEW_VERSIONS.contains(&version))
        };
        let mut wrong = Errors::default();
        for hook in hooks() {
            for name in ["namespaceSelector", "objectSelector"] {
                selectors::check(&mut wrong, &SPEC, hook.part(name), false);
            }
        }
        let same_conditions = object.list("webhooks").len() == names.len()
            && object
                .items("webhooks")
                .zip(hooks())
                .all(|(new, old)| new.is_same(old, "matchConditions"));
        Self {
            no_side_effects: hooks().all(|hook| NO_SIDE_EFFECTS.contains(&hook.text("sideEffects"))),
            known_versions: hooks().all(has_known_version),
            unique_names: names
                .iter()
                .enumerate()
                .all(|(index, name)| names.iter().skip(index + 1).all(|other| other != name)),
            right_selectors: wrong.is_empty(),
            conditions: !same_conditions,
        }
    }
}

/// Checks a configuration of webhooks; `old` is the one that it replaces.
pub(super) fn webhooks(errors: &mut Errors, kind: &str, object: &Fields, old: Option<&Fields>) {
    let demands = Demands::of(object, old);
    metadata::check(errors, GROUP, kind, object);
    let list = Path::new("webhooks");
    let mut names: Seen<&str> = Seen::default();
    for (index, hook) in object.numbered("webhooks") {
        let path = list.index(index);
        webhook(errors, &path, hook, demands);
        review_versions(errors, &path.child("admissionReviewVersions"), hook, demands);
        let name = hook.text("name");
        if demands.unique_names && !name.is_empty() {
            if names.contains(&name) {
                errors.duplicate(&path.child("name"), name);
            } else {
                names.push(name);
            }
        }
    }
}

fn webhook(errors: &mut Errors, path: &Path<'_>, hook: &Fields, demands: Demands) {
    syntax::qualified_domain(errors, &path.child("name"), hook.text("name"));
    let rules = path.child("rules");
    for (index, rule) in hook.numbered("rules") {
        rule_with_operations(errors, &rules.index(index), rule);
    }
    errors.one_of_if_set(
        &path.child("failurePolicy"),
        hook.set_text("failurePolicy"),
        &FAILURE_POLICIES,
    );
    errors.one_of_if_set(
        &path.child("matchPolicy"),
        hook.set_text("matchPolicy"),
        &MATCH_POLICIES,
    );
    let effects: &[&str] = if demands.no_side_effects {
        &NO_SIDE_EFFECTS
    } else {
        &["None", "NoneOnDryRun", "Some", "Unknown"]
    };
    match hook.set_text("sideEffects") {
        None => errors.required(
            &path.child("sideEffects"),
            format!("must specify one of {}", effects.join(", ")),
        ),
        effect => errors.one_of_if_set(&path.child("sideEffects"), effect, effects),
    }
    if let Some(seconds) = hook.set_number("timeoutSeconds")
        && !(1..=30).contains(&seconds)
    {
        errors.invalid(
            &path.child("timeoutSeconds"),
            seconds,
            "the timeout value must be between 1 and 30 seconds",
        );
    }
    for name in ["namespaceSelector", "objectSelector"] {
        selectors::check(
            errors,
            &path.child(name),
            hook.part(name),
            !demands.right_selectors,
        );
    }
    errors.one_of_if_set(
        &path.child("reinvocationPolicy"),
        hook.set_text("reinvocationPolicy"),
        &["IfNeeded", "Never"],
    );
    let client = path.child("clientConfig").owned();
    errors.append(webhook_address_faults(hook.get("clientConfig"), &client));
    if demands.conditions {
        match_conditions(errors, &path.child("matchConditions"), hook);
    }
}

fn review_versions(errors: &mut Errors, path: &Path<'_>, hook: &Fields, demands: Demands) {
    if hook.is_zero("admissionReviewVersions") {
        errors.required(path, "must specify one of v1, v1beta1");
        return;
    }
    let mut seen: Seen<&str> = Seen::default();
    for (index, version) in hook.texts("admissionReviewVersions").enumerate() {
        if seen.contains(&version) {
            errors.invalid(&path.index(index), version, "duplicate version");
            continue;
        }
        seen.push(version);
        errors.faults(&path.index(index), version, dns_1035_label(version));
    }
    if demands.known_versions && !REVIEW_VERSIONS.iter().any(|version| seen.contains(version)) {
        errors.invalid(
            path,
            listed(hook.get("admissionReviewVersions")),
            "must include at least one of v1, v1beta1",
        );
    }
}

fn rule_with_operations(errors: &mut Errors, path: &Path<'_>, rule: &Fields) {
    let operations = path.child("operations");
    let has_wildcard = |name: &str| rule.list(name).len() > 1 && rule.texts(name).any(|text| text == "*");
    if rule.is_zero("operations") {
        errors.required(&operations, "");
    }
    if has_wildcard("operations") {
        errors.invalid(
            &operations,
            listed(rule.get("operations")),
            "if '*' is present, must not specify other operations",
        );
    }
    for (index, operation) in rule.texts("operations").enumerate() {
        errors.one_of_if_set(
            &operations.index(index),
            Some(operation),
            &["*", "CONNECT", "CREATE", "DELETE", "UPDATE"],
        );
    }
    for (name, what) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        let path = path.child(name);
        if rule.is_zero(name) {
            errors.required(&path, "");
        }
        if has_wildcard(name) {
            errors.invalid(
                &path,
                listed(rule.get(name)),
                format!("if '*' is present, must not specify other {what}"),
            );
        }
    }
    let versions = path.child("apiVersions");
    for (index, version) in rule.texts("apiVersions").enumerate() {
        if version.is_empty() {
            errors.required(&versions.index(index), "");
        }
    }
    rule_resources(errors, &path.child("resources"), rule);
    errors.one_of_if_set(
        &path.child("scope"),
        rule.set_text("scope"),
        &["*", "Cluster", "Namespaced"],
    );
}

fn rule_resources(errors: &mut Errors, path: &Path<'_>, rule: &Fields) {
    if rule.is_zero("resources") {
        errors.required(path, "");
    }
    let (mut all_below, mut of_all): (Seen<&str>, Seen<&str>) = Default::default();
    let (mut has_everything, mut has_all, mut has_plain) = (false, false, false);
    for (index, text) in rule.texts("resources").enumerate() {
        let own = path.index(index);
        if text.is_empty() {
            errors.required(&own, "");
            continue;
        }
        has_everything |= text == "*/*";
        has_all |= text == "*";
        let Some((resource, below)) = text.split_once('/') else {
            // Only the last one counts, as upstream has it.
            has_plain = text != "*";
            continue;
        };
        if all_below.contains(&resource) {
            errors.invalid(
                &own,
                text,
                format!("if '{resource}/*' is present, must not specify {text}"),
            );
        }
        if of_all.contains(&below) {
            errors.invalid(
                &own,
                text,
                format!("if '*/{below}' is present, must not specify {text}"),
            );
        }
        if below == "*" {
            all_below.push(resource);
        }
        if resource == "*" {
            of_all.push(below);
        }
    }
    let shown = || listed(rule.get("resources"));
    if rule.list("resources").len() > 1 && has_everything {
        errors.invalid(
            path,
            shown(),
            "if '*/*' is present, must not specify other resources",
        );
    }
    if has_all && has_plain {
        errors.invalid(
            path,
            shown(),
            "if '*' is present, must not specify other resources without subresources",
        );
    }
}

fn match_conditions(errors: &mut Errors, path: &Path<'_>, holder: &Fields) {
    /// The most conditions.
    const MOST: usize = 64;
    let count = holder.list("matchConditions").len();
    if count > MOST {
        errors.too_many(path, count, MOST);
    }
    let mut names: Seen<&str> = Seen::default();
    for (index, condition) in holder.numbered("matchConditions") {
        let path = path.index(index);
        if condition.text("expression").trim().is_empty() {
            errors.required(&path.child("expression"), "");
        }
        let name = condition.text("name");
        let name_path = path.child("name");
        if name.is_empty() {
            errors.required(&name_path, "");
            continue;
        }
        errors.faults(&name_path, name, label_key(name));
        if names.contains(&name) {
            errors.duplicate(&name_path, name);
        } else {
            names.push(name);
        }
    }
}

fn match_resources(errors: &mut Errors, path: &Path<'_>, resources: &Fields) {
    match resources.set_text("matchPolicy") {
        None => errors.required(&path.child("matchPolicy"), ""),
        policy => errors.one_of_if_set(&path.child("matchPolicy"), policy, &MATCH_POLICIES),
    }
    for name in ["namespaceSelector", "objectSelector"] {
        if resources.has(name) {
            selectors::check(errors, &path.child(name), resources.part(name), false);
        } else {
            errors.required(&path.child(name), "");
        }
    }
    for name in ["resourceRules", "excludeResourceRules"] {
        let list = path.child(name);
        for (index, rule) in resources.numbered(name) {
            let path = list.index(index);
            let names = path.child("resourceNames");
            let mut seen: Seen<&str> = Seen::default();
            for (index, name) in rule.texts("resourceNames").enumerate() {
                errors.faults(&names.index(index), name, syntax::path_segment(name));
                if seen.contains(&name) {
                    errors.duplicate(&names.index(index), name);
                } else {
                    seen.push(name);
                }
            }
            rule_with_operations(errors, &path, rule);
        }
    }
}

fn param_kind(errors: &mut Errors, path: &Path<'_>, kind: &Fields) {
    let version_path = path.child("apiVersion");
    let text = kind.text("apiVersion");
    match (text, text.matches('/').count()) {
        ("", _) => errors.required(&version_path, ""),
        (_, 0 | 1) => {
            let (group, version) = match text {
                "/" => ("", ""),
                _ => text.split_once('/').unwrap_or(("", text)),
            };
            if !group.is_empty() {
                let faults = dns_subdomain(group);
                if !faults.is_empty() {
                    errors.invalid(&version_path, group, faults.join(","));
                }
            }
            if version.is_empty() {
                errors.invalid(&version_path, text, "version must be specified");
            } else {
                let faults = dns_1035_label(version);
                if !faults.is_empty() {
                    errors.invalid(&version_path, version, faults.join(","));
                }
            }
        }
        _ => errors.invalid(
            &version_path,
            text,
            format!("unexpected GroupVersion string: {text}"),
        ),
    }
    let name = kind.text("kind");
    if name.is_empty() {
        errors.required(&path.child("kind"), "");
    } else {
        let faults = dns_1035_label(&name.to_lowercase());
        if !faults.is_empty() {
            errors.invalid(
                &path.child("kind"),
                name,
                format!(
                    "may have mixed case, but should otherwise match: {}",
                    faults.join(",")
                ),
            );
        }
    }
}

fn variables(errors: &mut Errors, spec: &Fields) {
    let list = SPEC.child("variables");
    for (index, variable) in spec.numbered("variables") {
        let path = list.index(index);
        let name = variable.text("name");
        let is_sign = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        if name.trim().is_empty() {
            errors.required(&path.child("name"), "name is not specified");
        } else if !name.chars().all(is_sign)
            || name.starts_with(|sign: char| sign.is_ascii_digit())
            || is_reserved_word(name)
        {
            errors.invalid(&path.child("name"), name, "must be a valid CEL identifier");
        }
        if variable.text("expression").trim().is_empty() {
            errors.required(&path.child("expression"), "expression is not specified");
        }
    }
}

/// Checks what policies of both kinds share.
fn policy_front(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    let spec = object.at("spec");
    match spec.set_text("failurePolicy") {
        None => errors.required(&SPEC.child("failurePolicy"), ""),
        policy => errors.one_of_if_set(&SPEC.child("failurePolicy"), policy, &FAILURE_POLICIES),
    }
    if spec.has("paramKind") {
        param_kind(errors, &SPEC.child("paramKind"), spec.at("paramKind"));
    }
    let path = SPEC.child("matchConstraints");
    if spec.has("matchConstraints") {
        match_resources(errors, &path, spec.at("matchConstraints"));
        if spec.at("matchConstraints").is_zero("resourceRules") {
            errors.required(&path.child("resourceRules"), "");
        }
    } else {
        errors.required(&path, "");
    }
    let is_known = old.is_some_and(|old| {
        let old = old.at("spec");
        ["paramKind", "matchConditions"]
            .iter()
            .all(|name| same(spec.get(*name), old.get(*name)))
    });
    if !is_known {
        match_conditions(errors, &SPEC.child("matchConditions"), spec);
    }
    variables(errors, spec);
}

/// Checks a `ValidatingAdmissionPolicy`; `old` is the one that it replaces.
pub(super) fn validating_policy(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    metadata::check(errors, GROUP, "ValidatingAdmissionPolicy", object);
    policy_front(errors, object, old);
    let spec = object.at("spec");
    let (rules, notes) = (SPEC.child("validations"), SPEC.child("auditAnnotations"));
    if spec.is_zero("validations") && spec.is_zero("auditAnnotations") {
        for path in [&rules, &notes] {
            errors.required(
                path,
                "validations or auditAnnotations must contain at least one item",
            );
        }
        return;
    }
    for (index, rule) in spec.numbered("validations") {
        let path = rules.index(index);
        if rule.text("expression").trim().is_empty() {
            errors.required(&path.child("expression"), "expression is not specified");
        }
        for name in ["messageExpression", "message"] {
            let text = rule.text(name);
            if !text.is_empty() && text.trim().is_empty() {
                errors.invalid(&path.child(name), text, "must be non-empty if specified");
            } else if name == "message" && text.trim().contains(['\n', '\r']) {
                errors.invalid(&path.child(name), text, "must not contain line breaks");
            }
        }
        errors.one_of_if_set(
            &path.child("reason"),
            rule.set_text("reason"),
            &["Forbidden", "Invalid", "RequestEntityTooLarge"],
        );
    }
    audit_annotations(errors, &notes, object);
}

fn audit_annotations(errors: &mut Errors, list: &Path<'_>, object: &Fields) {
    /// The most annotations, and the longest expression of one.
    const MOST: (usize, usize) = (20, 5 << 10);
    let spec = object.at("spec");
    if spec.list("auditAnnotations").len() > MOST.0 {
        errors.invalid(
            list,
            listed(spec.get("auditAnnotations")),
            format!("must not have more than {} auditAnnotations", MOST.0),
        );
    }
    let name = object.at("metadata").text("name");
    let mut keys: Seen<&str> = Seen::default();
    for (index, note) in spec.numbered("auditAnnotations") {
        let path = list.index(index);
        let key = note.text("key");
        if name.is_empty() {
            errors.invalid(&path.child("key"), key, "requires metadata.name be non-empty");
        } else {
            let whole = format!("{name}/{key}");
            errors.faults(&path.child("key"), &whole, label_key(&whole));
        }
        let expression = note.text("valueExpression").trim();
        if expression.is_empty() {
            errors.required(&path.child("valueExpression"), "valueExpression is not specified");
        } else if expression.len() > MOST.1 {
            errors.required(
                &path.child("valueExpression"),
                format!("must not exceed {} bytes in length", MOST.1),
            );
        }
        if keys.contains(&key) {
            errors.duplicate(&path.child("key"), key);
        }
        keys.push(key);
    }
}

/// Checks a binding of a policy of either kind.
pub(super) fn binding(errors: &mut Errors, kind: &str, object: &Fields) {
    metadata::check(errors, GROUP, kind, object);
    let spec = object.at("spec");
    let name = spec.text("policyName");
    if name.is_empty() {
        errors.required(&SPEC.child("policyName"), "");
    } else {
        errors.faults(&SPEC.child("policyName"), name, dns_subdomain(name));
    }
    if spec.has("paramRef") {
        param_reference(errors, &SPEC.child("paramRef"), spec.at("paramRef"));
    }
    if spec.has("matchResources") {
        match_resources(errors, &SPEC.child("matchResources"), spec.at("matchResources"));
    }
    if kind != "ValidatingAdmissionPolicyBinding" {
        return;
    }
    let path = SPEC.child("validationActions");
    let mut seen: Seen<&str> = Seen::default();
    for (index, action) in spec.texts("validationActions").enumerate() {
        errors.one_of_if_set(&path.index(index), Some(action), &["Audit", "Deny", "Warn"]);
        if seen.contains(&action) {
            errors.duplicate(&path.index(index), action);
        }
        seen.push(action);
    }
    if seen.contains(&"Deny") && seen.contains(&"Warn") {
        errors.invalid(
            &path,
            listed(spec.get("validationActions")),
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response \
             and headers serves no purpose)",
        );
    }
    if spec.list("validationActions").is_empty() {
        errors.required(&path, "at least one validation action is required");
    }
}

fn param_reference(errors: &mut Errors, path: &Path<'_>, reference: &Fields) {
    const RULE: &str = "name and selector are mutually exclusive";
    let name = reference.text("name");
    let has_selector = reference.has("selector");
    if !name.is_empty() {
        errors.faults(&path.child("name"), name, syntax::path_segment(name));
        if has_selector {
            errors.forbidden(&path.child("name"), RULE);
        }
    }
    if has_selector {
        selectors::check(errors, &path.child("selector"), reference.part("selector"), false);
        if !name.is_empty() {
            errors.forbidden(&path.child("selector"), RULE);
        }
    }
    if name.is_empty() && !has_selector {
        errors.required(path, "one of name or selector must be specified");
    }
    errors.one_of(
        &path.child("parameterNotFoundAction"),
        reference.text("parameterNotFoundAction"),
        &["Deny", "Allow"],
    );
}

/// Checks a `MutatingAdmissionPolicy`; `old` is the one that it replaces.
pub(super) fn mutating_policy(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    metadata::check(errors, GROUP, "MutatingAdmissionPolicy", object);
    policy_front(errors, object, old);
    let spec = object.at("spec");
    let list = SPEC.child("mutations");
    if spec.is_zero("mutations") {
        errors.required(&list, "mutations must contain at least one item");
    }
    for (index, mutation) in spec.numbered("mutations") {
        let path = list.index(index);
        let kinds = ["ApplyConfiguration", "JSONPatch"];
        let kind = mutation.text("patchType");
        errors.one_of(&path.child("patchType"), kind, &kinds);
        for (name, own) in [("applyConfiguration", kinds[0]), ("jsonPatch", kinds[1])] {
            let part = path.child(name);
            match (kind == own, mutation.has(name)) {
                (true, false) => errors.required(&part, format!("must be specified when patchType is {own}")),
                (true, true) if mutation.at(name).text("expression").trim().is_empty() => {
                    errors.required(&part.child("expression"), "expression is not specified");
                }
                _ => {}
            }
        }
    }
    match spec.set_text("reinvocationPolicy") {
        None => errors.required(&SPEC.child("reinvocationPolicy"), ""),
        policy => errors.one_of_if_set(&SPEC.child("reinvocationPolicy"), policy, &["IfNeeded", "Never"]),
    }
}
