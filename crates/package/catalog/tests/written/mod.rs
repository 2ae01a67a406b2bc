//! Catalogs as opm writes them.

use catalog::objects::Catalog;

/// A catalog as a stream of JSON.
pub fn json(catalog: &Catalog) -> String {
    let mut out = String::new();
    for bundle in catalog.bundles.iter().filter(|bundle| !bundle.package.is_empty()) {
        let text = serde_json::to_string(bundle).expect("JSON");
        out.push_str(&indent(&text.replacen('{', "{\"schema\":\"olm.bundle\",", 1)));
        out.push('\n');
    }
    out
}
fn indent(text: &str) -> String {
    let mut out = String::new();
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if in_text {
            out.push(c);
            if escaped {
                escaped = false
            } else if c == '\\' {
                escaped = true
            } else if c == '"' {
                in_text = false
            }
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                out.push(c)
            }
            '{' | '[' => {
                out.push(c);
                if matches!(chars.peek(), Some('}' | ']')) {
                    out.push(chars.next().unwrap());
                    continue;
                }
                depth += 1;
                out.push('\n');
                out.push_str(&"    ".repeat(depth));
            }
            '}' | ']' => {
                depth -= 1;
                out.push('\n');
                out.push_str(&"    ".repeat(depth));
                out.push(c)
            }
            ',' => {
                out.push(c);
                out.push('\n');
                out.push_str(&"    ".repeat(depth))
            }
            ':' => out.push_str(": "),
            ' ' | '\n' | '\t' | '\r' => {}
            _ => out.push(c),
        }
    }
    out
}
