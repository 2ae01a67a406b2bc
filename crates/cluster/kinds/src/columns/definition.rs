//! How a column is written down here, and how its description is found.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::{Column, platform_definitions, workload_definitions};

pub(super) const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Documents list the values of a field after its description; columns don't.
const ENUMERATION: &str = "\n\nPossible enum values:";

/// The columns of a kind.
pub(super) struct Definition {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) columns: &'static [Spec],
}

/// A column; most descriptions are those of the field that it shows.
pub(super) struct Spec {
    name: &'static str,
    column_type: &'static str,
    format: &'static str,
    priority: i32,
    description: Description,
}

enum Description {
    Field(&'static str, &'static str),
    Text(&'static str),
}

/// A column that shows a field, and is described as the field is.
pub(super) const fn from(
    name: &'static str,
    column_type: &'static str,
    definition: &'static str,
    field: &'static str,
) -> Spec {
    Spec {
        name,
        column_type,
        format: "",
        priority: 0,
        description: Description::Field(definition, field),
    }
}

/// A column with its own description.
pub(super) const fn says(name: &'static str, column_type: &'static str, description: &'static str) -> Spec {
    Spec {
        name,
        column_type,
        format: "",
        priority: 0,
        description: Description::Text(description),
    }
}

impl Spec {
    /// Gives the column a format.
    pub(super) const fn format(mut self, format: &'static str) -> Self {
        self.format = format;
        self
    }

    /// Shows the column only where there is room (`-o wide`).
    pub(super) const fn wide(mut self) -> Self {
        self.priority = 1;
        self
    }
}

pub(super) const NAME: Spec = from("Name", "string", META, "name").format("name");
pub(super) const AGE: Spec = from("Age", "string", META, "creationTimestamp");
pub(super) const CONTAINERS: Spec =
    says("Containers", "string", "Names of each container in the template.").wide();
pub(super) const IMAGES: Spec = says(
    "Images",
    "string",
    "Images referenced by each container in the template.",
)
.wide();
const CREATED_AT: Spec = from("Created At", "date", META, "creationTimestamp");

const DEFAULT: &[Spec] = &[NAME, CREATED_AT];

/// All columns with their descriptions.
pub(super) struct Columns {
    by_group: BTreeMap<&'static str, BTreeMap<&'static str, Vec<Column>>>,
    default: Vec<Column>,
}

impl Columns {
    /// Returns the columns of a kind.
    pub(super) fn of(&self, group: &str, kind: &str) -> Option<&[Column]> {
        self.by_group.get(group)?.get(kind).map(Vec::as_slice)
    }

    /// Returns the columns of kinds that have none of their own.
    pub(super) fn default(&self) -> &[Column] {
        &self.default
    }
}

/// The columns of all kinds. Their descriptions are unpacked once, when the first table is asked for.
pub(super) static COLUMNS: LazyLock<Columns> = LazyLock::new(|| {
    let kinds = || {
        workload_definitions::KINDS
            .iter()
            .chain(platform_definitions::KINDS)
    };
    let specs = || kinds().flat_map(|kind| kind.columns).chain(DEFAULT);
    let fields: Vec<(&str, &str)> = specs()
        .filter_map(|spec| match spec.description {
            Description::Field(definition, field) => Some((definition, field)),
            Description::Text(_) => None,
        })
        .collect();
    let texts = schema::builtin::field_descriptions(&fields);
    let described: BTreeMap<(&str, &str), String> = fields.into_iter().zip(texts).collect();
    let column = |spec: &Spec| Column {
        name: spec.name.to_owned(),
        column_type: spec.column_type.to_owned(),
        format: spec.format.to_owned(),
        description: match spec.description {
            Description::Field(definition, field) => {
                let text = described
                    .get(&(definition, field))
                    .map(String::as_str)
                    .unwrap_or_default();
                text.split(ENUMERATION).next().unwrap_or_default().to_owned()
            }
            Description::Text(text) => text.to_owned(),
        },
        priority: spec.priority,
    };
    let mut by_group: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
    for kind in kinds() {
        by_group
            .entry(kind.group)
            .or_default()
            .insert(kind.kind, kind.columns.iter().map(column).collect());
    }
    Columns {
        by_group,
        default: DEFAULT.iter().map(column).collect(),
    }
});
