//! Values judged by a compiled schema.

use std::cmp::Ordering;
use std::collections::HashMap;

use goyaml::json::Escape;
use serde_json::{Map, Number, Value};

use super::compile::{Additional, Id, Needs, Node, Schema};
use super::format;
use crate::schema::number::Decimal;
use crate::schema::path::{Path, Step};
use crate::schema::{Complaint, SchemaError};
use crate::values::Table;

/// How deep judging may go: values inside values, and schemas that stand for schemas. A reference that leads to itself
/// would go on for ever.
const MAX_DEPTH: usize = 200;

/// How many schemas may be tried on one set of values. Schemas that each refer twice to the next multiply.
const MAX_STEPS: usize = 2_000_000;

/// The JSON of a value as Go writes it, with every number in one form.
pub(super) fn canonical(value: &Value) -> String {
    let floats = with_floats(value);
    goyaml::json::to_string(&floats, Escape::Html).unwrap_or_default()
}

fn with_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => number
            .as_f64()
            .and_then(Number::from_f64)
            .map_or_else(|| value.clone(), Value::Number),
        Value::Array(items) => Value::Array(items.iter().map(with_floats).collect()),
        Value::Object(entries) => Value::Object(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), with_floats(value)))
                .collect(),
        ),
        _ => value.clone(),
    }
}

/// The value that a path leads to, as the library names it.
fn field(path: &Path<'_>) -> String {
    let keys: Vec<String> = path
        .steps()
        .into_iter()
        .map(|step| match step {
            Step::Key(key) => key,
            Step::Index(index) => index.to_string(),
        })
        .collect();
    // The root is only named when it is all there is.
    if keys.is_empty() {
        "(root)".to_owned()
    } else {
        keys.join(".")
    }
}

/// What was found, and how close the values came to passing.
#[derive(Default)]
struct Verdict {
    complaints: Vec<Complaint>,
    score: i64,
}

impl Verdict {
    fn is_valid(&self) -> bool {
        self.complaints.is_empty()
    }

    fn complain(&mut self, context: &Path<'_>, description: impl Into<String>) {
        self.complaints.push(Complaint {
            path: context.steps(),
            field: field(context),
            description: description.into(),
            causes: Vec::new(),
        });
        self.score -= 2;
    }

    fn merge(&mut self, other: Self) {
        self.complaints.extend(other.complaints);
        self.score += other.score;
    }

    fn passed_stage(&mut self) {
        self.score += 1;
    }
}

type Outcome<T> = Result<T, SchemaError>;

impl Schema {
    /// Judges values.
    pub(in crate::schema) fn validate(&self, values: &Table) -> Outcome<()> {
        let mut verdict = Verdict::default();
        let values = Value::Object(values.clone());
        Evaluation {
            nodes: &self.nodes,
            steps: 0,
            depth: 0,
        }
        .judge(0, &values, &mut verdict, &Path::ROOT)?;
        if verdict.is_valid() {
            Ok(())
        } else {
            Err(SchemaError::Complaints(verdict.complaints))
        }
    }
}

struct Evaluation<'a> {
    nodes: &'a [Node],
    steps: usize,
    depth: usize,
}

impl<'s> Evaluation<'s> {
    fn try_schema(&mut self, id: Id, value: &Value, context: &Path<'_>) -> Outcome<Verdict> {
        let mut verdict = Verdict::default();
        self.judge(id, value, &mut verdict, context)?;
        Ok(verdict)
    }

    fn judge(&mut self, id: Id, value: &Value, verdict: &mut Verdict, context: &Path<'_>) -> Outcome<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(SchemaError::Unusable(format!("more than {MAX_STEPS} steps")));
        }
        if self.depth >= MAX_DEPTH {
            return Err(SchemaError::Unusable(format!(
                "more than {MAX_DEPTH} levels deep"
            )));
        }
        self.depth += 1;
        let outcome = self.judge_node(id, value, verdict, context);
        self.depth -= 1;
        outcome
    }

    fn judge_node(
        &mut self,
        id: Id,
        value: &Value,
        verdict: &mut Verdict,
        context: &Path<'_>,
    ) -> Outcome<()> {
        let node = &self.nodes[id];
        if let Some(pass) = node.pass {
            if !pass {
                verdict.complain(context, "False always fails validation");
            }
            return Ok(());
        }
        if let Some(reference) = node.reference {
            return self.judge(reference, value, verdict, context);
        }
        if let Some(given) = wrong_type(node, value) {
            let expected = match node.types.as_slice() {
                [one] => (*one).to_owned(),
                several => format!("[{}]", several.join(",")),
            };
            verdict.complain(
                context,
                format!("Invalid type. Expected: {expected}, given: {given}"),
            );
            return Ok(());
        }
        self.combinations(node, value, verdict, context)?;
        match value {
            Value::Number(number) => judge_number(node, number, verdict, context),
            Value::Array(items) => self.array(node, items, verdict, context)?,
            Value::Object(entries) => self.object(node, entries, verdict, context)?,
            _ => {}
        }
        judge_fixed(node, value, verdict, context);
        match value {
            Value::String(text) => judge_string(node, text, verdict, context),
            Value::Object(entries) => {
                for (name, schema) in &node.properties {
                    if let Some(value) = entries.get(name) {
                        self.judge(*schema, value, verdict, &context.key(name))?;
                    }
                }
            }
            _ => {}
        }
        verdict.passed_stage();
        Ok(())
    }

    fn combinations(
        &mut self,
        node: &'s Node,
        value: &Value,
        verdict: &mut Verdict,
        context: &Path<'_>,
    ) -> Outcome<()> {
        if !node.any_of.is_empty() {
            let mut best: Option<Verdict> = None;
            let mut passed = false;
            for schema in &node.any_of {
                let tried = self.try_schema(*schema, value, context)?;
                passed = tried.is_valid();
                if passed {
                    break;
                }
                if best.as_ref().is_none_or(|best| tried.score > best.score) {
                    best = Some(tried);
                }
            }
            if !passed {
                verdict.complain(context, "Must validate at least one schema (anyOf)");
                if let Some(best) = best {
                    verdict.merge(best);
                }
            }
        }
        if !node.one_of.is_empty() {
            let mut best: Option<Verdict> = None;
            let mut passed = 0;
            for schema in &node.one_of {
                let tried = self.try_schema(*schema, value, context)?;
                if tried.is_valid() {
                    passed += 1;
                } else if passed == 0 && best.as_ref().is_none_or(|best| tried.score > best.score) {
                    best = Some(tried);
                }
            }
            if passed != 1 {
                verdict.complain(context, "Must validate one and only one schema (oneOf)");
                if let (0, Some(best)) = (passed, best) {
                    verdict.merge(best);
                }
            }
        }
        if !node.all_of.is_empty() {
            let mut all_passed = true;
            for schema in &node.all_of {
                let tried = self.try_schema(*schema, value, context)?;
                all_passed &= tried.is_valid();
                verdict.merge(tried);
            }
            if !all_passed {
                verdict.complain(context, "Must validate all the schemas (allOf)");
            }
        }
        if let Some(not) = node.not
            && self.try_schema(not, value, context)?.is_valid()
        {
            verdict.complain(context, "Must not validate the schema (not)");
        }
        if let Value::Object(entries) = value {
            self.dependencies(node, entries, value, verdict, context)?;
        }
        if let Some(condition) = node.condition {
            let holds = self.try_schema(condition, value, context)?.is_valid();
            let (branch, complaint) = if holds {
                (node.consequence, "Must validate \"then\" as \"if\" was valid")
            } else {
                (node.alternative, "Must validate \"else\" as \"if\" was not valid")
            };
            if let Some(branch) = branch {
                let tried = self.try_schema(branch, value, context)?;
                if !tried.is_valid() {
                    verdict.complain(context, complaint);
                    verdict.merge(tried);
                }
            }
        }
        verdict.passed_stage();
        Ok(())
    }

    fn dependencies(
        &mut self,
        node: &'s Node,
        entries: &Map<String, Value>,
        value: &Value,
        verdict: &mut Verdict,
        context: &Path<'_>,
    ) -> Outcome<()> {
        for (property, needs) in &node.dependencies {
            if !entries.contains_key(property) {
                continue;
            }
            match needs {
                Needs::Properties(names) => {
                    for name in names.iter().filter(|name| !entries.contains_key(*name)) {
                        verdict.complain(context, format!("Has a dependency on {name}"));
                    }
                }
                Needs::Schema(schema) => self.judge(*schema, value, verdict, context)?,
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        node: &'s Node,
        items: &[Value],
        verdict: &mut Verdict,
        context: &Path<'_>,
    ) -> Outcome<()> {
        for (index, item) in items.iter().enumerate() {
            let schema = if node.one_schema_for_all_items {
                node.items.first()
            } else {
                node.items.get(index)
            };
            if let Some(schema) = schema {
                let tried = self.try_schema(*schema, item, &context.element(index))?;
                verdict.merge(tried);
            }
        }
        if !node.one_schema_for_all_items && !node.items.is_empty() && node.items.len() < items.len() {
            match node.additional_items {
                Additional::Unlimited => {}
                Additional::Forbidden => verdict.complain(context, "No additional items allowed on array"),
                Additional::Schema(schema) => {
                    for (index, item) in items.iter().enumerate().skip(node.items.len()) {
                        let tried = self.try_schema(schema, item, &context.element(index))?;
                        verdict.merge(tried);
                    }
                }
            }
        }
        if let Some(least) = node.min_items
            && (items.len() as u64) < least
        {
            verdict.complain(context, format!("Array must have at least {least} items"));
        }
        if let Some(most) = node.max_items
            && items.len() as u64 > most
        {
            verdict.complain(context, format!("Array must have at most {most} items"));
        }
        if node.unique_items {
            let mut seen: HashMap<String, usize> = HashMap::new();
            for (index, item) in items.iter().enumerate() {
                if let Some(earlier) = seen.insert(canonical(item), index) {
                    verdict.complain(context, format!("array items[{earlier},{index}] must be unique"));
                }
            }
        }
        if let Some(contains) = node.contains {
            self.contains(contains, items, verdict, context)?;
        }
        verdict.passed_stage();
        Ok(())
    }

    fn contains(
        &mut self,
        schema: Id,
        items: &[Value],
        verdict: &mut Verdict,
        context: &Path<'_>,
    ) -> Outcome<()> {
        let mut best: Option<Verdict> = None;
        for (index, item) in items.iter().enumerate() {
            let tried = self.try_schema(schema, item, &context.element(index))?;
            if tried.is_valid() {
                return Ok(());
            }
            if best.as_ref().is_none_or(|best| tried.score > best.score) {
                best = Some(tried);
            }
        }
        verdict.complain(context, "At least one of the items must match");
        if let Some(best) = best {
            verdict.merge(best);
        }
        Ok(())
    }

    fn object(
        &mut self,
        node: &'s Node,
        entries: &Map<String, Value>,
        verdict: &mut Verdict,
        context: &Path<'_>,
    ) -> Outcome<()> {
        if let Some(least) = node.min_properties
            && (entries.len() as u64) < least
        {
            verdict.complain(context, format!("Must have at least {least} properties"));
        }
        if let Some(most) = node.max_properties
            && entries.len() as u64 > most
        {
            verdict.complain(context, format!("Must have at most {most} properties"));
        }
        for name in &node.required {
            if entries.contains_key(name) {
                verdict.passed_stage();
            } else {
                verdict.complain(context, format!("{name} is required"));
            }
        }
        for (name, value) in entries {
            self.property(node, name, value, verdict, context)?;
        }
        if let Some(names) = node.property_names {
            for name in entries.keys() {
                let tried = self.try_schema(names, &Value::String(name.clone()), context)?;
                if !tried.is_valid() {
                    verdict.complain(context, format!("Property name of \"{name}\" does not match"));
                    verdict.merge(tried);
                }
            }
        }
        verdict.passed_stage();
        Ok(())
    }

    /// Judges a property by the schemas whose pattern fits it, or by the one for additional properties.
    fn property(
        &mut self,
        node: &'s Node,
        name: &str,
        value: &Value,
        verdict: &mut Verdict,
        context: &Path<'_>,
    ) -> Outcome<()> {
        let inner = context.key(name);
        let mut matched = false;
        for (pattern, schema) in &node.pattern_properties {
            if pattern.is_match(name.as_bytes()) {
                matched = true;
                let tried = self.try_schema(*schema, value, &inner)?;
                verdict.merge(tried);
            }
        }
        if matched {
            verdict.passed_stage();
            return Ok(());
        }
        if node
            .properties
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
            .is_ok()
        {
            return Ok(());
        }
        match node.additional_properties {
            Additional::Unlimited => {}
            Additional::Forbidden => {
                verdict.complain(context, format!("Additional property {name} is not allowed"));
            }
            Additional::Schema(schema) => {
                let tried = self.try_schema(schema, value, &inner)?;
                verdict.merge(tried);
            }
        }
        Ok(())
    }
}

/// The type of a value, where the schema has types and it is none of them.
fn wrong_type(node: &Node, value: &Value) -> Option<&'static str> {
    if node.types.is_empty() {
        return None;
    }
    let given = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if Decimal::new(number).is_integer() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = node.types.contains(&given) || given == "integer" && node.types.contains(&"number");
    (!fits).then_some(given)
}

fn judge_fixed(node: &Node, value: &Value, verdict: &mut Verdict, context: &Path<'_>) {
    if let Some(constant) = &node.constant
        && canonical(value) != *constant
    {
        verdict.complain(context, format!("{} does not match: {constant}", field(context)));
    }
    if !node.enumeration.is_empty() && !node.enumeration.contains(&canonical(value)) {
        verdict.complain(
            context,
            format!(
                "{} must be one of the following: {}",
                field(context),
                node.enumeration.join(", ")
            ),
        );
    }
    verdict.passed_stage();
}

fn judge_number(node: &Node, number: &Number, verdict: &mut Verdict, context: &Path<'_>) {
    let number = Decimal::new(number);
    if let Some(unit) = &node.multiple_of
        && !number.is_multiple_of(unit)
    {
        verdict.complain(context, format!("Must be a multiple of {unit}"));
    }
    if let Some(bound) = &node.maximum
        && number.compare(bound) == Ordering::Greater
    {
        verdict.complain(context, format!("Must be less than or equal to {bound}"));
    }
    if let Some(bound) = &node.exclusive_maximum
        && number.compare(bound) != Ordering::Less
    {
        verdict.complain(context, format!("Must be less than {bound}"));
    }
    if let Some(bound) = &node.minimum
        && number.compare(bound) == Ordering::Less
    {
        verdict.complain(context, format!("Must be greater than or equal to {bound}"));
    }
    if let Some(bound) = &node.exclusive_minimum
        && number.compare(bound) != Ordering::Greater
    {
        verdict.complain(context, format!("Must be greater than {bound}"));
    }
    // No number has one of the formats, which are all for text.
    if format::is_known(&node.format) {
        verdict.complain(context, format!("Does not match format '{}'", node.format));
    }
    verdict.passed_stage();
}

fn judge_string(node: &Node, text: &str, verdict: &mut Verdict, context: &Path<'_>) {
    let length = text.chars().count() as u64;
    if let Some(least) = node.min_length
        && length < least
    {
        verdict.complain(
            context,
            format!("String length must be greater than or equal to {least}"),
        );
    }
    if let Some(most) = node.max_length
        && length > most
    {
        verdict.complain(
            context,
            format!("String length must be less than or equal to {most}"),
        );
    }
    if let Some((pattern, expression)) = &node.pattern
        && !expression.is_match(text.as_bytes())
    {
        verdict.complain(context, format!("Does not match pattern '{pattern}'"));
    }
    if format::is_known(&node.format) && !format::fits(&node.format, text) {
        verdict.complain(context, format!("Does not match format '{}'", node.format));
    }
    verdict.passed_stage();
}
