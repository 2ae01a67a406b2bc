//! The rules that apply other schemas to the same value, and what they leave.

use super::{Evaluation, Outcome, PASSED_PER_STEP, Visit};
use crate::schema::jsonschema_v6::finding::{Finding, Role};
use crate::schema::jsonschema_v6::json::Json;
use crate::schema::jsonschema_v6::node::{Id, Rules};
use crate::schema::jsonschema_v6::words;

impl Evaluation<'_> {
    /// Applies the schema that a keyword refers to.
    pub(super) fn judge_reference(
        &mut self,
        visit: &mut Visit<'_>,
        schema: Id,
        keyword: &'static str,
    ) -> Outcome<Option<Finding>> {
        match self.judge_same(visit, schema, Some(keyword), false)? {
            None => Ok(None),
            Some(finding) => {
                let describe = || words::REFERENCE.to_owned();
                self.finding_above(visit, Role::Reference, describe, finding.ungrouped())
                    .map(Some)
            }
        }
    }

    /// The references whose targets depend on the schemas that led here.
    pub(super) fn late_references(&mut self, visit: &mut Visit<'_>, rules: &Rules) -> Outcome<()> {
        let nodes = self.nodes;
        if let Some(mut target) = rules.recursive_reference {
            if self.rules(target).recursive_anchor {
                self.budget.take_steps(visit.scope.depth() / PASSED_PER_STEP)?;
                target = visit.scope.recursive_target(nodes).unwrap_or(target);
            }
            let finding = self.judge_reference(visit, target, "$recursiveRef")?;
            visit.findings.extend(finding);
        }
        if let Some(reference) = &rules.dynamic_reference {
            let mut target = reference.target;
            if let Some(anchor) = &reference.anchor
                && self.rules(target).dynamic_anchor.as_ref() == Some(anchor)
            {
                self.budget.take_steps(visit.scope.depth() / PASSED_PER_STEP)?;
                target = visit.scope.dynamic_target(anchor, nodes).unwrap_or(target);
            }
            let finding = self.judge_reference(visit, target, "$dynamicRef")?;
            visit.findings.extend(finding);
        }
        Ok(())
    }

    pub(super) fn combinations(&mut self, visit: &mut Visit<'_>, rules: &Rules) -> Outcome<()> {
        if let Some(schema) = rules.not
            && self.judge_same(visit, schema, None, true)?.is_none()
        {
            self.complain(visit, || words::NOT.to_owned())?;
        }
        self.all_of(visit, &rules.all_of)?;
        self.any_of(visit, &rules.any_of)?;
        self.one_of(visit, &rules.one_of)?;
        if let Some(condition) = rules.condition {
            let holds = self.judge_same(visit, condition, None, true)?.is_none();
            let branch = if holds {
                rules.consequence
            } else {
                rules.alternative
            };
            if let Some(schema) = branch {
                let finding = self.judge_same(visit, schema, None, false)?;
                visit.findings.extend(finding);
            }
        }
        Ok(())
    }

    fn all_of(&mut self, visit: &mut Visit<'_>, schemas: &[Id]) -> Outcome<()> {
        let mut findings = Vec::new();
        for schema in schemas {
            if let Some(finding) = self.judge_same(visit, *schema, None, false)? {
                findings.push(finding);
                if visit.only_verdict {
                    break;
                }
            }
        }
        if findings.is_empty() {
            return Ok(());
        }
        self.complain_above(visit, || words::ALL_OF.to_owned(), findings)
    }

    fn any_of(&mut self, visit: &mut Visit<'_>, schemas: &[Id]) -> Outcome<()> {
        let mut findings = Vec::new();
        let mut has_matched = schemas.is_empty();
        for schema in schemas {
            if let Some(finding) = self.judge_same(visit, *schema, None, false)? {
                findings.push(finding);
                continue;
            }
            has_matched = true;
            // The others may still look at properties and items that this one left.
            if visit.unevaluated.is_empty() {
                break;
            }
        }
        if has_matched {
            return Ok(());
        }
        self.complain_above(visit, || words::ANY_OF.to_owned(), findings)
    }

    fn one_of(&mut self, visit: &mut Visit<'_>, schemas: &[Id]) -> Outcome<()> {
        let mut findings = Vec::new();
        let mut matched = None;
        for (index, schema) in schemas.iter().enumerate() {
            match (self.judge_same(visit, *schema, None, matched.is_some())?, matched) {
                (Some(finding), None) => findings.push(finding),
                (Some(_), Some(_)) => {}
                (None, None) => matched = Some(index),
                (None, Some(first)) => {
                    return self.complain(visit, || words::one_of_several(first, index));
                }
            }
        }
        if matched.is_some() || schemas.is_empty() {
            return Ok(());
        }
        self.complain_above(visit, || words::NONE_OF.to_owned(), findings)
    }

    /// Judges the properties and items that no rule has looked at.
    pub(super) fn unevaluated(&mut self, visit: &mut Visit<'_>, rules: &Rules) -> Outcome<()> {
        if let (Json::Object(entries), Some(schema)) = (visit.value, rules.unevaluated_properties) {
            for name in std::mem::take(&mut visit.unevaluated.properties) {
                if let Some(value) = entries.get(name) {
                    let finding = self.judge_inner(visit, schema, value, visit.path.key(name))?;
                    visit.findings.extend(finding);
                }
            }
        }
        if let (Json::Array(items), Some(schema)) = (visit.value, rules.unevaluated_items) {
            for index in std::mem::take(&mut visit.unevaluated.items) {
                if let Some(item) = items.get(index) {
                    let finding = self.judge_inner(visit, schema, item, visit.path.element(index))?;
                    visit.findings.extend(finding);
                }
            }
        }
        Ok(())
    }
}
