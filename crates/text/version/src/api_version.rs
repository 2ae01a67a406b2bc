//! The versions of Kubernetes APIs: `v1`, `v1beta1`, `v2alpha3`.

use std::cmp::Ordering;

/// Orders versions of an API as discovery lists them: stable before beta before alpha, newer before older, anything
/// else last by name.
pub fn api_version_priority(one: &str, other: &str) -> Ordering {
    match (parse(one), parse(other)) {
        (Some(one), Some(other)) => other.cmp(&one),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => one.cmp(other),
    }
}

/// Returns how stable a version is, and its two numbers.
fn parse(version: &str) -> Option<(u8, i64, i64)> {
    let rest = version.strip_prefix('v')?;
    let end = rest
        .find(|character: char| !character.is_ascii_digit())
        .unwrap_or(rest.len());
    let (major, stage) = rest.split_at(end);
    let (stability, minor) = if stage.is_empty() {
        (2, "0")
    } else if let Some(minor) = stage.strip_prefix("beta") {
        (1, minor)
    } else {
        (0, stage.strip_prefix("alpha")?)
    };
    Some((stability, number(major)?, number(minor)?))
}

/// Reads digits; signs are none.
fn number(digits: &str) -> Option<i64> {
    let digits = digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(digits)?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_listed_from_the_most_stable_and_newest() {
        let mut versions = [
            "foo10",
            "v1beta1",
            "v11alpha2",
            "v10",
            "v3beta1",
            "v1",
            "v1beta",
            "v12alpha1",
            "v2",
            "foo1",
            "v+3",
        ];
        versions.sort_by(|one, other| api_version_priority(one, other));
        let expected = [
            "v10",
            "v2",
            "v1",
            "v3beta1",
            "v1beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v+3",
            "v1beta",
        ];
        assert_eq!(versions, expected);
    }
}
