//! Slash-separated paths; the `os` names mean the same, as Helm's files always have slashes.

use gotemplate::{Function, Type, Value};

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("base", &[Type::String], |call| {
        Ok(Value::string(base(&call.text(0))))
    }),
    Function::new("osBase", &[Type::String], |call| {
        Ok(Value::string(base(&call.text(0))))
    }),
    Function::new("dir", &[Type::String], |call| {
        Ok(Value::string(dir(&call.text(0))))
    }),
    Function::new("osDir", &[Type::String], |call| {
        Ok(Value::string(dir(&call.text(0))))
    }),
    Function::new("clean", &[Type::String], |call| {
        Ok(Value::string(clean(&call.text(0))))
    })
    .heavy(),
    Function::new("osClean", &[Type::String], |call| {
        Ok(Value::string(clean(&call.text(0))))
    })
    .heavy(),
    Function::new("ext", &[Type::String], |call| {
        Ok(Value::string(ext(&call.text(0))))
    }),
    Function::new("osExt", &[Type::String], |call| {
        Ok(Value::string(ext(&call.text(0))))
    }),
    Function::new("isAbs", &[Type::String], |call| {
        Ok(Value::Bool(call.text(0).starts_with(b"/")))
    }),
    Function::new("osIsAbs", &[Type::String], |call| {
        Ok(Value::Bool(call.text(0).starts_with(b"/")))
    }),
];

/// Returns the last element, without slashes at its end.
fn base(path: &[u8]) -> &[u8] {
    if path.is_empty() {
        return b".";
    }
    let end = path
        .iter()
        .rposition(|&byte| byte != b'/')
        .map_or(0, |last| last + 1);
    let (trimmed, _) = path.split_at(end);
    let last = trimmed.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    if last.is_empty() { b"/" } else { last }
}

/// Returns all but the last element.
fn dir(path: &[u8]) -> Vec<u8> {
    let end = path
        .iter()
        .rposition(|&byte| byte == b'/')
        .map_or(0, |slash| slash + 1);
    clean(path.split_at(end).0)
}

/// Returns the shortest path that means the same, by its words alone.
fn clean(path: &[u8]) -> Vec<u8> {
    let rooted = path.starts_with(b"/");
    let mut elements: Vec<&[u8]> = Vec::new();
    for element in path.split(|&byte| byte == b'/') {
        match element {
            b"" | b"." => {}
            b".." => match elements.last() {
                Some(&last) if last != b".." => {
                    elements.pop();
                }
                _ if rooted => {}
                _ => elements.push(element),
            },
            _ => elements.push(element),
        }
    }
    let mut out = if rooted { b"/".to_vec() } else { Vec::new() };
    out.extend(elements.join(&b"/"[..]));
    if out.is_empty() { b".".to_vec() } else { out }
}

/// Returns the last element from its last dot on.
fn ext(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|&byte| byte == b'.' || byte == b'/') {
        Some(at) if path.get(at) == Some(&b'.') => path.split_at(at).1,
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_as_go_does() {
        for (path, want_base, want_dir, want_clean, want_extension) in [
            ("", ".", ".", ".", ""),
            ("/", "/", "/", "/", ""),
            ("//", "/", "/", "/", ""),
            ("foo.bar", "foo.bar", ".", "foo.bar", ".bar"),
            ("foo/bar.tar.gz", "bar.tar.gz", "foo", "foo/bar.tar.gz", ".gz"),
            ("/foo/../bar/", "bar", "/bar", "/bar", ""),
            ("/foo//", "foo", "/foo", "/foo", ""),
            ("../../a/..", "..", "../../a", "../..", "."),
            ("/../a", "a", "/", "/a", ""),
            ("a/./b/..", "..", "a/b", "a", "."),
            ("./", ".", ".", ".", ""),
            ("a.b/c", "c", "a.b", "a.b/c", ""),
        ] {
            let bytes = path.as_bytes();
            let got = (
                base(bytes).to_vec(),
                dir(bytes),
                clean(bytes),
                ext(bytes).to_vec(),
            );
            let got = [got.0, got.1, got.2, got.3].map(|part| String::from_utf8_lossy(&part).into_owned());
            assert_eq!(got, [want_base, want_dir, want_clean, want_extension], "{path}");
        }
    }
}
