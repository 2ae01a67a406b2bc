//! `.Chart`: the fields of `Chart.yaml` as a Go struct, where an unknown field is an error.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use gotemplate::{Json, Kind, List, Map, Object, Text, Type, Value};

use crate::metadata::{Dependency, Maintainer, Metadata};

/// Makes `.Chart` of a chart's metadata.
pub(crate) fn chart_value(metadata: &Arc<Metadata>, is_root: bool) -> Value {
    let metadata = MetadataObject(Arc::clone(metadata));
    Value::Object(Rc::new(ChartObject {
        metadata: Rc::new(metadata),
        is_root,
    }))
}

/// Helm wraps the metadata together with whether the chart is the root.
struct ChartObject {
    metadata: Rc<MetadataObject>,
    is_root: bool,
}

struct MetadataObject(Arc<Metadata>);

struct MaintainerObject(Maintainer);

struct DependencyObject(Dependency);

const MAINTAINERS: Type = Type::Named("[]*chart.Maintainer", Kind::Slice);
const MAINTAINER: Type = Type::Named("*chart.Maintainer", Kind::Pointer);
const DEPENDENCIES: Type = Type::Named("[]*chart.Dependency", Kind::Slice);
const DEPENDENCY: Type = Type::Named("*chart.Dependency", Kind::Pointer);
const STRING_MAP: Type = Type::Named("map[string]string", Kind::Map);

fn text(text: &str) -> Value {
    Value::string(text)
}

/// An absent list is a nil slice in Go, which prints and serialises differently from an empty one.
fn strings(items: &[String]) -> Value {
    if items.is_empty() {
        return Value::TypedNil(Type::Strings);
    }
    Value::strings(items.iter().map(String::as_str))
}

impl Object for ChartObject {
    fn type_name(&self) -> &'static str {
        "struct { chart.Metadata; IsRoot bool }"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let metadata: Rc<dyn Object> = Rc::clone(&self.metadata) as Rc<dyn Object>;
        vec![
            ("Metadata", Value::Object(metadata)),
            ("IsRoot", Value::Bool(self.is_root)),
        ]
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "IsRoot" => Some(Value::Bool(self.is_root)),
            "Metadata" => Some(Value::Object(Rc::clone(&self.metadata) as Rc<dyn Object>)),
            _ => self.metadata.field(name),
        }
    }

    fn json(&self) -> Json {
        let mut members = self.metadata.members();
        members.push(("IsRoot".into(), Value::Bool(self.is_root)));
        Json::Object(members)
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<ChartObject>()
            .is_some_and(|other| self.is_root == other.is_root && self.metadata.0 == other.metadata.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl MetadataObject {
    fn maintainers(&self) -> Value {
        if self.0.maintainers.is_empty() {
            return Value::TypedNil(MAINTAINERS);
        }
        let items = self
            .0
            .maintainers
            .iter()
            .map(|maintainer| Value::Object(Rc::new(MaintainerObject(maintainer.clone()))))
            .collect();
        Value::List(List::of(MAINTAINER, items))
    }

    fn dependencies(&self) -> Value {
        let Some(dependencies) = &self.0.dependencies else {
            return Value::TypedNil(DEPENDENCIES);
        };
        let items = dependencies
            .iter()
            .map(|dependency| Value::Object(Rc::new(DependencyObject(dependency.clone()))))
            .collect();
        Value::List(List::of(DEPENDENCY, items))
    }

    fn annotations(&self) -> Value {
        if self.0.annotations.is_empty() {
            return Value::TypedNil(STRING_MAP);
        }
        let entries = self
            .0
            .annotations
            .iter()
            .map(|(key, value)| (Text::from(key.as_str()), text(value)))
            .collect();
        Value::Map(Map::of(Type::String, entries))
    }

    /// The JSON members, without those that `omitempty` leaves out.
    fn members(&self) -> Vec<(String, Value)> {
        const JSON_NAMES: [(&str, &str); 17] = [
            ("Name", "name"),
            ("Home", "home"),
            ("Sources", "sources"),
            ("Version", "version"),
            ("Description", "description"),
            ("Keywords", "keywords"),
            ("Maintainers", "maintainers"),
            ("Icon", "icon"),
            ("APIVersion", "apiVersion"),
            ("Condition", "condition"),
            ("Tags", "tags"),
            ("AppVersion", "appVersion"),
            ("Deprecated", "deprecated"),
            ("Annotations", "annotations"),
            ("KubeVersion", "kubeVersion"),
            ("Dependencies", "dependencies"),
            ("Type", "type"),
        ];
        named_members(self, &JSON_NAMES)
    }
}

/// Pairs fields with their JSON names and leaves out the empty ones.
fn named_members(object: &dyn Object, names: &[(&str, &str)]) -> Vec<(String, Value)> {
    object
        .fields()
        .into_iter()
        .filter(|(_, value)| value.truth())
        .filter_map(|(field, value)| {
            let (_, json) = names.iter().find(|(name, _)| *name == field)?;
            Some(((*json).to_owned(), value))
        })
        .collect()
}

impl Object for MetadataObject {
    fn type_name(&self) -> &'static str {
        "chart.Metadata"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        [
            "Name",
            "Home",
            "Sources",
            "Version",
            "Description",
            "Keywords",
            "Maintainers",
            "Icon",
            "APIVersion",
            "Condition",
            "Tags",
            "AppVersion",
            "Deprecated",
            "Annotations",
            "KubeVersion",
            "Dependencies",
            "Type",
        ]
        .into_iter()
        .filter_map(|name| Some((name, self.field(name)?)))
        .collect()
    }

    fn field(&self, name: &str) -> Option<Value> {
        let metadata = &self.0;
        Some(match name {
            "Name" => text(&metadata.name),
            "Home" => text(&metadata.home),
            "Sources" => strings(&metadata.sources),
            "Version" => text(&metadata.version),
            "Description" => text(&metadata.description),
            "Keywords" => strings(&metadata.keywords),
            "Maintainers" => self.maintainers(),
            "Icon" => text(&metadata.icon),
            "APIVersion" => text(&metadata.api_version),
            "Condition" => text(&metadata.condition),
            "Tags" => text(&metadata.tags),
            "AppVersion" => text(&metadata.app_version),
            "Deprecated" => Value::Bool(metadata.deprecated),
            "Annotations" => self.annotations(),
            "KubeVersion" => text(&metadata.kube_version),
            "Dependencies" => self.dependencies(),
            "Type" => text(&metadata.chart_type),
            _ => return None,
        })
    }

    fn json(&self) -> Json {
        Json::Object(self.members())
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<MetadataObject>()
            .is_some_and(|other| self.0 == other.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Object for MaintainerObject {
    fn type_name(&self) -> &'static str {
        "*chart.Maintainer"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Name", text(&self.0.name)),
            ("Email", text(&self.0.email)),
            ("URL", text(&self.0.url)),
        ]
    }

    fn json(&self) -> Json {
        Json::Object(named_members(
            self,
            &[("Name", "name"), ("Email", "email"), ("URL", "url")],
        ))
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<MaintainerObject>()
            .is_some_and(|other| self.0 == other.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Object for DependencyObject {
    fn type_name(&self) -> &'static str {
        "*chart.Dependency"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        let dependency = &self.0;
        let imports = if dependency.import_values.is_empty() {
            Value::TypedNil(Type::List)
        } else {
            Value::list(dependency.import_values.iter().map(Value::from).collect())
        };
        vec![
            ("Name", text(&dependency.name)),
            ("Version", text(&dependency.version)),
            ("Repository", text(&dependency.repository)),
            ("Condition", text(&dependency.condition)),
            ("Tags", strings(&dependency.tags)),
            ("Enabled", Value::Bool(dependency.enabled)),
            ("ImportValues", imports),
            ("Alias", text(&dependency.alias)),
        ]
    }

    fn json(&self) -> Json {
        let mut members = named_members(
            self,
            &[
                ("Name", "name"),
                ("Version", "version"),
                ("Condition", "condition"),
                ("Tags", "tags"),
                ("Enabled", "enabled"),
                ("ImportValues", "import-values"),
                ("Alias", "alias"),
            ],
        );
        // The repository is written even when it is empty, after the name and version.
        let after = members
            .iter()
            .take_while(|(name, _)| matches!(name.as_str(), "name" | "version"))
            .count();
        members.insert(after, ("repository".into(), text(&self.0.repository)));
        Json::Object(members)
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<DependencyObject>()
            .is_some_and(|other| self.0 == other.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
