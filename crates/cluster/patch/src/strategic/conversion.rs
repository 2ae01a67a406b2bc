//! What the real server says where the result of a strategic merge patch doesn't fit its type: it doesn't read JSON
//! there, but converts maps to structs, and has other words for the same faults.

/// Returns the words of the conversion for a fault that the reader of JSON found, such as `json: cannot unmarshal object
/// into Go struct field PodSpec.spec.containers of type []v1.Container`. Other faults are told alike.
pub fn conversion_error(of_json: &str) -> String {
    translated(of_json).unwrap_or_else(|| of_json.to_owned())
}

fn translated(of_json: &str) -> Option<String> {
    let (given, field) = of_json
        .strip_prefix("json: cannot unmarshal ")?
        .split_once(" into Go struct field ")?;
    let (field, wanted) = field.rsplit_once(" of type ")?;
    // Times and the like read themselves from JSON, without knowing in which field they are.
    if is_instant(field) {
        return Some(format!(
            "json: cannot unmarshal {given} into Go value of type {wanted}"
        ));
    }
    let given = given_kind(given);
    if wanted.starts_with("[]") {
        return Some(format!("cannot restore slice from {given}"));
    }
    if wanted.starts_with("map[") {
        return Some(format!("cannot restore map from {given}"));
    }
    if is_struct(wanted) {
        return Some(format!("cannot restore struct from: {given}"));
    }
    let underlying = if wanted.contains('.') { "string" } else { wanted };
    let is_number = underlying.starts_with("int") || underlying.starts_with("uint");
    let convertible = match given {
        "int64" => underlying == "string" || is_number,
        "float64" => is_number,
        _ => false,
    };
    Some(if convertible {
        format!("cannot convert {given} to {wanted}")
    } else {
        format!("unrecognized type: {underlying}")
    })
}

fn is_instant(field: &str) -> bool {
    field
        .rsplit('.')
        .next()
        .is_some_and(|name| name.ends_with("Timestamp") || name.ends_with("Time"))
}

/// Returns the kind of the Go value that a JSON value is held in.
fn given_kind(given: &str) -> &'static str {
    match given {
        "object" => "map",
        "array" => "slice",
        "string" => "string",
        "bool" => "bool",
        other => match other.strip_prefix("number ") {
            Some(digits) if digits.contains(['.', 'e', 'E']) => "float64",
            _ => "int64",
        },
    }
}

/// Returns whether a Go type, such as `v1.PodSpec`, is a struct and not a text with a name.
fn is_struct(wanted: &str) -> bool {
    wanted.contains('.')
        && schema::builtin::names().any(|name| {
            name.strip_suffix(wanted)
                .is_some_and(|before| before.ends_with('.'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_in_the_words_of_the_conversion() {
        for (of_json, expected) in [
            (
                "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
                "cannot restore slice from map",
            ),
            (
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type map[string]string",
                "cannot restore map from int64",
            ),
            (
                "json: cannot unmarshal number into Go struct field Deployment.metadata of type v1.ObjectMeta",
                "cannot restore struct from: int64",
            ),
            (
                "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
                "cannot convert float64 to int32",
            ),
            (
                "json: cannot unmarshal bool into Go struct field DeploymentSpec.spec.replicas of type int32",
                "unrecognized type: int32",
            ),
            (
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string",
                "cannot convert int64 to string",
            ),
            (
                "json: cannot unmarshal number into Go struct field PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy",
                "cannot convert int64 to v1.RestartPolicy",
            ),
            (
                "json: cannot unmarshal array into Go struct field PodSpec.spec.template.spec.restartPolicy of type v1.RestartPolicy",
                "unrecognized type: string",
            ),
            (
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.paused of type bool",
                "unrecognized type: bool",
            ),
            (
                "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
                "json: cannot unmarshal number into Go value of type string",
            ),
            (
                "illegal base64 data at input byte 0",
                "illegal base64 data at input byte 0",
            ),
        ] {
            assert_eq!(conversion_error(of_json), expected, "{of_json}");
        }
    }
}
