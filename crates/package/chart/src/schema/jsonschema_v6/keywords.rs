//! The keywords of one schema. What is not of the type that a keyword has is passed over; its own schema has judged it.

use std::collections::BTreeMap;

use gotemplate::format::quoted;

use super::compile::Compiler;
use super::draft::Draft;
use super::format::Format;
use super::json::Json;
use super::node::{Additional, DynamicReference, Id, Items, Needs, Rules, Types};
use super::place::{Fragment, Place, append, encoded, split_fragment};
use super::resources::Resource;
use crate::go_expression::Expression;
use crate::schema::SchemaError;
use crate::schema::number::Decimal;

type Outcome<T> = Result<T, SchemaError>;

/// The keywords of a schema while they are read.
pub(super) struct Keywords<'k> {
    compiler: &'k mut Compiler,
    object: &'k BTreeMap<String, Json>,
    place: &'k Place,
    resource: &'k Resource,
    rules: Rules,
}

impl<'k> Keywords<'k> {
    pub(super) fn new(
        compiler: &'k mut Compiler,
        schema: &'k BTreeMap<String, Json>,
        place: &'k Place,
        resource: &'k Resource,
    ) -> Self {
        Self {
            compiler,
            object: schema,
            place,
            resource,
            rules: Rules::default(),
        }
    }

    /// Reads all keywords, in the order in which the library reports faults.
    pub(super) fn read(mut self) -> Outcome<Rules> {
        let draft = self.resource.dialect.draft;
        self.first_draft(draft)?;
        if draft >= Draft::Six {
            self.draft_6()?;
        }
        if draft >= Draft::Seven {
            self.draft_7()?;
        }
        if draft >= Draft::Year2019 {
            self.draft_2019(draft)?;
        }
        if draft >= Draft::Year2020 {
            self.draft_2020()?;
        }
        Ok(self.rules)
    }

    fn has(&self, vocabulary: &str) -> bool {
        self.resource.dialect.has(vocabulary)
    }

    fn first_draft(&mut self, draft: Draft) -> Outcome<()> {
        self.rules.reference = self.reference("$ref")?;
        if draft < Draft::Year2019 && self.rules.reference.is_some() {
            return Ok(());
        }
        if self.has("applicator") {
            self.applicators(draft)?;
        }
        if self.has("validation") {
            self.assertions()?;
        }
        if self.compiler.asserts_formats || self.resource.dialect.asserts_formats() {
            self.rules.format = self.text("format").and_then(Format::named);
        }
        Ok(())
    }

    fn applicators(&mut self, draft: Draft) -> Outcome<()> {
        self.rules.all_of = self.list("allOf")?;
        self.rules.any_of = self.list("anyOf")?;
        self.rules.one_of = self.list("oneOf")?;
        self.rules.not = self.schema("not")?;
        if draft < Draft::Year2020 {
            self.rules.items = match self.object.get("items") {
                None => Items::Any,
                Some(Json::Array(_)) => Items::Each(self.list("items")?, self.additional("additionalItems")?),
                Some(_) => self.schema("items")?.map_or(Items::Any, Items::All),
            };
        }
        self.rules.properties = self.map("properties")?;
        for (pattern, schema) in self.map("patternProperties")? {
            let expression = self.expression("patternProperties", &pattern)?;
            self.rules.pattern_properties.push((expression, schema));
        }
        self.rules.additional_properties = self.additional("additionalProperties")?;
        if let Some(dependencies) = self.entries("dependencies") {
            for (property, needs) in dependencies {
                let needs = match needs {
                    Json::Array(names) => Needs::Properties(texts(names)),
                    _ => Needs::Schema(self.below("dependencies", property)?),
                };
                self.rules.dependencies.insert(property.clone(), needs);
            }
        }
        Ok(())
    }

    fn assertions(&mut self) -> Outcome<()> {
        match self.object.get("type") {
            Some(Json::String(name)) => self.rules.types.add(name),
            Some(Json::Array(names)) => {
                let mut types = Types::default();
                for name in texts(names) {
                    types.add(&name);
                }
                self.rules.types = types;
            }
            _ => {}
        }
        self.rules.enumeration = self.array("enum").map(<[Json]>::to_vec);
        self.rules.multiple_of = self.number("multipleOf");
        (self.rules.maximum, self.rules.exclusive_maximum) = self.bound("maximum", "exclusiveMaximum");
        (self.rules.minimum, self.rules.exclusive_minimum) = self.bound("minimum", "exclusiveMinimum");
        self.rules.min_length = self.integer("minLength");
        self.rules.max_length = self.integer("maxLength");
        if let Some(pattern) = self.text("pattern") {
            self.rules.pattern = Some((pattern.to_owned(), self.expression("pattern", pattern)?));
        }
        self.rules.min_items = self.integer("minItems");
        self.rules.max_items = self.integer("maxItems");
        self.rules.unique_items = self.flag("uniqueItems");
        self.rules.max_properties = self.integer("maxProperties");
        self.rules.min_properties = self.integer("minProperties");
        self.rules.required = self.array("required").map(texts).unwrap_or_default();
        Ok(())
    }

    fn draft_6(&mut self) -> Outcome<()> {
        if self.has("applicator") {
            self.rules.contains = self.schema("contains")?;
            self.rules.property_names = self.schema("propertyNames")?;
        }
        if self.has("validation") {
            self.rules.constant = self.object.get("const").cloned();
        }
        Ok(())
    }

    fn draft_7(&mut self) -> Outcome<()> {
        if !self.has("applicator") {
            return Ok(());
        }
        self.rules.condition = self.schema("if")?;
        if self.rules.condition.is_some() {
            let known = match self.object.get("if") {
                Some(Json::Bool(holds)) => Some(*holds),
                _ => None,
            };
            if known != Some(false) {
                self.rules.consequence = self.schema("then")?;
            }
            if known != Some(true) {
                self.rules.alternative = self.schema("else")?;
            }
        }
        Ok(())
    }

    fn draft_2019(&mut self, draft: Draft) -> Outcome<()> {
        self.rules.recursive_reference = self.reference("$recursiveRef")?;
        self.rules.recursive_anchor = self.flag("$recursiveAnchor");
        if self.has("validation") {
            if self.rules.contains.is_some() {
                self.rules.min_contains = self.integer("minContains");
                self.rules.max_contains = self.integer("maxContains");
            }
            if let Some(dependencies) = self.entries("dependentRequired") {
                for (property, names) in dependencies {
                    if let Json::Array(names) = names {
                        let names = texts(names);
                        self.rules.dependent_required.insert(property.clone(), names);
                    }
                }
            }
        }
        if self.has("applicator") {
            self.rules.dependent_schemas = self.map("dependentSchemas")?;
        }
        let vocabulary = if draft == Draft::Year2019 {
            "applicator"
        } else {
            "unevaluated"
        };
        if self.has(vocabulary) {
            self.rules.unevaluated_items = self.schema("unevaluatedItems")?;
            self.rules.unevaluated_properties = self.schema("unevaluatedProperties")?;
        }
        Ok(())
    }

    fn draft_2020(&mut self) -> Outcome<()> {
        if let (Some(target), Some(reference)) = (self.reference("$dynamicRef")?, self.text("$dynamicRef")) {
            let (_, fragment) = split_fragment(reference)?;
            let anchor = match fragment {
                Fragment::Anchor(name) => Some(name),
                Fragment::Pointer(_) => None,
            };
            self.rules.dynamic_reference = Some(DynamicReference { target, anchor });
        }
        let anchor = self.text("$dynamicAnchor").filter(|name| !name.is_empty());
        self.rules.dynamic_anchor = anchor.map(str::to_owned);
        if self.has("applicator") {
            let first = self.list("prefixItems")?;
            let rest = self.schema("items")?.map(Additional::Schema);
            self.rules.items = Items::Each(first, rest);
        }
        Ok(())
    }

    // What keywords hold.

    fn text(&self, keyword: &str) -> Option<&'k str> {
        self.object.get(keyword)?.as_text()
    }

    fn flag(&self, keyword: &str) -> bool {
        matches!(self.object.get(keyword), Some(Json::Bool(true)))
    }

    fn array(&self, keyword: &str) -> Option<&'k [Json]> {
        match self.object.get(keyword) {
            Some(Json::Array(items)) => Some(items),
            _ => None,
        }
    }

    fn entries(&self, keyword: &str) -> Option<&'k BTreeMap<String, Json>> {
        self.object.get(keyword)?.as_object()
    }

    fn number(&self, keyword: &str) -> Option<Decimal> {
        match self.object.get(keyword) {
            Some(Json::Number(numeral)) => Some(numeral.number.clone()),
            _ => None,
        }
    }

    fn integer(&self, keyword: &str) -> Option<i64> {
        self.number(keyword)?.to_wrapped_integer()
    }

    /// Reads a bound and its exclusive twin, which is a flag in draft 4 and a bound of its own later.
    fn bound(&self, keyword: &str, exclusive: &str) -> (Option<Decimal>, Option<Decimal>) {
        if self.flag(exclusive) {
            (None, self.number(keyword))
        } else {
            (self.number(keyword), self.number(exclusive))
        }
    }

    fn expression(&self, keyword: &str, pattern: &str) -> Outcome<Expression> {
        Expression::new(pattern.as_bytes()).map_err(|error| {
            let place = format!("{}#{}/{keyword}", self.place.url, encoded(&self.place.pointer));
            SchemaError::Faulty(format!(
                "invalid regex {} at {}: {error}",
                quoted(pattern),
                quoted(place)
            ))
        })
    }

    // The schemas that keywords hold.

    fn at(&mut self, pointer: String) -> Outcome<Id> {
        let url = self.place.url.clone();
        self.compiler.enqueue(Place { url, pointer })
    }

    fn below(&mut self, keyword: &str, name: &str) -> Outcome<Id> {
        self.at(append(&append(&self.place.pointer, keyword), name))
    }

    fn schema(&mut self, keyword: &str) -> Outcome<Option<Id>> {
        if !self.object.contains_key(keyword) {
            return Ok(None);
        }
        self.at(append(&self.place.pointer, keyword)).map(Some)
    }

    fn list(&mut self, keyword: &str) -> Outcome<Vec<Id>> {
        let length = self.array(keyword).map_or(0, <[Json]>::len);
        (0..length)
            .map(|index| self.below(keyword, &index.to_string()))
            .collect()
    }

    fn map(&mut self, keyword: &str) -> Outcome<BTreeMap<String, Id>> {
        let Some(schemas) = self.entries(keyword) else {
            return Ok(BTreeMap::new());
        };
        schemas
            .keys()
            .map(|name| Ok((name.clone(), self.below(keyword, name)?)))
            .collect()
    }

    fn additional(&mut self, keyword: &str) -> Outcome<Option<Additional>> {
        Ok(match self.object.get(keyword) {
            Some(Json::Bool(allowed)) => Some(Additional::Allowed(*allowed)),
            _ => self.schema(keyword)?.map(Additional::Schema),
        })
    }

    fn reference(&mut self, keyword: &str) -> Outcome<Option<Id>> {
        let Some(reference) = self.text(keyword) else {
            return Ok(None);
        };
        self.compiler
            .enqueue_reference(reference, self.place, self.resource)
            .map(Some)
    }
}

/// The elements of a list that are texts.
fn texts(items: &[Json]) -> Vec<String> {
    items
        .iter()
        .filter_map(|item| item.as_text().map(str::to_owned))
        .collect()
}
