//! Objects in the versions in which their fields are named.

use std::borrow::Cow;
use std::rc::Rc;

use schema::Schema;
use serde_json::Value;

use super::field_set::field_set;
use super::remove::remove_items;
use super::set::Set;
use super::shape::Shape;
use super::validate::{Duplicates, validate};

/// What is known of the other versions of a kind.
pub trait Versions {
    /// Returns the schema of the kind in a version; `None` if the version isn't served any more, which ends what
    /// managers own in it.
    fn schema(&self, api_version: &str) -> Option<&Schema>;

    /// Returns an object in another version, or why it has no form in it.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String>;
}

/// The versions of a kind that has one.
#[derive(Debug, Clone, Copy)]
pub struct OnlyVersion;

impl Versions for OnlyVersion {
    fn schema(&self, _api_version: &str) -> Option<&Schema> {
        None
    }

    fn convert(&self, _object: &Value, api_version: &str) -> Result<Value, String> {
        Err(format!("the kind has no version {api_version}"))
    }
}

/// An object, its version and its shape.
#[derive(Debug, Clone)]
pub(super) struct Versioned<'a> {
    object: Object<'a>,
    pub(super) api_version: Cow<'a, str>,
    pub(super) shape: Shape<'a>,
}

/// An object that is cheap to hold twice.
#[derive(Debug, Clone)]
enum Object<'a> {
    Borrowed(&'a Value),
    Shared(Rc<Value>),
}

/// Why an object has no form in a version.
#[derive(Debug)]
pub(super) enum NoForm {
    /// The version isn't served.
    Gone,
    /// The conversion failed.
    Failed(String),
}

/// The version in which a request is made, and what is known of the others.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    pub(super) api_version: &'a str,
    pub(super) shape: Shape<'a>,
    pub(super) versions: &'a dyn Versions,
}

impl<'a> Home<'a> {
    /// Returns the shape of the kind in a version.
    pub(super) fn shape_in(&self, api_version: &str) -> Option<Shape<'a>> {
        if api_version == self.api_version {
            return Some(self.shape);
        }
        self.versions.schema(api_version).map(Shape::of_resource)
    }

    /// Returns an object that is in this version.
    pub(super) fn versioned(&self, object: &'a Value) -> Versioned<'a> {
        let api_version = Cow::Borrowed(self.api_version);
        Versioned {
            object: Object::Borrowed(object),
            api_version,
            shape: self.shape,
        }
    }

    /// Returns an object in another version.
    pub(super) fn convert(&self, from: &Versioned<'a>, api_version: &str) -> Result<Versioned<'a>, NoForm> {
        if from.api_version == api_version {
            return Ok(from.clone());
        }
        let shape = self.shape_in(api_version).ok_or(NoForm::Gone)?;
        let object = self
            .versions
            .convert(from.value(), api_version)
            .map_err(NoForm::Failed)?;
        validate(&object, shape, Duplicates::Refused)
            .map_err(|problems| NoForm::Failed(problems.to_string()))?;
        let api_version = Cow::Owned(api_version.to_owned());
        Ok(Versioned {
            object: Object::Shared(Rc::new(object)),
            api_version,
            shape,
        })
    }
}

impl Versioned<'_> {
    pub(super) fn value(&self) -> &Value {
        match &self.object {
            Object::Borrowed(object) => object,
            Object::Shared(object) => object,
        }
    }

    pub(super) fn into_value(self) -> Value {
        match self.object {
            Object::Borrowed(object) => object.clone(),
            Object::Shared(object) => Rc::unwrap_or_clone(object),
        }
    }

    /// Returns another object of the same version.
    pub(super) fn with(&self, object: Value) -> Self {
        Self {
            object: Object::Shared(Rc::new(object)),
            api_version: self.api_version.clone(),
            shape: self.shape,
        }
    }

    /// Returns the fields that the object has.
    pub(super) fn field_set(&self) -> Set {
        field_set(self.value(), self.shape)
    }

    /// Returns the object without the fields of a set.
    pub(super) fn without(&self, fields: &Set) -> Self {
        self.with(remove_items(self.value(), fields, self.shape))
    }
}
