//! Finds what go-yaml and sigs.k8s.io/yaml refuse in a document, before anything is built from it.
//!
//! The order of the checks is the order in which Go would notice: all of decoding, then keys that JSON cannot
//! have, then numbers that JSON cannot have. Afterwards a reader may skip parts without missing an error.

use std::collections::HashSet;

use crate::error::{Error, Stage};
use crate::go_syntax;
use crate::limits::{ALIAS_RATIO_RANGE_HIGH, ALIAS_RATIO_RANGE_LOW, MAX_VALUE_DEPTH};
use crate::meaning::{KeyIdentity, effective_entries, is_merge, key_text, meaning};
use crate::options::ReadOptions;
use crate::resolve::{Scalar, special_float};
use crate::tree::{Kind, NodeId, ROOT, Tree};

/// Checks a document; a strict one may not set a key twice.
pub(crate) fn check(tree: &Tree<'_>, options: ReadOptions) -> Result<(), Error> {
    let mut decoding = Decoding {
        tree,
        strict: options.strict,
        most_steps: options.most_values,
        // Go counts the document itself as the first step.
        steps: 1,
        alias_steps: 0,
        alias_depth: 0,
        active_aliases: HashSet::new(),
        repeated_keys: Vec::new(),
        suspicious: false,
    };
    decoding.node(ROOT, 0)?;
    if !decoding.repeated_keys.is_empty() {
        return Err(Error::yaml(format_args!(
            "unmarshal errors:\n  {}",
            decoding.repeated_keys.join("\n  ")
        )));
    }
    if decoding.suspicious {
        check_keys(tree, ROOT)?;
        check_numbers(tree, ROOT)?;
    }
    Ok(())
}

/// The walk that go-yaml's decoder makes.
struct Decoding<'t> {
    tree: &'t Tree<'t>,
    strict: bool,
    /// How many keys and values there may be; each is a step.
    most_steps: Option<usize>,
    steps: usize,
    alias_steps: usize,
    alias_depth: usize,
    active_aliases: HashSet<NodeId>,
    repeated_keys: Vec<String>,
    /// Whether there is a key or a number that JSON may not have.
    suspicious: bool,
}

type Keys = HashSet<KeyIdentity>;

impl Decoding<'_> {
    fn step(&mut self, depth: usize) -> Result<(), Error> {
        if depth > MAX_VALUE_DEPTH {
            return Err(Error::yaml(format_args!(
                "exceeded max depth of {MAX_VALUE_DEPTH}"
            )));
        }
        self.steps += 1;
        if let Some(most) = self.most_steps
            // The document itself is no value.
            && self.steps - 1 > most
        {
            return Err(Error::too_many_values(most));
        }
        if self.alias_depth > 0 {
            self.alias_steps += 1;
            let ratio = self.alias_steps as f64 / self.steps as f64;
            if self.alias_steps > 100 && self.steps > 1000 && ratio > allowed_alias_ratio(self.steps) {
                return Err(Error::yaml("document contains excessive aliasing"));
            }
        }
        Ok(())
    }

    fn node(&mut self, id: NodeId, depth: usize) -> Result<(), Error> {
        self.step(depth)?;
        match self.tree.node(id).kind {
            Kind::Scalar => self.scalar(id),
            Kind::Alias => self.alias(id, |decoding, target| decoding.node(target, depth + 1)),
            Kind::Sequence => {
                for child in self.tree.children(id) {
                    self.node(child, depth + 1)?;
                }
                Ok(())
            }
            Kind::Mapping => self.mapping(id, &mut Keys::new(), depth),
        }
    }

    fn alias(
        &mut self,
        id: NodeId,
        enter: impl FnOnce(&mut Self, NodeId) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let node = self.tree.node(id);
        if !self.active_aliases.insert(id) {
            let name = self.tree.text(node);
            return Err(Error::yaml(format_args!("anchor '{name}' value contains itself")));
        }
        self.alias_depth += 1;
        enter(self, node.alias_target())?;
        self.alias_depth -= 1;
        self.active_aliases.remove(&id);
        Ok(())
    }

    #[inline]
    fn scalar(&mut self, id: NodeId) -> Result<(), Error> {
        let node = self.tree.node(id);
        if let Some(tag) = self.tree.tag(id, node) {
            // Only a tag can make a scalar impossible.
            if let Scalar::Float(number) = crate::resolve::resolve_tagged(tag, self.tree.text(node))? {
                self.suspicious |= !number.is_finite();
            }
        } else if node.implicit {
            let text = self.tree.text(node);
            if (4..=5).contains(&text.len()) && special_float(text).is_some() {
                self.suspicious = true;
            }
        }
        Ok(())
    }

    fn mapping(&mut self, id: NodeId, keys: &mut Keys, depth: usize) -> Result<(), Error> {
        for (key, value) in self.tree.pairs(id) {
            let key_node = self.tree.node(key);
            if is_merge(self.tree, key, key_node) {
                self.merge(value, keys, depth)?;
                continue;
            }
            self.node(key, depth + 1)?;
            let key = self.tree.resolve_alias(key);
            if self.tree.node(key).kind != Kind::Scalar {
                return Err(Error::yaml(format_args!(
                    "invalid map key: {}",
                    go_syntax::node(self.tree, key)
                )));
            }
            self.node(value, depth + 1)?;
            self.set_key(key, value, keys)?;
        }
        Ok(())
    }

    fn set_key(&mut self, key: NodeId, value: NodeId, keys: &mut Keys) -> Result<(), Error> {
        let node = self.tree.node(key);
        let first = self.tree.text(node).as_bytes().first();
        let is_text = node.implicit && first.is_some_and(u8::is_ascii_lowercase) && first != Some(&b'n');
        if is_text && !self.strict {
            return Ok(());
        }
        let meaning = meaning(self.tree, key)?;
        self.suspicious |= matches!(meaning, Scalar::Null | Scalar::Uint(_));
        if self.strict && KeyIdentity::new(&meaning).is_some_and(|identity| !keys.insert(identity)) {
            let line = self.tree.node(value).line + 1;
            let key = go_syntax::scalar(&meaning);
            self.repeated_keys
                .push(format!("line {line}: key {key} already set in map"));
        }
        Ok(())
    }

    fn merge(&mut self, value: NodeId, keys: &mut Keys, depth: usize) -> Result<(), Error> {
        let node = self.tree.node(value);
        if node.kind != Kind::Sequence {
            return self.merge_one(value, keys, depth);
        }
        let sources: Vec<NodeId> = self.tree.children(value).collect();
        for source in sources.into_iter().rev() {
            self.merge_one(source, keys, depth)?;
        }
        Ok(())
    }

    fn merge_one(&mut self, source: NodeId, keys: &mut Keys, depth: usize) -> Result<(), Error> {
        if self.tree.node(self.tree.resolve_alias(source)).kind != Kind::Mapping {
            return Err(Error::yaml(
                "map merge requires map or sequence of maps as the value",
            ));
        }
        self.step(depth + 1)?;
        if self.tree.node(source).kind == Kind::Alias {
            self.alias(source, |decoding, target| {
                decoding.step(depth + 1)?;
                decoding.mapping(target, keys, depth + 1)
            })
        } else {
            self.mapping(source, keys, depth + 1)
        }
    }
}

fn allowed_alias_ratio(steps: usize) -> f64 {
    let range = (ALIAS_RATIO_RANGE_HIGH - ALIAS_RATIO_RANGE_LOW) as f64;
    match steps {
        ..=ALIAS_RATIO_RANGE_LOW => 0.99,
        ALIAS_RATIO_RANGE_HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((steps - ALIAS_RATIO_RANGE_LOW) as f64 / range),
    }
}

/// Looks for keys that JSON cannot have.
fn check_keys(tree: &Tree<'_>, id: NodeId) -> Result<(), Error> {
    let id = tree.resolve_alias(id);
    match tree.node(id).kind {
        Kind::Scalar | Kind::Alias => Ok(()),
        Kind::Sequence => tree.children(id).try_for_each(|child| check_keys(tree, child)),
        Kind::Mapping => effective_entries(tree, id).into_iter().try_for_each(|entry| {
            if key_text(&entry.key).is_none() {
                let type_name = go_syntax::type_name(&entry.key);
                let key = go_syntax::scalar(&entry.key);
                let value = go_syntax::node(tree, entry.value);
                let text = format!("unsupported map key of type: {type_name}, key: {key}, value: {value}");
                return Err(Error::new(Stage::YamlToJson, text));
            }
            check_keys(tree, entry.value)
        }),
    }
}

/// Looks for numbers that JSON cannot have.
fn check_numbers(tree: &Tree<'_>, id: NodeId) -> Result<(), Error> {
    let id = tree.resolve_alias(id);
    match tree.node(id).kind {
        Kind::Scalar | Kind::Alias => match meaning(tree, id)? {
            Scalar::Float(number) if !number.is_finite() => {
                let text = go_syntax::scalar(&Scalar::Float(number));
                Err(Error::new(
                    Stage::YamlToJson,
                    format!("json: unsupported value: {text}"),
                ))
            }
            _ => Ok(()),
        },
        Kind::Sequence => tree.children(id).try_for_each(|child| check_numbers(tree, child)),
        Kind::Mapping => {
            let mut entries = effective_entries(tree, id);
            entries.sort_by_cached_key(|entry| key_text(&entry.key));
            entries
                .into_iter()
                .try_for_each(|entry| check_numbers(tree, entry.value))
        }
    }
}
