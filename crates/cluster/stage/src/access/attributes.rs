//! What someone wants to do, as authorization sees it.

use std::fmt::{self, Write as _};

use crate::caller::Caller;
use crate::request::{ResourcePath, Verb};
use crate::status::{GroupResource, Status};

/// What someone wants to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// What is done: `get`, `create`, or any word that a rule may have.
    pub verb: String,
    /// What it is done to.
    pub object: Wanted,
}

/// What something is done to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Objects of a resource.
    Resource {
        /// The namespace; empty for the whole cluster.
        namespace: String,
        /// The API group; empty for the core.
        group: String,
        /// The resource's plural.
        resource: String,
        /// What hangs below the object; empty for the object itself.
        subresource: String,
        /// The object's name; empty for all of them.
        name: String,
    },
    /// A path that is no resource's.
    Path(String),
}

/// What authorization says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why, as far as there is something to say.
    pub reason: String,
}

impl Attributes {
    /// Returns the wish to do something to objects of a resource.
    pub fn resource(verb: &str, namespace: &str, group: &str, resource: &str, name: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            object: Wanted::Resource {
                namespace: namespace.to_owned(),
                group: group.to_owned(),
                resource: resource.to_owned(),
                subresource: String::new(),
                name: name.to_owned(),
            },
        }
    }

    /// Returns the same for something below the objects.
    pub fn below(mut self, name: &str) -> Self {
        if let Wanted::Resource { subresource, .. } = &mut self.object {
            name.clone_into(subresource);
        }
        self
    }

    /// Returns the wish to use a path that is no resource's.
    pub fn path(verb: &str, path: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            object: Wanted::Path(path.to_owned()),
        }
    }

    /// Returns what a request on a resource wants.
    pub fn of_request(verb: Verb, path: &ResourcePath) -> Self {
        Self::resource(
            verb.name(),
            &path.namespace,
            &path.group,
            &path.resource,
            &path.name,
        )
        .below(&path.subresource)
    }

    /// Returns the namespace; empty for the whole cluster and for paths.
    pub fn namespace(&self) -> &str {
        match &self.object {
            Wanted::Resource { namespace, .. } => namespace,
            Wanted::Path(_) => "",
        }
    }

    /// Returns the refusal of this to someone.
    pub fn forbidden(&self, caller: &Caller, reason: &str) -> Status {
        let why = Refused {
            attributes: self,
            user: &caller.user,
            reason,
        };
        match &self.object {
            Wanted::Resource {
                group,
                resource,
                name,
                ..
            } => Status::forbidden(GroupResource { group, resource }, name, why),
            Wanted::Path(_) => Status::forbidden(
                GroupResource {
                    group: "",
                    resource: "",
                },
                "",
                why,
            ),
        }
    }
}

struct Refused<'a> {
    attributes: &'a Attributes,
    user: &'a str,
    reason: &'a str,
}

impl fmt::Display for Refused<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = &self.attributes.verb;
        write!(formatter, "User {} cannot {verb} ", quoted(self.user))?;
        match &self.attributes.object {
            Wanted::Path(path) => write!(formatter, "path {}", quoted(path))?,
            Wanted::Resource {
                namespace,
                group,
                resource,
                subresource,
                ..
            } => {
                let resource = if subresource.is_empty() {
                    quoted(resource)
                } else {
                    quoted(&format!("{resource}/{subresource}"))
                };
                write!(formatter, "resource {resource} in API group {} ", quoted(group))?;
                if namespace.is_empty() {
                    formatter.write_str("at the cluster scope")?;
                } else {
                    write!(formatter, "in the namespace {}", quoted(namespace))?;
                }
            }
        }
        if !self.reason.is_empty() {
            write!(formatter, ": {}", self.reason)?;
        }
        Ok(())
    }
}

/// Returns a text in double quotes as Go's `%q` writes it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    // Writing into a text can't fail.
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            ' '..='~' => quoted.push(character),
            _ if character.is_control() && (character as u32) < 0x80 => {
                let _ = write!(quoted, "\\x{:02x}", character as u32);
            }
            _ if character.is_control() || character.is_whitespace() => {
                let _ = write!(quoted, "\\u{:04x}", character as u32);
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns texts as Go's `%q` writes a slice of them.
pub fn quoted_list(texts: &[String]) -> String {
    let all: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_the_user_the_verb_and_the_place() {
        let alice = Caller::named("alice", &[]);
        let pods = Attributes::resource("list", "default", "", "pods", "");
        assert_eq!(
            pods.forbidden(&alice, "").message,
            "pods is forbidden: User \"alice\" cannot list resource \"pods\" in API group \"\" in the namespace \
             \"default\""
        );
        let scale = Attributes::resource("update", "", "apps", "deployments", "a").below("scale");
        assert_eq!(
            scale.forbidden(&alice, "RBAC: no").message,
            "deployments.apps \"a\" is forbidden: User \"alice\" cannot update resource \"deployments/scale\" in API \
             group \"apps\" at the cluster scope: RBAC: no"
        );
        let path = Attributes::path("get", "/foo");
        assert_eq!(
            path.forbidden(&alice, "").message,
            "forbidden: User \"alice\" cannot get path \"/foo\""
        );
    }
}
