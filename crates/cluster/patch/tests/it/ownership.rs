//! Server-side apply and other writes, one after the other, with what the field manager of Kubernetes makes of them.
//!
//! `sequences.jsonl` has one case a line: a kind (by its schema in each version, or a built-in one), the writes, and the
//! object or the error after each.

mod replay;

use serde_json::Value;

#[test]
fn recorded_sequences_of_writes_give_the_recorded_objects_and_errors() {
    let cases = include_str!("ownership/sequences.jsonl");
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        replay::replay(&case);
    }
}
