//! `--name-template`: the name of a release, made by a template with Sprig's functions.

use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use gotemplate::{
    Call, Dialect, Executor, Failure, Function, Functions, Options, Parsed, Templates, Type, Value,
};
use thiserror::Error;

use crate::functions;
use crate::host::{Host, NoCluster};
use crate::source::SystemSource;

/// What Helm calls the template in messages.
const NAME: &str = "name-template";

/// Functions that Helm adds to Sprig's for charts; a name is no chart.
const ONLY_IN_CHARTS: &[&str] = &[
    "include",
    "tpl",
    "required",
    "lookup",
    "toYaml",
    "mustToYaml",
    "toYamlPretty",
    "fromYaml",
    "fromYamlArray",
    "toToml",
    "fromToml",
    "fromJsonArray",
];

/// Functions that charts may not call, but the person at the command line may.
static ONLY_HERE: &[Function] = &[
    Function::new("env", &[Type::String], |call| {
        Ok(Value::string(variable(&call.string(0))))
    }),
    Function::new("expandenv", &[Type::String], expand),
];

static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| {
    let mut all = Functions::default();
    all.extend(functions::all().filter(|function| !ONLY_IN_CHARTS.contains(&function.name)));
    all.extend(ONLY_HERE);
    all
});

/// A template that makes no name; the text is Go's.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct NameTemplateError(String);

/// Makes a name.
pub fn render(template: &str) -> Result<String, NameTemplateError> {
    let parsed = Parsed::new(NAME, Bytes::copy_from_slice(template.as_bytes()), &FUNCTIONS)
        .map_err(|error| NameTemplateError(error.to_string()))?;
    let mut templates = Templates::default();
    templates.add_over_everything(&parsed);
    let options = Options {
        dialect: Dialect::Go1_23,
        ..Options::default()
    };
    let host = Host::new(Rc::new(SystemSource), Rc::new(NoCluster));
    Executor::new(Arc::new(templates), options, &host)
        .execute(NAME.as_bytes(), NAME, Value::Nil)
        .map(|name| String::from_utf8_lossy(&name).into_owned())
        .map_err(|error| NameTemplateError(error.to_string()))
}

fn variable(name: &str) -> String {
    std::env::var_os(name)
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Replaces `$name` and `${name}`, as the shell does.
fn expand(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let text = call.string(0);
    let mut expanded = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('$') {
        expanded.push_str(before);
        let braced = after.strip_prefix('{').and_then(|after| after.split_once('}'));
        if let Some((name, tail)) = braced {
            expanded.push_str(&variable(name));
            rest = tail;
            continue;
        }
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let end = after.find(|character| !is_word(character)).unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        if name.is_empty() {
            expanded.push('$');
        }
        expanded.push_str(&variable(name));
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(Value::string(expanded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_with_sprig_and_without_helm() {
        let rows = [
            ("plain", Ok("plain")),
            ("{{ \"ABC\" | lower }}-{{ add 1 2 }}", Ok("abc-3")),
            ("{{ env \"BATON_NO_SUCH_VARIABLE\" }}x", Ok("x")),
            (
                "{{ expandenv \"a$BATON_NO_SUCH_VARIABLE-${BATON_NO_SUCH_VARIABLE}b\" }}",
                Ok("a-b"),
            ),
            (
                "{{ include \"a\" . }}",
                Err("template: name-template:1: function \"include\" not defined"),
            ),
            (
                "{{ foo }}",
                Err("template: name-template:1: function \"foo\" not defined"),
            ),
            ("{{ define \"x\" }}{{ end }}", Ok("")),
        ];
        for (template, expected) in rows {
            let name = render(template).map_err(|error| error.to_string());
            assert_eq!(
                name,
                expected.map(str::to_owned).map_err(str::to_owned),
                "{template}"
            );
        }
    }
}
