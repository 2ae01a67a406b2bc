//! Expressions in dependencies (`olm.constraint`), in CEL: whether they can be read, and whether they say yes or no.

mod checker;

/// The longest expression that is read: upstream's limit for a whole constraint.
const MAXIMUM_BYTES: usize = 2 << 16;
/// How deep brackets may be nested, so that reading them can't exhaust the stack; cel-go's limit is 250 too.
const MAXIMUM_DEPTH: usize = 250;

/// Says why the expression of a constraint is not one, or not one that says yes or no; in cel-go's words.
pub fn expression_fault(rule: &str) -> Option<String> {
    if rule.len() > MAXIMUM_BYTES {
        return Some(format!(
            "olm.constraint value is greater than max constraint size {MAXIMUM_BYTES} bytes"
        ));
    }
    if depth(rule) > MAXIMUM_DEPTH {
        return Some(located(
            rule,
            0,
            &format!("expression recursion limit exceeded: {MAXIMUM_DEPTH}"),
        ));
    }
    match cel::Program::compile(rule) {
        Err(errors) => Some(in_go_style(&errors.to_string())),
        Ok(program) => checker::fault(rule, program.expression(), program.source_info()),
    }
}

/// The parser's report as cel-go prints it: its quoted lines are indented by a blank, and it has no remarks of its own
/// about half an expression.
fn in_go_style(report: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut skips = false;
    for line in report.lines() {
        if line.starts_with("ERROR: ") {
            skips = line.contains("Incomplete `");
        }
        if !skips {
            lines.push(match line.strip_prefix('|') {
                Some(_) => format!(" {line}"),
                None => line.to_owned(),
            });
        }
    }
    lines.join("\n")
}

/// A message with the line it is about and a mark below the place, as cel-go prints it.
fn located(rule: &str, offset: usize, message: &str) -> String {
    let before = rule.get(..offset).unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = rule.get(start..offset).unwrap_or_default().chars().count();
    let line = rule
        .get(start..)
        .unwrap_or_default()
        .lines()
        .next()
        .unwrap_or_default();
    format!(
        "ERROR: <input>:{number}:{}: {message}\n | {line}\n | {}^",
        column + 1,
        ".".repeat(column)
    )
}

/// How deep brackets are nested at most; quoted text may hold some too, which only makes this stricter.
fn depth(rule: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for byte in rule.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    // Operators without brackets nest too: `!!!!a`, `a?b:c?d:e`.
    let repeated = rule
        .bytes()
        .filter(|byte| matches!(byte, b'!' | b'-' | b'?'))
        .count();
    deepest.max(repeated)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn expressions_are_judged_as_cel_go_judges_them() {
        for (rule, expected) in [
            (
                "1 +",
                Some(
                    "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 1 +\n | ...^",
                ),
            ),
            ("\"text\"", Some("cel expressions must have type Bool")),
            (
                "a b",
                Some(
                    "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>\n | a b\n | ..^",
                ),
            ),
            (
                "1 ? 2 : 3",
                Some(
                    "ERROR: <input>:1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'\n | 1 ? 2 : 3\n | ..^",
                ),
            ),
            ("true", None),
            (
                "foo",
                Some("ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo\n | ^"),
            ),
            (
                "foo == 1",
                Some(
                    "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo == 1\n | ^",
                ),
            ),
            ("properties.exists(p, p.type == \"certified\")", None),
            ("properties.exists(p, p.type)", None),
            ("properties[0].type", Some("cel expressions must have type Bool")),
            (
                "properties.all(p, p.type == 'x' && semver_compare(p.value.version, '1.0.0') > 0)",
                None,
            ),
            (
                "semver_compare('1','2')",
                Some("cel expressions must have type Bool"),
            ),
            ("semver_compare('1','2') == 0", None),
            (
                "1 == 'a'",
                Some(
                    "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, string)'\n | 1 == 'a'\n | ..^",
                ),
            ),
            (
                "1 + 'a' == 2",
                Some(
                    "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a' == 2\n | ..^",
                ),
            ),
            ("size(properties) > 0", None),
            (
                "properties.map(p, p.type)",
                Some("cel expressions must have type Bool"),
            ),
            ("properties.filter(p, p.type == 'a').size() == 1", None),
            (
                "!1",
                Some(
                    "ERROR: <input>:1:1: found no matching overload for '!_' applied to '(int)'\n | !1\n | ^",
                ),
            ),
            (
                "true && 1",
                Some("ERROR: <input>:1:9: expected type 'bool' but found 'int'\n | true && 1\n | ........^"),
            ),
            (
                "x.exists(1, true)",
                Some(
                    "ERROR: <input>:1:10: argument must be a simple name\n | x.exists(1, true)\n | .........^",
                ),
            ),
            (
                "'abc",
                Some(
                    "ERROR: <input>:1:1: Syntax error: token recognition error at: ''abc'\n | 'abc\n | ^\nERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | 'abc\n | ....^",
                ),
            ),
            (
                "properties.exists(p, q.type == 'a')",
                Some(
                    "ERROR: <input>:1:22: undeclared reference to 'q' (in container '')\n | properties.exists(p, q.type == 'a')\n | .....................^",
                ),
            ),
            (
                "nosuch(1) == 2",
                Some(
                    "ERROR: <input>:1:7: undeclared reference to 'nosuch' (in container '')\n | nosuch(1) == 2\n | ......^",
                ),
            ),
            ("\"a\".startsWith(\"b\")", None),
            ("has(properties[0].type)", None),
            (
                "'a' in properties",
                Some(
                    "ERROR: <input>:1:5: found no matching overload for '@in' applied to '(string, list(map(string, any)))'\n | 'a' in properties\n | ....^",
                ),
            ),
            ("'a' in ['b']", None),
            (
                "1 ? true : false",
                Some(
                    "ERROR: <input>:1:3: found no matching overload for '_?_:_' applied to '(int, bool, bool)'\n | 1 ? true : false\n | ..^",
                ),
            ),
            ("true ? 1 : 2", Some("cel expressions must have type Bool")),
            (
                "foo(",
                Some(
                    "ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}\n | foo(\n | ....^",
                ),
            ),
            (
                "properties.foo == 1",
                Some(
                    "ERROR: <input>:1:11: type 'list(map(string, any))' does not support field selection\n | properties.foo == 1\n | ..........^",
                ),
            ),
            ("[1,2].exists(x, x > 1)", None),
            ("{'a': 1}.a == 1", None),
            ("matches('a','b')", None),
            ("1 < 2", None),
            ("-1 < 2", None),
            (
                "\"a\" < 1",
                Some(
                    "ERROR: <input>:1:5: found no matching overload for '_<_' applied to '(string, int)'\n | \"a\" < 1\n | ....^",
                ),
            ),
            (
                "null == 1",
                Some(
                    "ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(null, int)'\n | null == 1\n | .....^",
                ),
            ),
            ("type(1) == int", None),
            ("int('1') == 1", None),
            ("bool('true')", None),
            ("dyn(1)", Some("cel expressions must have type Bool")),
            ("properties[0]['type'] == 'a' || properties[0].value.x > 1", None),
        ] {
            assert_eq!(expression_fault(rule).as_deref(), expected, "{rule}");
        }
    }

    proptest! {
        #[test]
        fn nothing_makes_it_fall(rule in "[a-c0-9()\\[\\]{}.,:?!=<>&|+*/% '\"-]{0,40}") {
            let _ = expression_fault(&rule);
        }
    }
}
