use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Decoded, Encoding, Target, cannot_be_handled, decode, leaf, normalize};
use crate::structural;

const DEPLOYMENT: Target<'static> = Target::BuiltIn("io.k8s.api.apps.v1.Deployment");
const CONFIG_MAP: Target<'static> = Target::BuiltIn("io.k8s.api.core.v1.ConfigMap");

/// Returns what a server answers to a body under `fieldValidation=Strict`, short of validation.
fn answer(body: &str, encoding: Encoding, target: Target<'_>, kind: &str) -> String {
    match decode(body.as_bytes(), encoding, target) {
        Err(error) => error.bad_request("v1", kind, body.as_bytes()),
        Ok(decoded) => decoded.strict_error().map_or_else(
            || "taken".into(),
            |error| cannot_be_handled(&decoded.found, "v1", kind, &error),
        ),
    }
}

fn deployment(rest: &str) -> String {
    format!(r#"{{"apiVersion":"apps/v1","kind":"Deployment",{rest}}}"#)
}

#[test]
fn a_wrong_value_is_refused_in_the_servers_words() {
    let cases = [
        (
            r#""metadata":{"name":"a","name":"b","foo":1},"spec":{"replicas":"x","foo":1}"#,
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#""metadata":{"name":"a","name":"b","foo":1},"spec":{"foo":1,"template":{"spec":{"containers":[{"foo":1,"Name":"x"}]}}}"#,
            r#"strict decoding error: duplicate field "metadata.name", unknown field "metadata.foo", unknown field "spec.foo", unknown field "spec.template.spec.containers[0].foo", unknown field "spec.template.spec.containers[0].Name""#,
        ),
        (
            r#""spec":{"template":{"spec":{"restartPolicy":5}}}"#,
            "json: cannot unmarshal number into Go struct field PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            r#""spec":{"template":{"spec":{"volumes":[{"emptyDir":5}]}}}"#,
            "json: cannot unmarshal number into Go struct field Volume.spec.template.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
        ),
        (
            r#""spec":{"template":{"spec":{"volumes":{}, "containers":"x"}}}"#,
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.volumes of type []v1.Volume",
        ),
        (
            r#""spec":{"template":{"spec":{"containers":[{"resources":{"limits":{"cpu":"abc"}}}]}}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            r#""spec":{"replicas":"x","template":{"spec":{"containers":[{"resources":{"limits":{"cpu":true}}}]}}}"#,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        (
            r#""metadata":{"creationTimestamp":"x"}"#,
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
        ),
        (
            r#""metadata":{"creationTimestamp":5}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            r#""spec":{"strategy":{"rollingUpdate":{"maxSurge":true}}}"#,
            "json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            r#""spec":{"strategy":{"rollingUpdate":{"maxSurge":1.5}}}"#,
            "json: cannot unmarshal number 1.5 into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            r#""spec":{"replicas":1.0}"#,
            "json: cannot unmarshal number 1.0 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#""spec":{"replicas":3000000000}"#,
            "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            r#""spec":5"#,
            "json: cannot unmarshal number into Go struct field Deployment.spec of type v1.DeploymentSpec",
        ),
    ];
    for (rest, expected) in cases {
        let body = deployment(rest);
        let expected = format!(r#"Deployment in version "v1" cannot be handled as a Deployment: {expected}"#);
        assert_eq!(
            answer(&body, Encoding::Json, DEPLOYMENT, "Deployment"),
            expected,
            "{body}"
        );
    }
}

#[test]
fn a_body_without_a_kind_is_unrecognized_or_taken_for_what_the_path_expects() {
    const STRUCT: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let unrecognized =
        |cause: &str| format!("the object provided is unrecognized (must be of type Deployment): {cause}");
    let unreadable =
        |cause: &str| unrecognized(&format!("couldn't get version/kind; json parse error: {cause}"));
    let cases = [
        (
            r#"{"apiVersion":"apps/v1","kind":5}"#,
            unreadable(
                r#"json: cannot unmarshal number into Go struct field .kind of type string ({"apiVersion":"apps/v1","kind" ...)"#,
            ),
        ),
        (
            r#"{"apiVersion":"apps/v1","kind":"Deployment""#,
            unreadable(r#"unexpected end of JSON input ({"apiVersion":"apps/v1","kind" ...)"#),
        ),
        ("[]", unreadable(&format!("json: cannot unmarshal array into Go value of type {STRUCT} (5b5d)"))),
        (
            r#""x""#,
            unreadable(&format!("json: cannot unmarshal string into Go value of type {STRUCT} (227822)")),
        ),
        ("", unreadable("unexpected end of JSON input (<empty>)")),
        ("null", "taken".into()),
        (
            r#"{"apiVersion":"a/b/c","kind":"Foo","metadata":{"name":"x"}}"#,
            unrecognized(r#"unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)"#),
        ),
        (
            r#"{"metadata":{"name":"x"},"spec":5}"#,
            r#"Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal number into Go struct field Deployment.spec of type v1.DeploymentSpec"#.into(),
        ),
        (
            r#"{"Kind":"Deployment","APIVERSION":"apps/v1","metadata":{"name":"x"}}"#,
            r#"Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "Kind", unknown field "APIVERSION""#.into(),
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(
            answer(body, Encoding::Json, DEPLOYMENT, "Deployment"),
            expected,
            "{body}"
        );
    }
}

#[test]
fn maps_and_yaml_tell_their_duplicates() {
    let json =
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":null,"b":"1","b":"2"}}"#;
    assert_eq!(
        answer(json, Encoding::Json, CONFIG_MAP, "ConfigMap"),
        r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.b""#
    );
    let wrong = r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":5,"b":"1","b":"2"}}"#;
    assert_eq!(
        answer(wrong, Encoding::Json, CONFIG_MAP, "ConfigMap"),
        r#"ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"#
    );
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: b\n  a: c\nfoo: 1\nfoo: 2";
    assert_eq!(
        answer(yaml, Encoding::Yaml, CONFIG_MAP, "ConfigMap"),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  \
         line 6: key \"a\" already set in map\n  line 8: key \"foo\" already set in map, unknown field \"foo\""
    );
    let decoded = decode(yaml.as_bytes(), Encoding::Yaml, CONFIG_MAP).expect("a body");
    assert_eq!(decoded.value["data"], json!({ "a": "c" }));
    assert_eq!(
        decoded.warnings(),
        [
            "line 6: key \"a\" already set in map",
            "line 8: key \"foo\" already set in map",
            "unknown field \"foo\""
        ]
    );
    assert_eq!(
        answer(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x",
            Encoding::Yaml,
            CONFIG_MAP,
            "ConfigMap"
        ),
        "the object provided is unrecognized (must be of type ConfigMap): yaml: line 3: did not find expected ',' or '}' \
         (61706956657273696f6e3a2076310a6b696e643a20436f6e6669674d6170 ...)"
    );
}

fn taken(body: &Value, definition: &str) -> Decoded {
    normalize(definition, body).expect("a body")
}

#[test]
fn an_object_is_written_as_the_servers_types_write_it() {
    let pod = taken(
        &json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "a", "labels": {}, "creationTimestamp": null, "annotations": { "x": null } },
            "spec": {
                "volumes": [],
                "hostNetwork": false,
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "a", "image": "", "args": [null, "b"], "unknown": { "x": [1] },
                    "resources": { "limits": { "cpu": "1000m", "memory": 1024 } },
                    "ports": [{ "containerPort": 80 }],
                }],
            },
        }),
        "io.k8s.api.core.v1.Pod",
    );
    assert_eq!(
        pod.value,
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "a", "annotations": { "x": "" } },
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": "a", "args": ["", "b"],
                    "resources": { "limits": { "cpu": "1", "memory": "1024" } },
                    "ports": [{ "containerPort": 80 }],
                }],
            },
            "status": {},
        })
    );
    let role = taken(
        &json!({ "metadata": { "name": "a" }, "rules": [] }),
        "io.k8s.api.rbac.v1.ClusterRole",
    );
    assert_eq!(role.value, json!({ "metadata": { "name": "a" }, "rules": null }));
    let secret = taken(
        &json!({ "data": { "a": null, "b": "", "c": "YQ==\n" } }),
        "io.k8s.api.core.v1.Secret",
    );
    assert_eq!(
        secret.value,
        json!({ "metadata": {}, "data": { "a": "", "b": "", "c": "YQ==" } })
    );
    let deployment = taken(
        &json!({ "spec": { "replicas": 0 } }),
        "io.k8s.api.apps.v1.Deployment",
    );
    assert_eq!(
        deployment.value,
        json!({
            "metadata": {},
            "spec": {
                "replicas": 0, "selector": null, "strategy": {},
                "template": { "metadata": {}, "spec": { "containers": null } },
            },
            "status": {},
        })
    );
}

#[test]
fn a_schema_in_a_definition_of_custom_resources_is_read_by_itself() {
    let definition = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
    let body = |schema: Value| json!({ "spec": { "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": schema } }] } });
    let read = taken(
        &body(json!({
            "type": "object", "nope": 1, "additionalProperties": false, "default": { "any": [null, 1.5] },
            "properties": { "a": { "items": { "type": "string", "nope": 1 } } },
        })),
        definition,
    );
    assert_eq!(
        read.problems,
        [r#"unknown field "spec.versions[0].schema.openAPIV3Schema.nope""#],
        "inside of items nobody looks"
    );
    assert_eq!(
        read.value["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
        json!({
            "type": "object", "additionalProperties": false, "default": { "any": [null, 1.5] },
            "properties": { "a": { "items": { "type": "string" } } },
        })
    );
    let refused = normalize(
        definition,
        &body(json!({ "properties": { "a": { "items": { "minLength": "x" } } } })),
    );
    assert_eq!(
        refused.expect_err("a refusal").to_string(),
        "json: cannot unmarshal string into Go struct field \
         JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.items.minLength of type int64"
    );
    let refused = normalize(definition, &body(json!({ "additionalProperties": 5 })));
    assert_eq!(
        refused.expect_err("a refusal").to_string(),
        "boolean or JSON schema expected"
    );
}

#[test]
fn a_custom_resource_tells_duplicates_first_then_metadata_then_what_its_schema_lacks() {
    let schema = structural::read(&json!({
        "type": "object",
        "properties": {
            "spec": { "type": "object", "properties": {
                "replicas": { "type": "integer" },
                "any": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                "list": { "type": "array", "items": { "type": "object", "properties": { "name": { "type": "string" } } } },
                "embedded": { "type": "object", "x-kubernetes-embedded-resource": true },
            } },
        },
    }))
    .expect("a schema");
    let target = Target::Custom(Some(&schema));
    let body = r#"{"apiVersion":"e.com/v1","kind":"Widget","metadata":{"name":"a","name":"b","foo":1,"labels":{"a":"b","a":"c"}},
        "zed":1,"spec":{"foo":1,"foo":2,"replicas":1,"list":[{"name":"a","x":1}],"any":{"a":1,"a":2.0}}}"#;
    let prefix = r#"Widget in version "v1" cannot be handled as a Widget: "#;
    assert_eq!(
        answer(body, Encoding::Json, target, "Widget"),
        format!(
            r#"{prefix}strict decoding error: duplicate field "metadata.name", duplicate field "metadata.labels.a", duplicate field "spec.foo", duplicate field "spec.any.a", unknown field "metadata.foo", unknown field "spec.foo", unknown field "spec.list[0].x", unknown field "zed""#
        )
    );
    let decoded = decode(body.as_bytes(), Encoding::Json, target).expect("a body");
    assert_eq!(
        decoded.value,
        json!({
            "apiVersion": "e.com/v1", "kind": "Widget", "metadata": { "name": "b", "labels": { "a": "c" } },
            "spec": { "replicas": 1, "list": [{ "name": "a" }], "any": { "a": 2 } },
        })
    );
    let start = r#"{"apiVersion":"e.com/v1","kind":"Widget","metadata":"#;
    let cases = [
        (
            r#"{"labels":{"a":5}}}"#,
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        (
            "5}",
            "json: cannot unmarshal number into Go value of type v1.ObjectMeta",
        ),
        (
            r#"{},"spec":{"replicas":1e400}}"#,
            "json: cannot unmarshal number 1e400 into Go value of type float64",
        ),
        (
            r#"{},"spec":{"embedded":{"apiVersion":"v1","kind":"X","metadata":{"foo":1},"foo":1}}}"#,
            r#"strict decoding error: unknown field "spec.embedded.foo", unknown field "spec.embedded.metadata.foo""#,
        ),
    ];
    for (rest, expected) in cases {
        let body = format!("{start}{rest}");
        assert_eq!(
            answer(&body, Encoding::Json, target, "Widget"),
            format!("{prefix}{expected}"),
            "{body}"
        );
    }
    assert_eq!(
        answer("null", Encoding::Json, target, "Widget"),
        "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in 'null' (6e756c6c)"
    );
}

#[test]
fn bytes_may_be_a_list_of_numbers() {
    let definition = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1.APIService";
    let service = taken(&json!({ "spec": { "caBundle": [97, null, 98] } }), definition);
    assert_eq!(service.value["spec"]["caBundle"], "YQBi");
    let refused = normalize(definition, &json!({ "spec": { "caBundle": [300] } })).expect_err("a refusal");
    assert_eq!(
        refused.to_string(),
        "json: cannot unmarshal number 300 into Go struct field APIServiceSpec.spec.caBundle of type uint8"
    );
}

#[test]
fn no_more_than_a_hundred_problems_are_told_and_each_once() {
    let fields: Vec<String> = (0..150)
        .map(|number| format!(r#""f{number}":1,"f{number}":2"#))
        .collect();
    let decoded = decode(
        format!("{{{}}}", fields.join(",")).as_bytes(),
        Encoding::Json,
        CONFIG_MAP,
    )
    .expect("a body");
    assert_eq!(decoded.problems.len(), 100);
    assert_eq!(
        decoded.problems.first().map(String::as_str),
        Some(r#"unknown field "f0""#)
    );
    assert_eq!(
        decoded.problems.last().map(String::as_str),
        Some(r#"unknown field "f99""#)
    );
}

#[test]
fn a_struct_that_is_written_twice_is_merged() {
    let decoded = decode(
        br#"{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"namespace":"b","labels":{"y":"2"}}}"#,
        Encoding::Json,
        CONFIG_MAP,
    )
    .expect("a body");
    assert_eq!(
        decoded.value,
        json!({ "metadata": { "name": "a", "namespace": "b", "labels": { "x": "1", "y": "2" } } })
    );
    assert_eq!(decoded.problems, [r#"duplicate field "metadata""#]);
}

#[test]
fn depth_has_a_limit_and_what_is_kept_a_lower_one() {
    let nested = |depth: usize| {
        format!(
            r#"{{"apiVersion":"e/v1","kind":"A","x":{}{}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    let decoded = decode(nested(9_999).as_bytes(), Encoding::Json, CONFIG_MAP).expect("a body");
    assert_eq!(decoded.problems, [r#"unknown field "x""#]);
    let refused = decode(nested(10_000).as_bytes(), Encoding::Json, CONFIG_MAP).expect_err("a refusal");
    assert_eq!(
        refused.to_string(),
        "couldn't get version/kind; json parse error: invalid character '[' exceeded max depth"
    );
    let kept = decode(nested(119).as_bytes(), Encoding::Json, Target::Custom(None)).expect("a body");
    let stored = serde_json::to_vec(&kept.value).expect("JSON");
    assert_eq!(
        serde_json::from_slice::<Value>(&stored).expect("JSON"),
        kept.value
    );
    let refused =
        decode(nested(120).as_bytes(), Encoding::Json, Target::Custom(None)).expect_err("a refusal");
    assert_eq!(refused.to_string(), "invalid character '[' exceeded max depth");
}

#[test]
fn times_and_bytes_are_read_as_go_reads_them() {
    let times = [
        ("2026-01-02T03:04:05Z", Ok("2026-01-02T03:04:05Z")),
        ("2026-01-02T03:04:05.999+02:00", Ok("2026-01-02T01:04:05Z")),
        (
            "2026-13-02T03:04:05Z",
            Err(r#"parsing time "2026-13-02T03:04:05Z": month out of range"#),
        ),
        (
            "2026-02-30T03:04:05Z",
            Err(r#"parsing time "2026-02-30T03:04:05Z": day out of range"#),
        ),
        (
            "2026-02-03T24:04:05Z",
            Err(r#"parsing time "2026-02-03T24:04:05Z": hour out of range"#),
        ),
        (
            "2026-01-02T03:04:05Zx",
            Err(r#"parsing time "2026-01-02T03:04:05Zx": extra text: "x""#),
        ),
        (
            "2026-01-02",
            Err(r#"parsing time "2026-01-02" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#),
        ),
        (
            "2026-01-02T03:04:05",
            Err(
                r#"parsing time "2026-01-02T03:04:05" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "Z07:00""#,
            ),
        ),
    ];
    for (text, expected) in times {
        assert_eq!(
            leaf::time(text),
            expected.map(str::to_owned).map_err(str::to_owned),
            "{text}"
        );
    }
    assert_eq!(
        leaf::micro_time("2026-01-02T03:04:05.123456Z").as_deref(),
        Ok("2026-01-02T03:04:05.123456Z")
    );
    assert_eq!(
        leaf::micro_time("2026-01-02T03:04:05Z").expect_err("a refusal"),
        r#"parsing time "2026-01-02T03:04:05Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
    );
    let bytes = [
        ("", Ok("")),
        ("YQ==\n", Ok("YQ==")),
        ("YR==", Ok("YQ==")),
        ("!!!", Err(0)),
        ("YQ=x", Err(2)),
        ("YQ", Err(0)),
        ("YWJjYQ", Err(4)),
        ("YQ==YQ==", Err(4)),
        ("YQ=", Err(3)),
    ];
    for (text, expected) in bytes {
        let expected = expected
            .map(str::to_owned)
            .map_err(|at: usize| format!("illegal base64 data at input byte {at}"));
        assert_eq!(leaf::bytes(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_json_is_told_as_go_tells_it() {
    let cases = [
        (
            r#"{"a":1,}"#,
            "invalid character '}' looking for beginning of object key string",
        ),
        (r#"{"a" 1}"#, "invalid character '1' after object key"),
        (
            r#"{"a":1 "b"}"#,
            "invalid character '\"' after object key:value pair",
        ),
        (r#"{"a":[1 2]}"#, "invalid character '2' after array element"),
        (r#"{"a":01}"#, "invalid character '1' after object key:value pair"),
        (r#"{"a":-x}"#, "invalid character 'x' in numeric literal"),
        (
            r#"{"a":1.x}"#,
            "invalid character 'x' after decimal point in numeric literal",
        ),
        (
            r#"{"a":1e+}"#,
            "invalid character '}' in exponent of numeric literal",
        ),
        (
            r#"{"a":tru }"#,
            "invalid character ' ' in literal true (expecting 'e')",
        ),
        (
            r#"{"a":nul'}"#,
            r"invalid character '\'' in literal null (expecting 'l')",
        ),
        ("{\"a\":\"\n\"}", r"invalid character '\n' in string literal"),
        (r#"{"a":"\x"}"#, "invalid character 'x' in string escape code"),
        (
            r#"{"a":"\u12g4"}"#,
            "invalid character 'g' in \\u hexadecimal character escape",
        ),
        ("{} x", "invalid character 'x' after top-level value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        (r#"{"a":"x"#, "unexpected end of JSON input"),
    ];
    for (body, expected) in cases {
        let error = decode(body.as_bytes(), Encoding::Json, CONFIG_MAP).expect_err(body);
        assert_eq!(
            error.to_string(),
            format!("couldn't get version/kind; json parse error: {expected}"),
            "{body}"
        );
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(super::untyped::float),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".*", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
#[ignore = "needs a real server's objects: a file in REAL_OBJECTS with one object on each line, kind and version included"]
fn every_object_of_a_real_server_is_written_as_it_is() {
    let file = std::env::var("REAL_OBJECTS").expect("REAL_OBJECTS");
    for line in std::fs::read_to_string(file).expect("a file").lines() {
        let object: Value = serde_json::from_str(line).expect("JSON");
        let api_version = object["apiVersion"].as_str().expect("a version");
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = object["kind"].as_str().expect("a kind");
        let definition = crate::builtin::kind(group, version, kind).expect(kind);
        let decoded = normalize(definition, &object).expect(line);
        assert_eq!(decoded.problems, Vec::<String>::new(), "{line}");
        assert_eq!(decoded.value, object, "{line}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_taken_or_refused(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&body, Encoding::Json, DEPLOYMENT);
        let _ = decode(&body, Encoding::Json, Target::Custom(None));
        let _ = decode(&body, Encoding::Yaml, CONFIG_MAP);
    }

    #[test]
    fn text_like_json_is_json_to_both_readers_or_to_neither(body in r#"[\[\]{}:,"\\ u0-9a-f.eE+\-tnls]{0,24}"#) {
        let mut scanner = super::Scanner::new(body.as_bytes());
        let ours = scanner.skip().and_then(|_| scanner.end());
        prop_assert_eq!(ours.is_ok(), serde_json::from_str::<serde::de::IgnoredAny>(&body).is_ok(), "{}", body);
    }

    #[test]
    fn without_a_type_json_is_read_as_serde_reads_it(value in any_json()) {
        let text = serde_json::to_string(&value).expect("JSON");
        let mut scanner = super::Scanner::new(text.as_bytes());
        let mut problems = super::Problems::default();
        let read = super::untyped::value(&mut scanner, &mut problems).expect("JSON");
        prop_assert_eq!(&read, &value);
        prop_assert!(problems.into_told().is_empty());
    }

    #[test]
    fn what_was_written_once_is_written_the_same_again(spec in any_json(), template in any_json()) {
        let body = json!({ "metadata": { "name": "a" }, "spec": { "template": template, "selector": spec } });
        if let Ok(once) = normalize("io.k8s.api.apps.v1.Deployment", &body) {
            let twice = normalize("io.k8s.api.apps.v1.Deployment", &once.value).expect("a body");
            prop_assert_eq!(&twice.value, &once.value);
            prop_assert!(twice.problems.is_empty());
        }
    }
}
