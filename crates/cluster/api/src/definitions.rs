//! The CustomResourceDefinitions, with every field that upstream has and every rule.

use serde_json::Value;

/// A CustomResourceDefinition.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// Its name, such as `clustercatalogs.olm.operatorframework.io`.
    pub name: &'static str,
    /// The definition as YAML.
    pub yaml: &'static str,
}

/// The kinds of OLM v1.
pub const OLM_V1: [Definition; 3] = [
    Definition {
        name: "clustercatalogs.olm.operatorframework.io",
        yaml: include_str!("../crds/clustercatalogs.yaml"),
    },
    Definition {
        name: "clusterextensions.olm.operatorframework.io",
        yaml: include_str!("../crds/clusterextensions.yaml"),
    },
    Definition {
        name: "clusterobjectsets.olm.operatorframework.io",
        yaml: include_str!("../crds/clusterobjectsets.yaml"),
    },
];

/// The kinds of OLM v0.
pub const OLM_V0: [Definition; 8] = [
    Definition {
        name: "catalogsources.operators.coreos.com",
        yaml: include_str!("../crds/catalogsources.yaml"),
    },
    Definition {
        name: "clusterserviceversions.operators.coreos.com",
        yaml: include_str!("../crds/clusterserviceversions.yaml"),
    },
    Definition {
        name: "installplans.operators.coreos.com",
        yaml: include_str!("../crds/installplans.yaml"),
    },
    Definition {
        name: "olmconfigs.operators.coreos.com",
        yaml: include_str!("../crds/olmconfigs.yaml"),
    },
    Definition {
        name: "operatorconditions.operators.coreos.com",
        yaml: include_str!("../crds/operatorconditions.yaml"),
    },
    Definition {
        name: "operatorgroups.operators.coreos.com",
        yaml: include_str!("../crds/operatorgroups.yaml"),
    },
    Definition {
        name: "operators.operators.coreos.com",
        yaml: include_str!("../crds/operators.yaml"),
    },
    Definition {
        name: "subscriptions.operators.coreos.com",
        yaml: include_str!("../crds/subscriptions.yaml"),
    },
];

impl Definition {
    /// Returns the definition as an object.
    pub fn object(&self) -> Value {
        // The text is part of the program, and a test reads it.
        goyaml::to_value(self.yaml.as_bytes()).unwrap_or(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Takes away what is for people only: descriptions, and who generated the file.
    fn essence(value: &mut Value, is_field_map: bool) {
        match value {
            Value::Object(fields) => {
                if !is_field_map {
                    fields.remove("description");
                }
                for (name, value) in fields {
                    essence(value, name == "properties" && !is_field_map);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| essence(item, false)),
            _ => {}
        }
    }

    #[test]
    fn definitions_have_upstreams_fields_and_rules() {
        let Some(corpus) = corpus::open("olmv1") else {
            return;
        };
        for definition in OLM_V1 {
            let plural = definition.name.split('.').next().expect("a plural");
            let file = format!("olmv1-corpus/crds/experimental/olm.operatorframework.io_{plural}.yaml");
            let upstream = fs::read(corpus.join(file)).expect("upstream's definition");
            let mut upstream = goyaml::to_value(&upstream).expect("YAML");
            let mut ours = definition.object();
            essence(&mut upstream, false);
            essence(&mut ours, false);
            upstream["metadata"]["annotations"] = ours["metadata"]["annotations"].clone();
            assert_eq!(ours, upstream, "{plural}");
        }
    }

    #[test]
    fn definitions_of_olm_v0_have_upstreams_fields_and_rules() {
        let Some(corpus) = corpus::open("olmv0") else {
            return;
        };
        for definition in OLM_V0 {
            let plural = definition.name.split('.').next().expect("a plural");
            let file = format!("olmv0-corpus/crds/0000_50_olm_00-{plural}.crd.yaml");
            let upstream = fs::read(corpus.join(file)).expect("upstream's definition");
            let mut upstream = goyaml::to_value(&upstream).expect("YAML");
            let mut ours = definition.object();
            essence(&mut upstream, false);
            essence(&mut ours, false);
            // Which program wrote the file says nothing about the kind.
            upstream["metadata"]
                .as_object_mut()
                .expect("metadata")
                .remove("annotations");
            assert_eq!(ours, upstream, "{plural}");
        }
    }

    /// Fields of OLM v0 that hold a type of Kubernetes: what is inside is described there.
    const EMBEDDED: [&str; 19] = [
        "affinity",
        "attenuatedServiceAccountRef",
        "catalogSourceRef",
        "env",
        "envFrom",
        "installPlanRef",
        "labelSelector",
        "memoryTarget",
        "nodeSelector",
        "objectSelector",
        "resources",
        "rules",
        "selector",
        "serviceAccountRef",
        "tolerations",
        "volumeMounts",
        "volumes",
        "deployments.spec",
        "value",
    ];

    #[test]
    fn every_field_of_olm_v0_says_what_it_is_for() {
        fn check(shape: &Value, path: &str, silent: &mut Vec<String>) {
            for (name, field) in shape["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                if field["description"].as_str().is_none_or(str::is_empty) && path != ".metadata" {
                    silent.push(path.clone());
                }
                let is_embedded = EMBEDDED.iter().any(|known| path.ends_with(&format!(".{known}")));
                if !is_embedded {
                    check(field, &path, silent);
                    check(&field["items"], &path, silent);
                }
            }
        }
        for definition in OLM_V0 {
            let object = definition.object();
            assert_eq!(object["metadata"]["name"], definition.name);
            let mut silent = Vec::new();
            for version in object["spec"]["versions"].as_array().expect("versions") {
                check(&version["schema"]["openAPIV3Schema"], "", &mut silent);
            }
            assert!(silent.is_empty(), "{}: {silent:?}", definition.name);
        }
    }

    #[test]
    fn every_field_of_a_definition_says_what_it_is_for() {
        fn check(shape: &Value, path: &str, silent: &mut Vec<String>) {
            for (name, field) in shape["properties"].as_object().into_iter().flatten() {
                let path = format!("{path}.{name}");
                if field["description"].as_str().is_none_or(str::is_empty) && path != ".metadata" {
                    silent.push(path.clone());
                }
                check(field, &path, silent);
                check(&field["items"], &path, silent);
            }
        }
        for definition in OLM_V1 {
            let object = definition.object();
            assert_eq!(object["metadata"]["name"], definition.name);
            let mut silent = Vec::new();
            check(
                &object["spec"]["versions"][0]["schema"]["openAPIV3Schema"],
                "",
                &mut silent,
            );
            assert!(silent.is_empty(), "{}: {silent:?}", definition.name);
        }
    }
}
