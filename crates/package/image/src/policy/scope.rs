//! Scopes: the parts of an image's name that a policy or a signature store may be configured for.

use crate::reference::Reference;

/// The scopes that an image lies in, the narrowest first: the image itself, its repository, the namespaces above it,
/// its registry, and the domains that the registry belongs to.
pub(super) fn scopes(reference: &Reference) -> Vec<String> {
    let mut scopes = vec![super::identity::versioned(reference).to_string()];
    let name = reference.name();
    let mut prefix = Some(name.as_str());
    while let Some(scope) = prefix {
        if scopes.first().is_none_or(|first| first != scope) {
            scopes.push(scope.to_owned());
        }
        prefix = scope.rsplit_once('/').map(|(shorter, _)| shorter);
    }
    let mut host = reference.registry().split(':').next().unwrap_or_default();
    while let Some((_, domain)) = host.split_once('.') {
        scopes.push(format!("*.{domain}"));
        host = domain;
    }
    scopes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_widen_from_the_image_to_the_top_level_domain() {
        let reference = Reference::parse("a.example.com:5000/team/app:1").expect("a reference");
        assert_eq!(
            scopes(&reference),
            [
                "a.example.com:5000/team/app:1",
                "a.example.com:5000/team/app",
                "a.example.com:5000/team",
                "a.example.com:5000",
                "*.example.com",
                "*.com",
            ]
        );
    }
}
