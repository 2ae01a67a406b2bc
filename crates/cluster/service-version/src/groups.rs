//! The gates that an OperatorGroup puts before every phase of a version.

use apply::object::{ObjectId, at, text};
use classic::{Kind, World, Write, keys};
use serde_json::{Map, Value};

use crate::install_modes::InstallModes;
use crate::membership::{annotation_patch, missing_annotations};
use crate::operator_group;
use crate::provided_apis::{self, Surface, Verdict};
use crate::version::ServiceVersion;

/// Whether a version has a group.
#[derive(Debug)]
pub enum Gate<'a> {
    /// It is a member of one.
    Open(&'a Value),
    /// It must be made a member first.
    Annotate {
        /// The annotations that do so.
        annotations: Map<String, Value>,
        /// Whether the group selects no namespace at all.
        matches_nothing: bool,
    },
    /// It can't be a member of one.
    Failed {
        /// A word for programs.
        reason: &'static str,
        /// A sentence for people.
        message: String,
    },
}

/// Finds the group of a version.
pub fn gate<'a>(world: &'a World, version: ServiceVersion<'_>) -> Gate<'a> {
    let groups: Vec<_> = world
        .all(Kind::OperatorGroup)
        .filter(|group| text(group, "/metadata/namespace") == version.namespace())
        .collect();
    match groups.as_slice() {
        [] => Gate::Failed {
            reason: "NoOperatorGroup",
            message: "csv in namespace with no operatorgroups".to_owned(),
        },
        [group] => match missing_annotations(version.object, group) {
            None => Gate::Open(group),
            Some(annotations) => Gate::Annotate {
                annotations,
                matches_nothing: operator_group::targets(world, group)
                    .is_ok_and(|targets| targets.is_empty()),
            },
        },
        _ => Gate::Failed {
            reason: "TooManyOperatorGroups",
            message: "csv created in namespace with multiple operatorgroups, can't pick one automatically"
                .to_owned(),
        },
    }
}

/// Checks that a version can look after the namespaces that its annotation names.
///
/// # Errors
///
/// The reason and the message where it can't.
pub fn check_modes(version: ServiceVersion<'_>) -> Result<(), (&'static str, String)> {
    let modes = version
        .object
        .pointer("/spec/installModes")
        .unwrap_or(&Value::Null);
    let modes = InstallModes::read(modes).map_err(|why| ("InvalidInstallModes", why.to_string()))?;
    let Some(targets) = version.annotation(keys::TARGET_NAMESPACES) else {
        return Err((
            "NoTargetNamespaces",
            "csv missing olm.targetNamespaces annotation".to_owned(),
        ));
    };
    let targets: Vec<&str> = targets.split(',').collect();
    modes
        .support(version.namespace(), &targets)
        .map_err(|why| ("UnsupportedOperatorGroup", why.to_string()))
}

/// Whether a version may provide its APIs in its group.
#[derive(Debug)]
pub enum Apis {
    /// It may, and the group says so.
    Fine,
    /// The group must say so, or no longer, first.
    Annotate(Write),
    /// It may not.
    Refused {
        /// A word for programs.
        reason: &'static str,
        /// A sentence for people.
        message: &'static str,
    },
}

/// Checks that no other group that looks after the same namespaces provides the APIs of a version.
pub fn check_apis(world: &World, group: &Value, provided: &provided_apis::Apis) -> Apis {
    let surface = Surface::of(group);
    let others: Vec<Surface> = world
        .all(Kind::OperatorGroup)
        .map(|other| Surface::of(other))
        .collect();
    let verdict = provided_apis::judge(provided, &surface, &others);
    let is_static = at(group, "/spec/staticProvidedAPIs") == Some(&Value::Bool(true));
    let wanted = match verdict {
        Verdict::Fine => return Apis::Fine,
        Verdict::Add | Verdict::Remove if is_static => {
            return Apis::Refused {
                reason: "CannotModifyStaticOperatorGroupProvidedAPIs",
                message: "static provided api operatorgroup cannot be modified by these apis",
            };
        }
        Verdict::Conflict => {
            return Apis::Refused {
                reason: "InterOperatorGroupOwnerConflict",
                message: "intersecting operatorgroups provide the same apis",
            };
        }
        // What the others of the namespace add comes with it: a group that fifty versions join is written once, not fifty times.
        Verdict::Add => ServiceVersion::all_in(world, &surface.namespace)
            .filter(|version| !version.is_terminating() && check_modes(*version).is_ok())
            .filter_map(ServiceVersion::provided_apis)
            .filter(|apis| provided_apis::judge(apis, &surface, &others) == Verdict::Add)
            .fold(surface.provided.union(provided), |all, apis| all.union(&apis)),
        Verdict::Remove => surface.provided.difference(provided),
    };
    let written = wanted.written();
    if apply::object::annotation(group, keys::PROVIDED_APIS) == Some(&written) {
        // An API that can't be read back would be added for ever.
        return Apis::Fine;
    }
    let mut annotations = Map::new();
    annotations.insert(keys::PROVIDED_APIS.to_owned(), Value::from(written));
    Apis::Annotate(Write::Merge {
        id: ObjectId::of(group),
        patch: annotation_patch(group, annotations),
    })
}
