//! Questions to the authorizer: `authorizer.group('apps').resource('deployments').check('create').allowed()`.

use std::fmt;
use std::sync::Arc;

use super::Function;
use super::formats;
use crate::value::{Failure, Outcome, Value};

/// Who is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Who sent the request.
    Requester,
    /// A service account that the expression names.
    ServiceAccount {
        /// The account's namespace.
        namespace: String,
        /// The account's name.
        name: String,
    },
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// A path that is no resource, such as `/healthz`.
    Path {
        /// The path.
        path: String,
    },
    /// A resource.
    Resource(ResourceAccess),
}

/// A resource that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceAccess {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource, in the plural.
    pub resource: String,
    /// The subresource; empty when there is none.
    pub subresource: String,
    /// The namespace; empty for all of them and for cluster-scoped resources.
    pub namespace: String,
    /// The object's name; empty for all of them.
    pub name: String,
    /// The field selector as it is written; empty when there is none.
    pub field_selector: String,
    /// The label selector as it is written; empty when there is none.
    pub label_selector: String,
}

/// What the authorizer said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What went wrong while it was decided.
    pub error: Option<String>,
}

/// Decides what a subject may do.
pub trait Authorizer: Send + Sync {
    /// Returns whether `subject` may do `verb` with `access`.
    fn authorize(&self, subject: &Subject, verb: &str, access: &Access) -> Decision;
}

/// A question in the making, or its answer.
#[derive(Clone)]
pub(crate) enum Authorization<'a> {
    Authorizer {
        authorizer: &'a dyn Authorizer,
        subject: Subject,
    },
    Path {
        authorizer: &'a dyn Authorizer,
        subject: Subject,
        path: String,
    },
    Group {
        authorizer: &'a dyn Authorizer,
        subject: Subject,
        group: String,
    },
    Resource {
        authorizer: &'a dyn Authorizer,
        subject: Subject,
        access: ResourceAccess,
    },
    Decision(Decision),
}

impl fmt::Debug for Authorization<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.type_name())
    }
}

impl<'a> Authorization<'a> {
    /// Starts with an authorizer, about who sent the request.
    pub(crate) fn new(authorizer: &'a dyn Authorizer) -> Self {
        Self::Authorizer {
            authorizer,
            subject: Subject::Requester,
        }
    }

    /// Starts with the resource that the request is about.
    pub(crate) fn of_resource(authorizer: &'a dyn Authorizer, access: ResourceAccess) -> Self {
        Self::Resource {
            authorizer,
            subject: Subject::Requester,
            access,
        }
    }

    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Authorizer { .. } => "kubernetes.authorization.Authorizer",
            Self::Path { .. } => "kubernetes.authorization.PathCheck",
            Self::Group { .. } => "kubernetes.authorization.GroupCheck",
            Self::Resource { .. } => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "authorizer_path" => path,
        "authorizer_group" => group,
        "authorizer_serviceaccount" => service_account,
        "groupcheck_resource" => resource,
        "resourcecheck_subresource" => {
            |arguments| narrow(arguments, |access, text| access.subresource = text)
        }
        "resourcecheck_namespace" => |arguments| narrow(arguments, |access, text| access.namespace = text),
        "resourcecheck_name" => |arguments| narrow(arguments, |access, text| access.name = text),
        "authorizer_fieldselector" => {
            |arguments| narrow(arguments, |access, text| access.field_selector = text)
        }
        "authorizer_labelselector" => {
            |arguments| narrow(arguments, |access, text| access.label_selector = text)
        }
        "pathcheck_check" | "resourcecheck_check" => check,
        "decision_errored" => |arguments| Ok(Value::Bool(decision(arguments)?.error.is_some())),
        "decision_error" => |arguments| {
            Ok(Value::string(
                decision(arguments)?.error.as_deref().unwrap_or_default(),
            ))
        },
        "decision_allowed" => |arguments| Ok(Value::Bool(decision(arguments)?.allowed)),
        "decision_reason" => |arguments| Ok(Value::string(decision(arguments)?.reason.as_str())),
        _ => return None,
    })
}

fn made(question: Authorization<'_>) -> Outcome<'_> {
    Ok(Value::Authorization(Arc::new(question)))
}

fn asked<'b, 'a>(arguments: &'b [Value<'a>]) -> Result<(&'b Authorization<'a>, &'b str), Failure> {
    match arguments {
        [Value::Authorization(question), Value::String(text)] => Ok((question, text)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn decision<'b>(arguments: &'b [Value<'_>]) -> Result<&'b Decision, Failure> {
    match arguments {
        [Value::Authorization(question)] => match &**question {
            Authorization::Decision(decision) => Ok(decision),
            _ => Err(Failure::no_such_overload()),
        },
        _ => Err(Failure::no_such_overload()),
    }
}

fn path<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (Authorization::Authorizer { authorizer, subject }, path) = asked(arguments)? else {
        return Err(Failure::no_such_overload());
    };
    if path.trim().is_empty() {
        return Err(Failure::new("path must not be empty"));
    }
    made(Authorization::Path {
        authorizer: *authorizer,
        subject: subject.clone(),
        path: path.to_owned(),
    })
}

fn group<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (Authorization::Authorizer { authorizer, subject }, group) = asked(arguments)? else {
        return Err(Failure::no_such_overload());
    };
    made(Authorization::Group {
        authorizer: *authorizer,
        subject: subject.clone(),
        group: group.to_owned(),
    })
}

fn service_account<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [
        Value::Authorization(question),
        Value::String(namespace),
        Value::String(name),
    ] = arguments
    else {
        return Err(Failure::no_such_overload());
    };
    let Authorization::Authorizer { authorizer, .. } = &**question else {
        return Err(Failure::no_such_overload());
    };
    if !formats::is_subdomain_name(name) {
        return Err(Failure::new("Invalid service account name"));
    }
    if !formats::is_label_name(namespace) {
        return Err(Failure::new("Invalid service account namespace"));
    }
    let subject = Subject::ServiceAccount {
        namespace: namespace.to_string(),
        name: name.to_string(),
    };
    made(Authorization::Authorizer {
        authorizer: *authorizer,
        subject,
    })
}

fn resource<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (
        Authorization::Group {
            authorizer,
            subject,
            group,
        },
        resource,
    ) = asked(arguments)?
    else {
        return Err(Failure::no_such_overload());
    };
    if resource.trim().is_empty() {
        return Err(Failure::new("resource must not be empty"));
    }
    let access = ResourceAccess {
        group: group.clone(),
        resource: resource.to_owned(),
        ..ResourceAccess::default()
    };
    made(Authorization::Resource {
        authorizer: *authorizer,
        subject: subject.clone(),
        access,
    })
}

fn narrow<'a>(arguments: &[Value<'a>], set: fn(&mut ResourceAccess, String)) -> Outcome<'a> {
    let (
        Authorization::Resource {
            authorizer,
            subject,
            access,
        },
        text,
    ) = asked(arguments)?
    else {
        return Err(Failure::no_such_overload());
    };
    let mut access = access.clone();
    set(&mut access, text.to_owned());
    made(Authorization::Resource {
        authorizer: *authorizer,
        subject: subject.clone(),
        access,
    })
}

fn check<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let (question, verb) = asked(arguments)?;
    let decision = match question {
        Authorization::Path {
            authorizer,
            subject,
            path,
        } => authorizer.authorize(subject, verb, &Access::Path { path: path.clone() }),
        Authorization::Resource {
            authorizer,
            subject,
            access,
        } => authorizer.authorize(subject, verb, &Access::Resource(access.clone())),
        _ => return Err(Failure::no_such_overload()),
    };
    made(Authorization::Decision(decision))
}
