//! What a Subscription says of the catalogs that it could be resolved from.

use apply::object::text;
use classic::{Kind, World};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{CATALOG_SOURCES_UNHEALTHY, Subscription};
use crate::conditions::{self, condition, field};
use crate::moment;
use crate::reference;
use crate::settings::Settings;
use crate::source;

/// Brings `catalogHealth` and its condition up to date.
///
/// As upstream does it, a change is first told as such (`CatalogSourcesAdded`), and the next look tells the state.
pub(super) fn update(
    world: &World,
    subscription: Subscription<'_>,
    status: &mut Value,
    settings: &Settings,
    now: Timestamp,
) {
    let now = moment::text(now);
    let health = health(world, subscription.namespace(), settings, &now);
    let existing = conditions::get(status, CATALOG_SOURCES_UNHEALTHY);
    let targeted = subscription.source();
    let target = health.iter().find(|health| {
        text(health, "/catalogSourceRef/namespace") == targeted.namespace
            && text(health, "/catalogSourceRef/name") == targeted.name
    });
    let is_healthy = |health: &Value| health.get("healthy") == Some(&Value::Bool(true));
    let said_before = existing.map_or("", |existing| field(existing, "message"));
    let (unhealthy, mut reason, mut message) = match target {
        None => (
            "True",
            "UnhealthyCatalogSourceFound",
            format!("targeted catalogsource {targeted} missing"),
        ),
        Some(target) if !is_healthy(target) => (
            "True",
            "UnhealthyCatalogSourceFound",
            format!("targeted catalogsource {targeted} unhealthy"),
        ),
        Some(_) if !health.iter().all(is_healthy) => {
            ("True", "UnhealthyCatalogSourceFound", said_before.to_owned())
        }
        Some(_) => (
            "False",
            "AllCatalogSourcesHealthy",
            "all available catalogsources are healthy".to_owned(),
        ),
    };
    let empty = Vec::new();
    let known = status
        .get("catalogHealth")
        .and_then(Value::as_array)
        .unwrap_or(&empty);
    let same = |one: &Value, other: &Value| {
        text(one, "/catalogSourceRef/uid") == text(other, "/catalogSourceRef/uid")
            && one.get("healthy") == other.get("healthy")
    };
    let has_changed = known
        .iter()
        .any(|known| !health.iter().any(|health| same(known, health)));
    let mut is_to_be_kept = false;
    if health.len() > known.len() {
        reason = "CatalogSourcesAdded";
    } else if health.len() < known.len() {
        reason = "CatalogSourcesDeleted";
    } else if health.is_empty() {
        reason = "NoCatalogSourcesFound";
        "dependency resolution requires at least one catalogsource".clone_into(&mut message);
        is_to_be_kept = true;
    } else if has_changed {
        reason = "CatalogSourcesUpdated";
    } else {
        is_to_be_kept = true;
    }
    let mut wanted = condition(CATALOG_SOURCES_UNHEALTHY, unhealthy, reason, &message);
    if is_to_be_kept && existing.is_some_and(|existing| conditions::say_the_same(existing, &wanted)) {
        return;
    }
    wanted["lastTransitionTime"] = Value::from(now);
    conditions::set(status, wanted);
    if health.is_empty() {
        if let Some(fields) = status.as_object_mut() {
            fields.remove("catalogHealth");
        }
    } else {
        status["catalogHealth"] = Value::Array(health);
    }
}

/// Returns the health of the catalogs of a namespace and of the global ones, by namespace and name.
fn health(world: &World, namespace: &str, settings: &Settings, now: &str) -> Vec<Value> {
    let global = settings.global_namespace.as_str();
    let mut catalogs: Vec<&Value> = world
        .in_namespace(Kind::CatalogSource, namespace)
        .map(AsRef::as_ref)
        .collect();
    if namespace != global {
        catalogs.extend(world.in_namespace(Kind::CatalogSource, global).map(AsRef::as_ref));
    }
    catalogs.sort_by_key(|catalog| {
        format!(
            "{}{}",
            text(catalog, "/metadata/namespace"),
            text(catalog, "/metadata/name")
        )
    });
    catalogs
        .into_iter()
        .map(|catalog| {
            json!({
                "catalogSourceRef": reference::to_object(Kind::CatalogSource, catalog),
                "healthy": source::is_healthy(catalog),
                "lastUpdated": now,
            })
        })
        .collect()
}
