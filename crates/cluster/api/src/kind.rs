//! What makes a type a kind of the Kubernetes API.

/// Declares a cluster-wide kind of `olm.operatorframework.io/v1` with a spec and a status.
macro_rules! cluster_kind {
    ($(#[$attribute:meta])* $kind:ident, $plural:literal, $spec:ty, $status:ty) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $kind {
            /// The version of the API, which every object names.
            #[serde(default = "api_version")]
            pub api_version: String,
            /// The kind, which every object names.
            #[serde(default = "kind")]
            pub kind: String,
            /// The name, the labels and what the API server keeps of every object.
            #[serde(default)]
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            /// What is wanted.
            pub spec: $spec,
            /// What became of it.
            #[serde(default)]
            pub status: $status,
        }

        fn api_version() -> String {
            <$kind as k8s_openapi::Resource>::API_VERSION.to_owned()
        }

        fn kind() -> String {
            stringify!($kind).to_owned()
        }

        impl k8s_openapi::Resource for $kind {
            const API_VERSION: &'static str = "olm.operatorframework.io/v1";
            const GROUP: &'static str = crate::keys::GROUP;
            const KIND: &'static str = stringify!($kind);
            const VERSION: &'static str = "v1";
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = k8s_openapi::ClusterResourceScope;
        }

        impl k8s_openapi::Metadata for $kind {
            type Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

            fn metadata(&self) -> &Self::Ty {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut Self::Ty {
                &mut self.metadata
            }
        }

        impl $kind {
            /// Makes an object that isn't in the cluster yet.
            pub fn new(name: &str, spec: $spec) -> Self {
                Self {
                    api_version: api_version(),
                    kind: kind(),
                    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                        name: Some(name.to_owned()),
                        ..Default::default()
                    },
                    spec,
                    status: <$status>::default(),
                }
            }

            /// Returns the name.
            pub fn name(&self) -> &str {
                self.metadata.name.as_deref().unwrap_or_default()
            }

            /// Returns the generation of the spec.
            pub fn generation(&self) -> i64 {
                self.metadata.generation.unwrap_or_default()
            }
        }
    };
}

pub(crate) use cluster_kind;
