//! Variables of the environment in texts, replaced as Go's `os.ExpandEnv` does.

use std::rc::Rc;

/// Gives the variables of an environment; those that it lacks are empty.
pub type Variables = Rc<dyn Fn(&str) -> String>;

/// Returns the environment of this process.
pub fn of_process() -> Variables {
    Rc::new(variable)
}

/// Returns a variable of the environment; empty if there is none.
pub fn variable(name: &str) -> String {
    std::env::var_os(name)
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Replaces `$name` and `${name}` by what `variable` says.
pub fn expand(text: &str, variable: impl Fn(&str) -> String) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let (found, tail) = name(after);
        match found {
            Found::Name(name) => expanded.push_str(&variable(name)),
            Found::Nothing => expanded.push('$'),
            Found::Broken => {}
        }
        rest = tail;
    }
    expanded.push_str(rest);
    expanded
}

/// What stands behind a dollar sign.
enum Found<'text> {
    Name(&'text str),
    /// No name: the dollar sign stays.
    Nothing,
    /// Braces without a name: they vanish.
    Broken,
}

fn name(text: &str) -> (Found<'_>, &str) {
    if let Some(inside) = text.strip_prefix('{') {
        return match inside.split_once('}') {
            Some(("", tail)) => (Found::Broken, tail),
            Some((name, tail)) => (Found::Name(name), tail),
            None => (Found::Broken, inside),
        };
    }
    // Names of one character that shells know; Go reads the digits one by one too.
    let is_special = |character: char| "*#$@!?-0123456789".contains(character);
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let length = if text.starts_with(is_special) {
        1
    } else {
        text.find(|character| !is_word(character)).unwrap_or(text.len())
    };
    match text.split_at(length) {
        ("", tail) => (Found::Nothing, tail),
        (name, tail) => (Found::Name(name), tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_as_go_does() {
        let rows = [
            ("plain", "plain"),
            ("$a-${a}b", "[a]-[a]b"),
            ("$", "$"),
            ("100 $ and $/", "100 $ and $/"),
            ("$$a", "[$]a"),
            ("$12", "[1]2"),
            ("${}x", "x"),
            ("${open", "open"),
            ("${with space}", "[with space]"),
            ("$a_b1.c", "[a_b1].c"),
            ("$\u{e9}", "$\u{e9}"),
        ];
        for (text, expected) in rows {
            assert_eq!(expand(text, |name| format!("[{name}]")), expected, "{text}");
        }
    }
}
