//! An object's metadata: read as Go reads it, checked as the Kubernetes API server checks it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gotemplate::format::is_print;
use goyaml::typed::{GoType, Reader};
use serde_json::Value;

use super::field_error::FieldError;
use super::names;
use super::printed::{Printed, printed_struct};

/// The most bytes that all annotations of an object may have together.
const MAXIMUM_ANNOTATION_BYTES: usize = 256 << 10;
/// The longest name of a field manager.
const MAXIMUM_MANAGER_BYTES: usize = 128;
/// The longest name of a subresource.
const MAXIMUM_SUBRESOURCE_BYTES: usize = 256;

/// A point in time as an object carries it: text that was checked to be one, or nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Time(Option<String>);

impl GoType for Time {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("v1.Time")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        match value {
            Value::Null => self.0 = None,
            Value::String(text) if is_rfc3339(text) => self.0 = Some(text.clone()),
            Value::String(text) => return Err(reader.stop(time_fault(text))),
            other => {
                return Err(reader.mismatch_of(goyaml::json::kind_word(other), "string"));
            }
        }
        Ok(())
    }
}

impl Printed for Time {
    fn plain(&self, out: &mut String) {
        match &self.0 {
            None => out.push_str("0001-01-01 00:00:00 +0000 UTC"),
            Some(text) => {
                // Upstream prints local time with a zone's name; the instant as it was written says the same.
                out.push_str(&text.replacen('T', " ", 1).replacen('Z', " +0000 UTC", 1));
            }
        }
    }

    fn json(&self, out: &mut String) {
        match &self.0 {
            None => out.push_str("null"),
            Some(text) => text.json(out),
        }
    }

    fn pointer(value: Option<&Self>, out: &mut String) {
        match value {
            Some(time) => time.plain(out),
            None => out.push_str("<nil>"),
        }
    }
}

/// Tells whether text has the form of RFC 3339, such as `2024-01-02T03:04:05Z`.
pub(super) fn is_rfc3339(text: &str) -> bool {
    let Some((date, time)) = text.split_once('T') else {
        return false;
    };
    let (clock, zone) = match time.find(['Z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => return false,
    };
    let seconds = clock.split_once('.').map_or(clock, |(seconds, _)| seconds);
    let fraction_is_digits = clock.split_once('.').is_none_or(|(_, fraction)| {
        !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit())
    });
    numbers(date, '-', &[4, 2, 2]).is_some_and(|parts| is_day(&parts))
        && numbers(seconds, ':', &[2, 2, 2])
            .is_some_and(|parts| parts.iter().zip([23, 59, 59]).all(|(part, limit)| *part <= limit))
        && fraction_is_digits
        && (zone == "Z"
            || numbers(zone.get(1..).unwrap_or_default(), ':', &[2, 2])
                .is_some_and(|parts| parts.iter().zip([24, 60]).all(|(part, limit)| *part <= limit)))
}

fn numbers(text: &str, separator: char, widths: &[usize]) -> Option<Vec<u32>> {
    let parts: Vec<&str> = text.split(separator).collect();
    let fits = parts.len() == widths.len()
        && parts
            .iter()
            .zip(widths)
            .all(|(part, width)| part.len() == *width && part.bytes().all(|byte| byte.is_ascii_digit()));
    fits.then(|| parts.iter().filter_map(|part| part.parse().ok()).collect())
}

fn is_day(parts: &[u32]) -> bool {
    let [year, month, day] = parts[..] else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    (1..=last).contains(&day)
}

/// What Go says of text that is no time; it names the part that it stumbled over, here always the first.
pub(super) fn time_fault(text: &str) -> String {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    let quoted = gotemplate::format::quoted(text);
    format!(
        "parsing time {quoted} as {}: cannot parse {quoted} as {}",
        gotemplate::format::quoted(LAYOUT),
        gotemplate::format::quoted("2006")
    )
}

/// Who owns an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OwnerReference {
    api_version: String,
    kind: String,
    name: String,
    uid: String,
    controller: Option<bool>,
    block_owner_deletion: Option<bool>,
}
goyaml::go_struct!(OwnerReference, "v1.OwnerReference", {
    "apiVersion" => api_version, "kind" => kind, "name" => name, "uid" => uid,
    "controller" => controller, "blockOwnerDeletion" => block_owner_deletion,
});

impl Printed for OwnerReference {
    fn plain(&self, out: &mut String) {
        let fields = [&self.api_version, &self.kind, &self.name, &self.uid];
        out.push('{');
        for field in fields {
            field.plain(out);
            out.push(' ');
        }
        self.controller.plain(out);
        out.push(' ');
        self.block_owner_deletion.plain(out);
        out.push('}');
    }

    fn json(&self, out: &mut String) {
        let mut separator = '{';
        for (name, value) in [
            ("apiVersion", &self.api_version),
            ("kind", &self.kind),
            ("name", &self.name),
            ("uid", &self.uid),
        ] {
            out.push(separator);
            name.to_owned().json(out);
            out.push(':');
            value.json(out);
            separator = ',';
        }
        for (name, value) in [
            ("controller", self.controller),
            ("blockOwnerDeletion", self.block_owner_deletion),
        ] {
            if let Some(value) = value {
                out.push(',');
                name.to_owned().json(out);
                out.push(':');
                value.json(out);
            }
        }
        out.push('}');
    }
}

/// Who manages which fields of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ManagedFields {
    manager: String,
    operation: String,
    api_version: String,
    time: Option<Time>,
    fields_type: String,
    fields: Option<Value>,
    subresource: String,
}
goyaml::go_struct!(ManagedFields, "v1.ManagedFieldsEntry", {
    "manager" => manager, "operation" => operation, "apiVersion" => api_version, "time" => time,
    "fieldsType" => fields_type, "fieldsV1" => fields, "subresource" => subresource,
});
printed_struct!(ManagedFields, {
    "manager" => manager, "operation" => operation, "apiVersion" => api_version, "time" => time,
    "fieldsType" => fields_type, "fieldsV1" => fields, "subresource" => subresource,
});

/// The metadata of an object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ObjectMetadata {
    pub(super) name: String,
    generate_name: String,
    namespace: String,
    self_link: String,
    uid: String,
    resource_version: String,
    generation: i64,
    creation_timestamp: Time,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
    owner_references: Vec<OwnerReference>,
    finalizers: Vec<String>,
    managed_fields: Vec<ManagedFields>,
}
goyaml::go_struct!(ObjectMetadata, "v1.ObjectMeta", {
    "name" => name, "generateName" => generate_name, "namespace" => namespace, "selfLink" => self_link,
    "uid" => uid, "resourceVersion" => resource_version, "generation" => generation,
    "creationTimestamp" => creation_timestamp, "deletionTimestamp" => deletion_timestamp,
    "deletionGracePeriodSeconds" => deletion_grace_period_seconds, "labels" => labels,
    "annotations" => annotations, "ownerReferences" => owner_references, "finalizers" => finalizers,
    "managedFields" => managed_fields,
});
printed_struct!(ObjectMetadata, {
    "name" => name, "generateName" => generate_name, "namespace" => namespace, "selfLink" => self_link,
    "uid" => uid, "resourceVersion" => resource_version, "generation" => generation,
    "creationTimestamp" => creation_timestamp, "deletionTimestamp" => deletion_timestamp,
    "deletionGracePeriodSeconds" => deletion_grace_period_seconds, "labels" => labels,
    "annotations" => annotations, "ownerReferences" => owner_references, "finalizers" => finalizers,
    "managedFields" => managed_fields,
});

impl ObjectMetadata {
    /// Reads what fits of the metadata of an object that has no type, and leaves out the rest.
    pub(super) fn of_untyped(object: &Value) -> Self {
        let metadata = &object["metadata"];
        let text = |key: &str| metadata[key].as_str().unwrap_or_default().to_owned();
        // One value that isn't text makes Kubernetes forget the whole map.
        let texts = |key: &str| -> BTreeMap<String, String> {
            metadata[key]
                .as_object()
                .and_then(|entries| {
                    entries
                        .iter()
                        .map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
                        .collect()
                })
                .unwrap_or_default()
        };
        Self {
            name: text("name"),
            generate_name: text("generateName"),
            namespace: text("namespace"),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            labels: texts("labels"),
            annotations: texts("annotations"),
            owner_references: metadata["ownerReferences"]
                .as_array()
                .map(|items| {
                    items
                        .iter()
                        .filter(|item| item.is_object())
                        .map(OwnerReference::of_untyped)
                        .collect()
                })
                .unwrap_or_default(),
            finalizers: metadata["finalizers"]
                .as_array()
                .and_then(|items| {
                    items
                        .iter()
                        .map(|item| item.as_str().map(str::to_owned))
                        .collect()
                })
                .unwrap_or_default(),
            ..Self::default()
        }
    }

    /// What is wrong with the metadata of an object that is in no namespace; `name_faults` judges its name.
    pub(super) fn faults(&self, name_faults: impl Fn(&str) -> Vec<String>) -> Vec<FieldError> {
        let mut faults = Vec::new();
        if !self.generate_name.is_empty() {
            faults.extend(
                name_faults(&self.generate_name)
                    .into_iter()
                    .map(|fault| FieldError::invalid("metadata.generateName", &self.generate_name, fault)),
            );
        }
        if self.name.is_empty() {
            faults.push(FieldError::required(
                "metadata.name",
                "name or generateName is required",
            ));
        } else {
            faults.extend(
                name_faults(&self.name)
                    .into_iter()
                    .map(|fault| FieldError::invalid("metadata.name", &self.name, fault)),
            );
        }
        if !self.namespace.is_empty() {
            faults.push(FieldError::forbidden(
                "metadata.namespace",
                "not allowed on this type",
            ));
        }
        if self.generation < 0 {
            faults.push(FieldError::invalid_value(
                "metadata.generation",
                &self.generation,
                "must be greater than or equal to 0",
            ));
        }
        for (key, value) in &self.labels {
            faults.extend(
                names::label_key(key)
                    .into_iter()
                    .map(|fault| FieldError::invalid("metadata.labels", key, fault)),
            );
            faults.extend(
                names::label_value(value)
                    .into_iter()
                    .map(|fault| FieldError::invalid("metadata.labels", value, fault)),
            );
        }
        self.annotation_faults(&mut faults);
        self.owner_faults(&mut faults);
        self.finalizer_faults(&mut faults);
        self.manager_faults(&mut faults);
        faults
    }

    fn annotation_faults(&self, faults: &mut Vec<FieldError>) {
        for key in self.annotations.keys() {
            faults.extend(
                names::label_key(&key.to_lowercase())
                    .into_iter()
                    .map(|fault| FieldError::invalid("metadata.annotations", key, fault)),
            );
        }
        let bytes: usize = self
            .annotations
            .iter()
            .map(|(key, value)| key.len() + value.len())
            .sum();
        if bytes > MAXIMUM_ANNOTATION_BYTES {
            faults.push(FieldError::too_long(
                "metadata.annotations",
                MAXIMUM_ANNOTATION_BYTES,
            ));
        }
    }

    fn owner_faults(&self, faults: &mut Vec<FieldError>) {
        const FIELD: &str = "metadata.ownerReferences";
        let mut first_controller = None;
        for owner in &self.owner_references {
            owner.faults(FIELD, faults);
            if owner.controller != Some(true) {
                continue;
            }
            let name = format!("{}/{}", owner.kind, owner.name);
            match &first_controller {
                None => first_controller = Some(name),
                Some(first) => faults.push(FieldError::invalid_value(
                    FIELD,
                    &self.owner_references,
                    format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} \
                         and {name}"
                    ),
                )),
            }
        }
    }

    fn finalizer_faults(&self, faults: &mut Vec<FieldError>) {
        const FIELD: &str = "metadata.finalizers";
        for finalizer in &self.finalizers {
            faults.extend(
                names::label_key(finalizer)
                    .into_iter()
                    .map(|fault| FieldError::invalid(FIELD, finalizer, fault)),
            );
        }
        let has = |name: &str| self.finalizers.iter().any(|finalizer| finalizer == name);
        if has("orphan") && has("foregroundDeletion") {
            faults.push(FieldError::invalid_value(
                FIELD,
                &self.finalizers,
                "finalizer orphan and foregroundDeletion cannot be both set",
            ));
        }
    }

    fn manager_faults(&self, faults: &mut Vec<FieldError>) {
        for (index, entry) in self.managed_fields.iter().enumerate() {
            let field = format!("metadata.managedFields[{index}]");
            if !matches!(entry.operation.as_str(), "Apply" | "Update") {
                faults.push(FieldError::invalid_value(
                    format!("{field}.operation"),
                    &entry.operation,
                    "must be `Apply` or `Update`",
                ));
            }
            if !entry.fields_type.is_empty() && entry.fields_type != "FieldsV1" {
                faults.push(FieldError::invalid(
                    format!("{field}.fieldsType"),
                    &entry.fields_type,
                    "must be `FieldsV1`",
                ));
            }
            if entry.manager.len() > MAXIMUM_MANAGER_BYTES {
                faults.push(FieldError::too_long(
                    format!("{field}.manager"),
                    MAXIMUM_MANAGER_BYTES,
                ));
            }
            for (at, character) in entry.manager.char_indices() {
                if !is_print(character) {
                    faults.push(FieldError::invalid(
                        format!("{field}.manager"),
                        &entry.manager,
                        format!(
                            "invalid character U+{:04X} (at position {at})",
                            u32::from(character)
                        ),
                    ));
                }
            }
            if entry.subresource.len() > MAXIMUM_SUBRESOURCE_BYTES {
                faults.push(FieldError::too_long(
                    format!("{field}.subresource"),
                    MAXIMUM_SUBRESOURCE_BYTES,
                ));
            }
        }
    }
}

impl OwnerReference {
    fn of_untyped(value: &Value) -> Self {
        let text = |key: &str| value[key].as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            controller: value["controller"].as_bool(),
            block_owner_deletion: value["blockOwnerDeletion"].as_bool(),
        }
    }

    fn faults(&self, field: &str, faults: &mut Vec<FieldError>) {
        // Only one slash parts group and version; with more, neither is known.
        let (group, version, kind) = match self.api_version.split('/').collect::<Vec<_>>()[..] {
            [version] => ("", version, self.kind.as_str()),
            [group, version] => (group, version, self.kind.as_str()),
            _ => ("", "", self.kind.as_str()),
        };
        if version.is_empty() {
            faults.push(FieldError::invalid(
                format!("{field}.apiVersion"),
                &self.api_version,
                "version must not be empty",
            ));
        }
        for (name, value) in [("kind", kind), ("name", &self.name), ("uid", &self.uid)] {
            if value.is_empty() {
                faults.push(FieldError::invalid(
                    format!("{field}.{name}"),
                    value,
                    "must not be empty",
                ));
            }
        }
        if (group, version, kind) == ("", "v1", "Event") {
            faults.push(FieldError::invalid_value(
                field,
                self,
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_is_checked_and_printed_as_upstream_does() {
        let metadata: ObjectMetadata = goyaml::typed::decode(&json!({
            "name": "s", "namespace": "Bad_NS", "labels": {"bad key!": "x"}, "finalizers": ["orphan", "foregroundDeletion"],
        }))
        .expect("metadata");
        assert_eq!(
            metadata.to_plain(),
            "{s  Bad_NS    0 0001-01-01 00:00:00 +0000 UTC <nil> <nil> map[bad key!:x] map[] [] \
             [orphan foregroundDeletion] []}"
        );
        let faults: Vec<String> = metadata
            .faults(|_| Vec::new())
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert_eq!(
            faults[2],
            "metadata.finalizers: Invalid value: [\"orphan\",\"foregroundDeletion\"]: finalizer orphan and \
             foregroundDeletion cannot be both set"
        );
    }

    #[test]
    fn times_must_be_those_of_rfc_3339() {
        for good in ["2024-02-29T00:00:00Z", "2024-01-02T03:04:05.5+01:00"] {
            assert!(is_rfc3339(good), "{good}");
        }
        for bad in [
            "",
            "2024-01-02",
            "2023-02-29T00:00:00Z",
            "2024-01-02T24:00:00Z",
            "2024-01-02T03:04:05",
        ] {
            assert!(!is_rfc3339(bad), "{bad}");
        }
    }
}
