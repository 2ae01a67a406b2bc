//! No expression and no value makes the evaluation of CEL panic or hang.
#![no_main]

use expression::policy::{Compiler, Evaluation, Input, Returns};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // The first line is the expression, the rest the object that it looks at.
    let (rule, object) = text.split_once('\n').unwrap_or((text, ""));
    let object: Value = serde_json::from_str(object).unwrap_or(Value::Null);
    let compiler = Compiler::for_policy(true);
    let Ok(compiled) = compiler.compile(rule, Returns::Anything) else { return };
    let input = Input {
        object: &object,
        old_object: &Value::Null,
        request: &Value::Null,
        namespace_object: &Value::Null,
        params: &object,
        authorizer: None,
    };
    let _ = Evaluation::new(&compiler, input, 1_000_000).evaluate(&compiled);
});
