//! Scenarios 1–5, 7–16: an extension is installed, or says why not.

use std::time::Duration;

use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::conditions::Says;
use crate::images::Entry;
use crate::reference::Reference;
use crate::scenario::{Extension, Scenario};
use crate::world::{MIRRORED, SYSTEM_NAMESPACE};

type Outcome = Result<(), String>;

/// A minute of deadline, and what else may take time.
const DEADLINE_PATIENCE: Duration = Duration::from_secs(150);

const NO_CONFIGURATION: &str = "invalid ClusterExtension configuration: invalid configuration: required field \"watchNamespace\" is missing";

/// The catalog of most of these scenarios.
fn full() -> [Entry; 1] {
    [Entry::new("1.2.0", "beta", Contents::full())]
}

async fn installs_everything(scenario: &Scenario) -> Outcome {
    scenario.install(&scenario.extension()).await?;
    scenario.has_version("1.2.0").await?;
    for object in [
        scenario.network_policy(),
        scenario.config_map(),
        scenario.deployment(),
    ] {
        scenario.kubernetes().read(&object).await?;
    }
    Ok(())
}

/// 1
pub(crate) async fn the_latest_version_is_installed(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    installs_everything(&scenario).await
}

/// 2
pub(crate) async fn a_mirror_stands_for_its_registry(scenario: Scenario) -> Outcome {
    let contents = Contents::full().named_in(MIRRORED);
    scenario.prepare(&[Entry::new("1.2.0", "beta", contents)]).await?;
    installs_everything(&scenario).await
}

/// 3
pub(crate) async fn two_catalogs_of_one_priority_are_told(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.with_catalog("extra", &full()).await?;
    scenario
        .apply(&scenario.extension().whose_catalog_is_open())
        .await?;
    let said = format!(
        "found bundles for package {:?} in multiple catalogs with the same priority",
        scenario.package()
    );
    scenario
        .reports(
            &scenario.reference(),
            "Progressing",
            "True",
            "Retrying",
            Says::Something(&said),
        )
        .await
        .map(drop)
}

/// Expects that a configuration is refused.
async fn is_refused(scenario: &Scenario, extension: &Extension, text: &str) -> Outcome {
    scenario.apply(extension).await?;
    let refused = scenario
        .reports(
            &scenario.reference(),
            "Progressing",
            "False",
            "InvalidConfiguration",
            Says::Something(text),
        )
        .await?;
    match scenario.kubernetes().get(&scenario.revision(1)).await? {
        None => Ok(()),
        Some(_) => Err(format!("a revision was made although {refused}")),
    }
}

/// Expects that the operator watches a namespace.
async fn watches(scenario: &Scenario, deployment: &Reference, namespace: &str) -> Outcome {
    let deployment = scenario.kubernetes().read(deployment).await?;
    let watched = &deployment["spec"]["template"]["metadata"]["annotations"]["olm.targetNamespaces"];
    if watched == namespace {
        Ok(())
    } else {
        Err(format!("the operator watches {watched}, not {namespace:?}"))
    }
}

/// 4
pub(crate) async fn a_single_namespace_has_to_be_named(scenario: Scenario) -> Outcome {
    let contents = Contents::operator().with_install_modes(&["SingleNamespace"]);
    scenario
        .prepare(&[Entry::new("1.0.0", "alpha", contents)])
        .await?;
    let target = format!("single-namespace-operator-target-{}", scenario.id);
    scenario.world.namespace(&target).await?;
    is_refused(&scenario, &scenario.extension(), NO_CONFIGURATION).await?;
    let told = scenario.extension().configured(json!({"watchNamespace": target}));
    scenario.install(&told).await?;
    scenario.has_version("1.0.0").await?;
    watches(&scenario, &scenario.deployment(), &target).await
}

/// 5
pub(crate) async fn the_own_namespace_has_to_be_named(scenario: Scenario) -> Outcome {
    let contents = Contents::operator().with_install_modes(&["OwnNamespace"]);
    scenario
        .prepare(&[Entry::new("1.0.0", "alpha", contents)])
        .await?;
    is_refused(&scenario, &scenario.extension(), NO_CONFIGURATION).await?;
    let namespace = scenario.namespace();
    let wrong = scenario
        .extension()
        .configured(json!({"watchNamespace": "some-ns"}));
    let text = format!("invalid value \"some-ns\": must be {namespace:?}");
    is_refused(&scenario, &wrong, &text).await?;
    let right = scenario
        .extension()
        .configured(json!({"watchNamespace": namespace}));
    scenario.install(&right).await?;
    watches(&scenario, &scenario.deployment(), &namespace).await
}

/// 7
pub(crate) async fn a_namespace_that_is_no_name_is_refused(scenario: Scenario) -> Outcome {
    let contents = Contents::operator().with_install_modes(&["SingleNamespace"]);
    scenario
        .prepare(&[Entry::new("1.0.0", "alpha", contents)])
        .await?;
    let extension = scenario
        .extension()
        .configured(json!({"watchNamespace": "invalid-namespace-"}));
    let text = "invalid ClusterExtension configuration: invalid configuration: field \"watchNamespace\" must match pattern";
    is_refused(&scenario, &extension, text).await
}

/// 8
pub(crate) async fn an_operator_of_all_namespaces_takes_none(scenario: Scenario) -> Outcome {
    let contents = Contents::operator().with_install_modes(&["AllNamespaces"]);
    scenario
        .prepare(&[Entry::new("0.0.1", "alpha", contents)])
        .await?;
    let extension = scenario
        .extension()
        .configured(json!({"watchNamespace": scenario.namespace()}));
    let text =
        "invalid ClusterExtension configuration: invalid configuration: unknown field \"watchNamespace\"";
    is_refused(&scenario, &extension, text).await
}

async fn exceeds_its_deadline(scenario: &Scenario, version: &'static str) -> Outcome {
    scenario
        .prepare(&[Entry::new(version, "alpha", Contents::bad_image())])
        .await?;
    scenario
        .apply(&scenario.extension().version(version).deadline(1))
        .await?;
    let exceeded = ("Progressing", "False", "ProgressDeadlineExceeded");
    scenario
        .reports_within(&scenario.revision(1), DEADLINE_PATIENCE, exceeded, Says::Anything)
        .await?;
    let text = format!(
        "Revision has not rolled out for 1 minute(s). Last status: Revision {version} is rolling out."
    );
    scenario
        .reports_within(
            &scenario.reference(),
            DEADLINE_PATIENCE,
            exceeded,
            Says::Exactly(&text),
        )
        .await?;
    Ok(())
}

/// 9
pub(crate) async fn what_never_becomes_available_exceeds_its_deadline(scenario: Scenario) -> Outcome {
    exceeds_its_deadline(&scenario, "1.0.2").await
}

/// 10
pub(crate) async fn what_never_completes_exceeds_its_deadline(scenario: Scenario) -> Outcome {
    exceeds_its_deadline(&scenario, "1.0.3").await
}

/// 11
pub(crate) async fn the_properties_of_a_bundle_are_on_its_revision(scenario: Scenario) -> Outcome {
    let contents = Contents::full().with_property("olm.test-property", "some-value");
    scenario.prepare(&[Entry::new("1.2.0", "beta", contents)]).await?;
    scenario.install(&scenario.extension()).await?;
    let revision = scenario.kubernetes().read(&scenario.revision(1)).await?;
    let properties = &revision["metadata"]["annotations"]["olm.properties"];
    if properties == r#"[{"type":"olm.test-property","value":"some-value"}]"# {
        Ok(())
    } else {
        Err(format!("the properties are {properties}"))
    }
}

/// 12
pub(crate) async fn a_revision_says_whose_it_is(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    let revision = scenario.kubernetes().read(&scenario.revision(1)).await?;
    let labels = &revision["metadata"]["labels"];
    if labels["olm.operatorframework.io/owner-kind"] == "ClusterExtension"
        && labels["olm.operatorframework.io/owner-name"] == scenario.name()
    {
        Ok(())
    } else {
        Err(format!("the labels are {labels}"))
    }
}

/// 13
pub(crate) async fn objects_lie_in_immutable_secrets(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario.install(&scenario.extension()).await?;
    let revision = scenario.kubernetes().read(&scenario.revision(1)).await?;
    let phases = revision["spec"]["phases"].as_array().cloned().unwrap_or_default();
    let entries: Vec<&Value> = phases
        .iter()
        .flat_map(|phase| phase["objects"].as_array().into_iter().flatten())
        .collect();
    if entries.is_empty() {
        return Err("there are no objects".to_owned());
    }
    for entry in entries {
        let name = entry["ref"]["name"].as_str().unwrap_or_default();
        if entry["ref"]["namespace"] != SYSTEM_NAMESPACE || entry.get("object").is_some() {
            return Err(format!("{entry} is no reference into {SYSTEM_NAMESPACE}"));
        }
        let secret = Reference::namespaced("v1", "Secret", SYSTEM_NAMESPACE, name);
        let secret = scenario.kubernetes().read(&secret).await?;
        let labels = &secret["metadata"]["labels"];
        let owners = secret["metadata"]["ownerReferences"].as_array();
        let is_owned = owners.is_some_and(|owners| {
            owners
                .iter()
                .any(|owner| owner["uid"] == revision["metadata"]["uid"])
        });
        if secret["immutable"] != true
            || secret["type"] != "olm.operatorframework.io/object-data"
            || labels["olm.operatorframework.io/revision-name"] != format!("{}-1", scenario.name())
            || labels["olm.operatorframework.io/owner-name"] != scenario.name()
            || !is_owned
        {
            return Err(format!(
                "the Secret isn't as it should be: {} immutable {} type {}",
                secret["metadata"], secret["immutable"], secret["type"]
            ));
        }
    }
    Ok(())
}

/// 14
pub(crate) async fn a_node_selector_reaches_the_deployment(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    let selector = json!({"kubernetes.io/os": "linux"});
    let extension = scenario
        .extension()
        .configured(json!({"deploymentConfig": {"nodeSelector": selector}}));
    scenario.install(&extension).await?;
    let deployment = scenario.kubernetes().read(&scenario.deployment()).await?;
    let found = &deployment["spec"]["template"]["spec"]["nodeSelector"];
    if *found == selector {
        Ok(())
    } else {
        Err(format!("the node selector is {found}"))
    }
}

/// 15
pub(crate) async fn a_large_definition_is_installed(scenario: Scenario) -> Outcome {
    let contents = Contents::operator().with_more_fields(250);
    scenario.prepare(&[Entry::new("1.0.0", "beta", contents)]).await?;
    scenario.install(&scenario.extension()).await?;
    scenario.has_version("1.0.0").await?;
    scenario.kubernetes().read(&scenario.deployment()).await.map(drop)
}

/// The words of the policy about the field that nobody looks at any more.
const DEPRECATED: &str = "Validation failed for ValidatingAdmissionPolicy 'clusterextension-serviceaccount-deprecated' \
    with binding 'clusterextension-serviceaccount-deprecated': spec.serviceAccount is deprecated, ignored, and will be \
    removed in a future release. The operator-controller's cluster-admin service account is used for all cluster \
    interactions.";

/// 16
pub(crate) async fn a_service_account_is_warned_of(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    let extension = scenario.extension().service_account("some-sa");
    let answer = scenario.kubernetes().apply_with(&extension.0, "").await?;
    let warnings = answer.warnings.clone();
    answer.successful("cannot apply the extension")?;
    if warnings != [DEPRECATED] {
        return Err(format!("the warnings are {warnings:?}"));
    }
    scenario.is_installed(&scenario.reference()).await
}

/// 26
pub(crate) async fn clearing_the_service_account_is_silent(scenario: Scenario) -> Outcome {
    scenario.prepare(&full()).await?;
    scenario
        .install(&scenario.extension().service_account("some-sa"))
        .await?;
    let before = scenario.kubernetes().read(&scenario.reference()).await?;
    let answer = scenario
        .kubernetes()
        .apply_with(&scenario.extension().0, "")
        .await?;
    let warnings = answer.warnings.clone();
    let after = answer.successful("cannot apply the extension")?;
    if !warnings.is_empty() {
        return Err(format!("the warnings are {warnings:?}"));
    }
    if after["spec"].get("serviceAccount").is_some()
        || after["metadata"]["generation"] == before["metadata"]["generation"]
    {
        return Err(format!("the field is still there: {}", after["spec"]));
    }
    // This waits for the new generation.
    scenario.is_installed(&scenario.reference()).await
}
