//! The answer to a query that makes sense.

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use catalog::store::{Query, Store};
use goyaml::json::Escape;
use serde_json::{Map, Number, Value};

use super::answer::{Answer, QueryError};
use super::description::{self, Described};
use super::document::{
    Argument, Directive, Document, Field, Literal, LiteralValue, Operation, OperationKind, Selection,
    TypeReference,
};
use super::inference;
use super::types::{ArgumentDefinition, FieldDefinition, QUERY, TypeDefinition, Types};

/// How many objects one field lists, and what it lists when nothing is said.
const PAGE: i64 = 100;

/// The largest object that is looked into, as upstream has it.
const MAX_ENTRY_BYTES: usize = 16 << 20;

/// How many fields an answer may have: some hundred for each of the most objects that a query can list.
const MAX_ANSWERED_FIELDS: usize = 1_000_000;

/// An answer wasn't ready in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("context deadline exceeded")]
pub struct DeadlineExceeded;

/// Answers a query.
pub(super) fn execute(
    source: &str,
    document: &Document,
    types: &Types,
    store: &Store,
    deadline: Instant,
) -> Result<Answer, DeadlineExceeded> {
    let operation = match document.operations.as_slice() {
        [operation] => operation,
        [] => {
            return Ok(Answer::refusal(vec![QueryError::new(
                "Must provide an operation.",
            )]));
        }
        _ => {
            return Ok(Answer::refusal(vec![QueryError::new(
                "Must provide operation name if query contains multiple operations.",
            )]));
        }
    };
    let not_configured = match operation.kind {
        OperationKind::Query => None,
        OperationKind::Mutation => Some("Schema is not configured for mutations"),
        OperationKind::Subscription => Some("Schema is not configured for subscriptions"),
    };
    if let Some(message) = not_configured {
        let error = QueryError::at(source, &[operation.at], message);
        return Ok(Answer::refusal(vec![error]));
    }
    let variables = match variable_values(source, operation) {
        Ok(variables) => variables,
        Err(error) => return Ok(Answer::refusal(vec![error])),
    };
    let mut execution = Execution {
        source,
        document,
        types,
        store,
        variables,
        deadline,
        answered: 0,
        path: Vec::new(),
        errors: Vec::new(),
    };
    let data = execution.object(QUERY, &Node::Root, &[operation.selections.as_slice()])?;
    Ok(Answer {
        data: Some(data),
        errors: execution.errors,
    })
}

/// Something with fields.
pub(super) enum Node<'a> {
    Root,
    Summary,
    SchemaSummary(&'a str),
    Object(&'a Value),
    Described(Described<'a>),
}

/// What a field holds before it is brought into the form of its type.
pub(super) enum Held<'a> {
    Value(Value),
    Objects(Vec<Value>),
    Borrowed(&'a Value),
    Node(Node<'a>),
    Nodes(Vec<Node<'a>>),
}

struct Execution<'a> {
    source: &'a str,
    document: &'a Document,
    types: &'a Types,
    store: &'a Store,
    variables: BTreeMap<&'a str, Value>,
    deadline: Instant,
    answered: usize,
    path: Vec<Value>,
    errors: Vec<QueryError>,
}

impl<'a> Execution<'a> {
    fn object(
        &mut self,
        kind: &str,
        node: &Node<'_>,
        selections: &[&'a [Selection]],
    ) -> Result<Value, DeadlineExceeded> {
        let mut fields: BTreeMap<&'a str, Vec<&'a Field>> = BTreeMap::new();
        let mut seen = HashSet::new();
        for selections in selections {
            self.collect(kind, selections, &mut seen, &mut fields);
        }
        let mut object = Map::new();
        for (key, fields) in fields {
            let Some(first) = fields.first().copied() else {
                continue;
            };
            self.answered += 1;
            if self.answered > MAX_ANSWERED_FIELDS || Instant::now() > self.deadline {
                return Err(DeadlineExceeded);
            }
            let Some(definition) = self.types.field_of(kind, &first.name.text) else {
                continue;
            };
            self.path.push(Value::from(key));
            let value = if first.name.text == "__typename" {
                Value::from(kind)
            } else {
                match self.resolve(node, first, &definition) {
                    Ok(held) => {
                        let inner: Vec<&'a [Selection]> = fields
                            .iter()
                            .filter_map(|field| field.selections.as_deref())
                            .collect();
                        self.complete(&definition.kind, held, (kind, first), &inner)?
                    }
                    Err(message) => {
                        self.fail(first, message);
                        Value::Null
                    }
                }
            };
            self.path.pop();
            object.insert(key.to_owned(), value);
        }
        Ok(Value::Object(object))
    }

    fn fail(&mut self, field: &Field, message: String) {
        let mut error = QueryError::at(self.source, &[field.at], message);
        error.path.clone_from(&self.path);
        self.errors.push(error);
    }

    /// Collects the fields that selections make together.
    fn collect(
        &self,
        kind: &str,
        selections: &'a [Selection],
        seen: &mut HashSet<&'a str>,
        fields: &mut BTreeMap<&'a str, Vec<&'a Field>>,
    ) {
        for selection in selections {
            match selection {
                Selection::Field(field) => {
                    if self.is_wanted(&field.directives) {
                        fields.entry(field.key()).or_default().push(field);
                    }
                }
                Selection::Inline(inline) => {
                    let is_for = inline.condition.as_ref().is_none_or(|name| name.text == kind);
                    if is_for && self.is_wanted(&inline.directives) {
                        self.collect(kind, &inline.selections, seen, fields);
                    }
                }
                Selection::Spread(spread) => {
                    if !self.is_wanted(&spread.directives) || !seen.insert(&spread.name.text) {
                        continue;
                    }
                    if let Some(fragment) = self.document.fragment(&spread.name.text)
                        && fragment.condition.text == kind
                    {
                        self.collect(kind, &fragment.selections, seen, fields);
                    }
                }
            }
        }
    }

    fn is_wanted(&self, directives: &[Directive]) -> bool {
        directives.iter().all(|directive| {
            let condition = directive.arguments.iter().find(|given| given.name.text == "if");
            let condition = condition.and_then(|given| self.literal(&given.value));
            match (directive.name.text.as_str(), condition) {
                ("skip", Some(Value::Bool(condition))) => !condition,
                ("include", Some(Value::Bool(condition))) => condition,
                _ => true,
            }
        })
    }

    /// The value that is written, with variables in their places; nothing where a variable has none.
    fn literal(&self, literal: &Literal) -> Option<Value> {
        literal_value(literal, &self.variables)
    }

    fn argument(&self, given: &[Argument], definition: &ArgumentDefinition) -> Option<Value> {
        let value = given
            .iter()
            .find(|argument| argument.name.text == definition.name)
            .and_then(|argument| self.literal(&argument.value));
        value.or_else(|| serde_json::from_str(definition.default?).ok())
    }

    fn resolve<'n>(
        &self,
        node: &Node<'n>,
        field: &Field,
        definition: &FieldDefinition,
    ) -> Result<Held<'n>, String>
    where
        'a: 'n,
    {
        let name = field.name.text.as_str();
        let argument = |wanted: &str| {
            let definition = definition.arguments.iter().find(|known| known.name == wanted)?;
            self.argument(&field.arguments, definition)
        };
        match node {
            Node::Root => match name {
                "__schema" => Ok(Held::Node(Node::Described(Described::Everything))),
                "__type" => {
                    let wanted = argument("name");
                    let known = wanted.as_ref().and_then(Value::as_str).and_then(|wanted| {
                        let (name, _) = self.types.named.get_key_value(wanted)?;
                        Some(Held::Node(Node::Described(Described::Named(name))))
                    });
                    Ok(known.unwrap_or(Held::Value(Value::Null)))
                }
                "summary" => Ok(Held::Node(Node::Summary)),
                _ => {
                    let number = |wanted| argument(wanted).as_ref().and_then(Value::as_i64);
                    self.objects(name, number("limit"), number("offset"))
                }
            },
            Node::Summary if name == "totalSchemas" => {
                Ok(Held::Value(Value::from(self.types.shape.schemas.len())))
            }
            Node::Summary => {
                let schemas = self.types.shape.schemas.keys();
                Ok(Held::Nodes(
                    schemas.map(|schema| Node::SchemaSummary(schema)).collect(),
                ))
            }
            Node::SchemaSummary(schema) => {
                let shape = self.types.shape.schemas.get(*schema);
                Ok(Held::Value(match name {
                    "name" => Value::from(*schema),
                    "totalObjects" => Value::from(shape.map_or(0, |shape| shape.objects)),
                    _ => Value::from(shape.map_or(0, |shape| shape.fields.len())),
                }))
            }
            Node::Object(object) => Ok(field_value(object, name, &definition.original)),
            Node::Described(described) => {
                let with_deprecated = argument("includeDeprecated") == Some(Value::Bool(true));
                Ok(description::field(self.types, described, name, with_deprecated))
            }
        }
    }

    /// A page of the objects that a root field lists.
    fn objects(&self, field: &str, limit: Option<i64>, offset: Option<i64>) -> Result<Held<'static>, String> {
        let Some(schema) = self.types.roots.get(field) else {
            return Err(format!("unknown schema for field {field}"));
        };
        let failed = |cause: String| format!("error loading objects for schema {schema}: {cause}");
        let limit = limit.filter(|limit| (1..=PAGE).contains(limit)).unwrap_or(PAGE);
        let offset = usize::try_from(offset.unwrap_or(0)).unwrap_or(0);
        let query = Query {
            schema,
            ..Query::default()
        };
        let mut objects = Vec::new();
        for meta in self.store.metas(query).skip(offset).take(limit as usize) {
            if meta.length() >= MAX_ENTRY_BYTES {
                return Err(failed(format!(
                    "invalid section length {} of object {}",
                    meta.length() + 1,
                    meta.position()
                )));
            }
            let blob = meta.blob().map_err(|error| failed(error.to_string()))?;
            objects.extend(inference::object(blob).map(Value::Object));
        }
        Ok(Held::Objects(objects))
    }

    /// Brings what a field holds into the form of its type.
    fn complete(
        &mut self,
        kind: &TypeReference,
        held: Held<'_>,
        field: (&str, &Field),
        selections: &[&'a [Selection]],
    ) -> Result<Value, DeadlineExceeded> {
        let kind = kind.nullable();
        match (kind, held) {
            (TypeReference::NonNull(_), _) | (_, Held::Value(Value::Null) | Held::Borrowed(Value::Null)) => {
                Ok(Value::Null)
            }
            (TypeReference::List(inner), Held::Nodes(nodes)) => {
                let mut items = Vec::with_capacity(nodes.len());
                for (number, node) in nodes.into_iter().enumerate() {
                    self.path.push(Value::from(number));
                    items.push(self.complete(inner, Held::Node(node), field, selections)?);
                    self.path.pop();
                }
                Ok(Value::Array(items))
            }
            (TypeReference::List(inner), Held::Objects(objects)) => {
                self.list(inner, &objects, field, selections)
            }
            (TypeReference::List(inner), Held::Borrowed(Value::Array(values))) => {
                self.list(inner, values, field, selections)
            }
            (TypeReference::List(inner), Held::Value(Value::Array(values))) => {
                self.list(inner, &values, field, selections)
            }
            (TypeReference::List(_), _) => {
                let (parent, field) = field;
                let name = &field.name.text;
                let message =
                    format!("User Error: expected iterable, but did not find one for field {parent}.{name}.");
                self.fail(field, message);
                Ok(Value::Null)
            }
            (TypeReference::Named(name), held) => {
                let is_object = matches!(self.types.named.get(name), Some(TypeDefinition::Object(_)));
                match held {
                    Held::Node(node) => self.object(name, &node, selections),
                    Held::Value(value) if is_object => self.object(name, &Node::Object(&value), selections),
                    Held::Borrowed(value) if is_object => self.object(name, &Node::Object(value), selections),
                    Held::Value(value) => Ok(leaf(name, &value)),
                    Held::Borrowed(value) => Ok(leaf(name, value)),
                    Held::Nodes(_) | Held::Objects(_) => Ok(Value::Null),
                }
            }
        }
    }

    fn list(
        &mut self,
        kind: &TypeReference,
        values: &[Value],
        field: (&str, &Field),
        selections: &[&'a [Selection]],
    ) -> Result<Value, DeadlineExceeded> {
        let mut items = Vec::with_capacity(values.len());
        for (number, value) in values.iter().enumerate() {
            self.path.push(Value::from(number));
            items.push(self.complete(kind, Held::Borrowed(value), field, selections)?);
            self.path.pop();
        }
        Ok(Value::Array(items))
    }
}

/// The value of an object's field: under the name that was found first, or under another that becomes the same.
fn field_value<'n>(object: &'n Value, name: &str, original: &str) -> Held<'n> {
    let Some(object) = object.as_object() else {
        return Held::Value(Value::Null);
    };
    let value = object.get(original).or_else(|| {
        object
            .iter()
            .find(|(key, _)| super::names::field_name(key) == name)
            .map(|(_, value)| value)
    });
    value.map_or(Held::Value(Value::Null), Held::Borrowed)
}

/// A value in the form of a type without fields; what can't have that form is nothing.
fn leaf(kind: &str, value: &Value) -> Value {
    match kind {
        "Int" => {
            let number =
                number(value).filter(|number| (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(number));
            number.map_or(Value::Null, |number| Value::from(number as i64))
        }
        "Float" => number(value)
            .and_then(Number::from_f64)
            .map_or(Value::Null, Value::Number),
        "Boolean" => Value::Bool(match value {
            Value::Bool(value) => *value,
            Value::Number(number) => number.as_f64().is_some_and(|number| number != 0.0),
            Value::String(text) => !matches!(text.as_str(), "" | "false"),
            _ => true,
        }),
        _ => Value::String(match value {
            Value::String(text) => text.clone(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.as_f64().map_or_else(String::new, |number| {
                gotemplate::format::float_text(number, b'g', None)
            }),
            other => goyaml::json::to_string(other, Escape::Html).unwrap_or_default(),
        }),
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(value) => Some(f64::from(u8::from(*value))),
        Value::String(text) => gotemplate::format::parse_float(text).ok(),
        _ => None,
    }
}

/// The values of an operation's variables: their defaults, because a request can't give others.
fn variable_values<'a>(
    source: &str,
    operation: &'a Operation,
) -> Result<BTreeMap<&'a str, Value>, QueryError> {
    let mut values = BTreeMap::new();
    for variable in &operation.variables {
        let name = variable.name.text.as_str();
        match &variable.default {
            Some(default) => {
                let value = literal_value(default, &BTreeMap::new()).unwrap_or(Value::Null);
                values.insert(name, value);
            }
            None if matches!(variable.kind, TypeReference::NonNull(_)) => {
                let message = format!(
                    "Variable \"${name}\" of required type \"{}\" was not provided.",
                    variable.kind
                );
                return Err(QueryError::at(source, &[variable.at], message));
            }
            None => {}
        }
    }
    Ok(values)
}

fn literal_value(literal: &Literal, variables: &BTreeMap<&str, Value>) -> Option<Value> {
    Some(match &literal.value {
        LiteralValue::Variable(name) => return variables.get(name.as_str()).cloned(),
        LiteralValue::Int(text) => Value::from(text.parse::<i64>().ok()?),
        LiteralValue::Float(text) => Value::Number(Number::from_f64(text.parse().ok()?)?),
        LiteralValue::Text(text) | LiteralValue::Enum(text) => Value::from(text.as_str()),
        LiteralValue::Boolean(value) => Value::Bool(*value),
        LiteralValue::List(items) => {
            let items = items
                .iter()
                .map(|item| literal_value(item, variables).unwrap_or_default());
            Value::Array(items.collect())
        }
        LiteralValue::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| {
                let value = literal_value(value, variables).unwrap_or_default();
                (name.text.clone(), value)
            });
            Value::Object(fields.collect())
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_take_the_form_of_their_type_as_upstream_has_it() {
        for (kind, value, expected) in [
            ("Int", json!(3.0), json!(3)),
            ("Int", json!("12"), json!(12)),
            ("Int", json!(1e12), json!(null)),
            ("Int", json!({}), json!(null)),
            ("Int", json!(true), json!(1)),
            ("Float", json!("1.5"), json!(1.5)),
            ("Boolean", json!("false"), json!(false)),
            ("Boolean", json!(0.0), json!(false)),
            ("String", json!(1.5), json!("1.5")),
            ("String", json!(1e21), json!("1e+21")),
            ("String", json!(1_000_000.0), json!("1e+06")),
            ("String", json!(false), json!("false")),
            (
                "String",
                json!({"a": "<b>"}),
                json!("{\"a\":\"\\u003cb\\u003e\"}"),
            ),
        ] {
            assert_eq!(leaf(kind, &value), expected, "{kind} {value}");
        }
    }
}
