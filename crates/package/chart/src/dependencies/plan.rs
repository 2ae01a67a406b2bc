//! The light copy of a chart tree that one render works on.
//!
//! Charts and declarations are numbered, and copies of an aliased chart keep the numbers of what is below them: Helm
//! shares those parts between the copies, and what one copy does to them shows in the other.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::{ActiveChart, DependencyError};
use crate::chart::Chart;
use crate::compatibility::is_compatible_range;
use crate::metadata::Dependency;
use crate::values::{ChartValues, Table, coalesce, path_value, table};
use crate::warning::{Warning, WarningSink};

/// The chart that was asked for.
pub(super) const ROOT: usize = 0;

/// All charts and declarations of a tree.
pub(super) struct Plan {
    pub(super) nodes: Vec<Node>,
    pub(super) declarations: Vec<Declaration>,
}

/// A chart in the tree.
#[derive(Clone)]
pub(super) struct Node {
    chart: Arc<Chart>,
    name: String,
    pub(super) values: Option<Arc<Table>>,
    /// Numbers of declarations; absent and empty differ as they do in the metadata.
    pub(super) declared: Option<Vec<usize>>,
    pub(super) children: Vec<usize>,
    parent: Option<usize>,
}

/// An entry of a chart's `dependencies`.
pub(super) struct Declaration {
    pub(super) dependency: Dependency,
    /// Whether its imports were resolved; Helm then no longer recognises them.
    pub(super) imports_resolved: bool,
}

/// A node with the plan that it is in.
#[derive(Clone, Copy)]
pub(super) struct NodeView<'a> {
    pub(super) plan: &'a Plan,
    pub(super) id: usize,
}

impl ChartValues for NodeView<'_> {
    fn name(&self) -> &str {
        &self.plan.nodes[self.id].name
    }

    fn values(&self) -> Option<&Table> {
        self.plan.nodes[self.id].values.as_deref()
    }

    fn subcharts(&self) -> Vec<Self> {
        self.plan.nodes[self.id]
            .children
            .iter()
            .map(|id| NodeView {
                plan: self.plan,
                id: *id,
            })
            .collect()
    }
}

impl Plan {
    pub(super) fn new(chart: &Arc<Chart>) -> Self {
        let mut plan = Self {
            nodes: Vec::new(),
            declarations: Vec::new(),
        };
        plan.add(chart, None);
        plan
    }

    fn add(&mut self, chart: &Arc<Chart>, parent: Option<usize>) -> usize {
        let declared = chart.metadata.dependencies.as_ref().map(|list| {
            let first = self.declarations.len();
            let fresh = |dependency: &Dependency| Declaration {
                dependency: dependency.clone(),
                imports_resolved: false,
            };
            self.declarations.extend(list.iter().map(fresh));
            (first..self.declarations.len()).collect()
        });
        let id = self.nodes.len();
        self.nodes.push(Node {
            chart: Arc::clone(chart),
            name: chart.name().to_owned(),
            values: chart.values.clone(),
            declared,
            children: Vec::new(),
            parent,
        });
        self.nodes[id].children = chart
            .dependencies
            .iter()
            .map(|subchart| self.add(subchart, Some(id)))
            .collect();
        id
    }

    /// Applies aliases, tags and conditions to a chart and what is below it.
    pub(super) fn enable(
        &mut self,
        id: usize,
        user: &Table,
        path: &str,
        warn: WarningSink<'_>,
    ) -> Result<(), DependencyError> {
        let Some(declared) = self.nodes[id].declared.clone() else {
            return Ok(());
        };
        let children = self.selected_children(id, &declared);
        self.adopt(id, children);
        for declaration in &declared {
            self.declarations[*declaration].dependency.enabled = true;
        }
        let values = coalesce(NodeView { plan: self, id }, user, warn)?;
        self.apply_tags(&declared, &values, warn);
        self.apply_conditions(&declared, &values, path, warn);
        let disabled: HashSet<String> = declared
            .iter()
            .map(|declaration| &self.declarations[*declaration].dependency)
            .filter(|dependency| !dependency.enabled)
            .map(|dependency| dependency.name.clone())
            .collect();
        let mut kept = self.nodes[id].children.clone();
        kept.retain(|child| !disabled.contains(&self.nodes[*child].name));
        for child in &kept {
            let path = format!("{path}{}.", self.nodes[*child].name);
            self.enable(*child, &values, &path, warn)?;
        }
        let mut declared = declared;
        declared.retain(|declaration| !disabled.contains(&self.declarations[*declaration].dependency.name));
        self.nodes[id].declared = if declared.is_empty() { None } else { Some(declared) };
        self.adopt(id, kept);
        Ok(())
    }

    /// The charts that nobody declared, then one for each declaration, renamed to its alias.
    fn selected_children(&mut self, id: usize, declared: &[usize]) -> Vec<usize> {
        let existing = self.nodes[id].children.clone();
        let fits = |plan: &Self, child: usize, declaration: usize| {
            let dependency = &plan.declarations[declaration].dependency;
            plan.nodes[child].name == dependency.name
                && is_compatible_range(&dependency.version, &plan.nodes[child].chart.metadata.version)
        };
        let mut children: Vec<usize> = existing
            .iter()
            .copied()
            .filter(|child| {
                !declared
                    .iter()
                    .any(|declaration| fits(self, *child, *declaration))
            })
            .collect();
        for declaration in declared {
            if let Some(child) = existing.iter().find(|child| fits(self, **child, *declaration)) {
                let mut node = self.nodes[*child].clone();
                let alias = &self.declarations[*declaration].dependency.alias;
                if !alias.is_empty() {
                    node.name.clone_from(alias);
                }
                children.push(self.nodes.len());
                self.nodes.push(node);
            }
            let dependency = &mut self.declarations[*declaration].dependency;
            if !dependency.alias.is_empty() {
                dependency.name.clone_from(&dependency.alias);
            }
        }
        children
    }

    fn adopt(&mut self, id: usize, children: Vec<usize>) {
        for child in &children {
            self.nodes[*child].parent = Some(id);
        }
        self.nodes[id].children = children;
    }

    fn apply_tags(&mut self, declared: &[usize], values: &Table, warn: WarningSink<'_>) {
        let Ok(switches) = table(values, "tags") else {
            return;
        };
        for declaration in declared {
            let dependency = &mut self.declarations[*declaration].dependency;
            let (mut any_on, mut any_off) = (false, false);
            for tag in &dependency.tags {
                match switches.get(tag) {
                    None => {}
                    Some(Value::Bool(true)) => any_on = true,
                    Some(Value::Bool(false)) => any_off = true,
                    Some(_) => warn(Warning::new(
                        "dependencies.go:94",
                        format!(
                            "Warning: Tag '{tag}' for chart {} returned non-bool value",
                            dependency.name
                        ),
                    )),
                }
            }
            dependency.enabled = any_on || !any_off;
        }
    }

    fn apply_conditions(&mut self, declared: &[usize], values: &Table, path: &str, warn: WarningSink<'_>) {
        for declaration in declared {
            let dependency = &mut self.declarations[*declaration].dependency;
            for condition in dependency
                .condition
                .trim()
                .split(',')
                .filter(|condition| !condition.is_empty())
            {
                match path_value(values, &format!("{path}{condition}")) {
                    Ok(Value::Bool(flag)) => {
                        dependency.enabled = *flag;
                        break;
                    }
                    Ok(_) => warn(Warning::new(
                        "dependencies.go:63",
                        format!(
                            "Warning: Condition path '{condition}' for chart {} returned non-bool value",
                            dependency.name
                        ),
                    )),
                    Err(_) => {}
                }
            }
        }
    }

    /// The tree that is left.
    pub(super) fn into_active(self) -> ActiveChart {
        self.active(ROOT)
    }

    fn active(&self, id: usize) -> ActiveChart {
        let node = &self.nodes[id];
        let metadata = &node.chart.metadata;
        let declared: Option<Vec<Dependency>> = node.declared.as_ref().map(|list| {
            list.iter()
                .map(|id| self.declarations[*id].dependency.clone())
                .collect()
        });
        let metadata = if metadata.name == node.name && metadata.dependencies == declared {
            Arc::clone(metadata)
        } else {
            let mut changed = (**metadata).clone();
            changed.name.clone_from(&node.name);
            changed.dependencies = declared;
            Arc::new(changed)
        };
        ActiveChart {
            chart: Arc::clone(&node.chart),
            metadata,
            values: node.values.clone(),
            full_path: self.full_path(id),
            is_root: node.parent.is_none(),
            dependencies: node.children.iter().map(|child| self.active(*child)).collect(),
        }
    }

    /// The path by way of each chart's parent. Below an aliased chart without declarations, that is still the chart
    /// that was copied, with its own name.
    fn full_path(&self, id: usize) -> String {
        let node = &self.nodes[id];
        match node.parent {
            Some(parent) => format!("{}/charts/{}", self.full_path(parent), node.name),
            None => node.name.clone(),
        }
    }
}
