//! Values that the operator sets whatever a custom resource says.

use std::collections::BTreeMap;

use chart::environment::{self, Variables};
use chart::name_template;
use chart::set_expression::{self, Reading};
use chart::values::Table;

/// Values to override, by their path; worked out once at the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides(BTreeMap<String, String>);

/// A value that can't be overridden.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {cause}")]
pub struct OverrideError {
    /// Where the value stands.
    path: String,
    cause: String,
}

impl Overrides {
    /// Returns paths and values, in the order of the paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, value)| (path.as_str(), value.as_str()))
    }

    /// Sets the values, as `--set` does: numbers become numbers.
    ///
    /// The real operators go through a map in an order of chance; here the paths are sorted.
    pub fn apply(&self, values: &mut Table) -> Result<(), OverrideError> {
        for (path, value) in &self.0 {
            let expression = format!("{path}={value}");
            set_expression::apply(&expression, Reading::Typed, values, &mut |_| {}).map_err(|fault| {
                OverrideError {
                    path: path.clone(),
                    cause: fault.to_string(),
                }
            })?;
        }
        Ok(())
    }
}

/// Works out the values: first the variables of the environment, then the template that the result is.
pub fn expand(texts: &BTreeMap<String, String>, variables: &Variables) -> Result<Overrides, OverrideError> {
    let mut values = BTreeMap::new();
    for (path, text) in texts {
        let text = environment::expand(text, |name| variables(name));
        let value = name_template::render_as(path, &text, variables).map_err(|fault| OverrideError {
            path: path.clone(),
            cause: fault.to_string(),
        })?;
        // The plugins' operator replaces variables once more when it sets the value.
        values.insert(path.clone(), environment::expand(&value, |name| variables(name)));
    }
    let overrides = Overrides(values);
    // A path that can't be set must be said at the start, not at the first resource.
    overrides.apply(&mut Table::new())?;
    Ok(overrides)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use serde_json::json;

    use super::*;

    fn expanded(pairs: &[(&str, &str)]) -> Result<Overrides, OverrideError> {
        let texts = pairs
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        let variables: Variables = Rc::new(|name| match name {
            "TAG" => "0.99-op".to_owned(),
            _ => String::new(),
        });
        expand(&texts, &variables)
    }

    #[test]
    fn values_are_expanded_and_set_with_their_type() {
        let overrides = expanded(&[
            ("gateway.image.tag", "${TAG}"),
            ("gateway.replicaCount", "3"),
            ("gateway.env[0].name", "FROM_OP"),
            ("gateway.env[0].value", "{{ \"$TAG\" | upper }}"),
            ("gateway.env[1]", "{{ env \"TAG\" }}/{{ expandenv \"${TAG}\" }}"),
            ("serviceAccount.automount", "false"),
            ("nameOverride", "$UNSET_VARIABLE"),
        ])
        .expect("good values");
        let mut values = Table::new();
        values.insert("kept".to_owned(), json!(1));
        overrides.apply(&mut values).expect("good paths");
        assert_eq!(
            serde_json::Value::Object(values),
            json!({
                "gateway": {
                    "env": [{"name": "FROM_OP", "value": "0.99-OP"}, "0.99-op/0.99-op"],
                    "image": {"tag": "0.99-op"},
                    "replicaCount": 3,
                },
                "kept": 1,
                "nameOverride": "",
                "serviceAccount": {"automount": false},
            })
        );
    }

    #[test]
    fn a_path_that_cannot_be_set_is_named() {
        let fault = expanded(&[("a[", "1")]).expect_err("a broken path");
        assert!(fault.to_string().starts_with("a[: "), "{fault}");
    }
}
