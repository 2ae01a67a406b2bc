//! The phases of a version: from `Pending` over `Installing` to `Succeeded`, and what leads from one to another.

use std::time::Duration;

use apply::object::{ObjectId, text};
use classic::{Attempt, Decision, Kind, World, Write};
use jiff::SignedDuration;
use serde_json::{Map, Value, json};

use crate::Circumstances;
use crate::api_roles;
use crate::api_services;
use crate::cleanup;
use crate::groups::{self, Gate};
use crate::health::{self, Health};
use crate::installation;
use crate::membership::{self, guard};
use crate::operator_condition;
use crate::progress::Progress;
use crate::provided_apis::{Namespaces, status_namespaces};
use crate::replacement;
use crate::requirements;
use crate::target_permissions;
use crate::version::ServiceVersion;
use crate::webhooks;

/// How long an installation may take until it has failed.
const INSTALL_TIMEOUT: SignedDuration = SignedDuration::from_mins(5);

/// How long it is waited at most before certificates are looked at again: a clock may be set forward, and a machine that sleeps
/// doesn't count the time.
const CERTIFICATE_LOOK: SignedDuration = SignedDuration::from_hours(1);

/// The reason of a failure that is not tried again until something changes that may help.
const NO_RETRY: &str = "InstallComponentFailedNoRetry";

/// Decides what is done for one version: at most one step from phase to phase.
pub fn decide(world: &World, namespace: &str, name: &str, circumstances: &Circumstances<'_>) -> Decision {
    let Some(version) = ServiceVersion::find(world, namespace, name) else {
        return Decision::default();
    };
    if version.is_copy() {
        return Decision::default();
    }
    if version.is_terminating() {
        return cleanup::finalize(world, version);
    }
    let mut step = Step::new(world, version, circumstances);
    if !cleanup::has_finalizer(version) {
        step.metadata
            .insert("finalizers".to_owned(), cleanup::with_finalizer(version));
        // Both are written at once, since each write of a version is dear.
        if version.provided_apis().is_some()
            && let Gate::Annotate { annotations, .. } = groups::gate(world, version)
            && !annotations.is_empty()
        {
            step.metadata
                .insert("annotations".to_owned(), Value::Object(annotations));
        }
        return step.finish();
    }
    if version.reason() == NO_RETRY {
        return Decision::default();
    }
    step.go();
    step.lift_permissions();
    step.finish()
}

/// Decides what a version is told whose installation could not be written.
pub fn installation_failed(
    world: &World,
    namespace: &str,
    name: &str,
    error: &str,
    is_forbidden: bool,
    circumstances: &Circumstances<'_>,
) -> Decision {
    let Some(version) = ServiceVersion::find(world, namespace, name) else {
        return Decision::default();
    };
    let mut step = Step::new(world, version, circumstances);
    if is_forbidden {
        // Upstream says it twice.
        let message = format!("install strategy failed: install strategy failed: {error}");
        step.progress.set("Failed", NO_RETRY, &message);
    } else {
        let message = format!("install strategy failed: {error}");
        step.progress.set("Failed", "InstallComponentFailed", &message);
    }
    step.trouble = Some(error.to_owned());
    step.finish()
}

/// Lets a version try again whose installation was refused: something changed that may help.
pub fn retry(world: &World, namespace: &str, name: &str, circumstances: &Circumstances<'_>) -> Decision {
    let Some(version) = ServiceVersion::find(world, namespace, name) else {
        return Decision::default();
    };
    if version.reason() != NO_RETRY || version.is_copy() {
        return Decision::default();
    }
    let mut step = Step::new(world, version, circumstances);
    step.progress.set_quietly(
        "Pending",
        "DetectedClusterChange",
        "Cluster resources changed state",
    );
    step.finish()
}

/// Returns whether a version waits for a change that may help, after its installation was refused.
pub fn waits_for_retry(version: ServiceVersion<'_>) -> bool {
    version.reason() == NO_RETRY && !version.is_copy()
}

/// How soon a version is worth a look after something that concerns it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// It is on its way from phase to phase.
    Moving,
    /// It waits for others: for what it requires, or until its Deployments are available.
    Waiting,
    /// It works, and is only looked after.
    Working,
}

/// Returns how soon a version is worth a look.
pub fn urgency(world: &World, namespace: &str, name: &str) -> Urgency {
    let Some(version) = ServiceVersion::find(world, namespace, name) else {
        return Urgency::Moving;
    };
    if version.is_terminating() || replacement::next(world, version).is_some() {
        return Urgency::Moving;
    }
    match (version.phase(), version.reason()) {
        ("Pending", "RequirementsNotMet") | ("Installing", _) => Urgency::Waiting,
        ("Succeeded", _) => Urgency::Working,
        _ => Urgency::Moving,
    }
}

/// One look at a version.
struct Step<'a> {
    world: &'a World,
    version: ServiceVersion<'a>,
    circumstances: &'a Circumstances<'a>,
    progress: Progress<'a>,
    /// What changes of the metadata.
    metadata: Map<String, Value>,
    attempt: Option<Attempt>,
    writes: Vec<Write>,
    look_again_after: Option<Duration>,
    trouble: Option<String>,
}

impl<'a> Step<'a> {
    fn new(world: &'a World, version: ServiceVersion<'a>, circumstances: &'a Circumstances<'a>) -> Self {
        Self {
            world,
            version,
            circumstances,
            progress: Progress::new(version.object, circumstances.now),
            metadata: Map::new(),
            attempt: None,
            writes: Vec::new(),
            look_again_after: None,
            trouble: None,
        }
    }

    fn finish(self) -> Decision {
        let mut decision = Decision {
            attempt: self.attempt,
            notices: Vec::new(),
            look_again_after: self.look_again_after,
            trouble: self.trouble,
            ..Decision::default()
        };
        if !self.metadata.is_empty() {
            // The status can't be written after it with the version that was seen; it follows at the next look.
            let mut patch = json!({"metadata": self.metadata});
            guard(&mut patch, self.version.object);
            decision.writes.push(Write::Merge {
                id: ObjectId::of(self.version.object),
                patch,
            });
            return decision;
        }
        decision.writes.extend(self.writes);
        if let Some(changed) = self.progress.changed() {
            decision.writes.push(Write::UpdateStatus(changed));
        }
        decision.notices = self.progress.notices;
        decision
    }

    fn fail(&mut self, reason: &str, message: &str) {
        self.progress.set("Failed", reason, message);
    }

    /// Passes the gates that stand before all phases, and then does what the phase asks for.
    fn go(&mut self) {
        let Some(provided) = self.version.provided_apis() else {
            // Only a change of the version itself helps.
            return;
        };
        let group = match groups::gate(self.world, self.version) {
            Gate::Open(group) => group,
            Gate::Failed { reason, message } => {
                self.trouble = Some(message.clone());
                return self.fail(reason, &message);
            }
            Gate::Annotate {
                annotations,
                matches_nothing,
            } => {
                if !annotations.is_empty() {
                    self.metadata
                        .insert("annotations".to_owned(), Value::Object(annotations));
                }
                if matches_nothing {
                    self.fail(
                        "NoTargetNamespaces",
                        "no targetNamespaces are matched operatorgroups namespace selection",
                    );
                }
                return;
            }
        };
        if let Err((reason, message)) = groups::check_modes(self.version) {
            return self.fail(reason, &message);
        }
        match groups::check_apis(self.world, group, &provided) {
            groups::Apis::Fine => {}
            groups::Apis::Annotate(write) => {
                self.writes.push(write);
                return;
            }
            groups::Apis::Refused { reason, message } => {
                if self.progress.reason() != "InterOperatorGroupOwnerConflict" {
                    self.fail(reason, message);
                    self.writes
                        .extend(cleanup::deployment_deletions(self.world, self.version));
                }
                return;
            }
        }
        match self.version.phase() {
            "" => self
                .progress
                .set("Pending", "RequirementsUnknown", "requirements not yet checked"),
            "Pending" => self.pending(),
            "InstallReady" => self.install_ready(group),
            "Installing" => self.installing(),
            "Succeeded" => self.succeeded(),
            "Failed" => self.failed(group),
            "Replacing" => self.replacing(group),
            "Deleting" => self.writes.push(Write::Delete {
                id: ObjectId::of(self.version.object),
                uid: None,
            }),
            _ => {}
        }
    }

    fn pending(&mut self) {
        let previous = replacement::previous(self.world, self.version);
        if let Some(previous) = previous
            && let Err(why) = operator_condition::check_upgradeable(self.world, previous)
        {
            let message = format!("operator is not upgradeable: {why}");
            return self
                .progress
                .set("Pending", "OperatorConditionNotUpgradeable", &message);
        }
        let requirements = match requirements::check(self.world, self.version) {
            Ok(requirements) => requirements,
            Err(why) => return self.invalid_strategy(&why.to_string()),
        };
        self.progress.set_requirements(requirements.statuses);
        if !requirements.are_met {
            self.trouble = Some("requirements were not met".to_owned());
            return self.progress.set(
                "Pending",
                "RequirementsNotMet",
                "one or more requirements couldn't be found",
            );
        }
        if let Err(why) = webhooks::check_descriptions(self.version) {
            return self.fail("InvalidWebhookDescription", &why.to_string());
        }
        if let Some(conflict) = self.owner_conflict() {
            self.trouble = Some(conflict.to_owned());
            return self.fail("OwnerConflict", conflict);
        }
        if previous.is_some_and(|previous| previous.phase() != "Replacing") {
            return;
        }
        self.progress.set(
            "InstallReady",
            "AllRequirementsMet",
            "all requirements found, attempting install",
        );
    }

    fn invalid_strategy(&mut self, why: &str) {
        self.fail(
            "InvalidInstallStrategy",
            &format!("install strategy invalid: {why}"),
        );
    }

    /// Returns what is said where something of the version belongs to another one.
    fn owner_conflict(&self) -> Option<&'static str> {
        let chain = replacement::chain(self.world, self.version);
        let mut others = ServiceVersion::all_in(self.world, self.version.namespace())
            .filter(|other| !chain.contains(other.name()));
        let is_owned_twice = others.any(|other| {
            let mut owned = self.version.owned_definitions().iter();
            owned.any(|definition| other.owns_definition(text(definition, "/name")))
        });
        if is_owned_twice {
            return Some("conflicting CRD owner in namespace");
        }
        api_services::has_conflict(self.world, self.version).then_some("unable to adopt APIService")
    }

    /// Checks what is needed to look at the installation: a strategy that there is, and someone to write as.
    fn can_install(&mut self) -> bool {
        if let Err(why) = self.version.check_strategy() {
            self.invalid_strategy(why);
            return false;
        }
        let mut groups = self
            .world
            .in_namespace(Kind::OperatorGroup, self.version.namespace());
        match groups.next().map_or(Ok(None), |group| membership::account(group)) {
            Ok(_) => true,
            Err(why) => {
                self.trouble = Some(why);
                false
            }
        }
    }

    fn install_ready(&mut self, group: &Value) {
        if !self.can_install() {
            return;
        }
        let planned = installation::plan(
            self.world,
            self.version,
            self.circumstances.secrets,
            self.circumstances.now,
        );
        match planned {
            Ok(installation) => {
                self.attempt = Some(Attempt {
                    account: membership::account(group).ok().flatten(),
                    writes: installation.writes,
                });
                if let Some(rotate_at) = installation.rotate_at {
                    self.progress.set_certificates(rotate_at, installation.renews);
                }
                self.progress.set(
                    "Installing",
                    "InstallSucceeded",
                    "waiting for install components to report healthy",
                );
            }
            Err(why) => {
                self.fail(
                    "InstallComponentFailed",
                    &format!("install strategy failed: {why}"),
                );
                self.trouble = Some(why);
            }
        }
    }

    /// Looks at what is installed; returns none where it can't be said how it shall be.
    fn look(&mut self, otherwise: (&str, &str)) -> Option<Health> {
        let expected = match installation::expected_deployments(self.world, self.version) {
            Ok(expected) => expected,
            Err(why) => {
                self.trouble = Some(why);
                self.progress.set(
                    "Pending",
                    "NeedsReinstall",
                    "calculated deployment install is bad",
                );
                return None;
            }
        };
        self.writes.extend(webhooks::removals(self.world, self.version));
        let health = health::judge(
            self.world,
            self.version,
            &expected,
            &mut self.progress,
            otherwise,
            self.circumstances.now,
        );
        if let Health::Later(after) = health {
            self.look_again_after = Some(after);
        }
        Some(health)
    }

    fn installing(&mut self) {
        if !self.can_install() {
            return;
        }
        let Some(health) = self.look(("Installing", "InstallWaiting")) else {
            return;
        };
        if health == Health::Good {
            return;
        }
        let Some(since) = self.progress.since() else {
            return;
        };
        let waited = self.circumstances.now.duration_since(since);
        if waited >= INSTALL_TIMEOUT {
            self.fail("InstallCheckFailed", "install timeout");
        } else if self.progress.phase() == "Installing" {
            let rest = INSTALL_TIMEOUT - waited;
            self.look_again_after = Some(rest.unsigned_abs());
        }
    }

    fn succeeded(&mut self) {
        if let Some(next) = replacement::next(self.world, self.version) {
            let message = format!("being replaced by csv: {}", next.name());
            return self.progress.set("Replacing", "BeingReplaced", &message);
        }
        if !self.can_install() {
            return;
        }
        if let Err(broken) = api_services::check_resources(self.world, self.version) {
            return self.fail("APIServiceResourceIssue", &broken.message);
        }
        if installation::needs_certificates(self.world, self.version, self.circumstances.now) {
            return self.progress.set(
                "Pending",
                "NeedsCertRotation",
                "CSV owns resources that require a cert refresh",
            );
        }
        match requirements::check(self.world, self.version) {
            Err(why) => return self.invalid_strategy(&why.to_string()),
            Ok(requirements) if !requirements.are_met => {
                self.progress.set_requirements(requirements.statuses);
                return self.fail("RequirementsNotMet", "requirements no longer met");
            }
            Ok(_) => {}
        }
        if self.look(("Failed", "ComponentUnhealthy")) != Some(Health::Good) {
            return;
        }
        match api_roles::of_version(self.world, self.version) {
            Ok(writes) => self.writes.extend(writes),
            Err(why) => self.trouble = Some(why),
        }
        if self.version.has_certificates()
            && let Some(due) = installation::rotate_at(self.world, self.version)
        {
            let until = due.duration_since(self.circumstances.now);
            let until = until.clamp(SignedDuration::from_secs(1), CERTIFICATE_LOOK);
            self.look_again_after = Some(until.unsigned_abs());
        }
    }

    fn failed(&mut self, group: &Value) {
        if membership::fails_forward(group)
            && let Some(next) = replacement::next(self.world, self.version)
        {
            let message = format!(
                "Fail Forward is enabled, allowing Failed csv to be replaced by csv: {}",
                next.name()
            );
            return self.progress.set("Replacing", "BeingReplaced", &message);
        }
        if !self.can_install() {
            return;
        }
        let again = match self.version.reason() {
            "NoTargetNamespaces"
            | "NoOperatorGroup"
            | "TooManyOperatorGroups"
            | "UnsupportedOperatorGroup" => Some("InstallModes now support target namespaces"),
            "InterOperatorGroupOwnerConflict" => {
                Some("OperatorGroup no longer intersecting with conflicting owner")
            }
            "CannotModifyStaticOperatorGroupProvidedAPIs" => {
                Some("static OperatorGroup and intersecting groups now support providedAPIs")
            }
            _ => None,
        };
        if let Some(message) = again {
            return self.progress.set("Pending", "RequirementsUnknown", message);
        }
        match requirements::check(self.world, self.version) {
            Err(why) => return self.invalid_strategy(&why.to_string()),
            Ok(requirements) if !requirements.are_met => {
                self.progress.set_requirements(requirements.statuses);
                return self
                    .progress
                    .set("Pending", "RequirementsNotMet", "requirements not met");
            }
            Ok(_) => {}
        }
        // Upstream installs again and fails again without end; what belongs to another stays so until that one changes.
        if self.version.reason() == "OwnerConflict"
            && let Some(conflict) = self.owner_conflict()
        {
            self.trouble = Some(conflict.to_owned());
            return self.fail("OwnerConflict", conflict);
        }
        if let Err(broken) = api_services::check_resources(self.world, self.version) {
            if broken.can_be_repaired {
                self.progress
                    .set("Pending", "APIServiceResourcesNeedReinstall", &broken.message);
            }
            return;
        }
        if installation::needs_certificates(self.world, self.version, self.circumstances.now) {
            return self.progress.set(
                "Pending",
                "NeedsCertRotation",
                "owned APIServices need cert refresh",
            );
        }
        self.look(("Pending", "NeedsReinstall"));
    }

    fn replacing(&mut self, group: &Value) {
        // Only the oldest of a chain may go; others would break it.
        if replacement::previous(self.world, self.version).is_some() {
            return;
        }
        let Some(mut next) = replacement::next(self.world, self.version) else {
            self.trouble = Some("marked as replacement, but no replacement CSV found in cluster".to_owned());
            return;
        };
        if membership::fails_forward(group) {
            match replacement::last(self.world, next) {
                Ok(last) => next = last,
                Err(why) => {
                    self.trouble = Some(why);
                    return;
                }
            }
        }
        if next.phase() == "Succeeded" {
            self.progress.set(
                "Deleting",
                "Replaced",
                "has been replaced by a newer ClusterServiceVersion that has successfully installed.",
            );
        }
    }

    /// Lifts the permissions of a version that looks after all namespaces.
    fn lift_permissions(&mut self) {
        let Some(group) = membership::group(self.world, self.version) else {
            return;
        };
        let targets = status_namespaces(group).unwrap_or_default();
        let is_all = Namespaces(targets.into_iter().map(str::to_owned).collect()).is_all();
        if !is_all || self.version.check_strategy().is_err() {
            return;
        }
        match target_permissions::everywhere(self.world, self.version) {
            Ok(writes) => self.writes.extend(writes),
            Err(why) => {
                self.trouble.get_or_insert(why);
            }
        }
    }
}
