//! A ClusterServiceVersion as the rules read it.

use apply::object::{annotation, text};
use bundle::cluster_service_version::GroupVersionKind;
use classic::copied;
use classic::{Key, Kind, World};
use serde_json::Value;

use crate::provided_apis::Apis;

/// One version of an operator in a cluster.
#[derive(Debug, Clone, Copy)]
pub struct ServiceVersion<'a> {
    /// The object.
    pub object: &'a Value,
}

impl<'a> ServiceVersion<'a> {
    /// Reads an object.
    pub fn of(object: &'a Value) -> Self {
        Self { object }
    }

    /// Finds the version of a name in a namespace.
    pub fn find(world: &'a World, namespace: &str, name: &str) -> Option<Self> {
        let object = world.get(Kind::ClusterServiceVersion, namespace, name)?;
        Some(Self::of(object))
    }

    /// Returns the versions in a namespace that are no copies, by name.
    pub fn all_in(world: &'a World, namespace: &'a str) -> impl Iterator<Item = Self> {
        world.originals_in(namespace).map(|object| Self::of(object))
    }

    /// Returns the name.
    pub fn name(self) -> &'a str {
        text(self.object, "/metadata/name")
    }

    /// Returns the namespace.
    pub fn namespace(self) -> &'a str {
        text(self.object, "/metadata/namespace")
    }

    /// Returns the key.
    pub fn key(self) -> Key {
        Key::new(Kind::ClusterServiceVersion, self.namespace(), self.name())
    }

    /// Returns the phase; empty at the beginning.
    pub fn phase(self) -> &'a str {
        text(self.object, "/status/phase")
    }

    /// Returns why it is in its phase.
    pub fn reason(self) -> &'a str {
        text(self.object, "/status/reason")
    }

    /// Returns the name of the version that it follows.
    pub fn replaces(self) -> &'a str {
        text(self.object, "/spec/replaces")
    }

    /// Returns whether it is a copy of a version in another namespace.
    pub fn is_copy(self) -> bool {
        copied::is_copy(self.object)
    }

    /// Returns whether it is on its way out.
    pub fn is_terminating(self) -> bool {
        apply::object::is_terminating(self.object)
    }

    /// Returns an annotation.
    pub fn annotation(self, key: &str) -> Option<&'a str> {
        annotation(self.object, key)
    }

    fn list(self, pointer: &str) -> &'a [Value] {
        self.object
            .pointer(pointer)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }

    /// Returns the custom resources that it provides.
    pub fn owned_definitions(self) -> &'a [Value] {
        self.list("/spec/customresourcedefinitions/owned")
    }

    /// Returns the custom resources that it needs.
    pub fn required_definitions(self) -> &'a [Value] {
        self.list("/spec/customresourcedefinitions/required")
    }

    /// Returns whether it provides the custom resource of a name, such as `things.example.com`.
    pub fn owns_definition(self, name: &str) -> bool {
        self.owned_definitions()
            .iter()
            .any(|owned| text(owned, "/name") == name)
    }

    /// Returns whether it provides or needs the custom resource of a name.
    pub fn names_definition(self, name: &str) -> bool {
        self.owns_definition(name)
            || self
                .required_definitions()
                .iter()
                .any(|required| text(required, "/name") == name)
    }

    /// Returns the aggregated APIs that it provides.
    pub fn owned_api_services(self) -> &'a [Value] {
        self.list("/spec/apiservicedefinitions/owned")
    }

    /// Returns the aggregated APIs that it needs.
    pub fn required_api_services(self) -> &'a [Value] {
        self.list("/spec/apiservicedefinitions/required")
    }

    /// Returns the kinds that it needs from the cluster.
    pub fn native_apis(self) -> &'a [Value] {
        self.list("/spec/nativeAPIs")
    }

    /// Returns the webhooks that it serves.
    pub fn webhooks(self) -> &'a [Value] {
        self.list("/spec/webhookdefinitions")
    }

    /// Returns the deployments that it is made of.
    pub fn deployments(self) -> &'a [Value] {
        self.list("/spec/install/spec/deployments")
    }

    /// Returns what service accounts may do in the namespaces that it looks after.
    pub fn permissions(self) -> &'a [Value] {
        self.list("/spec/install/spec/permissions")
    }

    /// Returns what service accounts may do everywhere.
    pub fn cluster_permissions(self) -> &'a [Value] {
        self.list("/spec/install/spec/clusterPermissions")
    }

    /// Checks that it is installed in the one way that there is.
    ///
    /// # Errors
    ///
    /// Upstream's text where it is another one.
    pub fn check_strategy(self) -> Result<(), &'static str> {
        if text(self.object, "/spec/install/strategy") == "deployment" {
            Ok(())
        } else {
            Err("unrecognized install strategy")
        }
    }

    /// Returns whether something of it is called through a certificate.
    pub fn has_certificates(self) -> bool {
        !self.owned_api_services().is_empty() || !self.webhooks().is_empty()
    }

    /// Returns the APIs that it provides; none where the name of a custom resource is no name.
    pub fn provided_apis(self) -> Option<Apis> {
        let is_name = |definition: &Value| text(definition, "/name").contains('.');
        if !self.required_definitions().iter().all(is_name) {
            return None;
        }
        let mut apis = Apis::default();
        for owned in self.owned_definitions() {
            let (_, group) = text(owned, "/name").split_once('.')?;
            apis.0.insert(api(group, owned));
        }
        for owned in self.owned_api_services() {
            apis.0.insert(api(text(owned, "/group"), owned));
        }
        Some(apis)
    }
}

fn api(group: &str, description: &Value) -> GroupVersionKind {
    GroupVersionKind {
        group: group.to_owned(),
        version: text(description, "/version").to_owned(),
        kind: text(description, "/kind").to_owned(),
    }
}
