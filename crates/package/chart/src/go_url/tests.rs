//! What Go makes of addresses.

use super::Url;

/// Base, reference, and what the reference means there.
const RESOLVED: &[(&str, &str, &str)] = &[
    ("", "", ""),
    ("", "#/definitions/x", "#/definitions/x"),
    ("", "g", "/g"),
    ("", "../../g", "/g"),
    ("", "..", "/"),
    ("", "./a:b", "/a:b"),
    ("", "//g", "//g"),
    ("", "a//b/.", "/a//b/"),
    ("", "é", "/%C3%A9"),
    ("", "foo%2fbar", "/foo%2fbar"),
    ("http://a/b/c/d;p?q#f", "", "http://a/b/c/d;p?q#f"),
    ("http://a/b/c/d;p?q#f", "#s%20t", "http://a/b/c/d;p?q#s%20t"),
    ("http://a/b/c/d;p?q#f", "g", "http://a/b/c/g"),
    ("http://a/b/c/d;p?q#f", "./g/", "http://a/b/c/g/"),
    ("http://a/b/c/d;p?q#f", "/g", "http://a/g"),
    ("http://a/b/c/d;p?q#f", "//g", "http://g"),
    ("http://a/b/c/d;p?q#f", "?y", "http://a/b/c/d;p?y"),
    ("http://a/b/c/d;p?q#f", "?", "http://a/b/c/d;p?"),
    ("http://a/b/c/d;p?q#f", "../g", "http://a/b/g"),
    ("http://a/b/c/d;p?q#f", "../../../g", "http://a/g"),
    ("http://a/b/c/d;p?q#f", "g;x=1/../y", "http://a/b/c/y"),
    ("http://a/b/c/d;p?q#f", "http://x/%7e/..", "http://x/"),
    ("http://a/b/c/d;p?q#f", "http:g", "http:g"),
    ("mailto:x@y", "#s", "mailto:x@y#s"),
];

#[test]
fn references_lead_where_go_follows_them() {
    for (base, reference, expected) in RESOLVED {
        let resolved =
            Url::parse(base).and_then(|base| Ok(base.resolve(&Url::parse(reference)?).to_string()));
        assert_eq!(resolved.as_deref(), Ok(*expected), "{base} {reference}");
    }
}

#[test]
fn addresses_are_written_as_they_were_where_that_is_sound() {
    for (address, expected) in [
        ("http://u:p%40@h:1", "http://u:p%40@h:1"),
        ("http://é/ü%2fx#y%20z", "http://%C3%A9/%C3%BC/x#y%20z"),
        ("HTTP://h/%7e?#", "http://h/%7e?"),
        ("file:///x/y", "file:///x/y"),
        ("file:/x/y", "file:/x/y"),
        ("*", "*"),
    ] {
        let written = Url::parse(address).map(|url| url.to_string());
        assert_eq!(written.as_deref(), Ok(expected), "{address}");
    }
}

#[test]
fn a_request_has_an_absolute_address_or_a_path() {
    for (address, expected) in [
        ("/x", Ok("/x")),
        ("http://h/x#y", Ok("http://h/x%23y")),
        ("//h/x", Ok("//h/x")),
        ("x", Err("parse \"x\": invalid URI for request")),
        ("", Err("parse \"\": empty url")),
    ] {
        let parsed = Url::parse_request(address).map(|url| url.to_string());
        assert_eq!(parsed.as_deref().map_err(String::as_str), expected, "{address}");
    }
}

proptest::proptest! {
    #[test]
    fn no_address_panics(base in "[a-c:/?#%0-9.@\\[\\]é]{0,20}", reference in "[a-c:/?#%0-9.@é]{0,20}") {
        if let (Ok(base), Ok(reference)) = (Url::parse(base), Url::parse(reference)) {
            let _ = base.resolve(&reference).to_string();
        }
    }
}
