//! What is decided for an extension, as tables: no cluster, no clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::cluster_extension::{BundleMetadata, CatalogFilter, ClusterExtensionSpec, ExtensionSource};
use api::cluster_object_set::{CollisionProtection, LifecycleState};
use api::condition::{self, ConditionStatus, Statement, find};
use api::{ClusterExtension, ClusterObjectSet, keys};
use extension_controller::choosing::{Choice, Target, WaitsFor, choose};
use extension_controller::deciding::{Again, Plan, ROLLBACK_DEADLINE_MINUTES, Write, decide};
use extension_controller::explaining::explained;
use extension_controller::failure::Failure;
use extension_controller::revisions::{Desired, NewRevision};
use extension_controller::snapshot::{Content, NoContent, SeenCatalog, SeenPackage, Snapshot};
use extension_controller::standing::Bundle;
use jiff::Timestamp;
use resolve::dependencies::Inventory;
use resolve::package::{Package, Releases};
use resolve::resolution::BrokenCatalogs;
use serde_json::{Value, json};

/// An extension `a` of package `p`, whose channel `stable` leads from 1.0.0 to 1.1.0 to 1.2.0, and `fast` to 2.0.0.
struct World {
    snapshot: Snapshot,
    /// The version that each version's content is.
    content: BTreeMap<String, Vec<Value>>,
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn bundle(version: &str) -> Bundle {
    Bundle {
        package: "p".to_owned(),
        image: format!("registry.example.com/p:{version}"),
        metadata: BundleMetadata {
            name: format!("p.v{version}"),
            version: version.to_owned(),
            release: None,
        },
    }
}

fn package() -> Package {
    let mut package = Package {
        name: "p".to_owned(),
        ..Package::default()
    };
    let mut add = |object: Value| {
        let blob = serde_json::to_vec(&object).expect("JSON");
        let (schema, name) = (object["schema"].as_str(), object["name"].as_str());
        let (schema, name) = (schema.expect("a schema"), name.expect("a name"));
        package
            .add(schema, name, &blob, Releases::Stated)
            .expect("an object");
    };
    add(
        json!({"schema": "olm.channel", "name": "stable", "package": "p", "entries": [
            {"name": "p.v1.0.0"}, {"name": "p.v1.1.0", "replaces": "p.v1.0.0"}, {"name": "p.v1.2.0", "replaces": "p.v1.1.0"},
        ]}),
    );
    add(
        json!({"schema": "olm.channel", "name": "fast", "package": "p", "entries": [
            {"name": "p.v2.0.0", "replaces": "p.v1.0.0"},
        ]}),
    );
    for version in ["1.0.0", "1.1.0", "1.2.0", "2.0.0"] {
        add(json!({
            "schema": "olm.bundle", "name": format!("p.v{version}"), "package": "p", "image": bundle(version).image,
            "properties": [{"type": "olm.package", "value": {"packageName": "p", "version": version}}],
        }));
    }
    package
}

impl World {
    fn new(version: &str) -> Self {
        let spec = ClusterExtensionSpec {
            namespace: "default".to_owned(),
            source: ExtensionSource {
                source_type: "Catalog".to_owned(),
                catalog: Some(CatalogFilter {
                    package_name: "p".to_owned(),
                    version: version.to_owned(),
                    ..CatalogFilter::default()
                }),
            },
            ..ClusterExtensionSpec::default()
        };
        let mut extension = ClusterExtension::new("a", spec);
        extension.metadata.uid = Some("uid-a".to_owned());
        extension.metadata.generation = Some(1);
        let catalog = SeenCatalog {
            name: "c".to_owned(),
            priority: 0,
            package: SeenPackage::Read(Some(Arc::new(package()))),
        };
        Self {
            snapshot: Snapshot {
                extension,
                object_sets: Vec::new(),
                catalogs: Ok(vec![catalog]),
                inventory: Inventory::default(),
                broken_catalogs: BrokenCatalogs::Skip,
                system_namespace: "olmv1-system".to_owned(),
                now: at("2026-11-16T12:00:00Z"),
            },
            content: BTreeMap::new(),
        }
    }

    fn annotate(mut self, key: &str, value: &str) -> Self {
        let annotations = self
            .snapshot
            .extension
            .metadata
            .annotations
            .get_or_insert_default();
        annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    fn channels(mut self, channels: &[&str]) -> Self {
        let filter = self
            .snapshot
            .extension
            .spec
            .source
            .catalog
            .as_mut()
            .expect("a filter");
        filter.channels = channels.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    fn without_catalogs(mut self) -> Self {
        self.snapshot.catalogs = Ok(Vec::new());
        self
    }

    fn content_of(&self, version: &str) -> Content {
        let objects = self.content.get(version).cloned().unwrap_or_else(|| {
            vec![json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "p", "namespace": "default"}, "data": {"version": version},
            })]
        });
        Content {
            bundle: bundle(version),
            objects,
            properties: Some("[]".to_owned()),
            signature: None,
            definitions: BTreeMap::new(),
        }
    }

    /// Adds the next revision, as the controller would have made it.
    fn revision(mut self, version: &str, conditions: &[(&'static str, ConditionStatus, &str)]) -> Self {
        let extension = &self.snapshot.extension;
        let number = self.snapshot.object_sets.len() as i64;
        let deadline = extension
            .metadata
            .annotations
            .as_ref()
            .is_some_and(|annotations| annotations.contains_key(keys::ON_FAILURE))
            .then_some(ROLLBACK_DEADLINE_MINUTES);
        let desired = Desired::new(extension, &self.content_of(version), deadline);
        let NewRevision { mut object_set, .. } = desired
            .next(extension, number, "olmv1-system")
            .expect("a revision");
        for (kind, status, reason) in conditions {
            let statement = Statement::new(kind, *status, *reason, format!("{kind} {reason}"));
            condition::set(&mut object_set.status.conditions, statement, 1, self.snapshot.now);
        }
        self.snapshot.object_sets.push(Arc::new(object_set));
        self
    }

    fn installed(self, version: &str) -> Self {
        self.revision(
            version,
            &[
                ("Progressing", ConditionStatus::True, "Succeeded"),
                ("Available", ConditionStatus::True, "ProbesSucceeded"),
                ("Succeeded", ConditionStatus::True, "Succeeded"),
            ],
        )
    }

    fn rolling_out(self, version: &str) -> Self {
        self.revision(version, &[("Progressing", ConditionStatus::True, "RollingOut")])
    }

    fn overdue(self, version: &str) -> Self {
        self.revision(
            version,
            &[("Progressing", ConditionStatus::False, "ProgressDeadlineExceeded")],
        )
    }

    fn change_newest(mut self, change: impl FnOnce(&mut ClusterObjectSet)) -> Self {
        let newest = self.snapshot.object_sets.last_mut().expect("a revision");
        change(Arc::make_mut(newest));
        self
    }

    fn choose(&self) -> Choice {
        choose(&self.snapshot)
    }

    fn decide(&self) -> (Choice, Plan) {
        let choice = self.choose();
        let content = match &choice.target {
            Target::Bundle(bundle) => Some(Ok(self.content_of(&bundle.metadata.version))),
            Target::Image(image) => {
                let version = image.rsplit(':').next().expect("a tag");
                let mut content = self.content_of(version);
                content.bundle.image.clone_from(image);
                Some(Ok(content))
            }
            Target::Again { revision, .. } => Some(Ok(self.content_of(&revision.bundle.metadata.version))),
            Target::AsItIs | Target::Unknown(_) => None,
        };
        let plan = decide(&self.snapshot, &choice, content.as_ref());
        (choice, plan)
    }

    fn plan(&self) -> Plan {
        self.decide().1
    }
}

fn created(plan: &Plan) -> Option<(&str, &str)> {
    plan.writes.iter().find_map(|write| match write {
        Write::Create(next) => {
            let annotations = next.object_set.metadata.annotations.as_ref()?;
            Some((
                next.object_set.name(),
                annotations.get(keys::BUNDLE_VERSION)?.as_str(),
            ))
        }
        _ => None,
    })
}

fn said<'a>(plan: &'a Plan, kind: &str) -> (&'static str, &'a str, &'a str) {
    let condition = find(&plan.status.conditions, kind).expect("a condition");
    (
        condition.status.as_str(),
        condition.reason.as_str(),
        condition.message.as_str(),
    )
}

#[test]
fn a_first_installation_takes_the_best_version_and_says_that_it_is_on_its_way() {
    let plan = World::new("").channels(&["stable"]).plan();
    assert_eq!(created(&plan), Some(("a-1", "1.2.0")));
    assert_eq!(
        said(&plan, "Installed"),
        ("False", "Absent", "No bundle installed")
    );
    assert_eq!(
        said(&plan, "Progressing"),
        ("True", "RollingOut", "Revision 1.2.0 is rolling out.")
    );
    assert_eq!(plan.status.active_revisions[0].name, "a-1");
    let Write::Create(next) = &plan.writes[0] else {
        panic!("{:?}", plan.writes);
    };
    let labels = next.object_set.metadata.labels.as_ref().expect("labels");
    assert_eq!(labels[keys::OWNER_KIND], "ClusterExtension");
    assert_eq!(labels[keys::OWNER_NAME], "a");
    assert_eq!(
        next.object_set
            .metadata
            .annotations
            .as_ref()
            .expect("annotations")[keys::PROPERTIES],
        "[]"
    );
    let entries = next
        .object_set
        .spec
        .phases
        .iter()
        .flat_map(|phase| &phase.objects);
    assert!(
        entries
            .into_iter()
            .all(|entry| entry.object.is_none() && entry.reference.is_some())
    );
    assert!(next.secrets.iter().all(|secret| secret.immutable == Some(true)));
}

#[test]
fn at_rest_nothing_is_written() {
    let world = World::new("1.0.0").installed("1.0.0");
    let plan = world.plan();
    assert_eq!(plan.writes, []);
    assert_eq!(plan.again, Again::WhenChanged);
    assert_eq!(
        said(&plan, "Progressing"),
        ("True", "Succeeded", "Desired state reached")
    );
    assert_eq!(said(&plan, "Available").1, "ProbesSucceeded");
    let mut again = world;
    again.snapshot.extension.status = plan.status.clone();
    again.snapshot.now = at("2026-11-17T12:00:00Z");
    assert_eq!(again.plan().status, plan.status, "the status stays as it is");
}

#[test]
fn secrets_of_the_newest_revision_that_are_gone_are_made_again_without_another_revision() {
    let says = |message: &'static str| {
        World::new("1.0.0").installed("1.0.0").change_newest(|newest| {
            let now = at("2026-11-16T12:00:00Z");
            let statement = Statement::new("Progressing", ConditionStatus::True, "Retrying", message);
            condition::set(&mut newest.status.conditions, statement, 1, now);
        })
    };
    let lost = "converting to boxcutter revision: resolving ref in phase \"configuration\": getting Secret olmv1-system/a-1-x: \
                secrets \"a-1-x\" not found";
    let world = says(lost);
    let plan = world.plan();
    let [Write::Restore(restored)] = plan.writes.as_slice() else {
        panic!("{:?}", plan.writes);
    };
    let newest = world.snapshot.object_sets.last().expect("a revision");
    assert_eq!(restored.object_set, **newest);
    let entries = newest.spec.phases.iter().flat_map(|phase| &phase.objects);
    let referred: BTreeSet<&str> = entries
        .filter_map(|entry| Some(entry.reference.as_ref()?.name.as_str()))
        .collect();
    let made = restored
        .secrets
        .iter()
        .filter_map(|secret| secret.metadata.name.as_deref());
    assert_eq!(made.collect::<BTreeSet<_>>(), referred);
    // Whoever packed them otherwise made other Secrets, and these would not help.
    let packed_otherwise = says(lost).change_newest(|newest| {
        let entry = newest
            .spec
            .phases
            .iter_mut()
            .flat_map(|phase| &mut phase.objects)
            .next();
        entry
            .and_then(|entry| entry.reference.as_mut())
            .expect("a reference")
            .name = "other".to_owned();
    });
    assert_eq!(packed_otherwise.plan().writes, []);
    assert_eq!(says("it takes its time").plan().writes, []);
}

#[test]
fn an_upgrade_is_the_next_revision_and_old_ones_go() {
    let mut world = World::new("").channels(&["stable"]);
    for _ in 0..7 {
        world = world.installed("1.0.0").change_newest(|object_set| {
            object_set.spec.lifecycle_state = LifecycleState::Archived;
        });
    }
    let plan = world.installed("1.1.0").plan();
    assert_eq!(created(&plan), Some(("a-9", "1.2.0")));
    let deleted: Vec<&Write> = plan
        .writes
        .iter()
        .filter(|write| matches!(write, Write::Delete(_)))
        .collect();
    let expected = ["a-1", "a-2", "a-3"].map(|name| Write::Delete(name.to_owned()));
    assert_eq!(deleted, expected.iter().collect::<Vec<_>>());
}

#[test]
fn what_does_not_follow_is_refused_in_upstreams_words() {
    let (choice, plan) = World::new("1.2.0").installed("1.0.0").decide();
    assert!(matches!(choice.target, Target::Unknown(_)));
    let expected = "error upgrading from currently installed version \"1.0.0\": no bundles found for package \"p\" matching version \"1.2.0\"";
    assert_eq!(said(&plan, "Progressing"), ("True", "Retrying", expected));
    assert_eq!(said(&plan, "Installed").0, "True");
    assert_eq!(plan.again, Again::Soon);
    let explained = plan.notices.iter().find(|notice| notice.reason == "Unresolved");
    assert!(
        explained.is_some_and(|notice| notice.text.contains("p.v1.2.0")),
        "{:?}",
        plan.notices
    );
}

#[test]
fn a_rollout_under_way_is_kept_unless_the_spec_no_longer_allows_it() {
    let kept = World::new("").installed("1.0.0").rolling_out("1.1.0").decide();
    assert_eq!(
        kept.0.target,
        Target::Bundle(bundle("1.1.0")),
        "although 2.0.0 would be better"
    );
    assert_eq!(kept.1.writes, []);
    assert_eq!(said(&kept.1, "Progressing").1, "RollingOut");

    let redirected = World::new("2.0.0").installed("1.0.0").rolling_out("1.1.0").plan();
    assert_eq!(created(&redirected), Some(("a-3", "2.0.0")));
    let back = World::new("1.0.0").installed("1.0.0").rolling_out("1.1.0").plan();
    assert_eq!(created(&back), Some(("a-3", "1.0.0")));
    let channel = World::new("")
        .channels(&["fast"])
        .installed("1.0.0")
        .rolling_out("1.1.0")
        .plan();
    assert_eq!(created(&channel), Some(("a-3", "2.0.0")));
    let overdue = World::new("").installed("1.0.0").overdue("1.1.0").plan();
    assert_eq!(
        created(&overdue),
        Some(("a-3", "2.0.0")),
        "a better version is no longer held up"
    );
}

#[test]
fn a_stuck_rollout_that_is_still_wanted_says_so() {
    let plan = World::new("1.1.0").installed("1.0.0").overdue("1.1.0").plan();
    assert_eq!(plan.writes, []);
    assert_eq!(said(&plan, "Progressing").1, "ProgressDeadlineExceeded");
    let names: Vec<&str> = plan
        .status
        .active_revisions
        .iter()
        .map(|active| active.name.as_str())
        .collect();
    assert_eq!(names, ["a-1", "a-2"]);
}

#[test]
fn without_catalogs_what_is_installed_is_kept() {
    let plan = World::new("").without_catalogs().installed("1.0.0").plan();
    assert_eq!(plan.writes, []);
    assert_eq!(said(&plan, "Progressing").1, "Succeeded");
    assert_eq!(said(&plan, "Deprecated").1, "DeprecationStatusUnknown");
    let plan = World::new("1.1.0").without_catalogs().installed("1.0.0").plan();
    assert_eq!(said(&plan, "Progressing").1, "Retrying");
}

#[test]
fn where_no_catalog_is_selected_an_event_says_what_to_change() {
    let plan = World::new("").without_catalogs().plan();
    let expected = "no bundles found for package \"p\"";
    assert_eq!(said(&plan, "Progressing"), ("True", "Retrying", expected));
    let explained = plan.notices.iter().find(|notice| notice.reason == "Unresolved");
    let text = explained.map(|notice| notice.text.as_str());
    assert!(
        text.is_some_and(|text| text.starts_with("no catalog is selected")),
        "{text:?}"
    );
}

#[test]
fn an_image_that_is_gone_does_no_harm_to_what_is_installed() {
    let world = World::new("1.0.0").installed("1.0.0");
    let gone = Err(NoContent::Pull(Failure::passing("no such image")));
    let plan = decide(&world.snapshot, &world.choose(), Some(&gone));
    assert_eq!(
        (plan.writes.len(), said(&plan, "Progressing").1),
        (0, "Succeeded")
    );
    let world = World::new("1.1.0").installed("1.0.0");
    let plan = decide(&world.snapshot, &world.choose(), Some(&gone));
    let expected = "error for resolved bundle \"p.v1.1.0\" with version \"1.1.0\": no such image";
    assert_eq!(said(&plan, "Progressing"), ("True", "Retrying", expected));
}

#[test]
fn another_version_waits_for_approval() {
    let world = World::new("")
        .channels(&["stable"])
        .annotate(keys::APPROVAL, "manual");
    let (choice, plan) = world.decide();
    assert_eq!(choice.target, Target::AsItIs, "even the first one");
    assert_eq!(plan.writes, []);
    assert_eq!(plan.waiting.as_deref(), Some("1.2.0"));
    let (status, reason, message) = said(&plan, "Progressing");
    assert_eq!((status, reason), ("False", "Blocked"));
    assert!(
        message.contains("kubectl annotate clusterextension a baton-olm.dev/approve=1.2.0"),
        "{message}"
    );

    let other = World::new("")
        .channels(&["stable"])
        .annotate(keys::APPROVAL, "manual")
        .annotate(keys::APPROVE, "1.1.0");
    assert_eq!(other.plan().writes, [], "another version was approved");
    let approved = World::new("")
        .channels(&["stable"])
        .annotate(keys::APPROVAL, "manual")
        .annotate(keys::APPROVE, "1.2.0");
    assert_eq!(created(&approved.plan()), Some(("a-1", "1.2.0")));
    assert_eq!(approved.plan().waiting, None);
}

#[test]
fn what_waits_does_not_keep_what_is_installed_from_being_configured() {
    let mut world = World::new("")
        .annotate(keys::APPROVAL, "manual")
        .installed("1.0.0");
    world.content.insert("1.0.0".to_owned(), vec![json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"}, "data": {"configured": "otherwise"},
    })]);
    let plan = world.plan();
    assert_eq!(created(&plan), Some(("a-2", "1.0.0")));
    assert_eq!(plan.waiting.as_deref(), Some("2.0.0"));
}

#[test]
fn a_pause_stops_every_new_revision() {
    let world = World::new("").annotate(keys::PAUSE, "true").installed("1.0.0");
    let (choice, plan) = world.decide();
    assert_eq!(choice.target, Target::AsItIs);
    assert!(matches!(
        choice.wait.expect("a wait").waits_for,
        WaitsFor::Resumption
    ));
    assert_eq!(plan.writes, []);
    assert_eq!(said(&plan, "Installed").0, "True");
    let at_rest = World::new("1.0.0")
        .annotate(keys::PAUSE, "true")
        .installed("1.0.0")
        .plan();
    assert_eq!(said(&at_rest, "Progressing").2, "Desired state reached");
}

#[test]
fn an_upgrade_waits_for_its_window_and_is_looked_at_when_it_opens() {
    let world = World::new("")
        .annotate(keys::WINDOW, "Mon 13:00-14:00")
        .installed("1.0.0");
    let plan = world.plan();
    assert_eq!(plan.writes, []);
    assert_eq!(plan.again, Again::After(std::time::Duration::from_hours(1)));
    let (status, reason, message) = said(&plan, "Progressing");
    assert_eq!((status, reason), ("True", "Retrying"));
    assert!(message.contains("2026-11-16T13:00:00Z"), "{message}");
    let mut open = World::new("")
        .annotate(keys::WINDOW, "Mon 13:00-14:00")
        .installed("1.0.0");
    open.snapshot.now = at("2026-11-16T13:30:00Z");
    assert_eq!(created(&open.plan()), Some(("a-2", "2.0.0")));
    let first = World::new("").annotate(keys::WINDOW, "Sun 13:00-14:00").plan();
    assert_eq!(
        created(&first),
        Some(("a-1", "2.0.0")),
        "a first installation interrupts nothing"
    );
}

#[test]
fn what_fails_is_rolled_back_once_and_not_tried_again() {
    let world = World::new("")
        .annotate(keys::ON_FAILURE, "rollback")
        .installed("1.0.0")
        .overdue("2.0.0");
    let plan = world.plan();
    assert_eq!(created(&plan), Some(("a-3", "1.0.0")));
    assert!(
        plan.notices.iter().any(|notice| notice.reason == "RollingBack"),
        "{:?}",
        plan.notices
    );
    let Some(Write::Create(next)) = plan.writes.last() else {
        panic!("{:?}", plan.writes);
    };
    assert_eq!(
        next.object_set
            .metadata
            .annotations
            .as_ref()
            .expect("annotations")[keys::ROLLED_BACK_FROM],
        "2.0.0"
    );
    assert_eq!(
        next.object_set.spec.progress_deadline_minutes,
        Some(ROLLBACK_DEADLINE_MINUTES)
    );

    // When it has rolled out, the failed version stays away.
    let after = || {
        World::new("")
            .annotate(keys::ON_FAILURE, "rollback")
            .installed("1.0.0")
            .change_newest(|object_set| {
                let annotations = object_set.metadata.annotations.as_mut().expect("annotations");
                annotations.insert(keys::ROLLED_BACK_FROM.to_owned(), "2.0.0".to_owned());
            })
    };
    let plan = after().plan();
    assert_eq!(plan.writes, []);
    assert_eq!(said(&plan, "Progressing").1, "Blocked");
    assert!(said(&plan, "Progressing").2.contains("did not roll out in time"));
    assert_eq!(
        created(&after().channels(&["stable"]).plan()),
        Some(("a-2", "1.1.0")),
        "another version is taken"
    );
    assert_eq!(
        created(&after().annotate(keys::APPROVE, "2.0.0").plan()),
        Some(("a-2", "2.0.0"))
    );
    let mut configured = after();
    configured.content.insert("1.0.0".to_owned(), vec![json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "p"}, "data": {"configured": "otherwise"},
    })]);
    let plan = configured.plan();
    let Some(Write::Create(next)) = plan.writes.last() else {
        panic!("{:?}", plan.writes);
    };
    assert_eq!(
        next.object_set
            .metadata
            .annotations
            .as_ref()
            .expect("annotations")[keys::ROLLED_BACK_FROM],
        "2.0.0",
        "another configuration doesn't forget what failed"
    );
}

#[test]
fn an_image_that_failed_is_not_tried_again_either() {
    let image = "registry.example.com/p:2.0.0";
    let world = || {
        World::new("")
            .annotate(keys::BUNDLE_IMAGE, image)
            .annotate(keys::ON_FAILURE, "rollback")
    };
    let failing = world().installed("1.0.0").overdue("2.0.0");
    assert_eq!(created(&failing.plan()), Some(("a-3", "1.0.0")));
    let after = || {
        let archive =
            |object_set: &mut ClusterObjectSet| object_set.spec.lifecycle_state = LifecycleState::Archived;
        world()
            .installed("1.0.0")
            .change_newest(archive)
            .overdue("2.0.0")
            .change_newest(archive)
            .installed("1.0.0")
            .change_newest(|object_set| {
                let annotations = object_set.metadata.annotations.as_mut().expect("annotations");
                annotations.insert(keys::ROLLED_BACK_FROM.to_owned(), "2.0.0".to_owned());
            })
    };
    let (choice, plan) = after().decide();
    assert_eq!(choice.target, Target::Bundle(bundle("1.0.0")));
    assert_eq!((plan.writes.len(), said(&plan, "Progressing").1), (0, "Blocked"));
    let approved = after().annotate(keys::APPROVE, image);
    assert_eq!(created(&approved.plan()), Some(("a-4", "2.0.0")));
}

#[test]
fn who_wants_another_version_by_now_is_not_rolled_back() {
    let world = World::new("1.1.0")
        .annotate(keys::ON_FAILURE, "rollback")
        .installed("1.0.0")
        .overdue("2.0.0");
    assert_eq!(created(&world.plan()), Some(("a-3", "1.1.0")));
}

#[test]
fn without_the_annotation_nothing_is_rolled_back() {
    let plan = World::new("2.0.0").installed("1.0.0").overdue("2.0.0").plan();
    assert_eq!(plan.writes, []);
}

#[test]
fn an_image_that_is_named_is_installed_whatever_catalogs_have() {
    let image = "registry.example.com/p:3.0.0";
    let world = World::new("")
        .without_catalogs()
        .annotate(keys::BUNDLE_IMAGE, image);
    assert_eq!(created(&world.plan()), Some(("a-1", "3.0.0")));
    let mut other = World::new("").annotate(keys::BUNDLE_IMAGE, image);
    let filter = other
        .snapshot
        .extension
        .spec
        .source
        .catalog
        .as_mut()
        .expect("a filter");
    filter.package_name = "q".to_owned();
    let plan = other.plan();
    assert_eq!(said(&plan, "Progressing").1, "InvalidConfiguration");
    assert!(
        said(&plan, "Progressing").2.contains("holds package \"p\""),
        "{}",
        said(&plan, "Progressing").2
    );
}

#[test]
fn an_annotation_that_means_nothing_changes_nothing_and_says_what_to_write() {
    let plan = World::new("")
        .annotate(keys::WINDOW, "sometimes")
        .installed("1.0.0")
        .plan();
    assert_eq!(plan.writes, []);
    let (status, reason, message) = said(&plan, "Progressing");
    assert_eq!((status, reason), ("False", "InvalidConfiguration"));
    assert!(message.contains("write one such as"), "{message}");
    assert_eq!(said(&plan, "Installed").0, "True");
    assert_eq!(plan.again, Again::WhenChanged);
}

#[test]
fn fields_that_may_change_are_changed_in_the_revision_that_is_there() {
    let mut world = World::new("1.0.0").installed("1.0.0");
    world.snapshot.extension.spec.progress_deadline_minutes = Some(30);
    let plan = world.plan();
    let [Write::Change(object_set)] = plan.writes.as_slice() else {
        panic!("{:?}", plan.writes);
    };
    assert_eq!(
        (object_set.name(), object_set.spec.progress_deadline_minutes),
        ("a-1", Some(30))
    );
    let world = World::new("1.0.0")
        .annotate(keys::ON_DELETE, "keep-crds")
        .installed("1.0.0");
    let plan = world.plan();
    let [Write::Change(object_set)] = plan.writes.as_slice() else {
        panic!("{:?}", plan.writes);
    };
    assert_eq!(
        object_set.metadata.annotations.as_ref().expect("annotations")[keys::ON_DELETE],
        "keep-crds"
    );
}

#[test]
fn a_revision_that_collides_is_followed_by_one_that_may_take_over_what_nobody_controls() {
    let colliding = |world: World| {
        world.rolling_out("1.2.0").change_newest(|newest| {
            let statement = Statement::new(
                "Progressing",
                ConditionStatus::True,
                "Retrying",
                "revision object collisions in phase 0\nObject ConfigMap.v1 default/p",
            );
            condition::set(
                &mut newest.status.conditions,
                statement,
                1,
                at("2026-11-16T12:00:00Z"),
            );
        })
    };
    // Nothing is taken over unasked, and nothing changes where nothing collides.
    assert_eq!(created(&colliding(World::new("1.2.0")).plan()), None);
    let adopting = || World::new("1.2.0").annotate(keys::ADOPT, "unowned");
    let prevents = |newest: &mut ClusterObjectSet| {
        newest.spec.collision_protection = CollisionProtection::Prevent;
    };
    assert_eq!(
        created(&adopting().rolling_out("1.2.0").change_newest(prevents).plan()),
        None
    );
    let plan = colliding(adopting()).change_newest(prevents).plan();
    assert_eq!(created(&plan), Some(("a-2", "1.2.0")));
    let next = plan.writes.iter().find_map(|write| match write {
        Write::Create(next) => Some(next.object_set.spec.collision_protection),
        _ => None,
    });
    assert_eq!(next, Some(CollisionProtection::IfNoController));
    // What that one still collides with is controlled by somebody, and yet another one would not help.
    let still = colliding(adopting()).change_newest(|newest| {
        newest.spec.collision_protection = CollisionProtection::IfNoController;
    });
    assert_eq!(created(&still.plan()), None);
}

#[test]
fn an_explanation_says_what_waits_and_what_a_version_is_stuck_on() {
    let next = |world: &World| explained(&world.snapshot).expect("explained").next;
    let manual = World::new("1.2.0").annotate(keys::APPROVAL, "manual");
    let waits = explained(&manual.snapshot).expect("explained");
    assert!(
        waits.next.starts_with("version 1.2.0 waits for approval; "),
        "{}",
        waits.next
    );
    assert_eq!(
        waits.waiting.expect("a version that waits").does,
        "waits for approval"
    );
    let second = World::new("1.2.0")
        .annotate(keys::APPROVAL, "manual")
        .installed("1.1.0");
    assert!(
        next(&second).starts_with("version 1.1.0 stays; version 1.2.0 waits for approval; "),
        "{}",
        next(&second)
    );
    let first = World::new("1.2.0").rolling_out("1.2.0");
    assert_eq!(next(&first), "version 1.2.0 is being rolled out");
    let say = |newest: &mut ClusterObjectSet, kind, status, reason: &str, message: &str| {
        let statement = Statement::new(kind, status, reason, message);
        let now = at("2026-11-16T12:00:00Z");
        condition::set(&mut newest.status.conditions, statement, 1, now);
    };
    let failing = first.change_newest(|newest| {
        let message = "Object Deployment.apps/v1 default/p: no replicas\nObject Pod.v1 default/p: Pending";
        say(
            newest,
            "Available",
            ConditionStatus::False,
            "ProbeFailure",
            message,
        );
    });
    let stuck = explained(&failing.snapshot).expect("explained");
    assert_eq!(stuck.under_way.as_deref(), Some("1.2.0"));
    assert_eq!(
        stuck.next,
        "version 1.2.0 is being rolled out; it is stuck on Deployment.apps/v1 default/p: no replicas; Pod.v1 default/p: Pending"
    );
    let drifted = World::new("1.2.0").installed("1.2.0").change_newest(|newest| {
        say(
            newest,
            "Progressing",
            ConditionStatus::True,
            "Retrying",
            "forbidden",
        );
    });
    let stuck = explained(&drifted.snapshot).expect("explained");
    assert_eq!(stuck.next, "version 1.2.0 stays; it is stuck on forbidden");
    assert_eq!(stuck.stuck.expect("what is stuck").version, "1.2.0");
    let well = explained(&World::new("1.2.0").installed("1.2.0").snapshot).expect("explained");
    assert_eq!((well.next.as_str(), well.stuck), ("version 1.2.0 stays", None));
}

#[test]
fn a_definition_that_would_do_harm_is_refused_unless_the_check_is_left_out() {
    let definition = |kind: &str| {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"size": {"type": kind}},
                }}}],
            },
        })
    };
    let plan_of = |world: &World| {
        let mut content = world.content_of("1.1.0");
        content.objects = vec![definition("string")];
        content.definitions = BTreeMap::from([("widgets.example.com".to_owned(), Ok(definition("integer")))]);
        decide(&world.snapshot, &world.choose(), Some(&Ok(content)))
    };
    let plan = plan_of(&World::new("1.1.0").installed("1.0.0"));
    assert_eq!(plan.writes, []);
    let (_, reason, message) = said(&plan, "Progressing");
    assert_eq!(reason, "Retrying");
    assert!(
        message.starts_with("error for resolved bundle \"p.v1.1.0\" with version \"1.1.0\": validating upgrade for CRD \"widgets.example.com\": v1: ^.size: type:"),
        "{message}"
    );
    let skipped = World::new("1.1.0")
        .installed("1.0.0")
        .annotate("baton-olm.dev/crd-safety-skip", "type");
    assert!(created(&plan_of(&skipped)).is_some());
    let mut unchecked = World::new("1.1.0").installed("1.0.0");
    unchecked.snapshot.extension.spec.install =
        serde_json::from_value(json!({"preflight": {"crdUpgradeSafety": {"enforcement": "None"}}}))
            .expect("install");
    assert!(created(&plan_of(&unchecked)).is_some());
}

#[test]
fn a_broken_catalog_does_not_hold_up_one_that_has_the_package() {
    let mut world = World::new("1.0.0");
    let broken = SeenCatalog {
        name: "broken".to_owned(),
        priority: 10,
        package: SeenPackage::Broken("catalog \"broken\" is not being served".to_owned()),
    };
    if let Ok(catalogs) = &mut world.snapshot.catalogs {
        catalogs.push(broken);
    }
    let plan = world.plan();
    assert_eq!(created(&plan), Some(("a-1", "1.0.0")));
    assert!(
        plan.notices
            .iter()
            .any(|notice| notice.reason == "CatalogSkipped"),
        "{:?}",
        plan.notices
    );
    world.snapshot.broken_catalogs = BrokenCatalogs::Block;
    assert!(
        said(&world.plan(), "Progressing")
            .2
            .contains("is not being served")
    );
}
