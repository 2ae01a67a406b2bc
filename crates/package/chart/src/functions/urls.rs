//! Functions that take URLs apart and put them together; and names of hosts.

use gotemplate::{Failure, Function, Map, Text, Type, Value};

use crate::go_url::{Url, UserInfo};

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("urlParse", &[Type::String], |call| {
        let url = Url::parse(call.text(0)).map_err(|error| format!("unable to parse url: {error}"))?;
        let userinfo = url.user.as_ref().map(UserInfo::to_text).unwrap_or_default();
        let hostname = url.hostname().to_vec();
        Ok(Value::map([
            ("scheme", Value::string(url.scheme)),
            ("host", Value::string(url.host)),
            ("hostname", Value::string(hostname)),
            ("path", Value::string(url.path)),
            ("query", Value::string(url.query)),
            ("opaque", Value::string(url.opaque)),
            ("fragment", Value::string(url.fragment)),
            ("userinfo", Value::string(userinfo)),
        ]))
    })
    .heavy(),
    Function::new("urlJoin", &[Type::Map], |call| {
        let parts = call.map(0);
        let part = |key: &str| part_of(parts.as_ref(), key);
        let mut url = Url::default();
        url.scheme = part("scheme")?.to_vec();
        url.host = part("host")?.to_vec();
        url.path = part("path")?.to_vec();
        url.query = part("query")?.to_vec();
        url.opaque = part("opaque")?.to_vec();
        url.fragment = part("fragment")?.to_vec();
        let userinfo = part("userinfo")?;
        if !userinfo.is_empty() {
            let whole = [b"proto://", &*userinfo, b"@host"].concat();
            url.user = Url::parse(&whole)
                .map_err(|error| format!("unable to parse userinfo in dict: {error}"))?
                .user;
        }
        Ok(Value::string(url.to_text()))
    })
    .heavy(),
    // Names of hosts are not looked up, as in Helm without `--enable-dns`: a render must not depend on the network.
    Function::new("getHostByName", &[Type::String], |_| Ok(Value::string(""))).fixed(),
];

fn part_of(parts: Option<&Map>, key: &str) -> Result<Text, Failure> {
    match parts.and_then(|parts| parts.get(key)) {
        None => Ok(Text::default()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Nil) => Err("runtime error: invalid memory address or nil pointer dereference".into()),
        Some(value) => {
            let kind = value.kind().name();
            Err(format!("unable to parse {key} key, must be of type string, but {kind} found").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn urls_are_taken_apart_and_put_together_as_in_helm() {
        check(&[
            (
                r#"{{ urlParse "http://user:p%40ss@host:80/p%20a/th?q=1&r=2#fr%20ag" | toJson }}"#,
                Ok(
                    r#"{"fragment":"fr ag","host":"host:80","hostname":"host","opaque":"","path":"/p a/th","query":"q=1\u0026r=2","scheme":"http","userinfo":"user:p%40ss"}"#,
                ),
            ),
            (
                r#"{{ urlParse "//host/path" | toJson }}{{ urlParse "mailto:a@b.c?x=y" | toJson }}{{ urlParse "/a/b?c" | toJson }}{{ urlParse "" | toJson }}{{ urlParse "*" | toJson }}{{ urlParse "http://[::1%25eth0]:8080/x" | toJson }}{{ urlParse "HTTP://A.b/?" | toJson }}"#,
                Ok(
                    r#"{"fragment":"","host":"host","hostname":"host","opaque":"","path":"/path","query":"","scheme":"","userinfo":""}{"fragment":"","host":"","hostname":"","opaque":"a@b.c","path":"","query":"x=y","scheme":"mailto","userinfo":""}{"fragment":"","host":"","hostname":"","opaque":"","path":"/a/b","query":"c","scheme":"","userinfo":""}{"fragment":"","host":"","hostname":"","opaque":"","path":"","query":"","scheme":"","userinfo":""}{"fragment":"","host":"","hostname":"","opaque":"","path":"*","query":"","scheme":"","userinfo":""}{"fragment":"","host":"[::1%eth0]:8080","hostname":"::1%eth0","opaque":"","path":"/x","query":"","scheme":"http","userinfo":""}{"fragment":"","host":"A.b","hostname":"A.b","opaque":"","path":"/","query":"","scheme":"http","userinfo":""}"#,
                ),
            ),
            (
                r#"{{ urlParse "http://a b.com/" }}"#,
                Err(r#"unable to parse url: parse "http://a b.com/": invalid character " " in host name"#),
            ),
            (
                r#"{{ urlParse "http://a:x/" }}"#,
                Err(r#"unable to parse url: parse "http://a:x/": invalid port ":x" after host"#),
            ),
            (
                r#"{{ urlParse ":foo" }}"#,
                Err(r#"unable to parse url: parse ":foo": missing protocol scheme"#),
            ),
            (
                r#"{{ urlParse "a:b:c/d" | toJson }}"#,
                Ok(
                    r#"{"fragment":"","host":"","hostname":"","opaque":"b:c/d","path":"","query":"","scheme":"a","userinfo":""}"#,
                ),
            ),
            (
                r#"{{ urlParse "1a:b" }}"#,
                Err(r#"unable to parse url: parse "1a:b": first path segment in URL cannot contain colon"#),
            ),
            (
                r#"{{ urlParse "http://[::1" }}"#,
                Err(r#"unable to parse url: parse "http://[::1": missing ']' in host"#),
            ),
            (
                r#"{{ urlParse "http://a/%zz" }}"#,
                Err(r#"unable to parse url: parse "http://a/%zz": invalid URL escape "%zz""#),
            ),
            (
                r#"{{ urlParse "http://a/%z" }}"#,
                Err(r#"unable to parse url: parse "http://a/%z": invalid URL escape "%z""#),
            ),
            (
                r#"{{ urlParse "http://a/#%zz" }}"#,
                Err(r#"unable to parse url: parse "http://a/#%zz": invalid URL escape "%zz""#),
            ),
            (
                r#"{{ urlParse "http://us er@a/" }}"#,
                Err(r#"unable to parse url: parse "http://us er@a/": net/url: invalid userinfo"#),
            ),
            (
                r#"{{ urlParse "http://a%20b/" }}"#,
                Err(r#"unable to parse url: parse "http://a%20b/": invalid URL escape "%20""#),
            ),
            (
                r#"{{ urlParse "http://a\u0001b/" }}"#,
                Err(
                    r#"unable to parse url: parse "http://a\x01b/": net/url: invalid control character in URL"#,
                ),
            ),
            (
                r#"{{ urlParse "http://a/é ü?é#é" | toJson }}"#,
                Ok(
                    r#"{"fragment":"é","host":"a","hostname":"a","opaque":"","path":"/é ü","query":"é","scheme":"http","userinfo":""}"#,
                ),
            ),
            (
                r#"{{ urlJoin (urlParse "http://user:p%40ss@host:80/p%20a/th?q=1&r=2#fr%20ag") }}"#,
                Ok("http://user:p%40ss@host:80/p%20a/th?q=1&r=2#fr%20ag"),
            ),
            (
                r#"{{ urlJoin (dict "scheme" "http" "host" "h" "path" "a b/c?d" "query" "x=y z" "fragment" "f g#h" "userinfo" "u:p") }}{{ urlJoin (dict) }}{{ urlJoin (dict "path" "a:b/c") }}{{ urlJoin (dict "scheme" "mailto" "opaque" "a@b") }}{{ urlJoin (dict "host" "h" "path" "p") }}{{ urlJoin (dict "scheme" "http" "path" "/p") }}{{ urlJoin (dict "userinfo" "u" "path" "/p") }}{{ urlJoin (dict "scheme" "x") }}{{ urlJoin (dict "path" "*") }}"#,
                Ok("http://u:p@h/a%20b/c%3Fd?x=y z#f%20g%23h./a:b/cmailto:a@b//h/phttp:///p//u@/px:*"),
            ),
            (
                r#"{{ urlJoin (dict "host" 1) }}"#,
                Err("unable to parse host key, must be of type string, but int found"),
            ),
            (
                r#"{{ urlJoin (dict "host" nil) }}"#,
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            (
                r#"{{ urlJoin (dict "userinfo" "a b") }}"#,
                Err(
                    r#"unable to parse userinfo in dict: parse "proto://a b@host": net/url: invalid userinfo"#,
                ),
            ),
            ("{{ urlJoin nil }}", Ok("")),
            (r#"{{ getHostByName "localhost" }}"#, Ok("")),
        ]);
    }
}
