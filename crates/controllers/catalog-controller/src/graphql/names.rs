//! The names that schemas and fields of a catalog have in queries.

/// The name of a field: camel case, of letters, digits and underscores, beginning with a letter.
pub fn field_name(original: &str) -> String {
    if original.is_empty() {
        return "value".to_owned();
    }
    let mut name = String::with_capacity(original.len());
    for part in words(original) {
        if !name.is_empty() {
            push_capitalized(&mut name, part);
        } else if part.bytes().all(|byte| !byte.is_ascii_lowercase()) {
            name.push_str(&part.to_ascii_lowercase());
        } else if let Some((first, rest)) = part.split_at_checked(1) {
            name.push_str(&first.to_ascii_lowercase());
            name.push_str(rest);
        }
    }
    if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        name.insert_str(0, "field_");
    }
    name
}

/// The name of the type that objects of a schema, or elements of a field, have.
pub fn type_name(original: &str) -> String {
    // Only digits at the very beginning go; those at the beginning of a later word stay.
    let trimmed = original.trim_start_matches(|first: char| first.is_ascii_digit());
    let mut name = String::with_capacity(original.len());
    for part in words(trimmed) {
        push_capitalized(&mut name, part);
    }
    if name.is_empty() {
        name.push_str("Unknown");
    }
    name
}

/// The name of the root field that lists the objects of a schema.
pub fn root_field_name(schema: &str) -> String {
    let mut name: String = schema
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    name.push('s');
    name
}

/// The parts between the characters that names can't have; all of them are ASCII, so a part can be cut anywhere.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|part| !part.is_empty())
}

fn push_capitalized(name: &mut String, part: &str) {
    if let Some((first, rest)) = part.split_at_checked(1) {
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(&rest.to_ascii_lowercase());
    }
}
