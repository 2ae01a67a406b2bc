//! The configuration of a `ClusterExtension`, accepted and refused as OLM v1 does it.

use std::fs;

use bundle::registry::RegistryBundle;
use bundle::rendering::certificates::{CertManager, CertificateProvider};
use bundle::rendering::configuration::{
    Configuration, Gates, INVALID_CONFIGURATION, ManifestsError, manifests, options, schema,
};
use bundle::rendering::quantity;
use bundle::rendering::targets::InstallModes;
use proptest::prelude::*;
use serde_json::{Value, json};

fn recorded(file: &str) -> Option<Value> {
    let root = corpus::open("olmv1")?.join("olmv1-corpus");
    let bytes = fs::read(root.join(file)).expect("a recorded file");
    Some(serde_json::from_slice(&bytes).expect("JSON"))
}

/// Runs every row of a section, and fails with all that differ.
fn rows(file: &str, section: &str, least: usize, run: impl Fn(&Value) -> Result<(), String>) {
    let Some(all) = recorded(file) else { return };
    let rows = all[section].as_array().expect("rows");
    let failures: Vec<_> = rows
        .iter()
        .filter_map(|row| Some(format!("{}: {}", row["id"], run(row).err()?)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(rows.len() >= least, "only {} rows", rows.len());
}

fn bundle_with(modes: &Value) -> RegistryBundle {
    let modes = modes.as_array().into_iter().flatten();
    let modes: Vec<_> = modes
        .map(|mode| json!({ "type": mode, "supported": true }))
        .collect();
    RegistryBundle {
        package_name: "example".to_owned(),
        cluster_service_version: json!({
            "metadata": { "name": "example.v1.0.0" },
            "spec": { "installModes": modes },
        }),
        ..RegistryBundle::default()
    }
}

fn modes_of(row: &Value) -> InstallModes {
    InstallModes::of(&bundle_with(&row["supportedInstallModes"]))
}

/// Whether an error is the one that a row expects.
fn expected_error(row: &Value, error: &str) -> Result<(), String> {
    let expected = &row["expected"];
    let parts: Vec<_> = expected["errorContains"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let fits = match expected["error"].as_str() {
        Some(whole) => error == whole,
        None => !parts.is_empty(),
    };
    let has_all = parts
        .iter()
        .all(|part| part.as_str().is_some_and(|part| error.contains(part)));
    if fits && has_all {
        Ok(())
    } else {
        Err(format!("\n   found {error}\nexpected {expected}"))
    }
}

fn equal(found: &Value, expected: &Value) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("\n   found {found}\nexpected {expected}"))
    }
}

fn judged(row: &Value, schema: Option<&Value>) -> Result<(), String> {
    let inline = row["config"].as_str().map(str::as_bytes);
    let namespace = row["installNamespace"].as_str().unwrap_or_default();
    match Configuration::read(inline, schema, namespace) {
        Ok(configuration) if row["expected"].get("watchNamespace").is_some() => equal(
            &json!(configuration.watch_namespace()),
            &row["expected"]["watchNamespace"],
        ),
        Ok(configuration) => Err(format!("accepted: {configuration:?}")),
        Err(error) => expected_error(row, &error.to_string()),
    }
}

#[test]
fn configurations_of_bundles_are_judged_as_upstream_judges_them() {
    rows("config/cases.json", "registryv1", 50, |row| {
        judged(row, Some(&schema(&modes_of(row), true)))
    });
}

#[test]
fn configurations_with_a_schema_of_their_own_are_judged_as_upstream_judges_them() {
    rows("config/cases.json", "schema", 13, |row| {
        judged(row, Some(&row["schema"]).filter(|schema| !schema.is_null()))
    });
}

#[test]
fn changes_to_deployments_are_read_as_upstream_reads_them() {
    rows("config/cases.json", "deploymentConfig", 5, |row| {
        let inline = row["config"].as_str().map(str::as_bytes);
        let configuration = Configuration::read(inline, None, "").map_err(|error| error.to_string())?;
        match configuration.deployment_config() {
            Ok(config) => equal(&json!(config), &row["expected"]),
            Err(_) if row["expected"]["error"] == "any" => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    });
}

#[test]
fn the_watched_namespace_is_asked_for_as_the_install_modes_say() {
    rows("config/cases.json", "watchNamespaceSchema", 16, |row| {
        let schema = schema(&modes_of(row), true);
        let property = schema.pointer("/properties/watchNamespace");
        equal(property.unwrap_or(&Value::Null), &row["watchNamespaceProperty"])?;
        let required = schema
            .get("required")
            .is_some_and(|names| *names == json!(["watchNamespace"]));
        equal(&json!(required), &row["required"])
    });
}

#[test]
fn bundles_and_configurations_pass_the_gates_as_upstreams_do() {
    rows("render/cases.json", "support", 20, |row| {
        let mut bundle = bundle_with(&row["supportedInstallModes"]);
        for (field, value) in row["csv"].as_object().into_iter().flatten() {
            bundle.cluster_service_version["spec"][field] = value.clone();
        }
        let gate = |name: &str| {
            let gates = row["gates"].as_array().into_iter().flatten();
            gates.into_iter().any(|gate| gate == name)
        };
        let gates = Gates {
            single_own_namespace: gate("SingleOwnNamespaceInstallSupport"),
            deployment_config: gate("DeploymentConfig"),
            webhooks: gate("WebhookProviderCertManager"),
        };
        let certificates: Option<&dyn CertificateProvider> =
            (row["certProvider"] == "cert-manager").then_some(&CertManager);
        let inline = row["config"].as_str().map(str::as_bytes);
        let expected = &row["expected"];
        match options(&bundle, "install-namespace", inline, gates, certificates) {
            Ok(options) => {
                equal(&json!(true), &expected["ok"])?;
                let targets = json!(options.target_namespaces);
                equal(&targets, expected.get("targetNamespaces").unwrap_or(&json!([])))?;
                equal(&json!(options.deployment_config), &expected["deploymentConfig"])
            }
            Err(error) => {
                let terminal = expected["terminal"] == true;
                equal(&json!(error.is_terminal()), &json!(terminal))?;
                equal(
                    &json!(error.reason()),
                    &json!(terminal.then_some(INVALID_CONFIGURATION)),
                )?;
                expected_error(row, &error.to_string())
            }
        }
    });
}

/// What two schemas say of a value, from `place` on: types, names, required fields and references alike.
fn compare(
    (ours, our_root): (&Value, &Value),
    (theirs, their_root): (&Value, &Value),
    place: &str,
    seen: &mut Vec<String>,
    differences: &mut Vec<String>,
) {
    for keyword in ["type", "format", "required"] {
        if ours.get(keyword) != theirs.get(keyword) {
            let (ours, theirs) = (&ours[keyword], &theirs[keyword]);
            differences.push(format!("{place}: {keyword} is {ours}, upstream's {theirs}"));
        }
    }
    let keys = |schema: &Value, keyword: &str| -> Vec<String> {
        let map = schema[keyword].as_object().into_iter().flatten();
        map.map(|(key, _)| key.clone()).collect()
    };
    if keys(ours, "properties") != keys(theirs, "properties") {
        let (ours, theirs) = (keys(ours, "properties"), keys(theirs, "properties"));
        differences.push(format!("{place}: fields are {ours:?}, upstream's {theirs:?}"));
    }
    let mut pairs = Vec::new();
    for name in keys(ours, "properties") {
        pairs.push((
            &ours["properties"][&name],
            &theirs["properties"][&name],
            format!("{place}.{name}"),
        ));
    }
    for keyword in ["items", "additionalProperties"] {
        match (&ours[keyword], &theirs[keyword]) {
            (left, right) if left.is_object() && right.is_object() => {
                pairs.push((left, right, format!("{place}.{keyword}")));
            }
            (left, right) if left != right => {
                differences.push(format!("{place}: {keyword} is {left}, upstream's {right}"));
            }
            _ => {}
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let list = |schema: &'_ Value| schema[keyword].as_array().map_or(0, Vec::len);
        if list(ours) != list(theirs) {
            differences.push(format!("{place}: {keyword} has another length"));
        }
        for number in 0..list(ours).min(list(theirs)) {
            pairs.push((
                &ours[keyword][number],
                &theirs[keyword][number],
                format!("{place}.{keyword}"),
            ));
        }
    }
    for (ours, theirs, place) in pairs {
        compare((ours, our_root), (theirs, their_root), &place, seen, differences);
    }
    match (ours["$ref"].as_str(), theirs["$ref"].as_str()) {
        (Some(left), Some(right)) if !seen.iter().any(|name| name == left) => {
            seen.push(left.to_owned());
            let target = |root: &'_ Value, reference: &str| {
                let pointer = reference.trim_start_matches('#');
                root.pointer(pointer).cloned().expect("what a reference leads to")
            };
            let (ours, theirs) = (target(our_root, left), target(their_root, right));
            let place = right.rsplit('.').next().unwrap_or(right).to_owned();
            compare(
                (&ours, our_root),
                (&theirs, their_root),
                &place,
                seen,
                differences,
            );
        }
        (left, right) if left.is_some() != right.is_some() => {
            differences.push(format!("{place}: reference {left:?}, upstream's {right:?}"));
        }
        _ => {}
    }
}

#[test]
fn the_schema_made_from_types_says_what_upstreams_file_says() {
    let Some(theirs) = recorded("config/registryv1bundleconfig.json") else {
        return;
    };
    let ours = schema(&InstallModes::default(), true);
    let pointer = "/properties/deploymentConfig";
    let (mut seen, mut differences) = (Vec::new(), Vec::new());
    compare(
        (ours.pointer(pointer).expect("ours"), &ours),
        (theirs.pointer(pointer).expect("theirs"), &theirs),
        "deploymentConfig",
        &mut seen,
        &mut differences,
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(seen.len() > 70, "only {} types", seen.len());
    assert_eq!(ours["additionalProperties"], theirs["additionalProperties"]);
}

/// What is said about a configuration of a bundle with these install modes, in the namespace `here`.
fn said(modes: &[&str], inline: &str) -> String {
    let schema = schema(&InstallModes::of(&bundle_with(&json!(modes))), true);
    match Configuration::read(Some(inline.as_bytes()), Some(&schema), "here") {
        Ok(configuration) => match configuration.deployment_config() {
            Ok(config) => json!([configuration.watch_namespace(), config]).to_string(),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    }
}

const ALL: &[&str] = &["AllNamespaces"];

/// Recorded from upstream's own code.
#[test]
fn every_broken_rule_has_upstreams_words_in_upstreams_order() {
    let own = &["OwnNamespace"][..];
    let all_own = &["AllNamespaces", "OwnNamespace"][..];
    for (modes, inline, expected) in [
        (own, "", "invalid type: got null, want object"),
        (own, "a: b: c", "mapping values are not allowed in this context"),
        (own, "? [a]\n: b", "[]interface {}{\"a\"}"),
        (own, "a: .inf", "+Inf"),
        (
            own,
            "deploymentConfig: {env: [{}]}",
            "multiple errors found:\n  - required field \"watchNamespace\" is missing\n  - validation failed",
        ),
        (
            all_own,
            "watchNamespace: 5",
            "multiple errors found:\n  - invalid value for field \"watchNamespace\"\n  - invalid type for field \"watchNamespace\": got number, want null\n  - invalid type for field \"watchNamespace\": got number, want string",
        ),
        (ALL, "it's: 1", "unknown field \"it\\\\\""),
        (ALL, "\"\\u200b\": 1", "unknown field \"\\\\u200b\""),
        (
            ALL,
            "deploymentConfig:",
            "required field \"deploymentConfig\" is missing",
        ),
        (
            ALL,
            "deploymentConfig: {resources: {limits: {cpu: true}}}",
            "validation failed",
        ),
        (
            ALL,
            "deploymentConfig: {env: [{name: 1, value: 2}]}",
            "multiple errors found:\n  - validation failed\n  - invalid type for field \"deploymentConfig.env.0.name\": got number, want string\n  - invalid type for field \"deploymentConfig.env.0.value\": got number, want string",
        ),
        (
            ALL,
            "deploymentConfig: {nodeSelector: {\"a/b\": 1, c: 2}}",
            "multiple errors found:\n  - invalid type for field \"deploymentConfig.nodeSelector.a~1b\": got number, want string\n  - invalid type for field \"deploymentConfig.nodeSelector.c\": got number, want string",
        ),
        (
            ALL,
            "deploymentConfig: {a: 1, env: 1, tolerations: 1}",
            "multiple errors found:\n  - invalid type for field \"deploymentConfig.env\": got number, want array\n  - invalid type for field \"deploymentConfig.tolerations\": got number, want array\n  - unknown field \"a\"",
        ),
    ] {
        assert_eq!(
            said(modes, inline),
            format!("invalid configuration: {expected}"),
            "{inline}"
        );
    }
}

/// Recorded from upstream's own code.
#[test]
fn changes_to_deployments_become_what_go_makes_of_them() {
    for (inline, expected) in [
        ("{env: [{name: a, foo: 1}]}", r#"[null,{"env":[{"name":"a"}]}]"#),
        (
            "{env: [{name: a, Name: b, VALUE: c}]}",
            r#"[null,{"env":[{"name":"a","value":"c"}]}]"#,
        ),
        (
            "{resources: {limits: {cpu: 0.5, memory: 1024Ki}}}",
            r#"[null,{"resources":{"limits":{"cpu":"500m","memory":"1Mi"}}}]"#,
        ),
        (
            "{tolerations: [{tolerationSeconds: 5.0}]}",
            r#"[null,{"tolerations":[{"tolerationSeconds":5}]}]"#,
        ),
        (
            "{resources: {limits: {memory: 128MB}}}",
            "failed to unmarshal deploymentConfig: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            "{tolerations: [{tolerationSeconds: 1e30}]}",
            "failed to unmarshal deploymentConfig: json: cannot unmarshal number 1e+30 into Go struct field Toleration.tolerations.tolerationSeconds of type int64",
        ),
        (
            "{volumes: [{name: a, secret: {defaultMode: 3000000000}}]}",
            "failed to unmarshal deploymentConfig: json: cannot unmarshal number 3000000000 into Go struct field SecretVolumeSource.volumes.VolumeSource.secret.defaultMode of type int32",
        ),
    ] {
        assert_eq!(said(ALL, &format!("deploymentConfig: {inline}")), expected);
    }
}

/// Recorded from upstream's own code.
#[test]
fn rules_of_other_schemas_have_the_librarys_words() {
    let seventh = "http://json-schema.org/draft-07/schema#";
    for (schema, inline, expected) in [
        (
            json!({"minimum": 65535}),
            "0.07",
            "minimum: got 0.07, want 65,535",
        ),
        (
            json!({"exclusiveMaximum": 1}),
            "1234567.891",
            "exclusiveMaximum: got 1.234567891×10⁰⁶, want 1",
        ),
        (json!({"multipleOf": 0.5}), "0.3", "multipleOf: got 0.3, want 0.5"),
        (
            json!({"enum": [1, null, true, 1e21, 1_000_000]}),
            "c",
            "value must be one of 1, <nil>, true, 1e+21, 1e+06",
        ),
        (
            json!({"const": "it's \"q\" é\n"}),
            "6",
            "value must be 'it\\'s \"q\" é\\n'",
        ),
        (
            json!({"type": ["integer", "string", "null"]}),
            "[1]",
            "invalid type for field \"a\": got array, want null or integer or string",
        ),
        (
            json!({"uniqueItems": true}),
            "[1, 2, 1.0]",
            "items at 0 and 2 are equal",
        ),
        (
            json!({"contains": {"type": "string"}}),
            "[1]",
            "multiple errors found:\n  - no items match contains schema\n  - invalid type for field \"a.0\": got number, want string",
        ),
        (
            json!({"items": [{"type": "string"}], "additionalItems": false}),
            "[x, 2, 3]",
            "last 2 additionalItem(s) not allowed",
        ),
        (
            json!({"propertyNames": {"pattern": "^a"}}),
            "{b: 1}",
            "multiple errors found:\n  - invalid propertyName 'b'\n  - 'b' does not match pattern '^a'",
        ),
        (
            json!({"dependencies": {"x": ["p", "q"]}}),
            "{x: 1}",
            "properties 'p', 'q' required, if 'x' exists",
        ),
        (json!({"not": {"type": "string"}}), "x", "'not' failed"),
        (
            json!({"oneOf": [{"type": "string"}, {"minLength": 3}]}),
            "xxxx",
            "'oneOf' failed, subschemas 0, 1 matched",
        ),
        (
            json!({"if": {"type": "string"}, "then": {"minLength": 3}}),
            "x",
            "field \"a\" must have minimum length of 3 (len=1)",
        ),
        (
            json!({"format": "date"}),
            "\"2020-02-30\"",
            "invalid format for field \"a\": '2020-02-30' is not valid date: parsing time \"2020-02-30\": day out of range",
        ),
        (
            json!({"format": "ipv6"}),
            "\"::1::\"",
            "invalid format for field \"a\": '::1::' is not valid ipv6: ParseAddr(\"::1::\"): multiple :: in address (at \":\")",
        ),
        (json!({"$ref": "#"}), "{a: {a: 1}}", "validation failed"),
    ] {
        let whole = json!({ "$schema": seventh, "type": "object", "properties": { "a": schema } });
        let inline = format!("a: {inline}");
        let error = Configuration::read(Some(inline.as_bytes()), Some(&whole), "here").err();
        let error = error.map(|error| error.to_string());
        assert_eq!(
            error,
            Some(format!("invalid configuration: {expected}")),
            "{schema}"
        );
    }
}

#[test]
fn schemas_that_cannot_be_used_say_where() {
    let tower = (0..400).fold(json!(true), |schema, _| json!({ "not": schema }));
    for (schema, place) in [
        (
            json!({"properties": {"a": {"type": "foo"}}}),
            "/properties/a/type",
        ),
        (
            json!({"properties": {"a": {"pattern": "("}}}),
            "/properties/a/pattern",
        ),
        (
            json!({"properties": {"a": {"$ref": "#/nope"}}}),
            "/properties/a/$ref",
        ),
        (json!({"$schema": "http://example.com/mine"}), "/$schema"),
        (json!({"unevaluatedProperties": false}), "/unevaluatedProperties"),
        (json!([]), "''"),
        (tower, "nested more than"),
    ] {
        let error = Configuration::read(None, Some(&schema), "").expect_err("a faulty schema");
        let text = error.to_string();
        assert!(
            text.starts_with("invalid configuration: failed to compile schema: at '"),
            "{text}"
        );
        assert!(text.contains(place), "{text}");
    }
    let mut doubling = json!({ "definitions": { "0": { "type": "null" } }, "$ref": "#/definitions/40" });
    doubling["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    for number in 1..=40 {
        let below = json!({ "$ref": format!("#/definitions/{}", number - 1) });
        doubling["definitions"][number.to_string()] = json!({ "anyOf": [below, below] });
    }
    let error = Configuration::read(None, Some(&doubling), "").expect_err("a schema that doubles");
    assert!(error.to_string().contains("branches too much"), "{error}");
    let list = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "properties": { "a": { "$ref": "#" } } });
    let deep = "{\"a\":".repeat(1_000) + "1" + &"}".repeat(1_000);
    let error = Configuration::read(Some(deep.as_bytes()), Some(&list), "").expect_err("a deep value");
    assert!(error.to_string().contains("leads too deep"), "{error}");
}

#[test]
fn behind_references_the_details_name_the_values() {
    let schema = schema(&InstallModes::default(), true);
    let inline = b"deploymentConfig: {env: [{name: 1}], volumeMounts: [{name: x}]}";
    let error = Configuration::read(Some(inline), Some(&schema), "").expect_err("a broken configuration");
    assert_eq!(
        error.details(),
        [
            "deploymentConfig.env.0.name: got number, want string",
            "deploymentConfig.volumeMounts.0: missing property 'mountPath'",
        ]
    );
    let inline = b"deploymentConfig: {resources: {limits: {cpu: 1, memory: 128MB}}, volumes: [{name: a, emptyDir: {sizeLimit: x}}]}";
    let configuration = Configuration::read(Some(inline), Some(&schema), "").expect("quantities are text");
    let error = configuration
        .deployment_config()
        .expect_err("impossible quantities");
    assert_eq!(
        error.details(),
        [
            "deploymentConfig.resources.limits.memory: \"128MB\" is no quantity, such as 500m or 1Gi",
            "deploymentConfig.volumes.0.emptyDir.sizeLimit: \"x\" is no quantity, such as 500m or 1Gi",
        ]
    );
}

#[test]
fn manifests_follow_the_configuration() {
    let mut bundle = bundle_with(&json!(["AllNamespaces", "SingleNamespace"]));
    bundle.cluster_service_version["spec"]["install"]["spec"]["deployments"] = json!([{
        "name": "manager",
        "spec": {
            "selector": { "matchLabels": { "app": "manager" } },
            "template": { "metadata": {}, "spec": { "containers": [{ "name": "manager", "image": "example" }] } },
        },
    }]);
    let inline = b"watchNamespace: there\ndeploymentConfig: {env: [{name: LEVEL, value: debug}]}";
    let objects = manifests(&bundle, "here", Some(inline), Gates::all(), None).expect("manifests");
    let template = &objects[0]["spec"]["template"];
    assert_eq!(
        template["metadata"]["annotations"]["olm.targetNamespaces"],
        "there"
    );
    assert_eq!(
        template["spec"]["containers"][0]["env"],
        json!([{ "name": "LEVEL", "value": "debug" }])
    );
    let impossible = b"deploymentConfig: {resources: {limits: {memory: 128MB}}}";
    let error = manifests(&bundle, "here", Some(impossible), Gates::all(), None).expect_err("a quantity");
    assert!(matches!(error, ManifestsError::DeploymentConfig(_)) && error.is_terminal());
    assert!(
        error
            .to_string()
            .starts_with("invalid deploymentConfig: failed to unmarshal deploymentConfig: quantities")
    );
    bundle.package_name.clear();
    let error = manifests(&bundle, "here", None, Gates::all(), None).expect_err("a bundle without a package");
    assert!(matches!(error, ManifestsError::Render(_)) && !error.is_terminal());
}

proptest! {
    #[test]
    fn no_configuration_brings_the_reader_down(
        inline in r#"(watchNamespace|deploymentConfig|env|resources|a): ?([\[\]{}:, a-z0-9\n"'&*!|>-]|deploymentConfig|env|limits){0,40}"#,
    ) {
        said(&["AllNamespaces", "OwnNamespace"], &inline);
    }

    #[test]
    fn no_text_brings_a_format_down(
        text in "\\PC{0,12}|[-+:.T0-9PZé@%/\\[\\]]{0,30}",
        format in "date|time|date-time|duration|period|ipv4|ipv6|hostname|email|uri|uri-reference|uri-template|uuid|semver|regex|json-pointer|relative-json-pointer",
    ) {
        let schema = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "additionalProperties": { "format": format } });
        let inline = json!({ "a": text }).to_string();
        Configuration::read(Some(inline.as_bytes()), Some(&schema), "here").ok();
    }

    #[test]
    fn a_quantity_in_its_form_stays(text in "[+-]?[0-9]{0,12}[.]?[0-9]{0,12}(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|e-?[0-9]{1,2})?") {
        if let Ok(form) = quantity::canonical(&text) {
            prop_assert_eq!(quantity::canonical(&form), Ok(form));
        }
    }
}
