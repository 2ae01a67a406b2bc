//! A schema document, checked and brought into a form that values are judged by.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::documents::{Documents, Draft};
use crate::go_expression::Expression;
use crate::go_url::Url;
use crate::schema::SchemaError;
use crate::schema::number::Decimal;

/// How deep schemas may contain schemas, references included. Each level costs stack.
const MAX_NESTING: usize = 200;

/// How many schemas one file may have. A reference is compiled once, so this is a matter of the file's size.
const MAX_SCHEMAS: usize = 200_000;

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "number", "null", "object", "string",
];

/// A compiled schema.
#[derive(Debug)]
pub(in crate::schema) struct Schema {
    pub(super) nodes: Vec<Node>,
}

/// The number of a schema in [`Schema::nodes`].
pub(super) type Id = usize;

/// One schema and its rules.
#[derive(Debug, Default)]
pub(super) struct Node {
    /// A schema that is just `true` or `false`.
    pub(super) pass: Option<bool>,
    /// Another schema that stands for this one.
    pub(super) reference: Option<Id>,
    pub(super) types: Vec<&'static str>,
    /// Sorted by name.
    pub(super) properties: Vec<(String, Id)>,
    pub(super) additional_properties: Additional,
    pub(super) pattern_properties: Vec<(Expression, Id)>,
    pub(super) property_names: Option<Id>,
    pub(super) dependencies: BTreeMap<String, Needs>,
    pub(super) items: Vec<Id>,
    pub(super) one_schema_for_all_items: bool,
    pub(super) additional_items: Additional,
    pub(super) multiple_of: Option<Decimal>,
    pub(super) minimum: Option<Decimal>,
    pub(super) exclusive_minimum: Option<Decimal>,
    pub(super) maximum: Option<Decimal>,
    pub(super) exclusive_maximum: Option<Decimal>,
    pub(super) min_length: Option<u64>,
    pub(super) max_length: Option<u64>,
    pub(super) pattern: Option<(String, Expression)>,
    pub(super) format: String,
    pub(super) min_properties: Option<u64>,
    pub(super) max_properties: Option<u64>,
    pub(super) required: Vec<String>,
    pub(super) min_items: Option<u64>,
    pub(super) max_items: Option<u64>,
    pub(super) unique_items: bool,
    pub(super) contains: Option<Id>,
    /// The JSON of the only value that is allowed.
    pub(super) constant: Option<String>,
    /// The JSON of the values that are allowed.
    pub(super) enumeration: Vec<String>,
    pub(super) one_of: Vec<Id>,
    pub(super) any_of: Vec<Id>,
    pub(super) all_of: Vec<Id>,
    pub(super) not: Option<Id>,
    pub(super) condition: Option<Id>,
    pub(super) consequence: Option<Id>,
    pub(super) alternative: Option<Id>,
}

/// What holds for properties or items that have no schema of their own.
#[derive(Debug, Default)]
pub(super) enum Additional {
    #[default]
    Unlimited,
    Forbidden,
    Schema(Id),
}

/// What the presence of a property asks for.
#[derive(Debug)]
pub(super) enum Needs {
    Properties(Vec<String>),
    Schema(Id),
}

type Outcome<T> = Result<T, SchemaError>;

fn fault<T>(message: String) -> Outcome<T> {
    Err(SchemaError::Faulty(message))
}

fn wrong_type<T>(expected: &str, keyword: &str) -> Outcome<T> {
    fault(format!("Invalid type. Expected: {expected}, given: {keyword}"))
}

impl Schema {
    /// Reads a schema; every fault that Helm finds in a schema is found here.
    pub(in crate::schema) fn compile(bytes: &[u8]) -> Outcome<Self> {
        let (documents, draft) = Documents::read(bytes)?;
        let mut compiler = Compiler {
            documents,
            nodes: Vec::new(),
            references: HashMap::new(),
        };
        let root = compiler.documents.find("")?;
        let document = compiler.documents.get(&root).cloned().unwrap_or_default();
        compiler.schema(&document, draft.unwrap_or(Draft::Hybrid), 0)?;
        Ok(Self {
            nodes: compiler.nodes,
        })
    }
}

struct Compiler {
    documents: Documents,
    nodes: Vec<Node>,
    references: HashMap<String, Id>,
}

impl Compiler {
    fn reserve(&mut self) -> Outcome<Id> {
        if self.nodes.len() >= MAX_SCHEMAS {
            return fault(format!("schema consists of more than {MAX_SCHEMAS} schemas"));
        }
        self.nodes.push(Node::default());
        Ok(self.nodes.len() - 1)
    }

    fn schema(&mut self, document: &Value, draft: Draft, depth: usize) -> Outcome<Id> {
        let id = self.reserve()?;
        self.fill(id, document, draft, depth)?;
        Ok(id)
    }

    fn fill(&mut self, id: Id, document: &Value, draft: Draft, depth: usize) -> Outcome<()> {
        if depth > MAX_NESTING {
            return fault(format!("schema is nested more than {MAX_NESTING} deep"));
        }
        if let (Value::Bool(pass), true) = (document, draft >= Draft::Six) {
            self.nodes[id].pass = Some(*pass);
            return Ok(());
        }
        let Value::Object(keywords) = document else {
            return fault("Expected: valid schema, given: Invalid JSON".to_owned());
        };
        let mut rules = Rules {
            compiler: self,
            keywords,
            draft,
            depth,
            node: Node::default(),
        };
        let outcome = rules.read();
        let node = rules.node;
        self.nodes[id] = node;
        outcome
    }
}

/// The keywords of one schema while they are read.
struct Rules<'a> {
    compiler: &'a mut Compiler,
    keywords: &'a Map<String, Value>,
    draft: Draft,
    depth: usize,
    node: Node,
}

impl<'a> Rules<'a> {
    fn get(&self, keyword: &str) -> Option<&'a Value> {
        self.keywords.get(keyword)
    }

    /// Reads all keywords, in the order in which faults are to be reported.
    fn read(&mut self) -> Outcome<()> {
        self.identifier()?;
        self.definitions()?;
        for keyword in ["title", "description"] {
            if self.get(keyword).is_some_and(|value| !value.is_string()) {
                return wrong_type("string", keyword);
            }
        }
        if self.reference()? {
            return Ok(());
        }
        self.types()?;
        self.properties()?;
        self.dependencies()?;
        self.items()?;
        self.numbers()?;
        self.strings()?;
        self.objects()?;
        self.arrays()?;
        self.fixed_values()?;
        self.combinations()
    }

    fn below(&mut self, value: &Value) -> Outcome<Id> {
        self.compiler.schema(value, self.draft, self.depth + 1)
    }

    fn identifier(&mut self) -> Outcome<()> {
        let keyword = match self.draft {
            Draft::Four => "id",
            Draft::Hybrid if self.keywords.contains_key("id") => "id",
            _ => "$id",
        };
        match self.get(keyword) {
            None => Ok(()),
            Some(Value::String(id)) => Url::parse(id).map(|_| ()).map_err(SchemaError::Faulty),
            Some(_) => wrong_type("string", keyword),
        }
    }

    fn definitions(&mut self) -> Outcome<()> {
        match self.get("definitions") {
            None => Ok(()),
            Some(Value::Object(definitions)) => {
                for definition in definitions.values() {
                    if !definition.is_object() && !definition.is_boolean() {
                        return wrong_type("array of schemas", "definitions");
                    }
                    self.below(definition)?;
                }
                Ok(())
            }
            Some(Value::Bool(_)) => Err(SchemaError::Unusable(
                "interface conversion: interface {} is bool, not map[string]interface {}".to_owned(),
            )),
            Some(_) => wrong_type("array of schemas", "definitions"),
        }
    }

    /// Follows `$ref`; tells whether the schema is done with that.
    fn reference(&mut self) -> Outcome<bool> {
        let reference = match self.get("$ref") {
            None => return Ok(false),
            Some(Value::String(reference)) => reference,
            Some(_) => return wrong_type("string", "$ref"),
        };
        let address = Url::parse(reference).map_err(SchemaError::Faulty)?.to_string();
        if let Some(target) = self.compiler.references.get(&address) {
            // What stands beside the reference is still checked, though it never applies.
            self.node.reference = Some(*target);
            return Ok(false);
        }
        let target = self.compiler.reserve()?;
        self.compiler.references.insert(address.clone(), target);
        let place = self.compiler.documents.find(&address)?;
        let document = self.compiler.documents.get(&place).cloned().unwrap_or_default();
        if !document.is_object() && !document.is_boolean() {
            return fault("valid schema must be of type object".to_owned());
        }
        self.compiler.fill(
            target,
            &document,
            place.draft.unwrap_or(self.draft),
            self.depth + 1,
        )?;
        self.node.reference = Some(target);
        Ok(true)
    }

    fn types(&mut self) -> Outcome<()> {
        const EXPECTED: &str = "string/array of strings";
        match self.get("type") {
            None => Ok(()),
            Some(Value::String(name)) => self.add_type(name),
            Some(Value::Array(names)) => names.iter().try_for_each(|name| match name {
                Value::String(name) => self.add_type(name),
                Value::Number(_) => Err(SchemaError::Unusable(
                    "interface conversion: interface {} is json.Number, not string".to_owned(),
                )),
                _ => wrong_type(EXPECTED, "type"),
            }),
            Some(_) => wrong_type(EXPECTED, "type"),
        }
    }

    fn add_type(&mut self, name: &str) -> Outcome<()> {
        let Some(known) = TYPES.iter().find(|known| **known == name) else {
            return fault(format!(
                "has a primitive type that is NOT VALID -- given: /{name}/ Expected valid values are:[{}]",
                TYPES.join(" ")
            ));
        };
        if self.node.types.contains(known) {
            return fault(format!("{name} type is duplicated"));
        }
        self.node.types.push(known);
        Ok(())
    }

    fn additional(&mut self, keyword: &str) -> Outcome<Additional> {
        Ok(match self.get(keyword) {
            None | Some(Value::Bool(true)) => Additional::Unlimited,
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(schema @ Value::Object(_)) => Additional::Schema(self.below(schema)?),
            Some(_) => return wrong_type("boolean/valid schema", keyword),
        })
    }

    fn properties(&mut self) -> Outcome<()> {
        match self.get("properties") {
            None => {}
            Some(Value::Object(properties)) => {
                for (name, schema) in properties {
                    let schema = self.below(schema)?;
                    self.node.properties.push((name.clone(), schema));
                }
            }
            Some(_) => return fault("properties must be of type object".to_owned()),
        }
        self.node.additional_properties = self.additional("additionalProperties")?;
        match self.get("patternProperties") {
            None => {}
            Some(Value::Object(patterns)) => {
                for (pattern, schema) in patterns {
                    let Ok(expression) = Expression::new(pattern.as_bytes()) else {
                        return fault(format!("Invalid regex pattern '{pattern}'"));
                    };
                    let schema = self.below(schema)?;
                    self.node.pattern_properties.push((expression, schema));
                }
            }
            Some(_) => return wrong_type("valid schema", "patternProperties"),
        }
        if let (Some(names), true) = (self.get("propertyNames"), self.draft >= Draft::Six) {
            if !names.is_object() && !names.is_boolean() {
                return wrong_type("valid schema", "patternProperties");
            }
            self.node.property_names = Some(self.below(names)?);
        }
        Ok(())
    }

    fn dependencies(&mut self) -> Outcome<()> {
        const EXPECTED: &str = "dependency must be of type schema or array of strings";
        let dependencies = match self.get("dependencies") {
            None => return Ok(()),
            Some(Value::Object(dependencies)) => dependencies,
            Some(_) => return fault("dependencies must be of type object".to_owned()),
        };
        for (property, needs) in dependencies {
            let needs = match needs {
                Value::Array(names) => {
                    let names: Option<Vec<String>> = names
                        .iter()
                        .map(|name| name.as_str().map(str::to_owned))
                        .collect();
                    Needs::Properties(names.ok_or_else(|| SchemaError::Faulty(EXPECTED.to_owned()))?)
                }
                Value::Object(_) | Value::Bool(_) => Needs::Schema(self.below(needs)?),
                _ => return fault(EXPECTED.to_owned()),
            };
            self.node.dependencies.insert(property.clone(), needs);
        }
        Ok(())
    }

    fn items(&mut self) -> Outcome<()> {
        const EXPECTED: &str = "valid schema/array of schemas";
        match self.get("items") {
            None => {}
            Some(Value::Array(items)) => {
                for item in items {
                    if !item.is_object() && !item.is_boolean() {
                        return wrong_type(EXPECTED, "items");
                    }
                    let item = self.below(item)?;
                    self.node.items.push(item);
                }
            }
            Some(item @ (Value::Object(_) | Value::Bool(_))) => {
                let item = self.below(item)?;
                self.node.items.push(item);
                self.node.one_schema_for_all_items = true;
            }
            Some(_) => return wrong_type(EXPECTED, "items"),
        }
        self.node.additional_items = self.additional("additionalItems")?;
        Ok(())
    }

    fn numbers(&mut self) -> Outcome<()> {
        if let Some(value) = self.get("multipleOf") {
            let Value::Number(number) = value else {
                return wrong_type("number", "multipleOf");
            };
            let number = Decimal::new(number);
            if !number.is_positive() {
                return fault("multipleOf must be strictly greater than 0".to_owned());
            }
            self.node.multiple_of = Some(number);
        }
        let (minimum, exclusive) = self.bound("minimum", "exclusiveMinimum")?;
        self.node.minimum = minimum;
        self.node.exclusive_minimum = exclusive;
        let (maximum, exclusive) = self.bound("maximum", "exclusiveMaximum")?;
        self.node.maximum = maximum;
        self.node.exclusive_maximum = exclusive;
        Ok(())
    }

    /// Reads a bound and its exclusive twin, which is a flag in draft 4 and a bound of its own later.
    fn bound(&self, keyword: &str, exclusive: &str) -> Outcome<(Option<Decimal>, Option<Decimal>)> {
        let bound = match self.get(keyword) {
            None => None,
            Some(Value::Number(number)) => Some(Decimal::new(number)),
            Some(_) => return fault(format!("{keyword} must be of a number")),
        };
        match self.get(exclusive) {
            None => Ok((bound, None)),
            Some(Value::Bool(flag)) if matches!(self.draft, Draft::Four | Draft::Hybrid) => {
                if bound.is_none() {
                    return fault(format!("{exclusive} cannot be used without {keyword}"));
                }
                Ok(if *flag { (None, bound) } else { (bound, None) })
            }
            Some(Value::Number(number)) if self.draft != Draft::Four => {
                Ok((bound, Some(Decimal::new(number))))
            }
            Some(_) => {
                let expected = match self.draft {
                    Draft::Four => "boolean",
                    Draft::Hybrid => "boolean/number",
                    _ => "number",
                };
                wrong_type(expected, exclusive)
            }
        }
    }

    fn count(&self, keyword: &str) -> Outcome<Option<u64>> {
        match self.get(keyword) {
            None => Ok(None),
            Some(value) => match value.as_i64() {
                None => fault(format!("{keyword} must be of an integer")),
                Some(count) => match u64::try_from(count) {
                    Ok(count) => Ok(Some(count)),
                    Err(_) => fault(format!("{keyword} must be greater than or equal to 0")),
                },
            },
        }
    }

    fn counts(&self, least: &str, most: &str) -> Outcome<(Option<u64>, Option<u64>)> {
        let (minimum, maximum) = (self.count(least)?, self.count(most)?);
        if let (Some(minimum), Some(maximum)) = (minimum, maximum)
            && minimum > maximum
        {
            return fault(format!("{least} cannot be greater than {most}"));
        }
        Ok((minimum, maximum))
    }

    fn strings(&mut self) -> Outcome<()> {
        (self.node.min_length, self.node.max_length) = self.counts("minLength", "maxLength")?;
        match self.get("pattern") {
            None => {}
            Some(Value::String(pattern)) => match Expression::new(pattern.as_bytes()) {
                Ok(expression) => self.node.pattern = Some((pattern.clone(), expression)),
                Err(_) => return fault("pattern must be a valid regex".to_owned()),
            },
            Some(_) => return fault("pattern must be of a string".to_owned()),
        }
        match self.get("format") {
            None => Ok(()),
            Some(Value::String(format)) => {
                self.node.format.clone_from(format);
                Ok(())
            }
            Some(_) => fault("format must be of type string".to_owned()),
        }
    }

    fn objects(&mut self) -> Outcome<()> {
        (self.node.min_properties, self.node.max_properties) =
            self.counts("minProperties", "maxProperties")?;
        let required = match self.get("required") {
            None => return Ok(()),
            Some(Value::Array(required)) => required,
            Some(_) => return fault("required must be of an array".to_owned()),
        };
        for name in required {
            let Value::String(name) = name else {
                return fault("required items must be string".to_owned());
            };
            if self.node.required.contains(name) {
                return fault("required items must be unique".to_owned());
            }
            self.node.required.push(name.clone());
        }
        Ok(())
    }

    fn arrays(&mut self) -> Outcome<()> {
        self.node.min_items = self.count("minItems")?;
        self.node.max_items = self.count("maxItems")?;
        match self.get("uniqueItems") {
            None => {}
            Some(Value::Bool(flag)) => self.node.unique_items = *flag,
            Some(_) => return fault("uniqueItems must be of a boolean".to_owned()),
        }
        if let (Some(contains), true) = (self.get("contains"), self.draft >= Draft::Six) {
            self.node.contains = Some(self.below(contains)?);
        }
        Ok(())
    }

    fn fixed_values(&mut self) -> Outcome<()> {
        if let (Some(constant), true) = (self.get("const"), self.draft >= Draft::Six) {
            self.node.constant = Some(super::evaluate::canonical(constant));
        }
        match self.get("enum") {
            None => Ok(()),
            Some(Value::Array(values)) => {
                for value in values {
                    let value = super::evaluate::canonical(value);
                    if self.node.enumeration.contains(&value) {
                        return fault("enum items must be unique".to_owned());
                    }
                    self.node.enumeration.push(value);
                }
                Ok(())
            }
            Some(_) => fault("enum must be of an array".to_owned()),
        }
    }

    fn schema_list(&mut self, keyword: &str, named: &str) -> Outcome<Vec<Id>> {
        match self.get(keyword) {
            None => Ok(Vec::new()),
            Some(Value::Array(schemas)) => schemas.iter().map(|schema| self.below(schema)).collect(),
            Some(_) => fault(format!("{named} must be of an array")),
        }
    }

    fn schema_or_boolean(&mut self, keyword: &str) -> Outcome<Option<Id>> {
        match self.get(keyword) {
            None => Ok(None),
            Some(schema @ (Value::Object(_) | Value::Bool(_))) => self.below(schema).map(Some),
            Some(_) => fault(format!("{keyword} must be of an object")),
        }
    }

    fn combinations(&mut self) -> Outcome<()> {
        self.node.one_of = self.schema_list("oneOf", "oneOf")?;
        self.node.any_of = self.schema_list("anyOf", "anyOf")?;
        // The library names the wrong keyword here, and so does Helm.
        self.node.all_of = self.schema_list("allOf", "anyOf")?;
        self.node.not = self.schema_or_boolean("not")?;
        if self.draft >= Draft::Seven {
            self.node.condition = self.schema_or_boolean("if")?;
            self.node.consequence = self.schema_or_boolean("then")?;
            self.node.alternative = self.schema_or_boolean("else")?;
        }
        Ok(())
    }
}
