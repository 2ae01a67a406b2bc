//! What a package may be called.

/// The longest label of a DNS name.
const MAX_LABEL_BYTES: usize = 63;

/// Kubernetes' words for a name that is no DNS label; none for one that is.
pub(super) fn problems(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > MAX_LABEL_BYTES {
        problems.push(format!("must be no more than {MAX_LABEL_BYTES} characters"));
    }
    if !is_label(name) {
        problems.push(if name.split('.').all(is_label) {
            "must not contain dots".to_owned()
        } else {
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
             and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
             '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
                .to_owned()
        });
    }
    problems
}

fn is_label(text: &str) -> bool {
    let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(is_alphanumeric)
        && bytes.last().is_some_and(is_alphanumeric)
        && bytes.iter().all(|byte| is_alphanumeric(byte) || *byte == b'-')
}
