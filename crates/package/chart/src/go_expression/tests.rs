//! What Go makes of expressions.

use super::{Expression, SyntaxError};

fn compile(pattern: &str) -> Result<Expression, SyntaxError> {
    Expression::new(pattern.as_bytes())
}

#[test]
fn patterns_mean_what_they_mean_in_go() {
    let rows = [
        ("^\\d+$", "12", true),
        ("^\\d+$", "٣", false),
        ("\\bfoo\\b", "a foo b", true),
        ("^[\\w.-]+$", "a.b-c_9", true),
        ("^[^\\s]+$", "a b", false),
        ("^a{,2}$", "a{,2}", true),
        ("^a{2}$", "aa", true),
        ("^{", "{", true),
        ("[[a]", "[", true),
        ("^[]a]+$", "]a", true),
        ("[a&&b]", "&", true),
        ("\\Qa.b\\E", "a.b", true),
        ("\\Qa.b\\E", "axb", false),
        ("^(?i)ABC$", "abc", true),
        ("(?P<n>x)", "x", true),
        ("^[[:alpha:]]+$", "abc", true),
        ("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-b", true),
        ("^\\pL+$", "é", true),
        ("^\\x{e9}\\101$", "éA", true),
        ("a$", "a\n", false),
        ("}", "}", true),
    ];
    for (pattern, text, expected) in rows {
        assert_eq!(
            compile(pattern).map(|regex| regex.is_match(text.as_bytes())),
            Ok(expected),
            "{pattern} {text}"
        );
    }
}

#[test]
fn what_go_refuses_is_refused() {
    for pattern in [
        "(?=a)", "a**", "*a", "(", "[a", "\\1", "a{2,1}", "a{1001}", "\\y", "(?<=a)b", "a\\", "[z-a]",
        "(?!x)",
    ] {
        assert!(compile(pattern).is_err(), "{pattern}");
    }
}

proptest::proptest! {
    #[test]
    fn no_pattern_panics(pattern in "[a\\[\\](){}?*+|^$\\\\dwQE:<>P0-9,&~é-]{0,30}") {
        let _ = compile(&pattern);
    }
}
