//! The rules for lists.

use super::{Evaluation, Outcome, Visit};
use crate::schema::jsonschema_v6::draft::Draft;
use crate::schema::jsonschema_v6::json::Json;
use crate::schema::jsonschema_v6::node::{Additional, Id, Items, Rules};
use crate::schema::jsonschema_v6::sameness::first_same;
use crate::schema::jsonschema_v6::words;

/// From this length on, the library looks for equal items by their hashes, which differ for a number and its text.
const FIRST_HASHED: usize = 21;

impl Evaluation<'_> {
    pub(super) fn array(
        &mut self,
        visit: &mut Visit<'_>,
        draft: Draft,
        rules: &Rules,
        items: &[Json],
    ) -> Outcome<()> {
        self.least(visit, "minItems", items.len(), rules.min_items)?;
        self.most(visit, "maxItems", items.len(), rules.max_items)?;
        if rules.unique_items
            && let Some((first, second)) = self.equal_items(items)?
        {
            self.complain(visit, || words::equal_items(first, second))?;
        }
        self.items(visit, &rules.items, items)?;
        match rules.contains {
            Some(schema) => self.contains(visit, draft, rules, schema, items),
            None => Ok(()),
        }
    }

    fn equal_items(&mut self, items: &[Json]) -> Outcome<Option<(usize, usize)>> {
        if items.len() >= FIRST_HASHED {
            return Ok(first_same(items));
        }
        for (second, item) in items.iter().enumerate() {
            for (first, earlier) in items[..second].iter().enumerate() {
                self.budget.take_steps(1)?;
                if item.equals(earlier) {
                    return Ok(Some((first, second)));
                }
            }
        }
        Ok(None)
    }

    fn items(&mut self, visit: &mut Visit<'_>, rules: &Items, items: &[Json]) -> Outcome<()> {
        let (first, rest) = match rules {
            Items::Any => return Ok(()),
            Items::All(schema) => {
                for (index, item) in items.iter().enumerate() {
                    let finding = self.judge_inner(visit, *schema, item, visit.path.element(index))?;
                    visit.findings.extend(finding);
                }
                return Ok(());
            }
            Items::Each(first, rest) => (first, rest),
        };
        for (index, (schema, item)) in first.iter().zip(items).enumerate() {
            let finding = self.judge_inner(visit, *schema, item, visit.path.element(index))?;
            visit.findings.extend(finding);
        }
        let evaluated = first.len().min(items.len());
        match rest {
            None | Some(Additional::Allowed(true)) => Ok(()),
            Some(Additional::Allowed(false)) => {
                let number = items.len() - evaluated;
                if number == 0 {
                    return Ok(());
                }
                self.complain(visit, || words::additional_items(number))
            }
            Some(Additional::Schema(schema)) => {
                for (shown, item) in items[evaluated..].iter().enumerate() {
                    // The library counts these from 0 again.
                    let path = visit.path.element_shown_as(evaluated + shown, shown);
                    let finding = self.judge_inner(visit, *schema, item, path)?;
                    visit.findings.extend(finding);
                }
                Ok(())
            }
        }
    }

    fn contains(
        &mut self,
        visit: &mut Visit<'_>,
        draft: Draft,
        rules: &Rules,
        schema: Id,
        items: &[Json],
    ) -> Outcome<()> {
        let mut findings = Vec::new();
        let mut matched = Vec::new();
        for (index, item) in items.iter().enumerate() {
            if let Some(finding) = self.judge_inner(visit, schema, item, visit.path.element(index))? {
                findings.push(finding);
                continue;
            }
            matched.push(index);
            if draft >= Draft::Year2020 {
                visit.unevaluated.items.remove(&index);
            }
        }
        match rules.min_contains {
            Some(least) if (matched.len() as i64) < least => {
                self.complain_above(visit, || words::min_contains(&matched, least), findings)?;
            }
            None if matched.is_empty() => {
                self.complain_above(visit, || words::CONTAINS.to_owned(), findings)?;
            }
            _ => {}
        }
        match rules.max_contains {
            Some(most) if matched.len() as i64 > most => {
                self.complain(visit, || words::max_contains(&matched, most))
            }
            _ => Ok(()),
        }
    }
}
