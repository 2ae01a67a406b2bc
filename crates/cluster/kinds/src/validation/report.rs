//! How faults are reported: where a field is, and what is wrong with it.

#![expect(
    clippy::needless_pass_by_value,
    reason = "values that are shown are references or small, and read best without another `&`"
)]

use std::fmt::Write;

use goyaml::json::{self, Escape};
use schema::field_error::shown;
use schema::{FieldError, FieldErrorKind, FieldErrors, FieldPath};
use serde_json::Value;

/// Where a field is. Steps live on the stack and become text only when there is something to report.
#[derive(Clone, Copy)]
pub(super) struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Field(&'p str),
    Item(usize),
    Entry(&'p str),
}

impl<'p> Path<'p> {
    /// The path that starts at a field of the object; several fields are joined by dots.
    pub(super) const fn new(name: &'p str) -> Self {
        Self {
            parent: None,
            step: Step::Field(name),
        }
    }

    /// The path of a field of this object; several fields are joined by dots.
    pub(super) const fn child(&'p self, name: &'p str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Field(name),
        }
    }

    /// The path of an item of this list.
    pub(super) const fn index(&'p self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Item(index),
        }
    }

    /// The path of an entry of this map.
    pub(super) const fn key(&'p self, key: &'p str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Entry(key),
        }
    }

    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            Step::Field(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            // Writing to a string can't fail.
            Step::Item(index) => drop(write!(out, "[{index}]")),
            Step::Entry(key) => drop(write!(out, "[{key}]")),
        }
    }

    /// Returns the path as errors hold it.
    pub(super) fn owned(&self) -> FieldPath {
        let mut out = String::new();
        self.write(&mut out);
        FieldPath::root().child(&out)
    }
}

/// A value as an error shows it.
pub(super) trait Shown {
    /// Returns the value as text.
    fn shown(&self) -> String;
}

impl Shown for &str {
    fn shown(&self) -> String {
        shown(&Value::String((*self).to_owned()))
    }
}

impl Shown for &String {
    fn shown(&self) -> String {
        self.as_str().shown()
    }
}

impl Shown for i64 {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for bool {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for &Value {
    fn shown(&self) -> String {
        shown(self)
    }
}

impl Shown for Option<&Value> {
    fn shown(&self) -> String {
        self.map_or_else(|| "null".to_owned(), shown)
    }
}

/// Text that is shown as it is, because it is JSON already.
pub(super) struct Raw(pub(super) String);

impl Shown for &Raw {
    fn shown(&self) -> String {
        self.0.clone()
    }
}

impl Shown for Raw {
    fn shown(&self) -> String {
        self.0.clone()
    }
}

/// A list that Go holds as a slice: nothing in it may mean that there is no list.
pub(super) fn listed(items: Option<&Value>) -> Raw {
    match items {
        None | Some(Value::Null) => Raw("null".to_owned()),
        Some(items) => Raw(json::to_string(items, Escape::Html).unwrap_or_default()),
    }
}

/// The faults that were found so far. Words are found for those that are told.
#[derive(Default)]
pub(super) struct Errors(FieldErrors);

impl Errors {
    /// Returns the faults in the order in which they were found.
    pub(super) fn into_faults(self) -> FieldErrors {
        self.0
    }

    /// Returns the faults that are told.
    pub(super) fn told(&self) -> &[FieldError] {
        self.0.told()
    }

    /// Returns whether nothing was found.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether further faults are only counted.
    pub(super) fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Returns how many were found.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a fault.
    pub(super) fn push(&mut self, error: FieldError) {
        self.0.push(error);
    }

    /// Adds the faults of a part.
    pub(super) fn append(&mut self, errors: FieldErrors) {
        self.0.append(errors);
    }

    fn add(
        &mut self,
        kind: FieldErrorKind,
        path: &Path<'_>,
        value: Option<&dyn Shown>,
        detail: impl Into<String>,
    ) {
        self.0.push_with(|| FieldError {
            kind,
            field: path.owned(),
            value: value.map(Shown::shown),
            detail: detail.into(),
        });
    }

    /// The value breaks a rule.
    pub(super) fn invalid(&mut self, path: &Path<'_>, value: impl Shown, detail: impl Into<String>) {
        self.add(FieldErrorKind::Invalid, path, Some(&value), detail);
    }

    /// The value breaks a rule several times.
    pub(super) fn invalid_again(&mut self, path: &Path<'_>, value: &Raw, detail: &str, times: usize) {
        for done in 0..times {
            if self.is_full() {
                self.0.leave_out(times - done);
                return;
            }
            self.invalid(path, value, detail);
        }
    }

    /// The value breaks a rule, and isn't shown.
    pub(super) fn invalid_unshown(&mut self, path: &Path<'_>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Invalid, path, None, detail);
    }

    /// The text breaks some rules.
    pub(super) fn faults(&mut self, path: &Path<'_>, text: &str, faults: Vec<String>) {
        for fault in faults {
            self.invalid(path, text, fault);
        }
    }

    /// The value must be there.
    pub(super) fn required(&mut self, path: &Path<'_>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Required, path, None, detail);
    }

    /// The value must not be there, or must not change.
    pub(super) fn forbidden(&mut self, path: &Path<'_>, detail: impl Into<String>) {
        self.add(FieldErrorKind::Forbidden, path, None, detail);
    }

    /// The value is there twice.
    pub(super) fn duplicate(&mut self, path: &Path<'_>, value: impl Shown) {
        self.add(FieldErrorKind::Duplicate, path, Some(&value), "");
    }

    /// The value names something that isn't there.
    pub(super) fn not_found(&mut self, path: &Path<'_>, value: impl Shown, detail: impl Into<String>) {
        self.add(FieldErrorKind::NotFound, path, Some(&value), detail);
    }

    /// The value isn't one of `supported`, which are listed in the order given.
    pub(super) fn not_supported(&mut self, path: &Path<'_>, value: impl Shown, supported: &[&str]) {
        self.0.push_with(|| {
            let listed: Vec<String> = supported.iter().map(Shown::shown).collect();
            FieldError {
                kind: FieldErrorKind::NotSupported,
                field: path.owned(),
                value: Some(value.shown()),
                detail: format!("supported values: {}", listed.join(", ")),
            }
        });
    }

    /// The text is longer than `limit` bytes.
    pub(super) fn too_long(&mut self, path: &Path<'_>, limit: usize) {
        self.0.push_with(|| FieldError::too_long(path.owned(), limit));
    }

    /// The list has more than `limit` items.
    pub(super) fn too_many(&mut self, path: &Path<'_>, actual: usize, limit: usize) {
        self.0
            .push_with(|| FieldError::too_many(path.owned(), actual, limit));
    }

    /// The number must not be below 0.
    pub(super) fn not_negative(&mut self, path: &Path<'_>, number: i64) {
        if number < 0 {
            self.invalid(path, number, "must be greater than or equal to 0");
        }
    }

    /// The number must be above 0.
    pub(super) fn positive(&mut self, path: &Path<'_>, number: i64) {
        if number <= 0 {
            self.invalid(path, number, "must be greater than zero");
        }
    }

    /// One of `supported` must be there; `""` is reported as missing.
    pub(super) fn one_of(&mut self, path: &Path<'_>, text: &str, supported: &[&str]) {
        if text.is_empty() {
            self.required(path, "");
        } else if !supported.contains(&text) {
            self.not_supported(path, text, supported);
        }
    }

    /// If it is there, it must be one of `supported`.
    pub(super) fn one_of_if_set(&mut self, path: &Path<'_>, text: Option<&str>, supported: &[&str]) {
        if let Some(text) = text
            && !supported.contains(&text)
        {
            self.not_supported(path, text, supported);
        }
    }
}
