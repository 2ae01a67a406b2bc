//! From what a resolution selected to steps, bundle lookups and what becomes of the Subscriptions.

use std::collections::BTreeSet;

use classic::{Kind, World};
use resolve::classic::property::to_annotation;
use serde_json::{Value, json};

use super::{Step, StepError, of_bundle, ordered};
use crate::bundle_lookup::BundleLookup;
use crate::manifest::{MAXIMUM_INLINE_BYTES, Reference};
use crate::reference::ALPHA;
use crate::selection::{Location, Selected};
use crate::subscription::Subscription;

/// A Subscription whose next version was selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionChange {
    /// The Subscription.
    pub subscription: String,
    /// The ClusterServiceVersion that it leads to.
    pub service_version: String,
}

/// What a resolution asks for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Planned {
    /// The steps of bundles that came with the catalog, and of Subscriptions for dependencies.
    pub steps: Vec<Step>,
    /// The bundle images that are needed for the other steps.
    pub lookups: Vec<BundleLookup>,
    /// Subscriptions that lead to something new.
    pub changes: Vec<SubscriptionChange>,
}

/// Returns what is to be done for what was selected, given the Subscriptions of the namespace.
pub fn of_resolution(
    world: &World,
    namespace: &str,
    subscriptions: &[Subscription<'_>],
    selected: &[Selected],
) -> Result<Planned, StepError> {
    let mut planned = Planned::default();
    for operator in selected {
        let matching: Vec<&Subscription<'_>> = subscriptions
            .iter()
            .filter(|subscription| asks_for(**subscription, operator))
            .collect();
        let leads_here = |subscription: &&&Subscription<'_>| subscription.current() == operator.name;
        let is_up_to_date = |subscription: &&Subscription<'_>| {
            let current = subscription.current();
            current == operator.name
                && world
                    .get(Kind::ClusterServiceVersion, namespace, current)
                    .is_some()
        };
        if !matching.is_empty() && matching.iter().all(is_up_to_date) {
            continue;
        }
        match &operator.location {
            Location::Inline(content) => {
                let mut steps = of_bundle(
                    content,
                    &operator.properties,
                    namespace,
                    &operator.replaces,
                    &operator.source,
                )?;
                for step in &mut steps {
                    step.resolving.clone_from(&operator.name);
                }
                planned.steps.extend(steps);
            }
            Location::Image(path) => planned.lookups.push(BundleLookup {
                path: path.clone(),
                identifier: operator.name.clone(),
                replaces: operator.replaces.clone(),
                source: operator.source.clone(),
                properties: to_annotation(&operator.properties).map_err(|source| StepError::Properties {
                    name: operator.name.clone(),
                    source,
                })?,
            }),
        }
        if matching.is_empty() {
            planned.steps.push(subscription_step(namespace, operator));
        }
        let changed = matching.iter().filter(|subscription| !leads_here(subscription));
        planned
            .changes
            .extend(changed.map(|subscription| SubscriptionChange {
                subscription: subscription.name().to_owned(),
                service_version: operator.name.clone(),
            }));
    }
    planned.steps = within_bounds(ordered(planned.steps), selected);
    Ok(planned)
}

/// Returns whether a Subscription is one to the package, channel and catalog of a selected bundle.
fn asks_for(subscription: Subscription<'_>, operator: &Selected) -> bool {
    let source = subscription.source();
    subscription.package() == operator.package
        && (subscription.channel().is_empty() || subscription.channel() == operator.channel)
        && (source.is_empty() || source == operator.source)
}

/// The step that subscribes to a dependency.
fn subscription_step(namespace: &str, operator: &Selected) -> Step {
    let source = &operator.source;
    let name = format!(
        "{}-{}-{}-{}",
        operator.package, operator.channel, source.name, source.namespace
    );
    let mut object = json!({
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "source": source.name,
            "sourceNamespace": source.namespace,
            "name": operator.package,
            "startingCSV": operator.name,
            "installPlanApproval": "Automatic",
        },
        "status": {"lastUpdated": Value::Null},
    });
    if !operator.channel.is_empty() {
        object["spec"]["channel"] = Value::from(operator.channel.as_str());
    }
    let inferred = Some((ALPHA, Kind::Subscription.naming().kind));
    Step::of_object(&operator.name, &object, inferred, source)
}

/// Replaces the manifests of the largest bundles by references into their catalogs, until the plan can be stored.
fn within_bounds(mut steps: Vec<Step>, selected: &[Selected]) -> Vec<Step> {
    let size = |steps: &[Step]| steps.iter().map(|step| step.manifest.len()).sum::<usize>();
    let mut referenced: BTreeSet<&str> = BTreeSet::new();
    while size(&steps) > MAXIMUM_INLINE_BYTES {
        let inline = selected.iter().filter(|operator| {
            matches!(operator.location, Location::Inline(_)) && !referenced.contains(operator.name.as_str())
        });
        let weight = |operator: &&Selected| {
            let own = steps.iter().filter(|step| step.resolving == operator.name);
            own.map(|step| step.manifest.len()).sum::<usize>()
        };
        let Some(largest) = inline.max_by_key(weight) else {
            break;
        };
        referenced.insert(&largest.name);
        let reference = Reference::Catalog {
            source: largest.source.clone(),
            package: largest.package.clone(),
            channel: largest.channel.clone(),
            bundle: largest.name.clone(),
            replaces: largest.replaces.clone(),
        };
        let own = steps
            .iter_mut()
            // The Subscription of a dependency is no part of its bundle.
            .filter(|step| step.resolving == largest.name && step.kind != "Subscription");
        for step in own {
            step.manifest = reference.to_manifest();
        }
    }
    steps
}
