//! A configuration judged by a schema: every rule, in the order in which upstream's library looks at them.
//!
//! Where upstream goes through a hash map, and so in another order each time, this goes by name.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::document::{Document, escaped};
use super::formats;
use super::numbers::{self, count, english};
use super::values::{display, duplicates, enumeration, equal, fits_type, type_of, wanted_types};
use super::violation::{Rule, Violation, quote};

/// How often schemas may be put to values. Alternatives of alternatives multiply; a real configuration takes a few
/// hundred.
const MAXIMUM_STEPS: usize = 250_000;

/// How deep schemas may be put to values inside each other. Each level costs stack; the deepest field of a
/// `deploymentConfig` takes 30.
const MAXIMUM_DEPTH: usize = 300;

/// Judges values by a schema.
pub(super) struct Judge<'s> {
    document: &'s Document<'s>,
    install_namespace: &'s str,
    /// The JSON pointer of the value that is being judged.
    place: String,
    /// The schemas being put to values, each with the depth of its value.
    open: Vec<(usize, usize)>,
    depth_of_value: usize,
    steps: usize,
}

/// Judging takes too long or goes too deep.
pub(super) struct Exhausted;

type Verdict = Result<Option<Violation>, Exhausted>;

impl<'s> Judge<'s> {
    pub(super) fn new(document: &'s Document<'s>, install_namespace: &'s str) -> Self {
        Self {
            document,
            install_namespace,
            place: String::new(),
            open: Vec::new(),
            depth_of_value: 0,
            steps: 0,
        }
    }

    /// What `value` breaks of the whole schema.
    pub(super) fn judge(&mut self, value: &Value) -> Verdict {
        self.check(self.document.root, value)
    }

    fn violation(&self, rule: Rule) -> Violation {
        self.because(rule, Vec::new())
    }

    fn because(&self, rule: Rule, causes: Vec<Violation>) -> Violation {
        Violation {
            place: self.place.clone(),
            rule,
            causes,
        }
    }

    fn other(&self, text: impl Into<String>) -> Violation {
        self.violation(Rule::Other(text.into()))
    }

    fn check(&mut self, schema: &'s Value, value: &Value) -> Verdict {
        self.steps += 1;
        if self.steps > MAXIMUM_STEPS || self.open.len() >= MAXIMUM_DEPTH {
            return Err(Exhausted);
        }
        let keywords = match schema {
            Value::Bool(false) => return Ok(Some(self.other("false schema"))),
            Value::Object(keywords) => keywords,
            _ => return Ok(None),
        };
        let this = (std::ptr::from_ref(schema).addr(), self.depth_of_value);
        let of_this_value = self.open.iter().rev().take_while(|(_, depth)| *depth == this.1);
        if of_this_value.into_iter().any(|open| *open == this) {
            return Ok(Some(self.other("the schema refers to itself")));
        }
        self.open.push(this);
        let verdict = self.check_keywords(keywords, value);
        self.open.pop();
        verdict
    }

    /// Puts a schema to a part of the value that is being judged.
    fn check_part(&mut self, schema: &'s Value, key: &str, part: &Value) -> Verdict {
        let length = self.place.len();
        self.place.push('/');
        self.place.push_str(&escaped(key));
        self.depth_of_value += 1;
        let verdict = self.check(schema, part);
        self.depth_of_value -= 1;
        self.place.truncate(length);
        verdict
    }

    fn check_keywords(&mut self, keywords: &'s Map<String, Value>, value: &Value) -> Verdict {
        let draft = self.document.draft;
        let reference = keywords.get("$ref").and_then(Value::as_str);
        if let Some(reference) = reference.filter(|_| draft < 2019) {
            return self.check_reference(reference, value);
        }
        if let Some(rule) = self.first_fault(keywords, value) {
            return Ok(Some(self.violation(rule)));
        }
        let mut found = Vec::new();
        if let Some(reference) = reference {
            found.extend(self.check_reference(reference, value)?);
        }
        match value {
            Value::Object(fields) => self.check_object(keywords, fields, value, &mut found)?,
            Value::Array(items) => self.check_list(keywords, items, &mut found)?,
            Value::String(text) => self.check_text(keywords, text, &mut found),
            Value::Number(number) => {
                self.check_number(keywords, number.as_f64().unwrap_or_default(), &mut found);
            }
            Value::Null | Value::Bool(_) => {}
        }
        self.check_combinations(keywords, value, &mut found)?;
        Ok(match found.len() {
            0 | 1 => found.pop(),
            _ => Some(self.because(Rule::Several, found)),
        })
    }

    fn check_reference(&mut self, reference: &str, value: &Value) -> Verdict {
        let Some(target) = self.document.target(reference) else {
            return Ok(None);
        };
        Ok(self.check(target, value)?.map(|violation| {
            let causes = match violation.rule {
                Rule::Several => violation.causes,
                _ => vec![violation],
            };
            self.because(Rule::Reference, causes)
        }))
    }

    /// The rules after which nothing else is looked at: type, value, format.
    fn first_fault(&self, keywords: &Map<String, Value>, value: &Value) -> Option<Rule> {
        if let Some(types) = keywords.get("type") {
            let wanted = wanted_types(types);
            let fits = wanted.iter().any(|wanted| fits_type(value, wanted));
            if !wanted.is_empty() && !fits {
                return Some(Rule::Type {
                    got: type_of(value),
                    want: wanted.join(" or "),
                });
            }
        }
        if let Some(wanted) = keywords.get("const").filter(|_| self.document.draft >= 6)
            && !equal(value, wanted)
        {
            return Some(Rule::Other(match wanted {
                Value::Array(_) | Value::Object(_) => "'const' failed".to_owned(),
                _ => format!("value must be {}", display(wanted)),
            }));
        }
        if let Some(wanted) = keywords.get("enum").and_then(Value::as_array)
            && !wanted.iter().any(|wanted| equal(value, wanted))
        {
            return Some(Rule::Other(enumeration(wanted)));
        }
        let format = keywords
            .get("format")
            .filter(|_| self.document.draft < 2019)?
            .as_str()?;
        let cause = formats::fault(format, value, self.install_namespace)?;
        Some(Rule::Format {
            text: format!("{} is not valid {format}: {cause}", display(value)),
        })
    }

    fn check_object(
        &mut self,
        keywords: &'s Map<String, Value>,
        fields: &Map<String, Value>,
        value: &Value,
        found: &mut Vec<Violation>,
    ) -> Result<(), Exhausted> {
        self.check_count(keywords, "Properties", fields.len(), found);
        let missing = missing(fields, keywords.get("required"));
        if !missing.is_empty() {
            found.push(self.violation(Rule::Required(missing)));
        }
        for (name, needs) in entries(keywords, "dependencies") {
            if fields.contains_key(name) {
                match needs {
                    Value::Array(_) => self.check_needs(name, needs, fields, found),
                    schema => found.extend(self.check(schema, value)?),
                }
            }
        }
        self.check_fields(keywords, fields, found)?;
        if self.document.draft >= 6
            && let Some(schema) = keywords.get("propertyNames")
        {
            for name in fields.keys() {
                self.check_name(schema, name, found)?;
            }
        }
        if self.document.draft >= 2019 {
            for (name, schema) in entries(keywords, "dependentSchemas") {
                if fields.contains_key(name) {
                    found.extend(self.check(schema, value)?);
                }
            }
            for (name, needs) in entries(keywords, "dependentRequired") {
                if fields.contains_key(name) {
                    self.check_needs(name, needs, fields, found);
                }
            }
        }
        Ok(())
    }

    fn check_fields(
        &mut self,
        keywords: &'s Map<String, Value>,
        fields: &Map<String, Value>,
        found: &mut Vec<Violation>,
    ) -> Result<(), Exhausted> {
        let mut unknown = Vec::new();
        for (name, field) in fields {
            let mut known = false;
            if let Some(schema) = keywords.get("properties").and_then(|all| all.get(name)) {
                known = true;
                found.extend(self.check_part(schema, name, field)?);
            }
            for (expression, schema) in entries(keywords, "patternProperties") {
                let expression = self.document.expression(expression);
                if expression.is_some_and(|expression| expression.is_match(name.as_bytes())) {
                    known = true;
                    found.extend(self.check_part(schema, name, field)?);
                }
            }
            match keywords.get("additionalProperties").filter(|_| !known) {
                Some(Value::Bool(false)) => unknown.push(name.clone()),
                Some(schema) => found.extend(self.check_part(schema, name, field)?),
                None => {}
            }
        }
        if !unknown.is_empty() {
            found.push(self.violation(Rule::Additional(unknown)));
        }
        Ok(())
    }

    fn check_needs(
        &self,
        name: &str,
        needs: &Value,
        fields: &Map<String, Value>,
        found: &mut Vec<Violation>,
    ) {
        let missing: Vec<_> = missing(fields, Some(needs))
            .iter()
            .map(|name| quote(name))
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            found.push(self.other(format!(
                "properties {missing} required, if {} exists",
                quote(name)
            )));
        }
    }

    /// A field's name is judged as a value that stands nowhere.
    fn check_name(
        &mut self,
        schema: &'s Value,
        name: &str,
        found: &mut Vec<Violation>,
    ) -> Result<(), Exhausted> {
        let place = std::mem::take(&mut self.place);
        self.depth_of_value += 1;
        let verdict = self.check(schema, &Value::from(name));
        self.depth_of_value -= 1;
        self.place = place;
        if let Some(violation) = verdict? {
            let causes = match violation.rule {
                Rule::Several => violation.causes,
                _ => vec![violation],
            };
            let rule = Rule::Other(format!("invalid propertyName {}", quote(name)));
            found.push(self.because(rule, causes));
        }
        Ok(())
    }

    fn check_list(
        &mut self,
        keywords: &'s Map<String, Value>,
        items: &[Value],
        found: &mut Vec<Violation>,
    ) -> Result<(), Exhausted> {
        self.check_count(keywords, "Items", items.len(), found);
        if keywords.get("uniqueItems") == Some(&Value::Bool(true))
            && let Some((first, second)) = duplicates(items)
        {
            let (first, second) = (count(first), count(second));
            found.push(self.other(format!("items at {first} and {second} are equal")));
        }
        let newest = self.document.draft >= 2020;
        let (listed, rest) = match keywords.get("items") {
            _ if newest => (keywords.get("prefixItems"), keywords.get("items")),
            Some(list @ Value::Array(_)) => (Some(list), keywords.get("additionalItems")),
            schema => (None, schema),
        };
        let listed = listed.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let beyond = items.len().saturating_sub(listed.len());
        if !newest && !listed.is_empty() && rest == Some(&Value::Bool(false)) {
            for (number, (schema, item)) in listed.iter().zip(items).enumerate() {
                found.extend(self.check_part(schema, &number.to_string(), item)?);
            }
            if beyond > 0 {
                let text = format!("last {} additionalItem(s) not allowed", count(beyond));
                found.push(self.other(text));
            }
        } else {
            for (number, item) in items.iter().enumerate() {
                if let Some(schema) = listed.get(number).or(rest) {
                    found.extend(self.check_part(schema, &number.to_string(), item)?);
                }
            }
        }
        match keywords.get("contains").filter(|_| self.document.draft >= 6) {
            Some(schema) => self.check_contents(keywords, schema, items, found),
            None => Ok(()),
        }
    }

    fn check_contents(
        &mut self,
        keywords: &Map<String, Value>,
        schema: &'s Value,
        items: &[Value],
        found: &mut Vec<Violation>,
    ) -> Result<(), Exhausted> {
        let mut others = Vec::new();
        let mut matching = Vec::new();
        for (number, item) in items.iter().enumerate() {
            match self.check_part(schema, &number.to_string(), item)? {
                Some(violation) => others.push(violation),
                None => matching.push(number),
            }
        }
        let counted = self.document.draft >= 2019;
        let limit = |keyword| keywords.get(keyword).filter(|_| counted).and_then(whole);
        let places = matching.iter().fold(String::new(), |mut text, number| {
            let gap = if text.is_empty() { "" } else { " " };
            write!(text, "{gap}{number}").ok();
            text
        });
        let told = |bound: &str, limit: usize| {
            let (limit, matched) = (count(limit), count(matching.len()));
            format!(
                "{bound} {limit} items required to match contains schema, but matched {matched} items at {places}"
            )
        };
        match limit("minContains") {
            Some(minimum) if matching.len() < minimum => {
                let text = if matching.is_empty() {
                    let minimum = count(minimum);
                    format!("min {minimum} items required to match contains schema, but none matched")
                } else {
                    told("min", minimum)
                };
                found.push(self.because(Rule::Other(text), others));
            }
            None if matching.is_empty() => {
                let rule = Rule::Other("no items match contains schema".to_owned());
                found.push(self.because(rule, others));
            }
            _ => {}
        }
        if let Some(maximum) = limit("maxContains").filter(|maximum| matching.len() > *maximum) {
            found.push(self.other(told("max", maximum)));
        }
        Ok(())
    }

    /// The rules `min…` and `max…` for how many fields or items there are.
    fn check_count(&self, keywords: &Map<String, Value>, what: &str, got: usize, found: &mut Vec<Violation>) {
        for bound in ["min", "max"] {
            let keyword = format!("{bound}{what}");
            let broken = keywords
                .get(&keyword)
                .and_then(whole)
                .filter(|want| if bound == "min" { got < *want } else { got > *want });
            if let Some(want) = broken {
                let text = format!("{keyword}: got {}, want {}", count(got), count(want));
                found.push(self.other(text));
            }
        }
    }

    fn check_text(&self, keywords: &Map<String, Value>, text: &str, found: &mut Vec<Violation>) {
        let got = text.chars().count();
        let length = |keyword| keywords.get(keyword).and_then(whole);
        if let Some(want) = length("minLength").filter(|want| got < *want) {
            found.push(self.violation(Rule::MinimumLength { got, want }));
        }
        if let Some(want) = length("maxLength").filter(|want| got > *want) {
            found.push(self.violation(Rule::MaximumLength { got, want }));
        }
        if let Some(pattern) = keywords.get("pattern").and_then(Value::as_str) {
            let expression = self.document.expression(pattern);
            if expression.is_some_and(|expression| !expression.is_match(text.as_bytes())) {
                found.push(self.violation(Rule::Pattern {
                    got: text.to_owned(),
                    want: pattern.to_owned(),
                }));
            }
        }
    }

    fn check_number(&self, keywords: &Map<String, Value>, got: f64, found: &mut Vec<Violation>) {
        let bound = |keyword: &str| keywords.get(keyword).and_then(Value::as_f64);
        // In draft 4 the exclusive limits say of the others whether they are.
        let is_exclusive = |keyword: &str| keywords.get(keyword) == Some(&Value::Bool(true));
        let mut check = |keyword: &str, want: Option<f64>, holds: fn(f64, f64) -> bool| {
            if let Some(want) = want.filter(|want| !holds(got, *want)) {
                let text = format!("{keyword}: got {}, want {}", english(got), english(want));
                found.push(self.other(text));
            }
        };
        let (minimum, least) = if is_exclusive("exclusiveMinimum") {
            (None, bound("minimum"))
        } else {
            (bound("minimum"), bound("exclusiveMinimum"))
        };
        let (maximum, most) = if is_exclusive("exclusiveMaximum") {
            (None, bound("maximum"))
        } else {
            (bound("maximum"), bound("exclusiveMaximum"))
        };
        check("minimum", minimum, |got, want| got >= want);
        check("maximum", maximum, |got, want| got <= want);
        check("exclusiveMinimum", least, |got, want| got > want);
        check("exclusiveMaximum", most, |got, want| got < want);
        check("multipleOf", bound("multipleOf"), numbers::is_multiple);
    }

    fn check_combinations(
        &mut self,
        keywords: &'s Map<String, Value>,
        value: &Value,
        found: &mut Vec<Violation>,
    ) -> Result<(), Exhausted> {
        if let Some(schema) = keywords.get("not")
            && self.check(schema, value)?.is_none()
        {
            found.push(self.other("'not' failed"));
        }
        let all_of = schemas(keywords, "allOf");
        let mut broken = Vec::new();
        for schema in all_of {
            broken.extend(self.check(schema, value)?);
        }
        if !broken.is_empty() {
            found.push(self.because(Rule::Other("'allOf' failed".to_owned()), broken));
        }
        self.check_any_of(schemas(keywords, "anyOf"), value, found)?;
        self.check_one_of(schemas(keywords, "oneOf"), value, found)?;
        if let Some(condition) = keywords.get("if").filter(|_| self.document.draft >= 7) {
            let branch = match self.check(condition, value)? {
                None => "then",
                Some(_) => "else",
            };
            if let Some(schema) = keywords.get(branch) {
                found.extend(self.check(schema, value)?);
            }
        }
        Ok(())
    }

    fn check_any_of(
        &mut self,
        schemas: &'s [Value],
        value: &Value,
        found: &mut Vec<Violation>,
    ) -> Result<(), Exhausted> {
        let mut broken = Vec::new();
        for schema in schemas {
            match self.check(schema, value)? {
                Some(violation) => broken.push(violation),
                None => return Ok(()),
            }
        }
        if !schemas.is_empty() {
            found.push(self.because(Rule::AnyOf, broken));
        }
        Ok(())
    }

    fn check_one_of(
        &mut self,
        schemas: &'s [Value],
        value: &Value,
        found: &mut Vec<Violation>,
    ) -> Result<(), Exhausted> {
        let mut broken = Vec::new();
        let mut matching = None;
        for (number, schema) in schemas.iter().enumerate() {
            match (self.check(schema, value)?, matching) {
                (Some(violation), None) => broken.push(violation),
                (Some(_), Some(_)) => {}
                (None, None) => matching = Some(number),
                (None, Some(first)) => {
                    let (first, second) = (count(first), count(number));
                    found.push(self.other(format!("'oneOf' failed, subschemas {first}, {second} matched")));
                    return Ok(());
                }
            }
        }
        if matching.is_none() && !schemas.is_empty() {
            let rule = Rule::Other("'oneOf' failed, none matched".to_owned());
            found.push(self.because(rule, broken));
        }
        Ok(())
    }
}

fn entries<'s>(
    keywords: &'s Map<String, Value>,
    keyword: &str,
) -> impl Iterator<Item = (&'s str, &'s Value)> {
    let map = keywords.get(keyword).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(name, value)| (name.as_str(), value))
}

fn schemas<'s>(keywords: &'s Map<String, Value>, keyword: &str) -> &'s [Value] {
    keywords
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn missing(fields: &Map<String, Value>, needed: Option<&Value>) -> Vec<String> {
    let needed = needed.and_then(Value::as_array).into_iter().flatten();
    needed
        .filter_map(Value::as_str)
        .filter(|name| !fields.contains_key(*name))
        .map(str::to_owned)
        .collect()
}

/// A count in a schema, which may be written as a float.
fn whole(value: &Value) -> Option<usize> {
    let number = value.as_f64().filter(|number| *number >= 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and a count beyond the largest integer is as good as the largest"
    )]
    Some(number as usize)
}
