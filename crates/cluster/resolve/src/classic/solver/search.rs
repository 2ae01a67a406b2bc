//! Making the choices in their order.

use std::collections::VecDeque;

use super::satisfiability::Clauses;
use super::{Problem, RuleKind};

/// A choice to make: something mandatory, or the candidates of a dependency.
enum Choice<'a> {
    Anchor(usize),
    Candidates(&'a [usize]),
}

impl Choice<'_> {
    fn candidates(&self) -> &[usize] {
        match self {
            Self::Anchor(variable) => std::slice::from_ref(variable),
            Self::Candidates(candidates) => candidates,
        }
    }
}

/// Makes choices in their order with what `choose` takes of the candidates; `None` where that is nothing.
fn choices(
    problem: &Problem,
    mut choose: impl FnMut(&[usize], &[usize]) -> Option<usize>,
) -> Option<Vec<usize>> {
    let mut open: VecDeque<Choice<'_>> = problem.anchors().map(Choice::Anchor).collect();
    let mut is_chosen = vec![false; problem.variables];
    let mut chosen = Vec::new();
    while let Some(choice) = open.pop_front() {
        let candidates = choice.candidates();
        if candidates.iter().any(|&candidate| is_chosen[candidate]) {
            continue;
        }
        let candidate = choose(&chosen, candidates)?;
        is_chosen[candidate] = true;
        chosen.push(candidate);
        let needed = problem
            .dependencies(candidate)
            .filter(|candidates| !candidates.is_empty());
        open.extend(needed.map(Choice::Candidates));
    }
    Some(chosen)
}

/// Takes of every choice the first candidate that nothing chosen before excludes.
///
/// What it finds is what the full search finds: a candidate that it passes over is in no solution with those chosen
/// before, and everything that is asked for is chosen in the end. Where it would have to turn back, it returns `None`.
pub(super) fn without_turning_back(problem: &Problem) -> Option<Vec<usize>> {
    let mut room: Vec<usize> = problem
        .rules
        .iter()
        .map(|rule| match rule.kind {
            RuleKind::AtMost(limit, _) => limit,
            _ => usize::MAX,
        })
        .collect();
    choices(problem, |_, candidates| {
        let fits = |&&candidate: &&usize| {
            let limits = &problem.limits[candidate];
            !problem.is_excluded(candidate) && limits.iter().all(|&(rule, times)| room[rule] >= times)
        };
        let candidate = *candidates.iter().find(fits)?;
        for &(rule, times) in &problem.limits[candidate] {
            room[rule] -= times;
        }
        Some(candidate)
    })
}

/// Takes of every choice the first candidate with which a solution exists; there must be one to begin with.
///
/// `None` where that is too hard to tell.
pub(super) fn with_clauses(problem: &Problem, clauses: &mut Clauses) -> Option<Vec<usize>> {
    let everything: Vec<usize> = (0..problem.rules.len()).collect();
    choices(problem, |chosen, candidates| {
        let mut tried = chosen.to_vec();
        for &candidate in candidates {
            if clauses.last_solution_has(candidate) {
                return Some(candidate);
            }
            tried.push(candidate);
            if clauses.can_hold(&everything, &tried)? {
                return Some(candidate);
            }
            tried.pop();
        }
        None
    })
}
