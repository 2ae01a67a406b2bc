//! `.Capabilities`: the versions of Kubernetes, its APIs and Helm that the chart is rendered for.

use std::any::Any;
use std::rc::Rc;

use gotemplate::{Call, Failure, Function, Kind, List, NamedType, Object, Type, Value};

use crate::capabilities::{Capabilities, HELM_VERSION, KubeVersion};

/// Makes `.Capabilities`.
pub(crate) fn capabilities_value(capabilities: &Capabilities) -> Value {
    let api_versions = capabilities
        .api_versions
        .iter()
        .map(|version| Value::string(version.as_str()));
    Value::Object(Rc::new(CapabilitiesObject {
        kube_version: Value::Object(Rc::new(KubeVersionObject(capabilities.kube_version.clone()))),
        api_versions: Value::List(List::named(&VERSION_SET, Type::String, api_versions.collect())),
    }))
}

static VERSION_SET: NamedType = NamedType {
    name: "chartutil.VersionSet",
    method: version_set_method,
};

fn version_set_method(name: &str) -> Option<&'static Function> {
    static HAS: Function = Function::new("Has", &[Type::String], has);
    (name == HAS.name).then_some(&HAS)
}

fn has(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let wanted = call.text(0);
    let versions = call.receiver.as_list();
    let found =
        versions.is_some_and(|versions| versions.iter().any(|version| version.as_text() == Some(&wanted)));
    Ok(Value::Bool(found))
}

struct CapabilitiesObject {
    kube_version: Value,
    api_versions: Value,
}

impl Object for CapabilitiesObject {
    fn type_name(&self) -> &'static str {
        "*chartutil.Capabilities"
    }

    fn kind(&self) -> Kind {
        Kind::Pointer
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("KubeVersion", self.kube_version.clone()),
            ("APIVersions", self.api_versions.clone()),
            ("HelmVersion", Value::Object(Rc::new(HelmVersionObject))),
        ]
    }

    fn equals(&self, other: &dyn Object) -> bool {
        std::ptr::addr_eq(std::ptr::from_ref(self), std::ptr::from_ref(other))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct KubeVersionObject(KubeVersion);

impl Object for KubeVersionObject {
    fn type_name(&self) -> &'static str {
        "chartutil.KubeVersion"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", Value::string(self.0.version.as_str())),
            ("Major", Value::string(self.0.major.as_str())),
            ("Minor", Value::string(self.0.minor.as_str())),
        ]
    }

    fn method(&self, name: &str) -> Option<&'static Function> {
        static METHODS: [Function; 2] = [
            Function::new("String", &[], kube_version_text),
            Function::new("GitVersion", &[], kube_version_text),
        ];
        METHODS.iter().find(|method| method.name == name)
    }

    /// The printing method belongs to the pointer, so only an action that prints the field itself uses it.
    fn text_behind_pointer(&self) -> Option<String> {
        Some(self.0.version.clone())
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<KubeVersionObject>()
            .is_some_and(|other| self.0 == other.0)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn kube_version_text(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let version = call.receiver.as_object::<KubeVersionObject>();
    Ok(Value::string(
        version
            .map(|version| version.0.version.as_str())
            .unwrap_or_default(),
    ))
}

struct HelmVersionObject;

impl Object for HelmVersionObject {
    fn type_name(&self) -> &'static str {
        "version.BuildInfo"
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Version", Value::from(HELM_VERSION.version)),
            ("GitCommit", Value::from(HELM_VERSION.git_commit)),
            ("GitTreeState", Value::from(HELM_VERSION.git_tree_state)),
            ("GoVersion", Value::from(HELM_VERSION.go_version)),
        ]
    }

    fn json(&self) -> gotemplate::Json {
        gotemplate::Json::Object(vec![
            ("version".into(), Value::from(HELM_VERSION.version)),
            ("git_commit".into(), Value::from(HELM_VERSION.git_commit)),
            ("git_tree_state".into(), Value::from(HELM_VERSION.git_tree_state)),
            ("go_version".into(), Value::from(HELM_VERSION.go_version)),
        ])
    }

    fn equals(&self, other: &dyn Object) -> bool {
        other.as_any().is::<HelmVersionObject>()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
