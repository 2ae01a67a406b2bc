//! Server-side apply: who owns which field of an object, and what a configuration makes of it.
//!
//! ```text
//! FieldManager ── update ─┐                       ┌─ compare ── what differs
//!              └─ apply ──┴─► Updater ── Managers ┼─ merge ──── what the object becomes
//!                                (managedFields)  └─ remove ─── what nobody owns any more
//!                                     │
//!                       Set of FieldPaths ◄─► FieldsV1          all of them by Shape, from a Schema
//! ```
//!
//! The rules, texts and oddities are those of `sigs.k8s.io/structured-merge-diff` 6.3.3 and of the field manager of
//! Kubernetes 1.36.3.

mod cap;
mod compare;
mod conflict;
mod element;
mod empty_object;
mod field_manager;
mod field_set;
mod fields_v1;
mod last_applied;
mod list_item;
mod manager_name;
mod managers;
mod matcher;
mod merge;
mod order;
mod problem;
mod remove;
mod scale;
mod set;
mod shape;
mod times;
mod updater;
mod validate;
mod versions;

pub use compare::{Comparison, compare};
pub use conflict::{Conflict, Conflicts};
pub use element::{ElementError, FieldPath, PathElement};
pub use empty_object::Form;
pub use field_manager::{Applied, ApplyError, FieldManager};
pub use field_set::field_set;
pub use fields_v1::{FieldsError, MAX_DEPTH};
pub use last_applied::LAST_APPLIED;
pub use manager_name::{
    MAX_MANAGER_BYTES, manager_or_user_agent, validate_field_manager, validate_managed_fields,
    validate_patch_options, warning_after_admission,
};
pub use managers::{Entry, Manager, Managers, ManagersError, Operation};
pub use matcher::{Filter, ResetFields, Step};
pub use merge::merge;
pub use problem::{Problem, Problems};
pub use remove::{extract_items, remove_items};
pub use scale::{ReplicasPaths, managed_fields_from_scale, scale_managed_fields};
pub use set::Set;
pub use shape::Shape;
pub use times::keep_times_if_only_they_changed;
pub use validate::{Duplicates, validate};
pub use versions::{OnlyVersion, Versions};
