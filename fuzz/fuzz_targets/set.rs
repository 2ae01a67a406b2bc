//! Feeds any text to the readers of `--set` and its relatives, one after the other on the same values.
#![no_main]

use chart::set_expression::{Reading, apply};
use chart::values::Table;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let mut values = Table::new();
    for (index, expression) in text.lines().take(20).enumerate() {
        let mut content = |name: &str| Ok(Value::String(name.to_owned()));
        let reading = match index % 5 {
            0 => Reading::Typed,
            1 => Reading::Text,
            2 => Reading::Json,
            3 => Reading::File(&mut content),
            _ => Reading::Literal,
        };
        apply(expression, reading, &mut values, &mut |_| {}).ok();
    }
});
