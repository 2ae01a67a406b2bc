//! Values made from the table itself, and what Kubernetes' own code was recorded to write.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::TestRng;
use serde_json::json;

use super::table::{Field, Shape, Type};
use super::*;

/// Written by `cargo run -p xtask -- protobuf-table`: an object of every kind with all fields, one with none, and some
/// at random.
const SAMPLES: &[u8] = include_bytes!("../../tests/data/protobuf-samples.zst");

/// An object as Kubernetes' own code writes it.
struct Sample<'s> {
    wire: &'s [u8],
    json: &'s [u8],
    /// The protobuf of the JSON, if that can be read back.
    again: Option<&'s [u8]>,
}

impl Sample<'_> {
    fn json(&self) -> Value {
        serde_json::from_slice(self.json).unwrap()
    }
}

fn samples(bytes: &[u8]) -> Vec<Sample<'_>> {
    let mut rest = bytes;
    let mut part = || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let (taken, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = after;
        Some(taken)
    };
    let mut all = Vec::new();
    while let Some(wire) = part() {
        let (json, again, verdict) = (part().unwrap(), part().unwrap(), part().unwrap());
        let again = match verdict {
            b"same" => Some(wire),
            b"other" => Some(again),
            _ => None,
        };
        all.push(Sample { wire, json, again });
    }
    all
}

/// The recorded samples, or those of a file that `BATON_PROTOBUF_SAMPLES` names: a larger set, made for the occasion.
static RECORDED: LazyLock<Vec<u8>> = LazyLock::new(|| match std::env::var_os("BATON_PROTOBUF_SAMPLES") {
    Some(file) => std::fs::read(file).unwrap(),
    None => zstd::decode_all(SAMPLES).unwrap(),
});

#[test]
fn every_object_of_kubernetes_own_code_reads_as_the_json_that_it_writes() {
    for sample in samples(&RECORDED) {
        let decoded = decode(sample.wire).unwrap();
        assert_eq!(decoded.value, sample.json());
    }
}

#[test]
fn every_object_is_written_as_the_bytes_that_kubernetes_own_code_writes() {
    for sample in samples(&RECORDED) {
        if let Some(again) = sample.again {
            assert!(encode(&sample.json()).unwrap() == again, "{}", sample.json());
        }
    }
}

#[test]
fn the_samples_have_every_kind() {
    let recorded: std::collections::BTreeSet<(String, String)> = samples(&RECORDED)
        .iter()
        .map(|sample| {
            let json = sample.json();
            let text = |name: &str| json[name].as_str().unwrap_or_default().to_owned();
            (text("apiVersion"), text("kind"))
        })
        .collect();
    for (api_version, kind) in kinds().filter(|(_, kind)| *kind != "WatchEvent") {
        assert!(
            recorded.contains(&(api_version.to_owned(), kind.to_owned())),
            "{api_version} {kind}"
        );
    }
}

#[test]
fn a_cut_off_object_is_an_error_or_another_object_and_never_a_panic() {
    for sample in samples(&RECORDED).iter().filter(|sample| sample.wire.len() < 600) {
        for end in 0..sample.wire.len() {
            let _ = decode(&sample.wire[..end]);
        }
    }
}

#[test]
fn the_figures_of_kubernetes_1_36_are_there() {
    for (api_version, kind) in [
        ("v1", "Pod"),
        ("v1", "Status"),
        ("apps/v1", "Deployment"),
        ("apps/v1", "DeploymentList"),
        ("apps/v1", "DeleteOptions"),
        ("example.com/v1", "DeleteOptions"),
        ("meta.k8s.io/v1", "PartialObjectMetadataList"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("authentication.k8s.io/v1", "TokenRequest"),
        ("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
        ("policy/v1", "Eviction"),
        ("autoscaling/v1", "Scale"),
        ("resource.k8s.io/v1", "ResourceClaim"),
    ] {
        assert!(is_known(api_version, kind), "{api_version} {kind}");
    }
    for (api_version, kind) in [
        ("v1", "Deployment"),
        ("example.com/v1", "Pod"),
        ("", "DeleteOptions"),
    ] {
        assert!(!is_known(api_version, kind), "{api_version} {kind}");
    }
}

/// Wraps the bytes of a message in an envelope.
fn enveloped(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut out = BackwardWriter::default();
    out.delimited(2, raw);
    let mark = out.mark();
    out.delimited(2, kind.as_bytes());
    out.delimited(1, api_version.as_bytes());
    out.close(1, mark);
    out.bytes(&MAGIC);
    out.finish()
}

#[test]
fn errors_are_worded_as_the_api_server_words_them() {
    let deep = {
        let mut out = BackwardWriter::default();
        for _ in 0..1_000 {
            // JSONSchemaProps.not
            out.close(28, 0);
        }
        // spec.versions[0].schema.openAPIV3Schema
        out.close(1, 0);
        out.close(4, 0);
        out.close(7, 0);
        out.close(2, 0);
        out.finish()
    };
    let texts: Vec<String> = [
        vec![],
        b"{}".to_vec(),
        MAGIC.to_vec(),
        enveloped("", "Pod", b""),
        enveloped("v1", "", b""),
        enveloped("example.com/v1", "Thing", b""),
        enveloped("v1", "Pod", b"\x0a"),
        enveloped("v1", "Pod", b"\x0a\x05"),
        enveloped("v1", "Pod", b"\x08\x00"),
        enveloped("v1", "Pod", b"\x00\x00"),
        enveloped("v1", "Pod", b"\x0c"),
        enveloped("v1", "Pod", b"\x0f"),
        enveloped("v1", "Pod", b"\x7f"),
        enveloped("v1", "Pod", b"\x7b\x7c"),
        enveloped("v1", "Pod", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        enveloped("v1", "Pod", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        enveloped("apiextensions.k8s.io/v1", "CustomResourceDefinition", &deep),
    ]
    .iter()
    .map(|bytes| match decode(bytes) {
        Ok(decoded) => format!("{}", decoded.value),
        Err(error) => error.to_string(),
    })
    .collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_body_of_countless_empty_parts_is_refused_before_it_fills_the_memory() {
    // Containers of the Pod's spec, each of two bytes.
    let spec = b"\x12\0".repeat(MAXIMUM_OBJECTS);
    let mut out = BackwardWriter::default();
    out.delimited(2, &spec);
    let error = decode(&enveloped("v1", "Pod", &out.finish())).unwrap_err();
    assert_eq!(error.to_string(), "proto: the object has more than 250000 parts");
}

#[test]
fn an_envelope_without_a_kind_takes_the_one_that_is_expected() {
    let bytes = enveloped("", "", b"");
    let default = DefaultKind {
        api_version: "v1",
        kind: "DeleteOptions",
    };
    assert_eq!(
        decode_or_default(&bytes, default).unwrap().value,
        json!({"apiVersion": "v1", "kind": "DeleteOptions"})
    );
    let bytes = enveloped("v1", "Status", b"");
    assert_eq!(decode_or_default(&bytes, default).unwrap().kind, "Status");
}

#[test]
fn a_body_that_cannot_be_read_still_says_what_it_was_meant_to_be() {
    let bytes = enveloped("v1", "Pod", b"\x0a");
    assert!(decode(&bytes).is_err());
    assert_eq!(kind_of(&bytes), Some(("v1".to_owned(), "Pod".to_owned())));
    assert_eq!(kind_of(b"k8s\0\x0a\x05"), None);
    assert_eq!(kind_of(b"{}"), None);
}

#[test]
fn the_lists_of_discovery_are_written_without_a_version_if_they_have_none() {
    let object = json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": null});
    let bytes = encode(&object).unwrap();
    assert_eq!(kind_of(&bytes), Some((String::new(), "APIVersions".to_owned())));
    let default = DefaultKind {
        api_version: "v1",
        kind: "",
    };
    assert_eq!(
        decode_or_default(&bytes, default).unwrap().value["versions"],
        json!(["v1"])
    );
    assert!(encode(&json!({"kind": "Pod"})).is_err());
}

#[test]
fn a_message_that_is_written_in_parts_is_merged() {
    // metadata.name "a", metadata.namespace "b", metadata.name "c", metadata.finalizers twice
    let raw = b"\x0a\x03\x0a\x01a\x0a\x03\x1a\x01b\x0a\x03\x0a\x01c\x0a\x04\x72\x02f1\x0a\x04\x72\x02f2";
    let metadata = json!({"name": "c", "namespace": "b", "finalizers": ["f1", "f2"]});
    assert_eq!(
        decode(&enveloped("v1", "ConfigMap", raw)).unwrap().value["metadata"],
        metadata
    );
    // metadata.generation 1, then 0
    let raw = b"\x0a\x02\x38\x01\x0a\x02\x38\x00";
    assert_eq!(
        decode(&enveloped("v1", "ConfigMap", raw)).unwrap().value["metadata"],
        json!({})
    );
}

#[test]
fn numbers_may_come_packed_and_unknown_fields_are_passed_over() {
    // spec.supplementalGroups is field 4 of securityContext, which is field 14 of spec.
    let raw = b"\x12\x0a\x72\x08\x22\x02\x01\x02\x20\x03\x18\x01\xfa\x7f\x01x";
    let decoded = decode(&enveloped("v1", "Pod", raw)).unwrap();
    assert_eq!(
        decoded.value["spec"]["securityContext"]["supplementalGroups"],
        json!([1, 2, 3])
    );
}

#[test]
fn each_byte_that_is_no_text_is_shown_as_go_shows_it() {
    assert_eq!(decoding::text(b"a\xe4\xb8b\xff"), "a\u{fffd}\u{fffd}b\u{fffd}");
    assert_eq!(decoding::text(b"\xff"), "\u{fffd}");
    assert_eq!(decoding::text(b"\xc3"), "\u{fffd}");
}

#[test]
fn an_event_is_a_frame_with_the_object_in_its_envelope() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let frame = encode_watch_event("ADDED", &object).unwrap();
    let (length, event) = frame.split_first_chunk::<4>().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
    let event = decode(&enveloped("v1", "WatchEvent", event)).unwrap().value;
    assert_eq!(event, json!({"type": "ADDED", "object": object}));
}

#[test]
fn a_value_of_the_wrong_type_is_named() {
    let text = |object: Value| encode(&object).unwrap_err().to_string();
    let texts = [
        text(json!([])),
        text(json!({"kind": "Pod"})),
        text(json!({"apiVersion": "v1", "kind": "Thing"})),
        text(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"generation": "x"}})),
        text(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"creationTimestamp": "yesterday"}})),
        text(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": {}}})),
        text(json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "?"}})),
        text(json!({"apiVersion": "v1", "kind": "Pod", "spec": {"priority": 3_000_000_000_u64}})),
    ];
    insta::assert_snapshot!(texts.join("\n"));
}

/// Makes values that a message may have, in the one form that reading gives.
struct Maker {
    random: TestRng,
    /// How many fields of a hundred have a value.
    density: u32,
}

impl Maker {
    fn below(&mut self, limit: u32) -> u32 {
        self.random.next_u32() % limit
    }

    fn chance(&mut self) -> bool {
        self.below(100) < self.density
    }

    fn object(&mut self, message: &'static Message, depth: usize) -> Map<String, Value> {
        let mut object = Map::new();
        for field in &message.fields {
            if field.inlined {
                let Type::Message(number) = field.value else {
                    panic!("{} is inlined", field.name)
                };
                object.extend(self.object(Table::get().message(number), depth));
            } else if let Some(value) = self.field(field, depth) {
                object.insert(field.name.to_owned(), value);
            }
        }
        object
    }

    fn field(&mut self, field: &'static Field, depth: usize) -> Option<Value> {
        let absent = if field.omit_empty { None } else { Some(Value::Null) };
        let deep = depth > 12;
        match field.shape {
            Shape::Optional | Shape::List | Shape::Map if deep || !self.chance() => absent,
            Shape::Optional => Some(self.value(field, depth)),
            Shape::List => Some((0..=self.below(2)).map(|_| self.value(field, depth)).collect()),
            Shape::Map => {
                let entries = (0..=self.below(2)).map(|at| (format!("k{at}"), self.value(field, depth)));
                Some(Value::Object(entries.collect()))
            }
            Shape::Always => match self.value(field, depth) {
                Value::String(text) if field.omit_empty && text.is_empty() => match field.value {
                    Type::IntegerOrText => Some(Value::from("")),
                    _ => None,
                },
                Value::Bool(false) if field.omit_empty && field.value == Type::Boolean => None,
                Value::Number(number)
                    if field.omit_empty
                        && field.value != Type::IntegerOrText
                        && number.as_f64() == Some(0.0) =>
                {
                    None
                }
                Value::Null if field.omit_zero => None,
                value => Some(value),
            },
        }
    }

    fn value(&mut self, field: &'static Field, depth: usize) -> Value {
        let texts = ["", "a", "name", "é\u{1F600}", "\"\\\n\0"];
        let text = texts[self.below(5) as usize];
        match field.value {
            Type::Text => Value::from(text),
            Type::Boolean => Value::Bool(self.below(2) == 0),
            Type::Integer32 => Value::from([0, 1, -1, i32::MAX, i32::MIN][self.below(5) as usize]),
            Type::Integer64 => Value::from([0, 1, -1, i64::MAX, i64::MIN][self.below(5) as usize]),
            Type::Double => {
                [json!(0), json!(1.5), json!(-7), json!(1e300), json!(5e-324)][self.below(5) as usize].clone()
            }
            Type::Bytes => Value::from(["", "AA==", "/+8="][self.below(3) as usize]),
            // A pointer to no time is no pointer once JSON was between.
            Type::Time if field.shape == Shape::Always && self.below(2) == 0 => Value::Null,
            Type::Time => Value::from(
                [
                    "1970-01-01T00:00:00Z",
                    "0001-01-01T00:00:01Z",
                    "2024-02-29T23:59:59Z",
                ][self.below(3) as usize],
            ),
            Type::MicroTime => Value::from(
                ["1969-12-31T23:59:59.999999Z", "2024-02-29T12:00:00.000001Z"][self.below(2) as usize],
            ),
            Type::Quantity => {
                Value::from(["0", "1", "500m", "2Gi", "-1500m", "12e6"][self.below(6) as usize])
            }
            Type::IntegerOrText => {
                [json!(0), json!(-80), json!("25%"), json!("")][self.below(4) as usize].clone()
            }
            Type::Raw | Type::Json => {
                [json!({"a": [1, null]}), json!("x"), json!(1.5)][self.below(3) as usize].clone()
            }
            Type::Texts => (0..self.below(3))
                .map(|at| Value::from(format!("{text}{at}")))
                .collect(),
            Type::Message(number) => {
                let message = Table::get().message(number);
                let object = Value::Object(self.object(message, depth + 1));
                match message.form {
                    Form::Struct | Form::Object => object,
                    Form::ListOrValue => {
                        let list = message
                            .fields
                            .iter()
                            .find(|field| field.shape == Shape::List)
                            .unwrap();
                        let schema = message
                            .fields
                            .iter()
                            .find(|field| field.shape != Shape::List)
                            .unwrap();
                        if self.below(2) == 0 {
                            json!([self.value(list, depth + 1)])
                        } else {
                            self.value(schema, depth + 1)
                        }
                    }
                    Form::ValueOrBoolean => Value::Bool(self.below(2) == 0),
                }
            }
        }
    }
}

#[test]
fn an_object_of_any_kind_comes_back_as_it_was_written() {
    for (api_version, kind) in kinds() {
        let message = Table::get().of_kind(api_version, kind).unwrap();
        for density in [3, 15, 40] {
            let seed = [density as u8; 32];
            let random = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &seed);
            let mut object = Maker { random, density }.object(message, 0);
            if message.form == Form::Object {
                object.insert("apiVersion".to_owned(), Value::from(api_version));
                object.insert("kind".to_owned(), Value::from(kind));
            }
            let bytes = encode_as(api_version, kind, &object).unwrap();
            assert_eq!(
                decode(&bytes).unwrap().value,
                Value::Object(object),
                "{api_version} {kind}"
            );
        }
    }
}

proptest! {
    #[test]
    fn an_object_with_any_fields_comes_back_as_it_was_written(
        seed in any::<[u8; 32]>(), density in 1_u32..30, at in any::<prop::sample::Index>(),
    ) {
        let kinds: Vec<_> = kinds().collect();
        let (api_version, kind) = kinds[at.index(kinds.len())];
        let message = Table::get().of_kind(api_version, kind).unwrap();
        let random = TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &seed);
        let mut object = Maker { random, density }.object(message, 0);
        if message.form == Form::Object {
            object.insert("apiVersion".to_owned(), Value::from(api_version));
            object.insert("kind".to_owned(), Value::from(kind));
        }
        let bytes = encode_as(api_version, kind, &object).unwrap();
        prop_assert_eq!(decode(&bytes).unwrap().value, Value::Object(object));
    }

    #[test]
    fn whatever_the_bytes_are_what_was_read_can_be_written_and_read_again(
        at in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let samples = samples(&RECORDED);
        let mut wire = at.get(&samples).wire.to_vec();
        for (place, byte) in edits {
            let place = place.index(wire.len());
            wire[place] = byte;
        }
        // A time beyond the year 9999 can be read and shown, and JSON has no way back.
        if let Ok(first) = decode(&wire)
            && let Ok(written) = encode(&first.value)
        {
            let second = decode(&written).unwrap();
            prop_assert_eq!(encode(&second.value).unwrap(), written);
        }
    }
}

#[test]
fn a_list_from_written_items_is_the_list_written_as_a_whole() {
    for count in [0, 1, 2, 300] {
        let items: Vec<Value> = (0..count)
            .map(|number| {
                json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": format!("map-{number}"), "creationTimestamp": "2026-01-01T00:00:00Z"},
                    "data": {"key": "x".repeat(number)},
                })
            })
            .collect();
        let metadata = json!({"resourceVersion": "7", "continue": "later", "remainingItemCount": 3});
        let whole = json!({
            "apiVersion": "v1", "kind": "ConfigMapList", "metadata": metadata, "items": items,
        });
        let written: Vec<Vec<u8>> = items.iter().map(|item| encode_item(item).unwrap()).collect();
        let list = EncodedList::new("v1", "ConfigMapList", &metadata, written.iter().map(Vec::len)).unwrap();
        let mut joined = list.head.clone();
        for item in &written {
            joined.extend_from_slice(&list.before_item(item.len()));
            joined.extend_from_slice(item);
        }
        joined.extend_from_slice(&list.tail);
        assert_eq!(joined, encode(&whole).unwrap(), "with {count} items");
    }
}
