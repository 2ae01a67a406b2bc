//! Values in text.

use proptest::prelude::*;

use super::operands::{Point, operand, text};
use crate::format::layout::MAX_PADDED_OUTPUT;
use crate::format::{append_value, go_syntax, print, print_value, println, sprintf};
use crate::function::Function;
use crate::types::{IntegerKind, Kind, Type};
use crate::value::{Integer, List, Map, Value};

/// Calls of Go's `fmt.Sprintf`: format, operands with their types, and what it returned.
const RECORDED: &str = include_str!("sprintf.jsonl");

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_recorded_call_prints_what_go_printed() {
    let mut rows = 0;
    let mut wrong = Vec::new();
    for line in RECORDED.lines() {
        let row: serde_json::Value = serde_json::from_str(line).expect("a recorded call is JSON");
        let operands: Vec<Value> = row[1].as_array().expect("operands").iter().map(operand).collect();
        let printed = sprintf(&text(&row[0]), &operands);
        if printed != text(&row[2]) {
            wrong.push(format!("{line} printed {:?}", shown(&printed)));
        }
        rows += 1;
    }
    assert!(rows > 2_000, "only {rows} calls were read");
    assert!(
        wrong.is_empty(),
        "{} of {rows} calls differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn spaces_separate_operands_of_which_neither_is_a_string() {
    let rows: &[(&[Value], &str, &str)] = &[
        (&[], "", "\n"),
        (&[1.into_value(), 2.into_value()], "1 2", "1 2\n"),
        (&["a".into(), "b".into()], "ab", "a b\n"),
        (
            &["a".into(), 1.into_value(), 2.into_value(), "b".into()],
            "a1 2b",
            "a 1 2 b\n",
        ),
        (&[Value::Nil, Value::Nil], "<nil> <nil>", "<nil> <nil>\n"),
        (
            &[true.into(), 1e6.into(), Value::list(vec![])],
            "true 1e+06 []",
            "true 1e+06 []\n",
        ),
    ];
    for (operands, printed, line) in rows {
        assert_eq!(shown(&print(operands)), *printed);
        assert_eq!(shown(&println(operands)), *line);
    }
}

trait IntoValue {
    fn into_value(self) -> Value;
}

impl IntoValue for i64 {
    fn into_value(self) -> Value {
        Value::int(self)
    }
}

#[test]
fn plain_values_print_as_templates_show_them() {
    let rows = [
        (Value::Nil, "<nil>", "<nil>"),
        (Value::int(-7), "-7", "-7"),
        (
            Value::uint64(u64::MAX),
            "18446744073709551615",
            "0xffffffffffffffff",
        ),
        (Value::Float(1_000_000.0), "1e+06", "1e+06"),
        (Value::Float(123_456.0), "123456", "123456"),
        (Value::string("a\"b"), "a\"b", "\"a\\\"b\""),
        (
            Value::TypedNil(Type::Map),
            "map[]",
            "map[string]interface {}(nil)",
        ),
        (Value::TypedNil(Type::Strings), "[]", "[]string(nil)"),
        (Value::TypedNil(Type::Bytes), "[]", "[]byte(nil)"),
        (Value::TypedNil(Type::Any), "<nil>", "<nil>"),
        (
            Value::list(vec![Value::Nil, Value::int(1)]),
            "[<nil> 1]",
            "[]interface {}{interface {}(nil), 1}",
        ),
        (
            Value::map([("b", Value::int(2)), ("a", Value::string("x"))]),
            "map[a:x b:2]",
            "map[string]interface {}{\"a\":\"x\", \"b\":2}",
        ),
        (
            Value::Bytes(b"ab".as_slice().into()),
            "[97 98]",
            "[]byte{0x61, 0x62}",
        ),
    ];
    for (value, plain, syntax) in rows {
        assert_eq!(shown(&print_value(&value)), plain);
        assert_eq!(shown(&go_syntax(&value)), syntax);
        let mut out = b"before ".to_vec();
        append_value(&mut out, &value);
        assert_eq!(shown(&out), format!("before {plain}"));
    }
}

#[test]
fn addresses_are_the_same_in_every_run() {
    static NOTHING: Function = Function::new("nothing", &[], |_| Ok(Value::Nil));
    let pointer = || {
        Value::Object(std::rc::Rc::new(Point {
            is_pointer: true,
            coordinates: vec![Value::int(1), Value::Nil],
        }))
    };
    let rows: &[(&str, Value, &str)] = &[
        ("%p", Value::map::<_, &str>([]), "0xc000000000"),
        ("%#p", Value::list(vec![]), "c000000000"),
        ("%p", Value::TypedNil(Type::Map), "0x0"),
        ("%p", Value::int(1), "%!p(int=1)"),
        ("%v", Value::list(vec![pointer()]), "[0xc000000000]"),
        (
            "%#v",
            Value::list(vec![pointer()]),
            "[]interface {}{(*main.Point)(0xc000000000)}",
        ),
        (
            "%s",
            Value::list(vec![pointer()]),
            "[%!s(*main.Point=&{1 <nil>})]",
        ),
        ("%v", Value::Function(&NOTHING), "0xc000000000"),
        ("%s", Value::Function(&NOTHING), "%!s(func()=0xc000000000)"),
        (
            "%#v",
            Value::TypedNil(Type::Named("*main.Point", Kind::Pointer)),
            "(*main.Point)(nil)",
        ),
    ];
    for (format, operand, printed) in rows {
        let got = sprintf(format.as_bytes(), std::slice::from_ref(operand));
        assert_eq!(shown(&got), *printed, "{format}");
    }
}

#[test]
fn a_map_that_contains_itself_prints_and_ends() {
    let map = Map::new();
    for key in ["a", "b", "c"] {
        map.insert(key, Value::Map(map.clone()));
    }
    assert_eq!(
        shown(&print_value(&Value::Map(map.clone()))),
        "map[a:%!v(CYCLE) b:%!v(CYCLE) c:%!v(CYCLE)]"
    );
    for key in ["a", "b", "c"] {
        map.remove(key);
    }
}

#[test]
fn a_map_in_two_places_prints_in_both() {
    let shared = Value::map([("k", Value::int(1))]);
    let list = Value::list(vec![shared.clone(), shared]);
    assert_eq!(shown(&print_value(&list)), "[map[k:1] map[k:1]]");
}

#[test]
fn nesting_without_measure_prints_and_ends() {
    let mut value = Value::Nil;
    for _ in 0..20_000 {
        value = Value::list(vec![value]);
    }
    let printed = print_value(&value);
    assert!(shown(&printed).contains("%!v(DEPTH)"));
    // Dropping what is nested so deep would need the stack that printing avoids.
    std::mem::forget(value);
}

#[test]
fn padding_stops_before_it_takes_all_memory() {
    let format = "%1000000d%.1000000d%.1000000f".repeat(40);
    let operands: Vec<Value> = (0..120)
        .map(|index| if index % 3 == 2 { 1.5.into() } else { Value::int(1) })
        .collect();
    let length = sprintf(format.as_bytes(), &operands).len();
    assert!(length >= MAX_PADDED_OUTPUT);
    assert!(length < MAX_PADDED_OUTPUT + 10_000, "{length}");
}

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::int64),
        any::<u8>().prop_map(|number| {
            Value::Integer(Integer {
                kind: IntegerKind::Uint8,
                bits: i64::from(number),
            })
        }),
        (-30_i64..30).prop_map(Value::int),
        any::<f64>().prop_map(Value::Float),
        (any::<f64>(), any::<f64>()).prop_map(|(real, imaginary)| Value::Complex(real, imaginary)),
        any::<Vec<u8>>().prop_map(Value::string),
        any::<Vec<u8>>().prop_map(|bytes| Value::Bytes(bytes.into())),
        Just(Value::TypedNil(Type::Map)),
        Just(Value::TypedNil(Type::Named("*main.Point", Kind::Pointer))),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
            prop::collection::vec(any::<u8>(), 0..4).prop_map(|bytes| {
                let kind = IntegerKind::Uint8;
                let numbers = bytes.into_iter().map(|byte| {
                    Value::Integer(Integer {
                        kind,
                        bits: byte.into(),
                    })
                });
                Value::List(List::of(Type::Integer(kind), numbers.collect()))
            }),
            prop::collection::vec(("[a-c]?", inner.clone()), 0..4).prop_map(Value::map),
            prop::collection::vec(inner, 2).prop_map(|coordinates| {
                Value::Object(std::rc::Rc::new(Point {
                    is_pointer: coordinates[0].is_nil(),
                    coordinates,
                }))
            }),
        ]
    })
}

fn formats() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        "(%[-+# 0]{0,3}(\\[[0-4x]?\\]?)?(\\*|[0-9]{0,3})(\\.(\\[[1-3]\\])?(\\*|[0-9]{0,3}))?[a-zA-Z%é]?){1,4}"
            .prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn no_format_and_operands_make_printing_fail(
        format in formats(),
        operands in prop::collection::vec(values(), 0..4),
    ) {
        let printed = sprintf(&format, &operands);
        if !format.contains(&b'%') && operands.is_empty() {
            prop_assert_eq!(printed, format);
        }
    }

    #[test]
    fn a_plain_verb_is_the_same_as_printing(value in values()) {
        prop_assert_eq!(sprintf(b"%v", std::slice::from_ref(&value)), print_value(&value));
        prop_assert_eq!(sprintf(b"%#v", std::slice::from_ref(&value)), go_syntax(&value));
        prop_assert_eq!(print(std::slice::from_ref(&value)), print_value(&value));
    }
}
