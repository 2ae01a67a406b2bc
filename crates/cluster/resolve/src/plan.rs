//! What else must be installed before a package, and in which order.
//!
//! The package itself is chosen as [`crate::resolution`] chooses it. For what it needs, the preferred candidate is
//! tried first, then the next; a candidate whose own needs can't be met is given up. What is installed is changed only
//! along the edges of its channels, and never so that another installed package loses what it needs.

mod order;

use std::collections::{BTreeMap, HashMap, VecDeque};

use gotemplate::format::quoted;
use thiserror::Error;
use version::{Version, VersionRelease};

use crate::dependencies::{
    Constraint, DependencyError, Inventory, Present, Requirement, Unmet, dependencies,
};
use crate::edges::Edges;
use crate::package::{Bundle, Package};
use crate::request::{Installed, Request};
use crate::resolution::{BrokenCatalogs, Offer, OfferState, Unresolved, preference, resolve};

/// Every package that the catalogs offer, by name.
pub type Offers<'a> = BTreeMap<String, Vec<Offer<'a>>>;

/// How many candidates are tried: authors write a handful of dependencies, and a catalog is written by strangers.
pub const MAX_ATTEMPTS: usize = 1_000;
/// How many packages a plan may have; every one costs stack, and nobody reads a longer plan.
pub const MAX_INSTALLS: usize = 100;

/// A package to install.
#[derive(Debug, Clone)]
pub struct Install<'a> {
    /// The package.
    pub package: String,
    /// The bundle.
    pub bundle: &'a Bundle,
    /// Its version.
    pub version: &'a VersionRelease,
    /// The catalog it comes from.
    pub catalog: &'a str,
    /// The version that it takes the place of.
    pub replaces: Option<Version>,
    /// The packages of the plan that need it.
    pub needed_by: Vec<String>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The package itself can't be resolved.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// What a bundle needs can't be read.
    #[error(transparent)]
    Unreadable(#[from] DependencyError),
    /// Nothing that the catalogs offer is what a bundle needs.
    #[error("{} {unmet}; {}", path(.by), in_catalogs(.offered))]
    Missing {
        /// The package that was asked for, and what leads from it to whoever needs this.
        by: Vec<String>,
        /// What is missing.
        unmet: Unmet,
        /// What the catalogs have of it, and why it isn't suitable.
        offered: Vec<String>,
    },
    /// What would be installed, or is, excludes each other.
    #[error("{} conflicts with the plan: it {unmet}", quoted(.package))]
    Conflict {
        /// The package that would lose what it needs.
        package: String,
        /// What it would lose.
        unmet: Unmet,
    },
    /// Packages need each other, so that none can be the first.
    #[error("{} need each other, so that none can be installed first; install one of them without its dependencies", .0.join(" → "))]
    Cycle(Vec<String>),
    /// Too many combinations.
    #[error(
        "no plan with up to {MAX_INSTALLS} packages was found after {MAX_ATTEMPTS} attempts; install some of the dependencies yourself first"
    )]
    TooComplex,
}

fn path(by: &[String]) -> String {
    by.iter().map(quoted).collect::<Vec<_>>().join(" → ")
}

fn in_catalogs(offered: &[String]) -> String {
    if offered.is_empty() {
        "no catalog has it".into()
    } else {
        format!("the catalogs have {}", offered.join(", "))
    }
}

/// A candidate that was chosen.
#[derive(Debug, Clone)]
struct Choice<'a> {
    offer: Candidate<'a>,
    present: Present,
    by: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Candidate<'a> {
    name: &'a str,
    package: &'a Package,
    bundle: &'a Bundle,
    version: &'a VersionRelease,
    catalog: &'a str,
    priority: i32,
}

/// Something that is needed, and the packages that lead to it.
#[derive(Clone)]
struct Need {
    constraint: Constraint,
    by: Vec<String>,
}

#[derive(Clone)]
struct State<'a> {
    inventory: Inventory,
    chosen: Vec<Choice<'a>>,
}

struct Search<'a, 'b> {
    offers: &'a Offers<'a>,
    before: &'b Inventory,
    attempts: usize,
    /// What bundles say of themselves, read once each.
    read: HashMap<*const Bundle, Present>,
}

/// Returns what to install, in order: the package that is asked for comes last.
///
/// # Errors
///
/// If the package can't be resolved, or what it needs can't be had.
pub fn plan<'a>(
    request: &'a Request,
    offers: &'a Offers<'a>,
    inventory: &Inventory,
    broken_catalogs: BrokenCatalogs,
) -> Result<Vec<Install<'a>>, PlanError> {
    let of_package = offers.get(&request.package).map_or(&[][..], Vec::as_slice);
    let resolution = resolve(request, of_package, broken_catalogs)?;
    let chosen = of_package.iter().find_map(|offer| match &offer.state {
        OfferState::Read(Some(package)) if offer.catalog == resolution.catalog => Some((offer, *package)),
        _ => None,
    });
    let Some((offer, package)) = chosen else {
        return Ok(Vec::new());
    };
    let root = Candidate {
        name: &request.package,
        package,
        bundle: resolution.bundle,
        version: resolution.version,
        catalog: offer.catalog,
        priority: offer.priority,
    };
    let mut search = Search {
        offers,
        before: inventory,
        attempts: 0,
        read: HashMap::new(),
    };
    let state = State {
        inventory: inventory.clone(),
        chosen: Vec::new(),
    };
    let state = search.choose(state, VecDeque::new(), root, Vec::new())?;
    order::ordered(&state.chosen, inventory)
}

impl<'a> Search<'a, '_> {
    fn choose(
        &mut self,
        mut state: State<'a>,
        mut pending: VecDeque<Need>,
        offer: Candidate<'a>,
        mut by: Vec<String>,
    ) -> Result<State<'a>, PlanError> {
        self.attempts += 1;
        if self.attempts > MAX_ATTEMPTS || state.chosen.len() >= MAX_INSTALLS {
            return Err(PlanError::TooComplex);
        }
        let (bundle, version) = (offer.bundle, offer.version.version.clone());
        let present = Present::new(offer.name, &bundle.name, version, &bundle.properties);
        by.push(offer.name.to_owned());
        pending.extend(dependencies(bundle)?.into_iter().map(|constraint| Need {
            constraint,
            by: by.clone(),
        }));
        state
            .inventory
            .bundles
            .retain(|installed| installed.package != offer.name);
        state.inventory.bundles.push(present.clone());
        state.chosen.push(Choice { offer, present, by });
        self.settle(state, pending)
    }

    /// Meets what is pending, one after the other.
    fn settle(&mut self, state: State<'a>, mut pending: VecDeque<Need>) -> Result<State<'a>, PlanError> {
        while let Some(Need { constraint, by }) = pending.pop_front() {
            if state.inventory.satisfies(&constraint) {
                continue;
            }
            let missing = |offered| PlanError::Missing {
                by: by.clone(),
                unmet: state.inventory.explain(&constraint),
                offered,
            };
            let mut first_failure = None;
            match &constraint.requirement {
                Requirement::All(all) => {
                    for part in all.iter().rev() {
                        pending.push_front(Need {
                            constraint: part.clone(),
                            by: by.clone(),
                        });
                    }
                    continue;
                }
                Requirement::Not(_) => return Err(missing(Vec::new()).into_conflict()),
                Requirement::Any(any) => {
                    for part in any {
                        let mut pending = pending.clone();
                        pending.push_front(Need {
                            constraint: part.clone(),
                            by: by.clone(),
                        });
                        match self.settle(state.clone(), pending) {
                            Err(PlanError::TooComplex) => return Err(PlanError::TooComplex),
                            Err(failure) => first_failure = first_failure.or(Some(failure)),
                            settled => return settled,
                        }
                    }
                    return Err(first_failure.unwrap_or_else(|| missing(Vec::new())));
                }
                Requirement::Package { .. } | Requirement::Kind(_) | Requirement::Expression(_) => {}
            }
            let (candidates, unsuitable) = self.candidates(&constraint, &state);
            for candidate in candidates {
                match self.choose(state.clone(), pending.clone(), candidate, by.clone()) {
                    Err(PlanError::TooComplex) => return Err(PlanError::TooComplex),
                    Err(failure) => first_failure = first_failure.or(Some(failure)),
                    settled => return settled,
                }
            }
            return Err(first_failure.unwrap_or_else(|| missing(unsuitable)));
        }
        self.agree(&state)?;
        Ok(state)
    }

    /// Checks that nobody has lost what they need: what was chosen, and what was installed and had it.
    fn agree(&self, state: &State<'a>) -> Result<(), PlanError> {
        for bundle in &state.inventory.bundles {
            let is_chosen = state
                .chosen
                .iter()
                .any(|choice| choice.present.package == bundle.package);
            for need in &bundle.needs {
                if !state.inventory.satisfies(need) && (is_chosen || self.before.satisfies(need)) {
                    return Err(PlanError::Conflict {
                        package: bundle.package.clone(),
                        unmet: state.inventory.explain(need),
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns the bundles that satisfy a constraint, the preferred first, and what the catalogs have besides.
    fn candidates(
        &mut self,
        constraint: &Constraint,
        state: &State<'a>,
    ) -> (Vec<Candidate<'a>>, Vec<String>) {
        let named = match &constraint.requirement {
            Requirement::Package { name, .. } => Some(name),
            _ => None,
        };
        let mut candidates: Vec<Candidate<'a>> = Vec::new();
        let mut unsuitable = Vec::new();
        for (name, offers) in self
            .offers
            .iter()
            .filter(|(name, _)| named.is_none_or(|named| named == *name))
        {
            let chosen = state.chosen.iter().find(|choice| choice.present.package == *name);
            for offer in offers {
                let OfferState::Read(Some(package)) = &offer.state else {
                    continue;
                };
                for bundle in &package.bundles {
                    let Ok(version) = &bundle.version else { continue };
                    let suits = match &constraint.requirement {
                        Requirement::Package { range, .. } => range.matches(&version.version),
                        _ => self
                            .read
                            .entry(std::ptr::from_ref(bundle))
                            .or_insert_with(|| {
                                Present::new(name, &bundle.name, version.version.clone(), &bundle.properties)
                            })
                            .satisfies(constraint),
                    };
                    let label = || format!("{name} {}", version.version);
                    if !suits {
                        if named.is_some() {
                            unsuitable.push(label());
                        }
                    } else if let Some(chosen) = chosen {
                        let by = chosen.by.join(" → ");
                        let planned = &chosen.present.version;
                        unsuitable.push(format!("{} (but {planned} is planned: {by})", label()));
                    } else if let Some(installed) = self.before.package(name)
                        && !leads(installed, package, bundle)
                    {
                        let installed = &installed.version;
                        unsuitable.push(format!("{} (no upgrade leads there from {installed})", label()));
                    } else {
                        candidates.push(Candidate {
                            name,
                            package,
                            bundle,
                            version,
                            catalog: offer.catalog,
                            priority: offer.priority,
                        });
                    }
                }
            }
        }
        candidates.sort_by(|one, other| {
            let by_name = one.name.cmp(other.name).then(other.priority.cmp(&one.priority));
            by_name.then_with(|| preference(one.package, one.bundle, other.bundle))
        });
        unsuitable.dedup();
        (candidates, unsuitable)
    }
}

impl PlanError {
    fn into_conflict(self) -> PlanError {
        match self {
            PlanError::Missing { by, unmet, .. } => PlanError::Conflict {
                package: by.last().cloned().unwrap_or_default(),
                unmet,
            },
            other => other,
        }
    }
}

/// Returns whether an upgrade leads from what is installed to a bundle.
fn leads(installed: &Present, package: &Package, bundle: &Bundle) -> bool {
    let installed = Installed {
        name: installed.bundle.clone(),
        version: installed.version.to_string(),
        release: None,
    };
    Edges::new(&installed, &package.channels).is_ok_and(|edges| edges.lead_to(bundle).is_some())
}
