//! The question whether rules can hold together, put to a SAT solver.

use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, SolverOpts, lbool};

use super::{MAX_CONFLICTS, Problem, RuleKind};

/// Counts what the SAT solver learns from being wrong, and stops it when that is too much.
#[derive(Default)]
struct Patience {
    conflicts: u64,
}

impl Callbacks for Patience {
    fn on_new_clause(&mut self, _: &[Lit], kind: ClauseKind) {
        if matches!(kind, ClauseKind::Learnt) {
            self.conflicts += 1;
        }
    }

    fn stop(&self) -> bool {
        self.conflicts > MAX_CONFLICTS
    }
}

/// The rules of a problem as clauses, each of which can be switched off.
pub(super) struct Clauses {
    solver: Solver<Patience>,
    variables: Vec<Lit>,
    /// For each rule the literal that switches it on.
    switches: Vec<Lit>,
    /// The last solution that was found, by variable.
    solution: Vec<bool>,
}

impl Clauses {
    pub(super) fn new(problem: &Problem) -> Self {
        let mut solver = Solver::new(SolverOpts::default(), Patience::default());
        let variables: Vec<Lit> = (0..problem.variables).map(|_| literal(&mut solver)).collect();
        let mut switches = Vec::with_capacity(problem.rules.len());
        for rule in &problem.rules {
            let switch = literal(&mut solver);
            switches.push(switch);
            let subject = variables[rule.subject];
            let mut clause = |rest: &[Lit]| {
                let mut clause = vec![!switch];
                clause.extend(rest);
                solver.add_clause_reuse(&mut clause);
            };
            match &rule.kind {
                RuleKind::Mandatory => clause(&[subject]),
                RuleKind::Prohibited => clause(&[!subject]),
                RuleKind::Dependency(candidates) => {
                    let mut rest = vec![!subject];
                    rest.extend(candidates.iter().map(|&candidate| variables[candidate]));
                    clause(&rest);
                }
                RuleKind::AtMost(limit, members) => {
                    let members: Vec<Lit> = members.iter().map(|&member| variables[member]).collect();
                    at_most(&mut solver, switch, *limit, &members);
                }
            }
        }
        Self {
            solver,
            solution: vec![false; variables.len()],
            variables,
            switches,
        }
    }

    /// Returns whether these rules can hold together with these variables chosen; `None` if it is too hard to tell.
    pub(super) fn can_hold(&mut self, rules: &[usize], chosen: &[usize]) -> Option<bool> {
        let rules = rules.iter().map(|&rule| self.switches[rule]);
        let chosen = chosen.iter().map(|&variable| self.variables[variable]);
        let assumed: Vec<Lit> = rules.chain(chosen).collect();
        let answer = self.solver.solve_limited(&assumed);
        if answer == lbool::TRUE {
            for (is_chosen, literal) in self.solution.iter_mut().zip(&self.variables) {
                *is_chosen = self.solver.value_lit(*literal) == lbool::TRUE;
            }
            Some(true)
        } else if answer == lbool::FALSE {
            Some(false)
        } else {
            None
        }
    }

    /// Returns whether a variable is chosen in the last solution that was found.
    ///
    /// While choices are made one after the other, the last solution contains everything that is chosen so far.
    pub(super) fn last_solution_has(&self, variable: usize) -> bool {
        self.solution[variable]
    }

    /// Returns the first rules, in this order, that can't hold together: a set that is minimal, and before every other
    /// such set. The rules as a whole must be such that they can't hold. `None` if it is too hard to tell.
    ///
    /// The last rule of the shortest beginning that can't hold is one of them. With it moved to the front, the next
    /// one is found in the same way, until those at the front can't hold by themselves.
    pub(super) fn first_core(&mut self, order: &[usize]) -> Option<Vec<usize>> {
        let mut core = Vec::new();
        let mut rest = order;
        loop {
            if !self.can_hold(&core, &[])? {
                return Some(core);
            }
            // Invariant: with `low` rules of the rest they can hold, with `high` they can't.
            let (mut low, mut high) = (0, rest.len());
            while low + 1 < high {
                let middle = low + (high - low) / 2;
                let tried: Vec<usize> = core.iter().chain(&rest[..middle]).copied().collect();
                if self.can_hold(&tried, &[])? {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let last = high.checked_sub(1)?;
            core.push(*rest.get(last)?);
            rest = &rest[..last];
        }
    }
}

fn literal(solver: &mut Solver<Patience>) -> Lit {
    // A variable that nothing asks for is left out.
    let variable = solver.new_var(lbool::FALSE, true);
    Lit::new(variable, true)
}

/// Adds clauses that, while the switch is on, allow no more than `limit` of the members.
///
/// With every member a row of literals is added that count: the one at `n` holds if more than `n` of the members up to
/// here are chosen. That takes `members × limit` clauses, where naming every excluded pair takes a square.
fn at_most(solver: &mut Solver<Patience>, switch: Lit, limit: usize, members: &[Lit]) {
    if members.len() <= limit {
        return;
    }
    let mut before: Vec<Lit> = Vec::new();
    for &member in members {
        // Already as many as allowed: no further one.
        let full = if limit == 0 { None } else { before.get(limit - 1) };
        if limit == 0 || full.is_some() {
            let mut clause = vec![!switch, !member];
            clause.extend(full.map(|full| !*full));
            solver.add_clause_reuse(&mut clause);
        }
        let now: Vec<Lit> = (0..limit.min(before.len() + 1))
            .map(|_| literal(solver))
            .collect();
        for (count, &counted) in now.iter().enumerate() {
            if let Some(previous) = before.get(count) {
                solver.add_clause_reuse(&mut vec![!*previous, counted]);
            }
            let mut clause = vec![!member, counted];
            match count.checked_sub(1).map(|fewer| before.get(fewer)) {
                Some(Some(fewer)) => clause.push(!*fewer),
                Some(None) => continue,
                None => {}
            }
            solver.add_clause_reuse(&mut clause);
        }
        before = now;
    }
}
