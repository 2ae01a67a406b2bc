//! Whether a value is what its schema demands, in the API server's words and order.
//!
//! The rules and texts are those of the validator that the API server uses for custom resources, oddities included: a
//! client can't tell the two apart. Where the server's order depends on a hash map, fields come sorted.

mod correlation;
mod number;
mod outcome;
mod scalar;

use std::collections::HashSet;

use serde_json::{Map, Value};

use self::correlation::Correlation;
use self::outcome::{Outcome, Path, Room};
use crate::{FieldErrors, FieldPath, Reference, Schema, Type};

/// Returns what is wrong with a value.
///
/// `old` is the value that it replaces: what was wrong before and didn't change stays allowed.
pub fn validate(schema: &Schema, value: &Value, old: Option<&Value>) -> FieldErrors {
    validate_at(&FieldPath::root(), schema, value, old)
}

/// Returns what is wrong with a value that stands at `base`, such as the status of a resource.
///
/// The fields of the errors begin with `base`; the details name fields as seen from the value.
pub fn validate_at(base: &FieldPath, schema: &Schema, value: &Value, old: Option<&Value>) -> FieldErrors {
    let room = Room::default();
    let validator = Validator {
        room: Some(&room),
        keeps_formats: false,
    };
    let correlation = old.map(|old| Correlation::new(schema, old, value));
    errors_of(validator.node(schema, value, &Path::Root, correlation), base)
}

/// Returns what is wrong with a default of a schema. It is judged before the formats that aren't enforced are set
/// aside, which some errors show.
pub(super) fn validate_default(base: &FieldPath, schema: &Schema, value: &Value) -> FieldErrors {
    let room = Room::default();
    let validator = Validator {
        room: Some(&room),
        keeps_formats: true,
    };
    errors_of(validator.check(schema, value, &Path::Root, None), base)
}

fn errors_of(outcome: Outcome<'_>, base: &FieldPath) -> FieldErrors {
    let mut said = HashSet::new();
    let mut errors = FieldErrors::default();
    for failure in outcome.failures {
        if said.insert(failure.message.clone()) {
            errors.push(failure.into_error(base));
        }
    }
    errors.leave_out(outcome.left_out);
    errors
}

/// Whether messages are wanted, or only whether anything fails and how many checks hold.
///
/// The alternatives of `anyOf` and `oneOf` are mostly tried in vain, and making texts for them would cost more than
/// everything else.
#[derive(Clone, Copy)]
struct Validator<'r> {
    /// What can be told; `None` where no messages are wanted.
    room: Option<&'r Room>,
    /// Whether formats count even where they can't be enforced, as for defaults.
    keeps_formats: bool,
}

impl<'r> Validator<'r> {
    fn silent(self) -> Self {
        Self { room: None, ..self }
    }

    /// Checks a value, and overlooks what is wrong with it when it didn't change.
    fn node(
        self,
        schema: &Schema,
        value: &Value,
        path: &Path<'_>,
        correlation: Option<Correlation<'_>>,
    ) -> Outcome<'r> {
        let mut outcome = self.check(schema, value, path, correlation.as_ref());
        if outcome.failed && correlation.is_some_and(|correlation| correlation.is_unchanged()) {
            outcome.forgive();
        }
        outcome
    }

    /// Checks a value. The number of matches decides which alternative of `anyOf` an error speaks of, so each
    /// step counts as it does upstream.
    fn check(
        self,
        schema: &Schema,
        value: &Value,
        path: &Path<'_>,
        correlation: Option<&Correlation<'_>>,
    ) -> Outcome<'r> {
        let mut outcome = Outcome::new(self.room);
        let format = if self.keeps_formats {
            schema.format.as_deref().unwrap_or_default()
        } else {
            scalar::kept_format(schema)
        };
        if value.is_null() {
            scalar::check_type(schema, format, value, path, &mut outcome);
            scalar::check_enumeration(schema, value, path, &mut outcome);
            return outcome;
        }
        if schema.value_type != Type::Any || !format.is_empty() {
            scalar::check_type(schema, format, value, path, &mut outcome);
            outcome.count();
        }
        self.check_clauses(schema, value, path, &mut outcome);
        outcome.count();
        match value {
            Value::String(text) => {
                scalar::check_text(schema, text, path, &mut outcome);
                outcome.count();
                if scalar::check_format(format, text, path, &mut outcome) {
                    outcome.count();
                }
            }
            Value::Number(given) => {
                number::check(schema, given, path, &mut outcome);
                outcome.count();
            }
            Value::Array(items) => {
                self.check_items(schema, items, path, correlation, &mut outcome);
                outcome.count();
            }
            _ => {}
        }
        scalar::check_enumeration(schema, value, path, &mut outcome);
        outcome.count();
        if let Value::Object(fields) = value {
            self.check_fields(schema, fields, path, correlation, &mut outcome);
            outcome.count();
        }
        outcome.count();
        outcome
    }

    fn check_items(
        self,
        schema: &Schema,
        items: &[Value],
        path: &Path<'_>,
        correlation: Option<&Correlation<'_>>,
        outcome: &mut Outcome<'_>,
    ) {
        if let Some(item_schema) = schema.items.as_ref().map(Reference::schema) {
            for (index, item) in items.iter().enumerate() {
                let correlation = correlation.and_then(|list| list.item(index));
                outcome.merge(self.node(item_schema, item, &Path::Index(path, index), correlation));
            }
        }
        if let Some(demands) = &schema.demands {
            scalar::check_size(demands, items, path, outcome);
        }
        outcome.count();
    }

    fn check_fields(
        self,
        schema: &Schema,
        fields: &Map<String, Value>,
        path: &Path<'_>,
        correlation: Option<&Correlation<'_>>,
        outcome: &mut Outcome<'_>,
    ) {
        if let Some(demands) = &schema.demands {
            scalar::check_field_count(demands, fields.len(), path, outcome);
        }
        let is_type_field = |name: &str| matches!(path, Path::Root) && matches!(name, "kind" | "apiVersion");
        let correlated = |name: &str| {
            // Both versions of an object are read in the same version, so a change of its type can't be seen.
            let object = correlation.filter(|_| !is_type_field(name))?;
            object.field(name)
        };
        if let Some(additional) = schema.additional_properties.as_ref().map(Reference::schema) {
            for (name, field) in fields {
                if !schema.properties.contains_key(name.as_str()) {
                    outcome.merge(self.node(additional, field, &Path::Key(path, name), correlated(name)));
                }
            }
        }
        for (name, property) in &schema.properties {
            if let Some(field) = fields.get(name.as_ref()) {
                let place = Path::Field(path, name);
                outcome.merge(self.node(property.schema(), field, &place, correlated(name)));
            }
        }
        for name in &schema.required {
            if !fields.contains_key(name.as_ref()) {
                outcome.missing(path, name);
            }
        }
    }

    /// Merges the failures of the clause that came closest: the first of those with the most matches.
    fn merge_closest(
        self,
        clauses: &[Schema],
        tries: &[Outcome<'_>],
        value: &Value,
        path: &Path<'_>,
        outcome: &mut Outcome<'_>,
    ) {
        let mut closest: Option<(usize, usize)> = None;
        for (index, tried) in tries.iter().enumerate() {
            if closest.is_none_or(|(_, matches)| tried.matches > matches) {
                closest = Some((index, tried.matches));
            }
        }
        let Some((index, _)) = closest else { return };
        if self.room.is_none() {
            if let Some(tried) = tries.get(index) {
                outcome.merge(tried.clone());
            }
        } else if let Some(clause) = clauses.get(index) {
            outcome.merge(self.check(clause, value, path, None));
        }
    }

    fn check_clauses(self, schema: &Schema, value: &Value, path: &Path<'_>, outcome: &mut Outcome<'_>) {
        if let Some(demands) = &schema.demands {
            self.check_any_of(&demands.any_of, value, path, outcome);
            self.check_one_of(&demands.one_of, value, path, outcome);
            self.check_all_of(&demands.all_of, value, path, outcome);
            if let Some(clause) = &demands.not
                && !self.silent().check(clause, value, path, None).failed
            {
                outcome.composite(path, "must not validate the schema (not)");
            }
        }
        outcome.count();
    }

    fn check_any_of(self, clauses: &[Schema], value: &Value, path: &Path<'_>, outcome: &mut Outcome<'_>) {
        if clauses.is_empty() {
            return;
        }
        let mut tries = Vec::with_capacity(clauses.len());
        for tried in tried(self.silent(), clauses, value, path) {
            if !tried.failed {
                outcome.merge(tried);
                return;
            }
            tries.push(tried);
        }
        outcome.composite(path, "must validate at least one schema (anyOf)");
        self.merge_closest(clauses, &tries, value, path, outcome);
    }

    fn check_one_of(self, clauses: &[Schema], value: &Value, path: &Path<'_>, outcome: &mut Outcome<'_>) {
        if clauses.is_empty() {
            return;
        }
        let tries: Vec<Outcome<'_>> = tried(self.silent(), clauses, value, path).collect();
        let mut valid = tries.iter().filter(|tried| !tried.failed);
        match (valid.next(), valid.count()) {
            (None, _) => {
                outcome.composite(
                    path,
                    "must validate one and only one schema (oneOf). Found none valid",
                );
                self.merge_closest(clauses, &tries, value, path, outcome);
            }
            (Some(first), 0) => outcome.merge(first.clone()),
            (Some(_), others) => {
                let count = others + 1;
                outcome.composite_with(path, || {
                    format!("must validate one and only one schema (oneOf). Found {count} valid alternatives")
                });
            }
        }
    }

    fn check_all_of(self, clauses: &[Schema], value: &Value, path: &Path<'_>, outcome: &mut Outcome<'_>) {
        if clauses.is_empty() {
            return;
        }
        let mut valid = 0;
        for clause in clauses {
            let tried = self.check(clause, value, path, None);
            valid += usize::from(!tried.failed);
            outcome.merge(tried);
        }
        if valid == 0 {
            outcome.composite(path, "must validate all the schemas (allOf). None validated");
        } else if valid < clauses.len() {
            outcome.composite(path, "must validate all the schemas (allOf)");
        }
    }
}

/// Tries clauses without making texts.
fn tried<'a, 'r: 'a>(
    silent: Validator<'r>,
    clauses: &'a [Schema],
    value: &'a Value,
    path: &'a Path<'a>,
) -> impl Iterator<Item = Outcome<'r>> + use<'a, 'r> {
    clauses
        .iter()
        .map(move |clause| silent.check(clause, value, path, None))
}
