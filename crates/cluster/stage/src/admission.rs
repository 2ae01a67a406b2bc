//! What decides about writes beyond the rules of a kind: built-in plugins, policies and webhooks.
//!
//! Everything is asked in the order of the real server: first all that may change the object, then, when the object is
//! whole and valid, all that may refuse it.
//!
//! - [`namespaces`]: nothing is made where there is no namespace, or in one that goes
//! - [`definitions`]: nothing is made of a kind whose definition goes
//! - [`limits`]: what containers get and may have
//! - [`quota`]: how much a namespace may have
//! - [`scheduling`], [`classes`], [`certificates`]: priorities, tolerations and classes; who may sign
//! - [`service_accounts`]: pods act as a ServiceAccount and get its token
//! - [`nodes`]: new nodes aren't ready
//! - [`pod_security`]: how much pods may do
//! - [`policies`]: expressions that refuse
//! - [`webhooks`]: servers that are asked
//! - [`matching`], [`expressions`], [`kept`]: which writes someone is asked about, and what they see of them

pub mod certificates;
pub mod classes;
pub mod definitions;
pub mod expressions;
pub mod kept;
pub mod limits;
pub mod matching;
pub mod namespaces;
pub mod nodes;
pub mod pod_security;
pub mod policies;
pub mod quota;
pub mod scheduling;
pub mod service_accounts;
pub mod webhooks;

use expression::{Access, Decision};
use serde_json::Value;

use crate::access::Attributes;
use crate::api::{Api, Call, Place};
use crate::caller::Caller;
use crate::object::Object;
use crate::options::{DeleteOptions, WriteOptions};
use crate::status::Status;

/// What is done to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// Something below it is connected to, such as a proxy.
    Connect,
}

impl Operation {
    /// Returns the name that webhooks and policies use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

/// A write that waits for its admission. Objects are in the version they are stored in.
#[derive(Debug)]
pub struct Review<'a> {
    /// The API, for looking things up.
    pub api: &'a Api,
    /// Who writes.
    pub call: &'a Call,
    /// What is written.
    pub place: &'a Place,
    /// What is done.
    pub operation: Operation,
    /// The new object; `None` for deletions.
    pub object: Option<Value>,
    /// The object so far; `None` for new ones.
    pub old: Option<&'a Value>,
    /// Whether the write is only tried.
    pub dry_run: bool,
    /// What the write says beside its object.
    pub options: Said<'a>,
}

/// What a request says beside its object.
#[derive(Debug, Clone, Copy, Default)]
pub enum Said<'a> {
    /// Nothing, as a connection does.
    #[default]
    Nothing,
    /// What a create, update or patch says.
    Write(&'a WriteOptions),
    /// What a deletion says.
    Delete(&'a DeleteOptions),
}

impl<'a> Review<'a> {
    /// Returns the review of a write.
    pub fn new(
        api: &'a Api,
        call: &'a Call,
        place: &'a Place,
        operation: Operation,
        object: Option<Value>,
        old: Option<&'a Value>,
        dry_run: bool,
    ) -> Self {
        Self {
            api,
            call,
            place,
            operation,
            object,
            old,
            dry_run,
            options: Said::Nothing,
        }
    }

    /// Adds what a create, update or patch says beside its object.
    pub fn written_with(mut self, options: &'a WriteOptions) -> Self {
        self.options = Said::Write(options);
        self
    }

    /// Adds what a deletion says.
    pub fn deleted_with(mut self, options: &'a DeleteOptions) -> Self {
        self.options = Said::Delete(options);
        self
    }

    /// Returns whether the write is to objects of this resource themselves.
    pub fn is_to(&self, group: &str, plural: &str) -> bool {
        self.place.subresource.is_empty() && self.place.resource.is(group, plural)
    }

    /// Returns whether someone may do something, as expressions ask.
    pub(crate) fn may(&self, caller: &Caller, verb: &str, access: &Access) -> Decision {
        let wanted = match access {
            Access::Path { path } => Attributes::path(verb, path),
            Access::Resource(resource) => Attributes::resource(
                verb,
                &resource.namespace,
                &resource.group,
                &resource.resource,
                &resource.name,
            )
            .below(&resource.subresource),
        };
        let decided = self.api.access.allowed(caller, &wanted);
        Decision {
            allowed: decided.allowed,
            reason: decided.reason,
            error: None,
        }
    }

    /// Returns the refusal that the write is forbidden.
    pub fn forbidden(&self, why: impl std::fmt::Display) -> Status {
        let name = if self.place.name.is_empty() {
            // A name that is generated isn't there yet.
            let named = self.object.as_ref().map_or("", |object| object.name());
            let base = self
                .object
                .as_ref()
                .map_or("", |object| object.metadata_text("generateName"));
            [named, base]
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or("Unknown")
        } else {
            self.place.name.as_str()
        };
        Status::forbidden(self.place.resource.group_resource(), name, why)
    }

    /// Takes the new object out.
    pub fn take_object(&mut self) -> Value {
        self.object.take().unwrap_or_default()
    }

    /// Returns the new object.
    pub fn into_object(self) -> Value {
        self.object.unwrap_or_default()
    }
}

/// What decides about writes.
#[derive(Debug, Default)]
pub struct Admission {
    policies: policies::Policies,
    quotas: quota::Quotas,
    webhooks: webhooks::Webhooks,
}

impl Admission {
    /// Lets everything that may change the object do so, and refuses what mustn't be.
    pub async fn mutate(&self, review: &mut Review<'_>) -> Result<(), Status> {
        let mut rounds = webhooks::Rounds::default();
        Self::plug_in(review).await?;
        let changed = self.webhooks.mutate(review, &mut rounds).await?;
        if changed {
            // What webhooks add has to go through the same gates, once.
            Self::plug_in(review).await?;
            rounds.begin_second(review.object.as_ref());
            self.webhooks.mutate(review, &mut rounds).await?;
        }
        Ok(())
    }

    /// Asks the built-in plugins that may change the object.
    async fn plug_in(review: &mut Review<'_>) -> Result<(), Status> {
        namespaces::check(review)?;
        definitions::check(review)?;
        limits::admit(review);
        service_accounts::admit(review).await?;
        nodes::taint(review);
        scheduling::prioritize(review)?;
        scheduling::tolerate(review);
        classes::default_storage_class(review);
        classes::protect(review);
        scheduling::apply_runtime_class(review)?;
        classes::default_ingress_class(review);
        Ok(())
    }

    /// Refuses what mustn't be; nothing changes any more.
    pub async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        limits::validate(review)?;
        service_accounts::validate(review).await?;
        pod_security::validate(review)?;
        scheduling::check_priority_class(review)?;
        classes::check_resize(review)?;
        scheduling::check_overhead(review)?;
        certificates::validate(review)?;
        self.policies.validate(review).await?;
        self.webhooks.validate(review).await?;
        self.quotas.charge(review).await
    }
}
