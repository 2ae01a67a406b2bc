//! What ours does beside upstream: images pulled in process, plans of users, approval of one operator, recovery.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use classic::{Kind, World, Write};
use install_plan::approval::APPROVED;
use install_plan::bundle_lookup::{NO_BUNDLE, Unpacked};
use install_plan::conditions;
use install_plan::manifest::{MAXIMUM_INLINE_BYTES, Reference, parse};
use install_plan::namespace::{self, Answer, Conclusion, NewPlan};
use install_plan::plan::{self, Next, Outcome, Progress};
use install_plan::selection::{Content, Location, Selected};
use install_plan::settings::Settings;
use install_plan::user_plan;
use jiff::Timestamp;
use resolve::classic::entry::{CatalogKey, Entry, RegistryBundle, RegistryPackage};
use resolve::classic::property::Property;
use resolve::classic::request::Catalog;
use resolve::classic::snapshot::Snapshot;
use serde_json::{Value, json};

const ALPHA: &str = "operators.coreos.com/v1alpha1";

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn version(name: &str) -> Value {
    json!({
        "apiVersion": ALPHA, "kind": "ClusterServiceVersion",
        "metadata": {"name": name},
        "spec": {
            "displayName": name, "version": "1.0.0",
            "install": {"strategy": "deployment", "spec": {"permissions": [{
                "serviceAccountName": "sa", "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}],
            }]}},
        },
    })
}

fn package(name: &str) -> Property {
    Property::new(
        "olm.package",
        json!({"packageName": name, "version": "1.0.0"}).to_string(),
    )
}

fn selected(name: &str, location: Location) -> Selected {
    let package_name = name.split('.').next().expect("a package");
    Selected {
        name: name.to_owned(),
        package: package_name.to_owned(),
        channel: "stable".to_owned(),
        source: CatalogKey::new("ns", "cat"),
        replaces: String::new(),
        properties: vec![package(package_name)],
        location,
    }
}

fn inline(name: &str) -> Selected {
    let content = Content {
        service_version: version(name),
        ..Content::default()
    };
    selected(name, Location::Inline(Arc::new(content)))
}

fn subscription(package: &str, approval: &str, status: Value) -> Value {
    json!({
        "apiVersion": ALPHA, "kind": "Subscription",
        "metadata": {"name": package, "namespace": "ns", "uid": package},
        "spec": {
            "name": package, "channel": "stable", "source": "cat", "sourceNamespace": "ns",
            "installPlanApproval": approval,
        },
        "status": status,
    })
}

fn world(objects: impl IntoIterator<Item = Value>) -> World {
    let mut world = World::default();
    world.put(json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "og", "namespace": "ns"}, "status": {"namespaces": ["ns"]},
    }));
    for object in objects {
        world.put(object);
    }
    world
}

fn answer(selected: Vec<Selected>) -> Answer {
    Answer {
        selected,
        ..Answer::default()
    }
}

fn conclude(world: &World, answer: &Answer, unpacked: &BTreeMap<String, Unpacked>) -> Conclusion {
    namespace::conclude(world, "ns", answer, unpacked, now())
}

fn new_plan(conclusion: Conclusion) -> NewPlan {
    match conclusion {
        Conclusion::Plan(plan) => *plan,
        other => panic!("no plan: {other:?}"),
    }
}

fn put_all(world: &mut World, writes: Vec<Write>) {
    for write in writes {
        match write {
            Write::UpdateStatus(object) | Write::Update(object) | Write::Create { object, .. } => {
                world.put(object);
            }
            other => panic!("unexpected: {other:?}"),
        }
    }
}

/// Makes a plan as a controller does.
fn make(world: &mut World, plan: &NewPlan, name: &str) -> Value {
    let mut created = plan.object.clone();
    created["metadata"]["name"] = json!(name);
    created["metadata"]["uid"] = json!(name);
    let created = plan.with_status(&created).unwrap_or(created);
    world.put(created.clone());
    let linked = namespace::linked(world, "ns", plan, &created, now());
    put_all(world, linked.writes);
    created
}

/// Runs through a plan until it rests; returns what was written for which step.
fn run(world: &mut World, name: &str, contents: &HashMap<String, Content>) -> Vec<(usize, Value)> {
    let mut progress = Progress::default();
    let mut written = Vec::new();
    loop {
        match plan::decide(
            world,
            "ns",
            name,
            &progress,
            contents,
            &Settings::default(),
            now(),
        ) {
            Next::Rest(decision) => {
                put_all(world, decision.writes);
                return written;
            }
            Next::Write(action) => {
                let object = match &action.write {
                    Write::Create { object, .. } | Write::Update(object) => object.clone(),
                    other => panic!("unexpected: {other:?}"),
                };
                written.push((action.step, object));
                put_all(world, vec![action.write]);
                progress.record(action.step, Outcome::Created, Vec::new());
            }
            Next::Look(id) => progress.looked(id),
            other => panic!("unexpected: {other:?}"),
        }
    }
}

fn status(world: &World, kind: Kind, name: &str) -> Value {
    world.get(kind, "ns", name).expect("an object")["status"].clone()
}

#[test]
fn an_image_is_pulled_and_the_plan_only_refers_to_it() {
    let installed = json!({"state": "AtLatestKnown", "currentCSV": "a.v0", "installedCSV": "a.v0"});
    let mut before = version("a.v0");
    before["metadata"]["namespace"] = json!("ns");
    let mut world = world([subscription("a", "Automatic", installed), before]);
    let mut image = selected("a.v1", Location::Image("registry/a:v1".to_owned()));
    image.replaces = "a.v0".to_owned();
    let answer = answer(vec![image]);

    let Conclusion::NeedsBundles { lookups, decision } = conclude(&world, &answer, &BTreeMap::new()) else {
        panic!("the image is needed");
    };
    assert_eq!(lookups[0].path, "registry/a:v1");
    put_all(&mut world, decision.writes);
    let waiting = status(&world, Kind::Subscription, "a");
    assert_eq!(waiting["state"], "UpgradeAvailable");
    assert_eq!(waiting["conditions"][0]["type"], "BundleUnpacking");
    let survey = namespace::survey(&world, "ns", &Settings::default(), now());
    assert_eq!(
        survey.decision.writes,
        [],
        "the state is true while the image is pulled"
    );

    let content = Content {
        service_version: version("a.v1"),
        ..Content::default()
    };
    let ready = Unpacked::Ready {
        image: "registry/a@sha256:1".to_owned(),
        content: Arc::new(content.clone()),
    };
    let unpacked = BTreeMap::from([("registry/a:v1".to_owned(), ready)]);
    let plan = new_plan(conclude(&world, &answer, &unpacked));
    make(&mut world, &plan, "p");
    let pending = status(&world, Kind::Subscription, "a");
    assert_eq!(pending["state"], "UpgradePending");
    assert_eq!(pending.get("conditions"), None);
    let planned = status(&world, Kind::InstallPlan, "p");
    assert_eq!(planned["bundleLookups"][0]["identifier"], "a.v1");
    assert_eq!(planned["bundleLookups"][0].get("conditions"), None);
    let steps = planned["plan"].as_array().expect("steps");
    assert_eq!(steps.len(), 4, "a version, an account, a role and its binding");
    for step in steps {
        let manifest = step["resource"]["manifest"].as_str().expect("a manifest");
        assert_eq!(
            manifest,
            r#"{"bundle":"a.v1","image":"registry/a@sha256:1","kind":"BundleImage"}"#
        );
    }

    let needed = plan::decide(
        &world,
        "ns",
        "p",
        &Progress::default(),
        &(),
        &Settings::default(),
        now(),
    );
    let reference = Reference::Image {
        image: "registry/a@sha256:1".to_owned(),
        bundle: "a.v1".to_owned(),
    };
    assert_eq!(needed, Next::Bundle(reference));
    let written = run(&mut world, "p", &HashMap::from([("a.v1".to_owned(), content)]));
    assert_eq!(written.len(), 4);
    let (_, made) = &written[0];
    assert_eq!(made["spec"]["replaces"], "a.v0");
    assert_eq!(
        made["metadata"]["annotations"]["operatorframework.io/properties"],
        r#"{"properties":[{"type":"olm.package","value":{"packageName":"a","version":"1.0.0"}}]}"#
    );
    assert_eq!(status(&world, Kind::InstallPlan, "p")["phase"], "Complete");
}

#[test]
fn an_image_that_cannot_be_pulled_is_tried_again() {
    let mut world = world([subscription("a", "Automatic", json!({}))]);
    let answer = answer(vec![selected(
        "a.v1",
        Location::Image("registry/a:v1".to_owned()),
    )]);
    let unpacked = BTreeMap::from([("registry/a:v1".to_owned(), unavailable())]);
    let Conclusion::Settled(decision) = conclude(&world, &answer, &unpacked) else {
        panic!("nothing can be planned");
    };
    assert_eq!(decision.notices.len(), 1);
    assert!(decision.look_again_after.is_some());
    put_all(&mut world, decision.writes);
    let told = status(&world, Kind::Subscription, "a");
    assert_eq!(told["conditions"][0]["reason"], "BundleUnpackFailed");
    let Conclusion::Settled(again) = conclude(&world, &answer, &unpacked) else {
        panic!("nothing can be planned");
    };
    assert_eq!(
        (again.writes, again.notices),
        (Vec::new(), Vec::new()),
        "it is told once"
    );
    let due = |seconds: i64| {
        let then = now()
            .checked_add(jiff::SignedDuration::from_secs(seconds))
            .expect("a moment");
        let due = namespace::due_again(&world, "ns", &answer, &unpacked, then);
        due.into_iter()
            .map(|(image, _)| image.to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(due(59), [""; 0]);
    assert_eq!(due(60), ["registry/a:v1"]);
}

#[test]
fn who_can_mend_an_image_depends_on_what_is_wrong_with_it() {
    let answer = answer_with_an_image_for_a();
    let said = |reason: &str| {
        let mut world = world([subscription("a", "Automatic", json!({}))]);
        let failed = Unpacked::Failed {
            reason: reason.to_owned(),
            message: "registry/a:v1: no".to_owned(),
            at: now(),
        };
        let unpacked = BTreeMap::from([("registry/a:v1".to_owned(), failed)]);
        match conclude(&world, &answer, &unpacked) {
            Conclusion::Settled(decision) => put_all(&mut world, decision.writes),
            Conclusion::Plan(plan) => drop(make(&mut world, &plan, "p")),
            other @ Conclusion::NeedsBundles { .. } => panic!("it is known: {other:?}"),
        }
        let status = status(&world, Kind::Subscription, "a");
        status["conditions"][0]["message"]
            .as_str()
            .expect("a message")
            .to_owned()
    };
    let missing = said("ErrImagePull");
    assert!(missing.contains("registry/a:v1"), "{missing}");
    assert!(missing.ends_with("an image that doesn't exist."), "{missing}");
    let broken = said(NO_BUNDLE);
    assert!(broken.contains("registry/a:v1"), "{broken}");
    assert!(broken.ends_with("leave it out of the catalog."), "{broken}");
}

/// An image that couldn't be pulled a moment ago.
fn unavailable() -> Unpacked {
    Unpacked::Failed {
        reason: "ErrImagePull".to_owned(),
        message: "unauthorized".to_owned(),
        at: now(),
    }
}

/// An answer with an image for `a`, what it needs, and `b` in the catalog itself.
fn answer_with_an_image_for_a() -> Answer {
    let wanted = |name: &str| [name.to_owned()].into();
    Answer {
        wanted_by: [("a.v1", "a"), ("needed.v1", "a"), ("b.v1", "b")]
            .map(|(bundle, by)| (bundle.to_owned(), wanted(by)))
            .into(),
        ..answer(vec![
            selected("a.v1", Location::Image("registry/a:v1".to_owned())),
            inline("needed.v1"),
            inline("b.v1"),
        ])
    }
}

#[test]
fn an_image_that_cannot_be_pulled_stops_only_who_wants_it() {
    let mut world = world([
        subscription("a", "Automatic", json!({})),
        subscription("b", "Automatic", json!({})),
    ]);
    let answer = answer_with_an_image_for_a();
    let unpacked = BTreeMap::from([("registry/a:v1".to_owned(), unavailable())]);
    let plan = new_plan(conclude(&world, &answer, &unpacked));
    assert_eq!(plan.object["spec"]["clusterServiceVersionNames"], json!(["b.v1"]));
    assert_eq!(plan.decision.look_again_after, Some(Duration::from_mins(1)));
    assert_eq!(plan.decision.notices.len(), 1);
    make(&mut world, &plan, "p");
    let held_up = status(&world, Kind::Subscription, "a");
    assert_eq!(held_up["conditions"][0]["type"], "BundleUnpackFailed");
    assert_eq!(held_up.get("currentCSV"), None);
    let planned = status(&world, Kind::Subscription, "b");
    assert_eq!(
        (planned["currentCSV"].as_str(), planned.get("conditions")),
        (Some("b.v1"), None)
    );

    // Where one failure stops all, as upstream has it, nothing is planned.
    let together = Answer {
        wanted_by: BTreeMap::new(),
        ..answer
    };
    let Conclusion::Settled(_) = conclude(&world, &together, &unpacked) else {
        panic!("nothing can be planned");
    };
}

#[test]
fn an_image_that_takes_long_is_waited_for_only_by_who_wants_it() {
    let world = world([
        subscription("a", "Automatic", json!({})),
        subscription("b", "Automatic", json!({})),
    ]);
    let answer = answer_with_an_image_for_a();
    let pending_for = |seconds: i64| {
        let since = now()
            .checked_sub(jiff::SignedDuration::from_secs(seconds))
            .expect("a moment");
        let pending = Unpacked::Pending {
            message: String::new(),
            since,
        };
        conclude(
            &world,
            &answer,
            &BTreeMap::from([("registry/a:v1".to_owned(), pending)]),
        )
    };
    assert!(
        matches!(pending_for(2), Conclusion::NeedsBundles { .. }),
        "it may come in a moment"
    );
    let plan = new_plan(pending_for(11));
    assert_eq!(plan.object["spec"]["clusterServiceVersionNames"], json!(["b.v1"]));
    assert_eq!(plan.failures["a"]["reason"], "UnpackingInProgress");
}

#[test]
fn a_bundle_that_is_none_stops_only_who_wants_it() {
    let world = world([
        subscription("a", "Automatic", json!({})),
        subscription("b", "Automatic", json!({})),
    ]);
    let broken = Unpacked::Ready {
        image: "registry/a@sha256:1".to_owned(),
        content: Arc::new(Content {
            service_version: json!({"metadata": {"name": "a.v1"}}),
            ..Content::default()
        }),
    };
    let unpacked = BTreeMap::from([("registry/a:v1".to_owned(), broken)]);
    let plan = new_plan(conclude(&world, &answer_with_an_image_for_a(), &unpacked));
    assert_eq!(plan.object["spec"]["clusterServiceVersionNames"], json!(["b.v1"]));
    assert_eq!(plan.failures["a"]["reason"], "ErrorPreventedUnpacking");
}

#[test]
fn one_operator_of_a_shared_plan_is_approved_alone() {
    let mut world = world([
        subscription("a", "Manual", json!({})),
        subscription("b", "Automatic", json!({})),
    ]);
    let plan = new_plan(conclude(
        &world,
        &answer(vec![inline("a.v1"), inline("b.v1")]),
        &BTreeMap::new(),
    ));
    assert_eq!(plan.object["spec"]["approval"], "Manual");
    let mut created = make(&mut world, &plan, "p");
    let nothing = HashMap::new();
    assert_eq!(run(&mut world, "p", &nothing), [], "nobody has approved anything");

    created["metadata"]["annotations"] = json!({APPROVED: "b.v1"});
    world.put(created.clone());
    let written = run(&mut world, "p", &nothing);
    assert_eq!(written.len(), 4);
    assert!(world.get(Kind::ClusterServiceVersion, "ns", "b.v1").is_some());
    assert!(world.get(Kind::ClusterServiceVersion, "ns", "a.v1").is_none());
    let half = status(&world, Kind::InstallPlan, "p");
    assert_eq!(half["phase"], "RequiresApproval");
    assert_eq!(
        run(&mut world, "p", &nothing),
        [],
        "what was approved is done once"
    );

    let mut approved = world
        .get(Kind::InstallPlan, "ns", "p")
        .expect("the plan")
        .as_ref()
        .clone();
    approved["spec"]["approved"] = json!(true);
    world.put(approved);
    assert_eq!(run(&mut world, "p", &nothing), [], "first the phase changes");
    assert_eq!(status(&world, Kind::InstallPlan, "p")["phase"], "Installing");
    assert_eq!(run(&mut world, "p", &nothing).len(), 4);
    assert_eq!(status(&world, Kind::InstallPlan, "p")["phase"], "Complete");
    assert!(world.get(Kind::ClusterServiceVersion, "ns", "a.v1").is_some());
}

#[test]
fn a_plan_that_was_cut_short_is_taken_up_again() {
    let mut world = world([subscription("a", "Automatic", json!({}))]);
    let answer = answer(vec![inline("a.v1")]);
    let first = new_plan(conclude(&world, &answer, &BTreeMap::new()));
    assert!(!first.exists());
    let mut created = first.object.clone();
    created["metadata"]["uid"] = json!("p");
    world.put(created.clone());

    let second = new_plan(conclude(&world, &answer, &BTreeMap::new()));
    assert!(second.exists(), "it was created, and nothing more");
    assert_eq!(second.generation(), 1);
    assert!(second.with_status(&second.object).is_some());

    world.put(first.with_status(&created).expect("a status"));
    let third = new_plan(conclude(&world, &answer, &BTreeMap::new()));
    assert!(
        third.exists(),
        "it has its status, and no Subscription points to it"
    );
    assert_eq!(third.with_status(&third.object), None);
    make(&mut world, &third, "p");
    assert_eq!(
        status(&world, Kind::Subscription, "a")["installPlanRef"]["name"],
        "p"
    );
}

#[test]
fn two_who_make_a_plan_at_once_make_one() {
    let mut world = world([subscription("a", "Automatic", json!({}))]);
    let answer = answer(vec![inline("a.v1")]);
    let plan_for = |world: &World| new_plan(conclude(world, &answer, &BTreeMap::new()));
    let (first, second) = (plan_for(&world), plan_for(&world));
    let name = first.object["metadata"]["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    assert!(name.starts_with("install-"), "{name}");
    assert_eq!(
        second.object["metadata"]["name"], name,
        "the server takes only one of them"
    );
    let made = make(&mut world, &first, &name);
    let mut subscribed = world
        .get(Kind::Subscription, "ns", "a")
        .expect("it")
        .as_ref()
        .clone();
    subscribed["status"]["state"] = json!("AtLatestKnown");
    world.put(subscribed);
    let late = namespace::linked(&world, "ns", &second, &made, now());
    assert_eq!(late.writes, [], "how far it came isn't undone");
}

#[test]
fn a_plan_that_was_carried_out_before_anybody_pointed_to_it_counts() {
    let mut world = world([subscription("a", "Manual", json!({}))]);
    let answer = answer(vec![inline("a.v1")]);
    let plan_for = |world: &World| new_plan(conclude(world, &answer, &BTreeMap::new()));
    let first = plan_for(&world);
    let mut made = first.object.clone();
    made["metadata"]["uid"] = json!("p");
    made["spec"]["approved"] = json!(true);
    made["status"] = json!({"phase": "Complete"});
    world.put(made.clone());
    assert!(!plan_for(&world).exists(), "what it made is gone");
    let mut installed = version("a.v1");
    installed["metadata"]["namespace"] = json!("ns");
    world.put(installed);
    assert!(plan_for(&world).exists());
    made["metadata"]["ownerReferences"][0]["uid"] = json!("of one that is gone");
    world.put(made);
    assert!(!plan_for(&world).exists(), "it was made for another Subscription");
}

/// The plan that a look at the namespace leads to: asked, resolved and concluded.
fn look(world: &World, catalogs: &[Catalog]) -> Option<NewPlan> {
    let survey = namespace::survey(world, "ns", &Settings::default(), now());
    let question = survey.question.expect("a question");
    let answer = Answer::of_resolution(
        &question,
        &resolve::classic::resolve(&question.request(catalogs, None)),
    );
    match conclude(world, &answer, &BTreeMap::new()) {
        Conclusion::Plan(plan) => Some(*plan),
        _ => None,
    }
}

#[test]
fn a_subscription_takes_over_what_its_plan_made_before_it_could_point_to_it() {
    let catalogs = [catalog(&["a.v1"])];
    let mut world = world([subscription("a", "Automatic", json!({}))]);
    let mut source = json!({"apiVersion": ALPHA, "kind": "CatalogSource"});
    source["metadata"] = json!({"name": "cat", "namespace": "ns"});
    world.put(source);
    let made = look(&world, &catalogs).expect("a plan");
    let mut created = made.object.clone();
    created["metadata"]["uid"] = json!("p");
    world.put(made.with_status(&created).expect("a status"));
    let name = created["metadata"]["name"].as_str().expect("a name").to_owned();
    assert_eq!(run(&mut world, &name, &HashMap::new()).len(), 4);
    let installed = world.get(Kind::ClusterServiceVersion, "ns", "a.v1");
    assert!(installed.is_some(), "the plan was carried out");
    assert_eq!(status(&world, Kind::Subscription, "a"), json!({}));

    let mut stranger = world.clone();
    let mut other = subscription("a", "Automatic", json!({}));
    other["metadata"]["uid"] = json!("of another life");
    stranger.put(other);
    assert_eq!(look(&stranger, &catalogs), None, "it isn't made for this one");

    let found = look(&world, &catalogs).expect("the same plan");
    assert!(found.exists());
    make(&mut world, &found, &name);
    let said = status(&world, Kind::Subscription, "a");
    assert_eq!(said["currentCSV"], "a.v1");
    assert_eq!(said["installPlanRef"]["name"], name.as_str());
    let settled = namespace::survey(&world, "ns", &Settings::default(), now());
    put_all(&mut world, settled.decision.writes);
    assert_eq!(status(&world, Kind::Subscription, "a")["installedCSV"], "a.v1");
}

#[test]
fn a_bundle_that_is_too_large_for_a_plan_stays_in_its_catalog() {
    let world = world([subscription("a", "Automatic", json!({}))]);
    let mut large = version("a.v1");
    large["spec"]["description"] = json!("x".repeat(MAXIMUM_INLINE_BYTES));
    let content = Content {
        service_version: large,
        ..Content::default()
    };
    let answer = answer(vec![selected("a.v1", Location::Inline(Arc::new(content)))]);
    let plan = new_plan(conclude(&world, &answer, &BTreeMap::new()));
    assert!(plan.status.to_string().len() < 10_000);
    let manifest = parse(
        plan.status["plan"][0]["resource"]["manifest"]
            .as_str()
            .expect("text"),
    );
    let reference = Reference::read(&manifest.expect("JSON"), "a.v1").expect("a reference");
    assert!(matches!(reference, Reference::Catalog { .. }), "{reference:?}");
}

fn catalog(names: &[&str]) -> Catalog {
    let key = CatalogKey::new("ns", "cat");
    let described = |name: &&str| {
        let package_name = name.split('.').next().expect("a package");
        let bundle = RegistryBundle {
            csv_name: (*name).to_owned(),
            package_name: package_name.to_owned(),
            channel_name: "stable".to_owned(),
            csv_json: version(name).to_string(),
            version: "1.0.0".to_owned(),
            properties: vec![package(package_name)],
            ..RegistryBundle::default()
        };
        let described = RegistryPackage {
            name: package_name.to_owned(),
            default_channel: "stable".to_owned(),
            ..RegistryPackage::default()
        };
        Arc::new(Entry::from_registry(&key, bundle, &described).expect("an entry"))
    };
    Catalog {
        content: Ok(Arc::new(Snapshot::new(names.iter().map(described)))),
        priority: 0,
        key: key.clone(),
    }
}

fn user_plan(names: &[&str], approval: &str) -> Value {
    json!({
        "apiVersion": ALPHA, "kind": "InstallPlan",
        "metadata": {"name": "mine", "namespace": "ns"},
        "spec": {"clusterServiceVersionNames": names, "approval": approval, "approved": approval == "Automatic"},
    })
}

/// Plans what a user wrote.
fn planned(world: &mut World, catalogs: &[Catalog]) -> Value {
    for _ in 0..4 {
        let plan = world
            .get(Kind::InstallPlan, "ns", "mine")
            .expect("the plan")
            .clone();
        if !user_plan::is_unplanned(&plan) {
            break;
        }
        let step = user_plan::request(world, &plan, catalogs, &Settings::default(), now());
        let step = match step {
            user_plan::Step::Resolve(asked) => {
                let forbid = |entry: &Entry| asked.forbids(entry);
                let request = asked.question.request(catalogs, Some(&forbid));
                let answer = Answer::of_resolution(&asked.question, &resolve::classic::resolve(&request));
                user_plan::conclude(world, &plan, &answer, &BTreeMap::new(), now())
            }
            other => other,
        };
        match step {
            user_plan::Step::Write(decision) => put_all(world, decision.writes),
            other => panic!("unexpected: {other:?}"),
        }
    }
    status(world, Kind::InstallPlan, "mine")
}

#[test]
fn a_plan_that_a_user_wrote_is_planned_and_executed() {
    let catalogs = [catalog(&["a.v1", "b.v1"])];
    let mut world = world([user_plan(&["a.v1"], "Manual")]);
    let plan = world
        .get(Kind::InstallPlan, "ns", "mine")
        .expect("the plan")
        .clone();
    let user_plan::Step::Write(first) =
        user_plan::request(&world, &plan, &catalogs, &Settings::default(), now())
    else {
        panic!("a phase comes first");
    };
    put_all(&mut world, first.writes);
    assert_eq!(status(&world, Kind::InstallPlan, "mine")["phase"], "Planning");

    let status_of_plan = planned(&mut world, &catalogs);
    assert_eq!(status_of_plan["phase"], "RequiresApproval");
    let kinds: Vec<&str> = status_of_plan["plan"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["resource"]["kind"].as_str())
        .collect();
    assert_eq!(
        kinds,
        ["ClusterServiceVersion", "ServiceAccount", "Role", "RoleBinding"],
        "and no Subscription, since nobody asked for upgrades"
    );
    let mut approved = world
        .get(Kind::InstallPlan, "ns", "mine")
        .expect("the plan")
        .as_ref()
        .clone();
    approved["spec"]["approved"] = json!(true);
    world.put(approved);
    run(&mut world, "mine", &HashMap::new());
    run(&mut world, "mine", &HashMap::new());
    assert_eq!(status(&world, Kind::InstallPlan, "mine")["phase"], "Complete");
}

#[test]
fn a_plan_that_names_what_nobody_offers_fails_and_says_so() {
    let mut world = world([user_plan(&["c.v1"], "Automatic")]);
    let failed = planned(&mut world, &[catalog(&["a.v1"])]);
    assert_eq!(failed["phase"], "Failed");
    assert_eq!(
        failed["message"],
        "no operators found with name c.v1 in the catalogs of namespace ns"
    );
    assert_eq!(failed["conditions"][0]["type"], "Resolved");
}

#[test]
fn a_namespace_without_one_operator_group_says_so() {
    let mut world = World::default();
    world.put(subscription("a", "Automatic", json!({})));
    let survey = namespace::survey(&world, "ns", &Settings::default(), now());
    assert!(survey.question.is_none());
    assert_eq!(
        survey.decision.notices[0].message,
        "found 0 operatorGroups, expected 1"
    );
    put_all(&mut world, survey.decision.writes);
    let failed = |world: &World| {
        let status = status(world, Kind::Subscription, "a");
        conditions::get(&status, "ResolutionFailed").cloned()
    };
    assert_eq!(
        failed(&world),
        Some(json!({
            "type": "ResolutionFailed", "status": "True", "reason": "ErrorPreventedResolution",
            "message": "found 0 operatorGroups, expected 1: make an OperatorGroup in namespace ns, which says what its \
                        operators watch",
        }))
    );
    let survey = namespace::survey(&world, "ns", &Settings::default(), now());
    assert_eq!(survey.decision.writes, [], "it is said once");

    let group = |name: &str| {
        json!({"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": name, "namespace": "ns"}, "status": {"namespaces": ["ns"]}})
    };
    world.put(group("one"));
    world.put(group("two"));
    let survey = namespace::survey(&world, "ns", &Settings::default(), now());
    put_all(&mut world, survey.decision.writes);
    assert_eq!(
        failed(&world).expect("the condition")["message"],
        "found 2 operatorGroups, expected 1: of one, two keep the one that says what the operators of namespace ns watch, and \
         delete the others"
    );
    world.remove(&classic::Key::new(Kind::OperatorGroup, "ns", "two"));
    let survey = namespace::survey(&world, "ns", &Settings::default(), now());
    assert!(survey.question.is_some(), "with one group it is resolved");
}

#[test]
fn what_waits_for_its_plan_forgets_that_there_was_no_operator_group() {
    let missing = json!({
        "state": "UpgradePending", "installPlanRef": {"name": "p", "namespace": "ns"},
        "conditions": [{"type": "ResolutionFailed", "status": "True", "reason": "ErrorPreventedResolution",
            "message": "found 0 operatorGroups, expected 1: make an OperatorGroup"}],
    });
    let plan =
        json!({"apiVersion": ALPHA, "kind": "InstallPlan", "metadata": {"name": "p", "namespace": "ns"}});
    let mut world = world([plan, subscription("a", "Automatic", missing)]);
    let survey = namespace::survey(&world, "ns", &Settings::default(), now());
    assert!(survey.question.is_none());
    put_all(&mut world, survey.decision.writes);
    let status = status(&world, Kind::Subscription, "a");
    assert_eq!(conditions::get(&status, "ResolutionFailed"), None);
}

#[test]
fn a_dependency_whose_plan_is_gone_is_a_subscription_like_any_other() {
    let mut orphan = subscription("a", "Automatic", json!({}));
    orphan["metadata"]["annotations"] = json!({"olm.generated-by": "gone"});
    let world = world([orphan]);
    let survey = namespace::survey(&world, "ns", &Settings::default(), now());
    assert!(survey.question.is_some(), "upstream waits for the plan for ever");
}

#[test]
fn what_was_forbidden_is_tried_again_when_permissions_change() {
    let failed = json!({
        "apiVersion": ALPHA, "kind": "InstallPlan",
        "metadata": {"name": "p", "namespace": "ns"},
        "status": {"phase": "Failed", "attenuatedServiceAccountRef": {"name": "sa", "namespace": "ns"}},
    });
    let other = json!({
        "apiVersion": ALPHA, "kind": "InstallPlan",
        "metadata": {"name": "q", "namespace": "ns"}, "status": {"phase": "Failed"},
    });
    let world = world([failed, other]);
    let decision = plan::permissions_changed(&world, "ns");
    assert_eq!(decision.writes.len(), 1);
    let Write::UpdateStatus(again) = &decision.writes[0] else {
        panic!("a status");
    };
    assert_eq!(again["metadata"]["name"], "p");
    assert_eq!(again["status"]["phase"], "Installing");
}
