//! Which objects of a kind a list or a watch shows.

use crate::options::ListOptions;
use crate::resource::{Nature, Resource};
use crate::selectors::{FieldSelector, LabelSelector, SelectableFields};
use crate::status::Status;
use crate::store::Stored;

/// Which objects of a kind are wanted.
#[derive(Debug, Default)]
pub struct Filter {
    labels: Option<LabelSelector>,
    fields: Option<(FieldSelector, SelectableFields)>,
    name: Option<String>,
}

impl Filter {
    /// Reads the selectors of a list or a watch.
    pub fn read(resource: &Resource, options: &ListOptions) -> Result<Self, Status> {
        let refuse = |error: crate::selectors::SelectorError| Status::bad_request(error.to_string());
        let mut filter = Self::default();
        if !options.label_selector.is_empty() {
            let labels = LabelSelector::parse(&options.label_selector).map_err(refuse)?;
            filter.labels = (!labels.is_everything()).then_some(labels);
        }
        if !options.field_selector.is_empty() {
            let selectable = match &resource.nature {
                Nature::BuiltIn(_) => {
                    SelectableFields::of_kind(&resource.group, &resource.version, &resource.kind)
                }
                Nature::Custom(custom) => SelectableFields::of_custom_resource(
                    resource.namespaced,
                    custom.selectable_fields.iter().map(String::as_str),
                ),
            };
            let fields = FieldSelector::parse(&options.field_selector).map_err(refuse)?;
            let fields = fields.for_kind(&selectable).map_err(refuse)?;
            filter.fields = (!fields.is_everything()).then_some((fields, selectable));
        }
        Ok(filter)
    }

    /// Returns the filter that lets the object of one name through.
    pub fn named(name: &str) -> Self {
        Self {
            name: Some(name.to_owned()),
            ..Self::default()
        }
    }

    /// Returns whether every object passes.
    pub fn is_everything(&self) -> bool {
        self.labels.is_none() && self.fields.is_none() && self.name.is_none()
    }

    /// Returns whether a stored object is wanted.
    pub fn passes(&self, stored: &Stored) -> bool {
        if self.name.as_ref().is_some_and(|name| **name != *stored.key.name) {
            return false;
        }
        if self
            .labels
            .as_ref()
            .is_some_and(|labels| !labels.matches(&stored.labels))
        {
            return false;
        }
        let Some((fields, selectable)) = &self.fields else {
            return true;
        };
        // Most selectors name the object, which needs no parsing.
        if let Some(name) = fields.required_value("metadata.name")
            && *name != *stored.key.name
        {
            return false;
        }
        let by_name = fields
            .requirements()
            .iter()
            .all(|one| one.equal && one.field == "metadata.name");
        by_name || fields.matches(&stored.value(), selectable)
    }
}
