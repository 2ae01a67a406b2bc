//! Who comes first.

use super::{Choice, Install, PlanError};
use crate::dependencies::{Constraint, Inventory, Requirement};

/// Returns the choices in an order in which everything is there when it is needed.
pub(super) fn ordered<'a>(chosen: &[Choice<'a>], before: &Inventory) -> Result<Vec<Install<'a>>, PlanError> {
    let needs: Vec<Vec<usize>> = chosen
        .iter()
        .map(|choice| providers(choice, chosen, before))
        .collect();
    let mut order = Vec::new();
    let mut path = Vec::new();
    for start in 0..chosen.len() {
        visit(start, &needs, &mut order, &mut path).map_err(|cycle| {
            let names = cycle.iter().filter_map(|index| chosen.get(*index));
            PlanError::Cycle(names.map(|choice| choice.present.package.clone()).collect())
        })?;
    }
    let install = |index: usize| {
        let choice = chosen.get(index)?;
        let replaces = before.package(&choice.present.package);
        // What is there already needn't be installed.
        if replaces.is_some_and(|installed| installed.bundle == choice.present.bundle) {
            return None;
        }
        let needed_by = needs
            .iter()
            .zip(chosen)
            .filter(|(needs, _)| needs.contains(&index));
        Some(Install {
            package: choice.present.package.clone(),
            bundle: choice.offer.bundle,
            version: choice.offer.version,
            catalog: choice.offer.catalog,
            replaces: replaces.map(|installed| installed.version.clone()),
            needed_by: needed_by
                .map(|(_, choice)| choice.present.package.clone())
                .collect(),
        })
    };
    Ok(order.into_iter().filter_map(install).collect())
}

/// Puts everything that a choice needs into the order, then the choice; fails with the circle it runs in.
fn visit(
    index: usize,
    needs: &[Vec<usize>],
    order: &mut Vec<usize>,
    path: &mut Vec<usize>,
) -> Result<(), Vec<usize>> {
    if order.contains(&index) {
        return Ok(());
    }
    if let Some(start) = path.iter().position(|visited| *visited == index) {
        let mut cycle = path.get(start..).unwrap_or_default().to_vec();
        cycle.push(index);
        return Err(cycle);
    }
    path.push(index);
    for needed in needs.get(index).into_iter().flatten() {
        visit(*needed, needs, order, path)?;
    }
    path.pop();
    order.push(index);
    Ok(())
}

/// Returns the other choices that a choice can't do without.
fn providers(choice: &Choice<'_>, chosen: &[Choice<'_>], before: &Inventory) -> Vec<usize> {
    let mut out = Vec::new();
    for need in &choice.present.needs {
        collect(need, choice, chosen, before, &mut out);
    }
    out.sort_unstable();
    out.dedup();
    out
}

fn collect(
    need: &Constraint,
    choice: &Choice<'_>,
    chosen: &[Choice<'_>],
    before: &Inventory,
    out: &mut Vec<usize>,
) {
    if before.satisfies(need) || choice.present.satisfies(need) {
        return;
    }
    match &need.requirement {
        Requirement::All(parts) | Requirement::Any(parts) => {
            for part in parts {
                collect(part, choice, chosen, before, out);
            }
        }
        Requirement::Not(_) => {}
        Requirement::Package { .. } | Requirement::Kind(_) | Requirement::Expression(_) => {
            // The first that was chosen for it suffices.
            out.extend(chosen.iter().position(|other| other.present.satisfies(need)));
        }
    }
}
