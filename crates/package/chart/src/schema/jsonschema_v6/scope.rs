//! The schemas that judging has gone through, from the root to the one that is applied now.

use super::library::Nodes;
use super::node::Id;

/// A schema that is applied, and the one that led to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'s> {
    schema: Id,
    /// The keyword that led here, where that was a reference.
    reference: Option<&'static str>,
    /// How many values were gone into before; the same number means the same value.
    level: usize,
    /// How many schemas led here, and how many of them with the same value.
    depth: usize,
    depth_in_level: usize,
    parent: Option<&'s Scope<'s>>,
}

impl<'s> Scope<'s> {
    pub(super) fn root(schema: Id) -> Self {
        Self {
            schema,
            reference: None,
            level: 0,
            depth: 0,
            depth_in_level: 0,
            parent: None,
        }
    }

    /// Another schema for the same value.
    pub(super) fn same_value(&'s self, schema: Id, reference: Option<&'static str>) -> Scope<'s> {
        Scope {
            schema,
            reference,
            level: self.level,
            depth: self.depth + 1,
            depth_in_level: self.depth_in_level + 1,
            parent: Some(self),
        }
    }

    /// A schema for a value inside.
    pub(super) fn inner_value(&'s self, schema: Id) -> Scope<'s> {
        Scope {
            schema,
            reference: None,
            level: self.level + 1,
            depth: self.depth + 1,
            depth_in_level: 0,
            parent: Some(self),
        }
    }

    /// This scope and those that led to it.
    fn outwards(&self) -> impl Iterator<Item = &Scope<'s>> {
        std::iter::successors(Some(self), |scope| scope.parent)
    }

    /// Where the same schema was applied to the same value before, which would go on for ever.
    pub(super) fn earlier(&self) -> Option<&Scope<'s>> {
        self.outwards()
            .skip(1)
            .take_while(|scope| scope.level == self.level)
            .find(|scope| scope.schema == self.schema)
    }

    /// How many schemas are looked at to find one that was applied before.
    pub(super) fn depth_in_level(&self) -> usize {
        self.depth_in_level
    }

    /// How many schemas are looked at to find where a reference leads.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The keywords that led here.
    pub(super) fn keywords(&self, nodes: Nodes<'_>) -> String {
        let mut parts: Vec<String> = self
            .outwards()
            .filter_map(|scope| {
                let parent = scope.parent?;
                if let Some(keyword) = scope.reference {
                    return Some(format!("/{keyword}"));
                }
                let from = &nodes.get(parent.schema).location;
                let to = &nodes.get(scope.schema).location;
                Some(to.get(from.len()..).unwrap_or_default().to_owned())
            })
            .collect();
        parts.reverse();
        parts.concat()
    }

    /// The outermost schema whose resource lets recursive references lead to it.
    pub(super) fn recursive_target(&self, nodes: Nodes<'_>) -> Option<Id> {
        self.outwards()
            .filter(|scope| {
                let resource = nodes.get(scope.schema).resource;
                nodes.get(resource).rules.recursive_anchor
            })
            .last()
            .map(|scope| scope.schema)
    }

    /// The schema that an anchor means in the outermost resource that has it.
    pub(super) fn dynamic_target(&self, anchor: &str, nodes: Nodes<'_>) -> Option<Id> {
        self.outwards()
            .filter_map(|scope| {
                let resource = nodes.get(scope.schema).resource;
                nodes.get(resource).dynamic_anchors.get(anchor).copied()
            })
            .last()
    }
}
