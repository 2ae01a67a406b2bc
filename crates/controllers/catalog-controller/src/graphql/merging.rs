//! Whether fields that get the same key in the answer can be one.

use std::collections::{BTreeMap, HashSet};

use super::document::{Document, Field, Selection};
use super::types::{QUERY, Types};

/// How many pairs of fields are compared: more than any query within the limits needs, unless it was made to be slow.
const MAX_COMPARISONS: usize = 200_000;

/// Two fields that want the same key for different things.
pub(super) struct Conflict {
    pub(super) positions: Vec<usize>,
    pub(super) message: String,
}

/// Finds the fields that can't be merged. The document's fragments must not contain themselves.
pub(super) fn conflicts(document: &Document, types: &Types) -> Vec<Conflict> {
    let mut comparison = Comparison {
        document,
        types,
        left: MAX_COMPARISONS,
        conflicts: Vec::new(),
    };
    for operation in &document.operations {
        comparison.within(vec![(QUERY, operation.selections.as_slice())]);
    }
    if comparison.left == 0 {
        comparison.conflicts = vec![Conflict {
            positions: Vec::new(),
            message: format!(
                "the fields of the query can be merged in more than {MAX_COMPARISONS} ways; use fewer fragments"
            ),
        }];
    }
    comparison.conflicts
}

/// Selections, and the type of what they are made of.
type Scope<'a> = (&'a str, &'a [Selection]);

struct Comparison<'a> {
    document: &'a Document,
    types: &'a Types,
    left: usize,
    conflicts: Vec<Conflict>,
}

/// Why two fields can't be one, and which fields on each side are to blame.
struct Difference {
    reason: String,
    first: Vec<usize>,
    second: Vec<usize>,
}

impl<'a> Comparison<'a> {
    /// Compares all fields that selections make together, and those below them.
    fn within(&mut self, scopes: Vec<Scope<'a>>) {
        for (key, fields) in self.fields(&scopes) {
            let Some(((parent, first), others)) = fields.split_first() else {
                continue;
            };
            for (other_parent, other) in others {
                if let Some(found) = self.compare((parent, first), (other_parent, other)) {
                    self.conflicts.push(Conflict {
                        positions: [found.first, found.second].concat(),
                        message: format!(
                            "Fields \"{key}\" conflict because {}. Use different aliases on the fields to fetch both if \
                             this was intentional.",
                            found.reason
                        ),
                    });
                    break;
                }
            }
            // Below the first difference everything differs, so that only what agrees is looked into.
            if self.left == 0 || !self.conflicts.is_empty() {
                return;
            }
            let inner = self.below(&fields);
            if !inner.is_empty() {
                self.within(inner);
            }
        }
    }

    fn compare(&mut self, first: (&'a str, &'a Field), second: (&'a str, &'a Field)) -> Option<Difference> {
        self.left = self.left.checked_sub(1)?;
        let ((parent, field), (other_parent, other)) = (first, second);
        let differ = |reason: String| {
            Some(Difference {
                reason,
                first: vec![field.at],
                second: vec![other.at],
            })
        };
        let (name, other_name) = (&field.name.text, &other.name.text);
        if name != other_name {
            return differ(format!("{name} and {other_name} are different fields"));
        }
        let same_arguments = field.arguments.len() == other.arguments.len()
            && field.arguments.iter().all(|argument| {
                other.arguments.iter().any(|candidate| {
                    candidate.name.text == argument.name.text
                        && candidate.value.printed() == argument.value.printed()
                })
            });
        if !same_arguments {
            return differ("they have differing arguments".to_owned());
        }
        let inner = self.below(&[(parent, field)]);
        let other_inner = self.below(&[(other_parent, other)]);
        let found = self.fields(&inner);
        let other_found = self.fields(&other_inner);
        let mut reasons = Vec::new();
        let (mut ours, mut theirs) = (vec![field.at], vec![other.at]);
        for (key, fields) in found {
            let Some(others) = other_found.get(key) else {
                continue;
            };
            let difference = fields
                .iter()
                .find_map(|field| others.iter().find_map(|other| self.compare(*field, *other)));
            if let Some(below) = difference {
                reasons.push(format!("subfields \"{key}\" conflict because {}", below.reason));
                ours.extend(below.first);
                theirs.extend(below.second);
            }
        }
        (!reasons.is_empty()).then(|| Difference {
            reason: reasons.join(" and "),
            first: ours,
            second: theirs,
        })
    }

    /// The selections below fields.
    fn below(&self, fields: &[(&'a str, &'a Field)]) -> Vec<Scope<'a>> {
        let types = self.types;
        fields
            .iter()
            .filter_map(|(parent, field)| {
                let definition = types.field_of(parent, &field.name.text)?;
                let (name, _) = types.named.get_key_value(definition.kind.name())?;
                Some((name.as_str(), field.selections.as_deref()?))
            })
            .collect()
    }

    /// The fields of selections by their key in the answer, with those of fragments.
    fn fields(&mut self, scopes: &[Scope<'a>]) -> BTreeMap<&'a str, Vec<(&'a str, &'a Field)>> {
        let mut found = BTreeMap::new();
        let mut seen = HashSet::new();
        for (parent, selections) in scopes {
            self.collect(parent, selections, &mut seen, &mut found);
        }
        found
    }

    fn collect(
        &mut self,
        parent: &'a str,
        selections: &'a [Selection],
        seen: &mut HashSet<&'a str>,
        found: &mut BTreeMap<&'a str, Vec<(&'a str, &'a Field)>>,
    ) {
        for selection in selections {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                return;
            }
            match selection {
                Selection::Field(field) => found.entry(field.key()).or_default().push((parent, field)),
                Selection::Inline(inline) => {
                    let inner = inline
                        .condition
                        .as_ref()
                        .map_or(parent, |condition| condition.text.as_str());
                    self.collect(inner, &inline.selections, seen, found);
                }
                Selection::Spread(spread) => {
                    if seen.insert(spread.name.text.as_str())
                        && let Some(fragment) = self.document.fragment(&spread.name.text)
                    {
                        self.collect(&fragment.condition.text, &fragment.selections, seen, found);
                    }
                }
            }
        }
    }
}
