//! Whether an image is pulled again each time, which depends on its name.

use std::sync::LazyLock;

use regex::Regex;

/// The longest name of a repository that is taken for one.
const LONGEST_REPOSITORY: usize = 255;

/// A reference to an image: a host with a port, the path of the repository, a tag, a digest.
static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let component = "[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*";
    Regex::new(&format!(
        r"^((?:(?:{label}(?:\.{label})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?/)?{component}(?:/{component})*)(?::([\w][\w.-]{{0,127}}))?(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{{32,}}))?$"
    ))
    .ok()
});

/// Returns the pull policy of an image for which none is written: images tagged `latest`, also silently, change.
pub(super) fn pull_policy(image: &str) -> &'static str {
    if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    }
}

fn is_latest(image: &str) -> bool {
    // The common forms are told apart without the regular expression.
    if let Some((repository, tag)) = image.rsplit_once(':')
        && !tag.contains(['/', '@'])
        && tag != "latest"
        && !repository.contains('@')
    {
        return false;
    }
    let is_identifier = image.len() == 64
        && image
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    if is_identifier {
        return false;
    }
    let Some(parts) = REFERENCE.as_ref().and_then(|reference| reference.captures(image)) else {
        return false;
    };
    if parts.get(1).is_some_and(|name| name.len() > LONGEST_REPOSITORY) {
        return false;
    }
    match (parts.get(2), parts.get(3)) {
        (Some(tag), _) => tag.as_str() == "latest",
        (None, digest) => digest.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn images_that_may_change_are_pulled_always() {
        for (image, policy) in [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("localhost:5000/nginx", "Always"),
            ("localhost:5000/nginx:1", "IfNotPresent"),
            ("registry.example.com/a/b", "Always"),
            (
                "nginx@sha256:0123456789012345678901234567890123456789012345678901234567890123",
                "IfNotPresent",
            ),
            (
                "nginx:latest@sha256:0123456789012345678901234567890123456789012345678901234567890123",
                "Always",
            ),
            ("", "IfNotPresent"),
            ("NGINX", "IfNotPresent"),
            ("a b", "IfNotPresent"),
            ("nginx:", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
