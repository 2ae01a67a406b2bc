//! What a bundle says it depends on, in `metadata/dependencies.yaml`.

use goyaml::go_struct;
use serde_json::Value;

use super::constraint_expression;

/// A file of dependencies.
#[derive(Debug, Clone, Default)]
pub(super) struct DependenciesFile {
    pub(super) dependencies: Vec<Dependency>,
}
go_struct!(DependenciesFile, "registry.DependenciesFile", { "dependencies" => dependencies });

/// One dependency: what sort it is, and what it says.
#[derive(Debug, Clone, Default)]
pub(super) struct Dependency {
    kind: String,
    value: Value,
}
go_struct!(Dependency, "registry.Dependency", { "type" => kind, "value" => value });

#[derive(Debug, Clone, Default)]
struct GroupVersionKind {
    group: String,
    kind: String,
    version: String,
}
go_struct!(GroupVersionKind, "registry.GVKDependency", {
    "group" => group, "kind" => kind, "version" => version,
});

#[derive(Debug, Clone, Default)]
struct Package {
    name: String,
    version: String,
}
go_struct!(Package, "registry.PackageDependency", { "packageName" => name, "version" => version });

#[derive(Debug, Clone, Default)]
struct Label {
    label: String,
}
go_struct!(Label, "registry.LabelDependency", { "label" => label });

#[derive(Debug, Clone, Default)]
struct Constraint {
    failure_message: String,
    cel: Option<Cel>,
}
go_struct!(Constraint, "registry.CelConstraint", { "failureMessage" => failure_message, "cel" => cel });

#[derive(Debug, Clone, Default)]
struct Cel {
    rule: String,
}
go_struct!(Cel, "constraints.Cel", { "rule" => rule });

impl Dependency {
    /// What opm says against it.
    pub(super) fn faults(&self) -> Vec<String> {
        let value = &self.value;
        let read = match self.kind.as_str() {
            "olm.gvk" => goyaml::typed::decode(value).map(|gvk: GroupVersionKind| {
                empty_ones([
                    ("API Group is empty", gvk.group),
                    ("API Version is empty", gvk.version),
                    ("API Kind is empty", gvk.kind),
                ])
            }),
            "olm.package" => goyaml::typed::decode(value).map(|package: Package| {
                let is_range = package.version.is_empty() || version::Range::parse(&package.version).is_ok();
                let mut faults = empty_ones([
                    ("Package name is empty", package.name),
                    ("Package version is empty", package.version),
                ]);
                if !is_range {
                    faults.push("Invalid semver format version".to_owned());
                }
                faults
            }),
            "olm.label" => goyaml::typed::decode(value)
                .map(|label: Label| empty_ones([("Label information is missing", label.label)])),
            "olm.constraint" => goyaml::typed::decode(value).map(|constraint: Constraint| {
                let Some(cel) = constraint.cel else {
                    return vec!["The CEL field is missing".to_owned()];
                };
                if cel.rule.is_empty() {
                    return vec!["The CEL expression is missing".to_owned()];
                }
                constraint_expression::expression_fault(&cel.rule)
                    .map(|fault| format!("Invalid CEL expression: {fault}"))
                    .into_iter()
                    .collect()
            }),
            _ => return vec![format!("couldn't parse dependency of type {}", self.kind)],
        };
        read.unwrap_or_else(|_| vec![format!("couldn't parse dependency of type {}", self.kind)])
    }
}

fn empty_ones<const N: usize>(checks: [(&str, String); N]) -> Vec<String> {
    checks
        .into_iter()
        .filter(|(_, value)| value.is_empty())
        .map(|(fault, _)| fault.to_owned())
        .collect()
}
