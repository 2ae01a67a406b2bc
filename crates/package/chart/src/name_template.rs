//! Texts that are made by a template with Sprig's functions, outside of charts: `--name-template`, and the values that an
//! operator overrides.

use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use gotemplate::{Call, Dialect, Executor, Function, Functions, Options, Parsed, Templates, Type, Value};
use thiserror::Error;

use crate::environment::{self, Variables};
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
        Ok(Value::string(variable(call, &call.string(0))))
    }),
    Function::new("expandenv", &[Type::String], |call| {
        let text = call.string(0);
        Ok(Value::string(environment::expand(&text, |name| {
            variable(call, name)
        })))
    }),
];

fn variable(call: &Call<'_, '_>, name: &str) -> String {
    Host::of(call).map_or_else(String::new, |host| (host.variables)(name))
}

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
    render_as(NAME, template, &environment::of_process())
}

/// Makes a text from an environment; messages call the template by the name given.
pub fn render_as(name: &str, template: &str, variables: &Variables) -> Result<String, NameTemplateError> {
    let parsed = Parsed::new(name, Bytes::copy_from_slice(template.as_bytes()), &FUNCTIONS)
        .map_err(|error| NameTemplateError(error.to_string()))?;
    let mut templates = Templates::default();
    templates.add_over_everything(&parsed);
    let options = Options {
        dialect: Dialect::Go1_23,
        ..Options::default()
    };
    let mut host = Host::new(Rc::new(SystemSource), Rc::new(NoCluster));
    host.variables = Rc::clone(variables);
    Executor::new(Arc::new(templates), options, &host)
        .execute(name.as_bytes(), name, Value::Nil)
        .map(|name| String::from_utf8_lossy(&name).into_owned())
        .map_err(|error| NameTemplateError(error.to_string()))
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
