//! How large a query may be.

use std::collections::{HashMap, HashSet};

use super::document::{Document, Operation, Selection};

/// How deep a query may go, as upstream has it.
const MAX_DEPTH: usize = 10;
/// How many aliases a query may use, as upstream has it.
const MAX_ALIASES: usize = 50;
/// How many fields a query may name, as upstream has it.
const MAX_FIELDS: usize = 500;
/// How many fragments a query may define: as many as it may have fields.
const MAX_FRAGMENTS: usize = 500;
/// How deep a query may go with every fragment in its place. Upstream looks into a fragment only where it meets it first.
const MAX_EXPANDED_DEPTH: usize = 64;

/// Checks a query against the limits; a fragment counts once in each operation.
pub(super) fn check(document: &Document) -> Result<(), String> {
    if document.fragments.len() > MAX_FRAGMENTS {
        return Err(format!("query exceeds maximum fragment count of {MAX_FRAGMENTS}"));
    }
    let mut measure = Measure {
        document,
        fields: 0,
        aliases: 0,
        seen: HashSet::new(),
    };
    document
        .operations
        .iter()
        .try_for_each(|operation| measure.operation(operation))
}

/// Checks how deep a query goes with every fragment in its place. No fragment may contain itself.
pub(super) fn check_expanded(document: &Document) -> Result<(), String> {
    let mut depths = HashMap::new();
    for operation in &document.operations {
        if expanded_depth(document, &operation.selections, &mut depths) > MAX_EXPANDED_DEPTH {
            return Err(too_deep());
        }
    }
    Ok(())
}

fn expanded_depth<'a>(
    document: &'a Document,
    selections: &'a [Selection],
    depths: &mut HashMap<&'a str, usize>,
) -> usize {
    let mut deepest = 0;
    for selection in selections {
        let depth = match selection {
            Selection::Field(field) => {
                expanded_depth(document, field.selections.as_deref().unwrap_or_default(), depths)
            }
            Selection::Inline(inline) => expanded_depth(document, &inline.selections, depths),
            Selection::Spread(spread) => {
                let name = spread.name.text.as_str();
                if let Some(known) = depths.get(name) {
                    *known
                } else {
                    let inner = document.fragment(name).map_or(&[][..], |found| &found.selections);
                    let depth = expanded_depth(document, inner, depths);
                    depths.insert(name, depth);
                    depth
                }
            }
        };
        deepest = deepest.max(depth + 1);
    }
    deepest
}

/// What is said of a query that is too deep.
pub(super) fn too_deep() -> String {
    format!("query exceeds maximum depth of {MAX_DEPTH}")
}

struct Measure<'a> {
    document: &'a Document,
    fields: usize,
    aliases: usize,
    seen: HashSet<&'a str>,
}

impl<'a> Measure<'a> {
    fn operation(&mut self, operation: &'a Operation) -> Result<(), String> {
        self.seen.clear();
        self.selections(&operation.selections, 1)
    }

    fn selections(&mut self, selections: &'a [Selection], depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        for selection in selections {
            let inner = match selection {
                Selection::Field(field) => {
                    self.fields += 1;
                    if self.fields > MAX_FIELDS {
                        return Err(format!("query exceeds maximum field count of {MAX_FIELDS}"));
                    }
                    self.aliases += usize::from(field.alias.is_some());
                    if self.aliases > MAX_ALIASES {
                        return Err(format!("query exceeds maximum alias count of {MAX_ALIASES}"));
                    }
                    field.selections.as_deref()
                }
                Selection::Inline(inline) => Some(inline.selections.as_slice()),
                Selection::Spread(spread) => {
                    if !self.seen.insert(&spread.name.text) {
                        continue;
                    }
                    self.document
                        .fragment(&spread.name.text)
                        .map(|fragment| fragment.selections.as_slice())
                }
            };
            if let Some(inner) = inner {
                self.selections(inner, depth + 1)?;
            }
        }
        Ok(())
    }
}
