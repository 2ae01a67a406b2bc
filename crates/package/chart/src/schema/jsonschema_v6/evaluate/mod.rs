//! Values judged by compiled schemas.

mod arrays;
mod combinations;
mod objects;
mod unevaluated;

use std::cmp::Ordering;
use std::collections::HashMap;

use self::unevaluated::Unevaluated;
use super::draft::Draft;
use super::finding::{Finding, Role};
use super::json::{Json, Numeral};
use super::library::Nodes;
use super::limits::{Budget, with_stack};
use super::node::{Id, Rules, type_of};
use super::scope::Scope;
use super::words;
use crate::schema::path::{Path, json_pointer};
use crate::schema::{Complaint, SchemaError};

type Outcome<T> = Result<T, SchemaError>;

/// How many schemas are passed in looking for one at the price of a step.
const PASSED_PER_STEP: usize = 64;

/// One judging of a value.
pub(super) struct Evaluation<'e> {
    nodes: Nodes<'e>,
    /// Where a schema is judged: the schemas of its resources, by the pointers to them.
    resources: Option<&'e HashMap<&'e str, Id>>,
    budget: &'e mut Budget,
}

/// A schema that is applied to a value.
struct Visit<'v> {
    value: &'v Json,
    path: Path<'v>,
    schema: Id,
    scope: Scope<'v>,
    unevaluated: Unevaluated<'v>,
    findings: Vec<Finding>,
    /// Whether it only counts that something is wrong, and not what.
    only_verdict: bool,
    /// The schema that schemas are judged by, if one is.
    metaschema: Option<Id>,
}

impl<'e> Evaluation<'e> {
    /// Judges values.
    pub(super) fn of_values(nodes: Nodes<'e>, budget: &'e mut Budget) -> Self {
        Self {
            nodes,
            resources: None,
            budget,
        }
    }

    /// Judges a schema, whose resources may follow rules of their own.
    pub(super) fn of_schema(
        nodes: Nodes<'e>,
        resources: &'e HashMap<&'e str, Id>,
        budget: &'e mut Budget,
    ) -> Self {
        Self {
            nodes,
            resources: Some(resources),
            budget,
        }
    }

    /// Applies a schema to a whole value.
    pub(super) fn judge_root(mut self, schema: Id, value: &Json) -> Outcome<Vec<Complaint>> {
        let metaschema = self.resources.map(|_| schema);
        let finding = self.judge_afresh(schema, value, Path::ROOT, metaschema, false)?;
        Ok(finding
            .map(Finding::ungrouped)
            .unwrap_or_default()
            .into_iter()
            .map(Finding::into_complaint)
            .collect())
    }

    /// Applies a schema as if it were the first one.
    fn judge_afresh(
        &mut self,
        schema: Id,
        value: &Json,
        path: Path<'_>,
        metaschema: Option<Id>,
        only_verdict: bool,
    ) -> Outcome<Option<Finding>> {
        let mut visit = Visit {
            value,
            path,
            schema,
            scope: Scope::root(schema),
            unevaluated: Unevaluated::new(value, self.rules(schema), false),
            findings: Vec::new(),
            only_verdict,
            metaschema,
        };
        self.judge(&mut visit)
    }

    fn rules(&self, schema: Id) -> &'e Rules {
        &self.nodes.get(schema).rules
    }

    /// Applies another schema to the same value.
    fn judge_same(
        &mut self,
        visit: &mut Visit<'_>,
        schema: Id,
        reference: Option<&'static str>,
        only_verdict: bool,
    ) -> Outcome<Option<Finding>> {
        let is_needed = !visit.unevaluated.is_empty();
        let mut inner = Visit {
            value: visit.value,
            path: visit.path,
            schema,
            scope: visit.scope.same_value(schema, reference),
            unevaluated: Unevaluated::new(visit.value, self.rules(schema), is_needed),
            findings: Vec::new(),
            only_verdict: visit.only_verdict || only_verdict,
            metaschema: visit.metaschema,
        };
        self.enter_resource(&mut inner);
        let finding = self.judge(&mut inner)?;
        if finding.is_none() {
            let unevaluated = inner.unevaluated;
            visit.unevaluated.merge(&unevaluated);
        }
        Ok(finding)
    }

    /// Applies a schema to a value inside.
    fn judge_inner(
        &mut self,
        visit: &Visit<'_>,
        schema: Id,
        value: &Json,
        path: Path<'_>,
    ) -> Outcome<Option<Finding>> {
        let mut inner = Visit {
            value,
            path,
            schema,
            scope: visit.scope.inner_value(schema),
            unevaluated: Unevaluated::new(value, self.rules(schema), false),
            findings: Vec::new(),
            only_verdict: visit.only_verdict,
            metaschema: visit.metaschema,
        };
        self.enter_resource(&mut inner);
        self.judge(&mut inner)
    }

    /// Where a schema is judged: takes the rules of the resource that starts here, if one does.
    fn enter_resource(&self, visit: &mut Visit<'_>) {
        if let Some(metaschema) = self.resource_schema(visit.schema, visit) {
            visit.metaschema = Some(metaschema);
            visit.schema = metaschema;
        }
    }

    fn resource_schema(&self, schema: Id, visit: &Visit<'_>) -> Option<Id> {
        let resources = self.resources.filter(|_| visit.metaschema == Some(schema))?;
        let pointer = json_pointer(&visit.path.shown_steps());
        resources.get(pointer.as_str()).copied()
    }

    fn judge(&mut self, visit: &mut Visit<'_>) -> Outcome<Option<Finding>> {
        let passed = visit.scope.depth_in_level() / PASSED_PER_STEP;
        self.budget.take_steps(1 + passed)?;
        self.budget.descend()?;
        let finding = with_stack(|| self.judge_with_room(visit));
        self.budget.ascend();
        finding
    }

    fn judge_with_room(&mut self, visit: &mut Visit<'_>) -> Outcome<Option<Finding>> {
        let node = self.nodes.get(visit.schema);
        match node.pass {
            Some(true) => return Ok(None),
            Some(false) => return self.finding(visit, || words::FALSE_SCHEMA.to_owned()).map(Some),
            None => {}
        }
        if let Some(earlier) = visit.scope.earlier() {
            let nodes = self.nodes;
            let describe = || {
                let (first, second) = (visit.scope.keywords(nodes), earlier.keywords(nodes));
                words::cycle(&first, &second, &node.location)
            };
            return self.finding(visit, describe).map(Some);
        }
        let rules = &node.rules;
        if let Some(finding) = self.fixed_rules(visit, rules)? {
            return Ok(Some(finding));
        }
        if let Some(reference) = rules.reference {
            let finding = self.judge_reference(visit, reference, "$ref")?;
            if node.draft < Draft::Year2019 {
                return Ok(finding);
            }
            visit.findings.extend(finding);
        }
        match visit.value {
            Json::Object(entries) => self.object(visit, node.draft, rules, entries)?,
            Json::Array(items) => self.array(visit, node.draft, rules, items)?,
            Json::String(text) => self.text(visit, rules, text)?,
            Json::Number(numeral) => self.number(visit, rules, numeral)?,
            Json::Null | Json::Bool(_) => {}
        }
        if visit.findings.is_empty() || !visit.only_verdict {
            if node.draft >= Draft::Year2019 {
                self.late_references(visit, rules)?;
            }
            self.combinations(visit, rules)?;
            if node.draft >= Draft::Year2019 {
                self.unevaluated(visit, rules)?;
            }
        }
        match visit.findings.len() {
            0 => Ok(None),
            1 => Ok(visit.findings.pop()),
            _ => {
                let causes = std::mem::take(&mut visit.findings);
                let describe = || words::GROUP.to_owned();
                self.finding_above(visit, Role::Group, describe, causes).map(Some)
            }
        }
    }

    /// The rules of which the first that is broken ends the judging.
    fn fixed_rules(&mut self, visit: &Visit<'_>, rules: &Rules) -> Outcome<Option<Finding>> {
        let value = visit.value;
        if !rules.types.is_empty() && !rules.types.fit(value) {
            let describe = || words::wrong_type(type_of(value), &rules.types.names());
            return self.finding(visit, describe).map(Some);
        }
        if let Some(constant) = &rules.constant
            && !value.equals(constant)
        {
            return self.finding(visit, || words::constant(constant)).map(Some);
        }
        if let Some(allowed) = &rules.enumeration {
            // Only values of the same type are looked for, where one of that type is allowed at all.
            let may_match = allowed.iter().any(|allowed| type_of(allowed) == type_of(value));
            if !may_match || !allowed.iter().any(|allowed| value.equals(allowed)) {
                return self.finding(visit, || words::enumeration(allowed)).map(Some);
            }
        }
        if let (Some(format), Json::String(text)) = (&rules.format, value)
            && let Err(error) = format.check(text)
        {
            let describe = || words::format(text, format.name(), &error);
            return self.finding(visit, describe).map(Some);
        }
        Ok(None)
    }

    fn text(&mut self, visit: &mut Visit<'_>, rules: &Rules, text: &str) -> Outcome<()> {
        if rules.min_length.is_some() || rules.max_length.is_some() {
            let length = text.chars().count();
            self.least(visit, "minLength", length, rules.min_length)?;
            self.most(visit, "maxLength", length, rules.max_length)?;
        }
        if let Some((pattern, expression)) = &rules.pattern
            && !expression.is_match(text.as_bytes())
        {
            self.complain(visit, || words::pattern(text, pattern))?;
        }
        Ok(())
    }

    fn number(&mut self, visit: &mut Visit<'_>, rules: &Rules, numeral: &Numeral) -> Outcome<()> {
        let number = &numeral.number;
        let bounds = [
            ("minimum", &rules.minimum, Ordering::is_ge as fn(Ordering) -> bool),
            ("maximum", &rules.maximum, Ordering::is_le),
            ("exclusiveMinimum", &rules.exclusive_minimum, Ordering::is_gt),
            ("exclusiveMaximum", &rules.exclusive_maximum, Ordering::is_lt),
        ];
        for (keyword, bound, is_kept) in bounds {
            if let Some(bound) = bound
                && !is_kept(number.compare(bound))
            {
                self.complain(visit, || words::number(keyword, number, bound))?;
            }
        }
        if let Some(unit) = &rules.multiple_of
            && !number.is_multiple_of(unit)
        {
            self.complain(visit, || words::number("multipleOf", number, unit))?;
        }
        Ok(())
    }

    fn least(
        &mut self,
        visit: &mut Visit<'_>,
        keyword: &str,
        size: usize,
        least: Option<i64>,
    ) -> Outcome<()> {
        match least {
            Some(least) if (size as i64) < least => {
                self.complain(visit, || words::size(keyword, size, least))
            }
            _ => Ok(()),
        }
    }

    fn most(&mut self, visit: &mut Visit<'_>, keyword: &str, size: usize, most: Option<i64>) -> Outcome<()> {
        match most {
            Some(most) if size as i64 > most => self.complain(visit, || words::size(keyword, size, most)),
            _ => Ok(()),
        }
    }

    /// Puts a finding into words, if anybody asks for them.
    fn finding(&mut self, visit: &Visit<'_>, describe: impl FnOnce() -> String) -> Outcome<Finding> {
        self.finding_above(visit, Role::Rule, describe, Vec::new())
    }

    fn finding_above(
        &mut self,
        visit: &Visit<'_>,
        role: Role,
        describe: impl FnOnce() -> String,
        causes: Vec<Finding>,
    ) -> Outcome<Finding> {
        if visit.only_verdict {
            return Ok(Finding::default());
        }
        self.finding_at(&visit.path, role, describe(), causes)
    }

    fn finding_at(
        &mut self,
        path: &Path<'_>,
        role: Role,
        description: String,
        causes: Vec<Finding>,
    ) -> Outcome<Finding> {
        let finding = Finding::new(path, role, description, causes);
        self.budget.take_text(finding.size())?;
        Ok(finding)
    }

    fn complain(&mut self, visit: &mut Visit<'_>, describe: impl FnOnce() -> String) -> Outcome<()> {
        self.complain_above(visit, describe, Vec::new())
    }

    fn complain_above(
        &mut self,
        visit: &mut Visit<'_>,
        describe: impl FnOnce() -> String,
        causes: Vec<Finding>,
    ) -> Outcome<()> {
        let finding = self.finding_above(visit, Role::Rule, describe, causes)?;
        visit.findings.push(finding);
        Ok(())
    }
}
