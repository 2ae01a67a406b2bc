//! Templates from strangers: endless loops, deep nesting and nonsense end in an error, never in a panic.

use std::cell::Cell;
use std::sync::Arc;

use bytes::Bytes;
use gotemplate::error::MAX_CAUSE_BYTES;
use gotemplate::{
    Executor, Function, Functions, Interrupt, MAX_NESTING, Options, Parsed, Templates, Type, Value,
};
use proptest::prelude::*;

fn run_with(template: &[u8], options: Options) -> Result<Vec<u8>, String> {
    let parsed = Parsed::new("main", Bytes::copy_from_slice(template), &Functions::default())
        .map_err(|error| error.to_string())?;
    let mut templates = Templates::default();
    templates.add(&parsed);
    let data = Value::map([
        ("list", Value::list((0..3).map(Value::int).collect())),
        ("map", Value::map([("a", Value::from("b"))])),
        ("text", Value::from("text")),
        ("nil", Value::Nil),
    ]);
    Executor::new(Arc::new(templates), options, &())
        .execute(b"main", "main", data)
        .map_err(|error| error.to_string())
}

fn run(template: &str) -> Result<Vec<u8>, String> {
    run_with(template.as_bytes(), Options::default())
}

#[test]
fn a_range_that_does_not_end_is_an_error() {
    let error = run("{{range 1000000000}}{{end}}").expect_err("too many steps");
    assert!(error.contains("doesn't seem to end"), "{error}");
}

#[test]
fn output_that_grows_without_end_is_an_error() {
    let options = Options {
        max_output_bytes: 1000,
        ..Options::default()
    };
    let error = run_with(b"{{range 1000000}}0123456789{{end}}", options).expect_err("too much output");
    assert!(error.contains("output grows over 1000 bytes"), "{error}");
}

#[test]
fn a_template_that_calls_itself_ends_at_gos_limit() {
    let error = run(r#"{{define "r"}}{{template "r" .}}{{end}}{{template "r" .}}"#).expect_err("too deep");
    assert!(
        error.ends_with("exceeded maximum template depth (100000)"),
        "{error}"
    );
}

#[test]
fn nesting_has_a_limit() {
    let blocks = format!(
        "{}x{}",
        "{{if 1}}".repeat(MAX_NESTING + 1),
        "{{end}}".repeat(MAX_NESTING + 1)
    );
    assert!(
        run(&blocks)
            .expect_err("too deep")
            .contains("max expression depth exceeded")
    );
    let parentheses = format!(
        "{{{{{}1{}}}}}",
        "(".repeat(MAX_NESTING + 1),
        ")".repeat(MAX_NESTING + 1)
    );
    assert!(
        run(&parentheses)
            .expect_err("too deep")
            .contains("max expression depth exceeded")
    );
    let chain = format!(
        "{{{{if 0}}}}{}{{{{end}}}}",
        "{{else if 0}}".repeat(MAX_NESTING + 1)
    );
    assert!(
        run(&chain)
            .expect_err("too deep")
            .contains("max expression depth exceeded")
    );
    let allowed = format!(
        "{}x{}",
        "{{if 1}}".repeat(MAX_NESTING - 1),
        "{{end}}".repeat(MAX_NESTING - 1)
    );
    assert_eq!(run(&allowed).expect("deep, but allowed"), b"x");
}

/// Pieces that make templates which often parse.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("{{".to_owned()),
        Just("}}".to_owned()),
        Just("{{-".to_owned()),
        Just(" -}}".to_owned()),
        Just("{{/*".to_owned()),
        Just("*/}}".to_owned()),
        Just("{{if .text}}".to_owned()),
        Just("{{else}}".to_owned()),
        Just("{{else if .nil}}".to_owned()),
        Just("{{end}}".to_owned()),
        Just("{{range $i, $e := .list}}".to_owned()),
        Just("{{with .map}}".to_owned()),
        Just("{{define \"a\"}}".to_owned()),
        Just("{{template \"a\" .}}".to_owned()),
        Just("{{block \"b\" .}}".to_owned()),
        Just("{{break}}".to_owned()),
        Just("{{continue}}".to_owned()),
        Just("{{$x := .map}}".to_owned()),
        Just("{{$x = 1}}".to_owned()),
        Just("{{$x.a}}".to_owned()),
        Just("{{.list | len | printf \"%d\"}}".to_owned()),
        Just("{{index .list 1}}".to_owned()),
        Just("{{slice .text 1 2}}".to_owned()),
        Just("{{eq .a .b}}".to_owned()),
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("|".to_owned()),
        Just("'\\".to_owned()),
        Just("0x1p-2i".to_owned()),
        Just("1+2i".to_owned()),
        "[ -~\\n]{0,8}",
        "\\PC{0,4}",
    ]
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = run_with(&bytes, Options { max_steps: 10_000, ..Options::default() });
    }

    #[test]
    fn arbitrary_templates_never_panic(pieces in proptest::collection::vec(piece(), 0..30)) {
        let _ = run_with(pieces.concat().as_bytes(), Options { max_steps: 10_000, ..Options::default() });
    }
}

/// Functions for these tests: one that is light, one that is heavy, and one that costs the same whatever it gets.
static FUNCTIONS: [Function; 3] = [
    Function::new("light", &[Type::Any], |_| Ok(Value::Nil)),
    Function::new("heavy", &[Type::Any], |_| Ok(Value::Nil)).heavy(),
    Function::new("fixed", &[Type::Any], |_| Ok(Value::Nil)).fixed(),
];

/// Runs a template with values in it, and says how many steps that took.
fn steps(template: &str, data: Value, max_steps: u64) -> Result<u64, String> {
    let mut functions = Functions::default();
    functions.extend(&FUNCTIONS);
    let parsed = Parsed::new("main", Bytes::copy_from_slice(template.as_bytes()), &functions)
        .map_err(|error| error.to_string())?;
    let mut templates = Templates::default();
    templates.add(&parsed);
    let options = Options {
        max_steps,
        ..Options::default()
    };
    let mut executor = Executor::new(Arc::new(templates), options, &());
    executor
        .execute(b"main", "main", data)
        .map_err(|error| error.to_string())?;
    Ok(executor.steps())
}

/// A list that holds the same list many times, and so on: it is small, and has more elements than atoms.
fn unfolding(levels: usize) -> Value {
    (0..levels).fold(Value::int(1), |inner, _| Value::list(vec![inner; 10]))
}

#[test]
fn arguments_are_work_before_a_function_runs() {
    let text = || Value::from("x".repeat(64_000));
    let list = || Value::list(vec![Value::int(1); 16_000]);
    let map = || Value::map((0..16_000).map(|key| (key.to_string(), Value::Nil)));
    // Beside an action and a call, which are a step each.
    for (template, data, expected) in [
        ("{{$_ := light .}}", text(), 1_000),
        ("{{$_ := heavy .}}", text(), 8_000),
        ("{{$_ := fixed .}}", text(), 0),
        ("{{$_ := light .}}", list(), 1_000),
        ("{{$_ := heavy .}}", list(), 32_000),
        ("{{$_ := fixed .}}", list(), 0),
        ("{{$_ := light .}}", map(), 1_000),
        ("{{$_ := heavy .}}", map(), 32_000),
        ("{{$_ := light .}}", Value::list(vec![list()]), 0),
        ("{{$_ := heavy .}}", Value::list(vec![list(); 3]), 96_006),
        ("{{$_ := heavy .}}", unfolding(3), 2_220),
    ] {
        let taken = steps(template, data, 1_000_000).expect(template);
        assert_eq!(taken, expected + 2, "{template}");
    }
    let called = Value::list(vec![Value::Function(&FUNCTIONS[1]), text()]);
    let taken = steps("{{$_ := call (index . 0) (index . 1)}}", called, 1_000_000).expect("a function value");
    assert!((8_000..8_100).contains(&taken), "{taken}");
}

#[test]
fn what_is_larger_than_all_steps_is_refused_before_it_is_walked() {
    for template in ["{{heavy .}}", "{{print .}}", "{{.}}", "{{printf \"%v\" .}}"] {
        let error = steps(template, unfolding(30), 100_000).expect_err(template);
        assert!(
            error.contains("execution takes more than 100000 steps"),
            "{template}: {error}"
        );
    }
}

#[test]
fn a_map_is_work_each_time_it_is_ranged_over_and_a_variable_each_time_it_is_looked_for() {
    let map = Value::map((0..16_000).map(|key| (key.to_string(), Value::Nil)));
    let taken = steps("{{range .}}{{break}}{{end}}", map, 10_000).expect("few steps");
    assert!((1_000..1_010).contains(&taken), "{taken}");
    let declared = "{{$x := 1}}".repeat(16_000);
    let taken = steps(&format!("{declared}{{{{$}}}}"), Value::int(1), 100_000).expect("few steps");
    assert_eq!(taken, 16_000 + 1 + 1_000);
}

#[test]
fn who_runs_a_template_can_stop_it_with_a_reason() {
    struct AfterQuestions(Cell<usize>);
    impl Interrupt for AfterQuestions {
        fn reason_to_stop(&self) -> Option<String> {
            self.0.set(self.0.get() - 1);
            (self.0.get() == 0).then(|| "the clock has struck".into())
        }
    }
    let run = |template: &str| {
        let parsed = Parsed::new(
            "main",
            Bytes::copy_from_slice(template.as_bytes()),
            &Functions::default(),
        )
        .expect("a template");
        let mut templates = Templates::default();
        templates.add(&parsed);
        let interrupt = AfterQuestions(Cell::new(3));
        let mut executor = Executor::new(Arc::new(templates), Options::default(), &());
        executor.interrupt_by(&interrupt);
        let outcome = executor.execute(b"main", "main", Value::Nil);
        (outcome.map_err(|error| error.to_string()), executor.steps())
    };
    let (outcome, steps) = run("a\n{{range 1000000}}{{end}}");
    assert_eq!(
        outcome.expect_err("stopped"),
        "template: main:2:8: executing \"main\" at <1000000>: the clock has struck"
    );
    assert_eq!(steps, 3 * 4_096);
    assert_eq!(run("{{range 8000}}{{end}}").0, Ok(Vec::new()));
}

#[test]
fn a_message_of_any_length_is_cut_in_its_middle() {
    let long = Value::from("y".repeat(1 << 20));
    let error = steps("{{eq . 1.5}}{{index 1 .}}", long.clone(), 1_000_000).expect_err("other types");
    assert!(error.len() < 1000, "{}", error.len());
    let error = steps(
        "{{eq .b .a}}",
        Value::map([("a", Value::list(vec![long])), ("b", Value::list(Vec::new()))]),
        1_000_000,
    )
    .expect_err("lists have no equality");
    assert!(error.len() < MAX_CAUSE_BYTES + 1000, "{}", error.len());
    assert!(error.contains("non-comparable type [yyy"), "{}", &error[..200]);
    assert!(error.contains("y… ("), "what was left out is not told");
    assert!(
        error.ends_with("yyy]: []interface {}"),
        "{}",
        &error[error.len() - 100..]
    );
    let left_out = (1 << 20) + "non-comparable type []: []interface {}".len() - MAX_CAUSE_BYTES;
    assert!(
        error.contains(&format!("… ({left_out} bytes left out) …")),
        "{left_out}"
    );
    let name = "n".repeat(1 << 20);
    let error = steps(
        &format!("{{{{define \"{name}\"}}}}{{{{index 1 2}}}}{{{{end}}}}{{{{template \"{name}\"}}}}"),
        Value::Nil,
        1_000_000,
    )
    .expect_err("an integer has no elements");
    assert!(error.len() < 10_000, "{}", error.len());
}
