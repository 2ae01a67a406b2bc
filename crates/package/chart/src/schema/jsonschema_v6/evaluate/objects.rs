//! The rules for tables.

use std::collections::BTreeMap;

use super::{Evaluation, Outcome, Visit};
use crate::schema::jsonschema_v6::draft::Draft;
use crate::schema::jsonschema_v6::finding::Role;
use crate::schema::jsonschema_v6::json::Json;
use crate::schema::jsonschema_v6::node::{Additional, Id, Needs, Rules};
use crate::schema::jsonschema_v6::words;

type Entries = BTreeMap<String, Json>;

impl Evaluation<'_> {
    pub(super) fn object<'v>(
        &mut self,
        visit: &mut Visit<'v>,
        draft: Draft,
        rules: &Rules,
        entries: &'v Entries,
    ) -> Outcome<()> {
        self.least(visit, "minProperties", entries.len(), rules.min_properties)?;
        self.most(visit, "maxProperties", entries.len(), rules.max_properties)?;
        let missing = missing(entries, &rules.required);
        if !missing.is_empty() {
            self.complain(visit, || words::missing(&missing))?;
        }
        if visit.only_verdict && !visit.findings.is_empty() {
            return Ok(());
        }
        for (property, needs) in &rules.dependencies {
            if !entries.contains_key(property) {
                continue;
            }
            match needs {
                Needs::Properties(names) => self.needed(visit, entries, property, names)?,
                Needs::Schema(schema) => {
                    let finding = self.judge_same(visit, *schema, None, false)?;
                    visit.findings.extend(finding);
                }
            }
        }
        self.properties(visit, rules, entries)?;
        if let (Some(names), true) = (rules.property_names, draft >= Draft::Six) {
            self.property_names(visit, names, entries)?;
        }
        for (property, schema) in &rules.dependent_schemas {
            if entries.contains_key(property) {
                let finding = self.judge_same(visit, *schema, None, false)?;
                visit.findings.extend(finding);
            }
        }
        for (property, names) in &rules.dependent_required {
            if entries.contains_key(property) {
                self.needed(visit, entries, property, names)?;
            }
        }
        Ok(())
    }

    fn needed(
        &mut self,
        visit: &mut Visit<'_>,
        entries: &Entries,
        property: &str,
        names: &[String],
    ) -> Outcome<()> {
        let missing = missing(entries, names);
        if missing.is_empty() {
            return Ok(());
        }
        self.complain(visit, || words::dependency(property, &missing))
    }

    fn properties<'v>(&mut self, visit: &mut Visit<'v>, rules: &Rules, entries: &'v Entries) -> Outcome<()> {
        let mut additional = Vec::new();
        for (name, value) in entries {
            if visit.only_verdict && !visit.findings.is_empty() {
                return Ok(());
            }
            let mut schemas: Vec<Id> = rules.properties.get(name).copied().into_iter().collect();
            let patterns = rules.pattern_properties.iter();
            schemas.extend(
                patterns
                    .filter(|(pattern, _)| pattern.is_match(name.as_bytes()))
                    .map(|(_, schema)| *schema),
            );
            let mut is_evaluated = !schemas.is_empty();
            if !is_evaluated && let Some(rule) = rules.additional_properties {
                is_evaluated = true;
                match rule {
                    Additional::Allowed(true) => {}
                    Additional::Allowed(false) => additional.push(name.as_str()),
                    Additional::Schema(schema) => schemas.push(schema),
                }
            }
            for schema in schemas {
                let finding = self.judge_inner(visit, schema, value, visit.path.key(name))?;
                visit.findings.extend(finding);
            }
            if is_evaluated {
                visit.unevaluated.properties.remove(name.as_str());
            }
        }
        if additional.is_empty() {
            return Ok(());
        }
        self.complain(visit, || words::additional_properties(&additional))
    }

    fn property_names(&mut self, visit: &mut Visit<'_>, schema: Id, entries: &Entries) -> Outcome<()> {
        let metaschema = self.resource_schema(schema, visit);
        let schema = metaschema.unwrap_or(schema);
        for name in entries.keys() {
            let text = Json::String(name.clone());
            // The library forgets where it is.
            let path = visit.path.hidden();
            let inner = metaschema.or(visit.metaschema);
            let Some(finding) = self.judge_afresh(schema, &text, path, inner, visit.only_verdict)? else {
                continue;
            };
            let finding = if visit.only_verdict {
                finding
            } else {
                let description = words::property_name(name);
                self.finding_at(&path, Role::Rule, description, finding.ungrouped())?
            };
            visit.findings.push(finding);
        }
        Ok(())
    }
}

fn missing<'n>(entries: &Entries, names: &'n [String]) -> Vec<&'n str> {
    names
        .iter()
        .map(String::as_str)
        .filter(|name| !entries.contains_key(*name))
        .collect()
}
