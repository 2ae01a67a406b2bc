//! Objects whose schema isn't one of OLM's own: what they may be called, so that they can be asked for.

/// How schema and package of such an object must look.
const PATTERN: &str = "^[a-zA-Z0-9][a-zA-Z0-9._-]*$";

/// Checks the schema and the package of such an object, or of a question for some; the package may be empty.
pub(crate) fn check(schema: &str, package: &str) -> Result<(), String> {
    check_part("schema", schema)?;
    if package.is_empty() {
        return Ok(());
    }
    check_part("packageName", package)
}

fn check_part(part: &str, text: &str) -> Result<(), String> {
    let Some(first) = text.bytes().next() else {
        return Err(format!("invalid {part}: must not be empty"));
    };
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if first.is_ascii_alphanumeric() && text.bytes().all(is_inner) {
        Ok(())
    } else {
        let quoted = gotemplate::format::quoted(text);
        Err(format!("invalid {part} {quoted}: must match {PATTERN}"))
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        assert_eq!(check("custom.schema", ""), Ok(()));
        assert_eq!(check("custom.schema", "a-b_c.d"), Ok(()));
        assert_eq!(check("", "p").unwrap_err(), "invalid schema: must not be empty");
        assert_eq!(
            check("../x", "").unwrap_err(),
            "invalid schema \"../x\": must match ^[a-zA-Z0-9][a-zA-Z0-9._-]*$"
        );
        assert_eq!(
            check("a", "b/c").unwrap_err(),
            "invalid packageName \"b/c\": must match ^[a-zA-Z0-9][a-zA-Z0-9._-]*$"
        );
    }
}
