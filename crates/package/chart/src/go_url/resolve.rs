//! What a reference means where another address is the base.

use super::Url;

impl Url {
    /// Returns the address without its fragment.
    pub(crate) fn without_fragment(&self) -> Url {
        Url {
            fragment: Vec::new(),
            written_fragment: None,
            ..self.clone()
        }
    }

    /// Returns the address that `reference` means where this one is the base.
    pub(crate) fn resolve(&self, reference: &Url) -> Url {
        let mut url = reference.clone();
        if reference.scheme.is_empty() {
            url.scheme.clone_from(&self.scheme);
        }
        if !reference.scheme.is_empty() || !reference.host.is_empty() || reference.user.is_some() {
            url.set_resolved_path(&reference.encoded_path(), b"");
            return url;
        }
        if !reference.opaque.is_empty() {
            return url;
        }
        if reference.path.is_empty() {
            if !reference.has_empty_query && reference.query.is_empty() {
                url.query.clone_from(&self.query);
                if reference.fragment.is_empty() {
                    url.fragment.clone_from(&self.fragment);
                    url.written_fragment.clone_from(&self.written_fragment);
                }
            }
            if !self.opaque.is_empty() {
                url.opaque.clone_from(&self.opaque);
                return url;
            }
        }
        url.host.clone_from(&self.host);
        url.user.clone_from(&self.user);
        url.set_resolved_path(&self.encoded_path(), &reference.encoded_path());
        url
    }

    fn set_resolved_path(&mut self, base: &[u8], reference: &[u8]) {
        // Both were decoded before; what is made of their segments can be decoded as well.
        let _ = self.set_path(&resolve_path(base, reference));
    }
}

/// Joins a path to its base and resolves `.` and `..`; what comes out starts with a slash unless it is empty.
fn resolve_path(base: &[u8], reference: &[u8]) -> Vec<u8> {
    let directory = match reference {
        [] => base,
        [b'/', ..] => &[],
        _ => &base[..base.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1)],
    };
    let full = [directory, reference].concat();
    if full.is_empty() {
        return full;
    }
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut ends_in_directory = false;
    for segment in full.split(|byte| *byte == b'/') {
        ends_in_directory = matches!(segment, b"." | b"..");
        match segment {
            b"." if segments.is_empty() => segments.push(b""),
            b"." => {}
            b".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    if ends_in_directory {
        segments.push(b"");
    }
    let joined = segments.join(&b'/');
    if joined.starts_with(b"/") {
        joined
    } else {
        [b"/", joined.as_slice()].concat()
    }
}
