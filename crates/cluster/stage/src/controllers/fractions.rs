//! Numbers that may be given as a part of a whole: `3` or `25%`.

use serde_json::Value;

/// Returns a number, or the part of `whole` that a percentage is; 0 for anything else.
pub fn scaled(value: &Value, whole: i64, round_up: bool) -> i64 {
    if let Some(number) = value.as_i64() {
        return number;
    }
    let percent: Option<i64> = value
        .as_str()
        .and_then(|text| text.strip_suffix('%'))
        .and_then(|digits| digits.parse().ok());
    let Some(percent) = percent else { return 0 };
    let product = percent.saturating_mul(whole);
    let rounded = if round_up {
        product.saturating_add(99)
    } else {
        product
    };
    rounded / 100
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn percentages_are_rounded_the_way_that_was_asked() {
        let table = [
            (json!(3), 10, true, 3),
            (json!("25%"), 10, true, 3),
            (json!("25%"), 10, false, 2),
            (json!("0%"), 10, true, 0),
            (json!("100%"), 7, false, 7),
            (json!("half"), 10, true, 0),
            (json!(null), 10, true, 0),
        ];
        for (value, whole, round_up, wanted) in table {
            assert_eq!(scaled(&value, whole, round_up), wanted, "{value} of {whole}");
        }
    }
}
