//! What a catalog holds: its bundles and packages, as `api.Registry` tells them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::grpc::messages::registry_client::RegistryClient;
use catalog::grpc::messages::{
    Bundle, GetBundleRequest, GetPackageRequest, GroupVersionKind, ListBundlesRequest, Package,
};
use catalog::store::{Store, StoreError};
use futures_util::{StreamExt as _, stream};
use prost::Message as _;
use resolve::classic::api_set::Api;
use resolve::classic::entry::{CatalogKey, RegistryBundle, RegistryPackage};
use resolve::classic::property::Property;
use resolve::classic::snapshot::Snapshot;
use tonic::transport::Channel;

use super::SourceName;

/// The most bytes of one message: a bundle with all its objects inline.
const MAX_MESSAGE: usize = 64 << 20;

/// The most bundles that a catalog may have: many times what the largest one has.
const MAX_BUNDLES: usize = 500_000;

/// How many packages a server is asked about at the same time: enough to hide the time that an answer takes.
const PACKAGES_AT_ONCE: usize = 16;

/// The content of a catalog at some moment.
#[derive(Debug, Default)]
pub struct Content {
    /// Every entry of every channel, indexed for resolutions.
    pub snapshot: Arc<Snapshot>,
    /// Every package that has an entry, by its name.
    pub packages: BTreeMap<String, Package>,
    /// The bundle at the end of each channel, by package and channel.
    pub heads: BTreeMap<(String, String), Bundle>,
}

/// Why the content of a catalog is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// Nothing was asked yet.
    #[error("no registry client established for catalogsource {namespace}/{name}")]
    NotConnected {
        /// The namespace of the catalog.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// The server could not say which bundles there are.
    #[error("failed to list bundles: {0}")]
    Bundles(String),
    /// The server could not say what a package is.
    #[error("failed to retrieve metadata about package {package:?}: {cause}")]
    Package {
        /// The package.
        package: String,
        /// Why not.
        cause: String,
    },
    /// There are more than anybody needs.
    #[error("failed to list bundles: the catalog has more than {MAX_BUNDLES} entries")]
    TooMany,
    /// The store of a catalog can't be read.
    #[error("failed to list bundles: {0}")]
    Store(String),
    /// The image of a catalog can't be had.
    #[error("{0}")]
    Image(String),
}

impl From<StoreError> for ContentError {
    fn from(fault: StoreError) -> Self {
        Self::Store(fault.to_string())
    }
}

impl Content {
    /// Indexes what a catalog lists. Content that doesn't come with an image stays with its entry.
    pub fn new(
        source: &SourceName,
        bundles: Vec<Bundle>,
        packages: BTreeMap<String, Package>,
        heads: BTreeMap<(String, String), Bundle>,
    ) -> Self {
        let key = CatalogKey::new(&source.namespace, &source.name);
        let described = packages
            .iter()
            .map(|(name, package)| (name.clone(), registry_package(package)));
        let described: BTreeMap<String, RegistryPackage> = described.collect();
        let listed = bundles.into_iter().map(registry_bundle);
        let (snapshot, left_out) = Snapshot::from_registry(&key, listed, &described);
        for reason in left_out {
            tracing::warn!(catalog = %source, reason, "a bundle is left out");
        }
        Self {
            snapshot: Arc::new(snapshot),
            packages,
            heads,
        }
    }

    /// Asks a server for everything.
    ///
    /// # Errors
    ///
    /// If it can't say.
    pub async fn from_server(source: &SourceName, channel: Channel) -> Result<Self, ContentError> {
        let mut client = RegistryClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
        let bundles_fault = |status: tonic::Status| ContentError::Bundles(go_text(&status));
        let mut stream = client
            .list_bundles(ListBundlesRequest {})
            .await
            .map_err(bundles_fault)?
            .into_inner();
        let mut bundles: Vec<Bundle> = Vec::new();
        while let Some(bundle) = stream.message().await.map_err(bundles_fault)? {
            if bundles.len() >= MAX_BUNDLES {
                return Err(ContentError::TooMany);
            }
            bundles.push(bundle);
        }
        let names: BTreeSet<String> = bundles.iter().map(|bundle| bundle.package_name.clone()).collect();
        let asked = names.into_iter().map(|name| described(client.clone(), name));
        let mut answers = stream::iter(asked).buffer_unordered(PACKAGES_AT_ONCE);
        let mut packages = BTreeMap::new();
        let mut heads = BTreeMap::new();
        while let Some(answer) = answers.next().await {
            let (package, of_channels) = answer?;
            for (channel, head) in of_channels {
                heads.insert((package.name.clone(), channel), head);
            }
            packages.insert(package.name.clone(), package);
        }
        drop(answers);
        Ok(Self::new(source, bundles, packages, heads))
    }

    /// Reads a store, without a server between.
    ///
    /// # Errors
    ///
    /// If it can't be read.
    pub fn from_store(source: &SourceName, store: &Store) -> Result<Self, ContentError> {
        let undecodable = |fault: prost::DecodeError| ContentError::Store(fault.to_string());
        let Some(registry) = store.registry() else {
            return Ok(Self::default());
        };
        let mut bundles = Vec::new();
        for entry in registry.entries() {
            if bundles.len() >= MAX_BUNDLES {
                return Err(ContentError::TooMany);
            }
            bundles.push(Bundle::decode(entry.listed_message()?).map_err(undecodable)?);
        }
        let mut packages = BTreeMap::new();
        let mut heads = BTreeMap::new();
        for package in registry.packages() {
            for channel in package.channels() {
                let Some(head) = channel.head() else { continue };
                let mut bytes = Vec::new();
                for part in head.single_message()? {
                    bytes.extend_from_slice(&part);
                }
                let mut bundle = Bundle::decode(bytes.as_slice()).map_err(undecodable)?;
                bundle.object.clear();
                heads.insert((package.name().to_owned(), channel.name().to_owned()), bundle);
            }
            let message = Package::decode(package.message()?).map_err(undecodable)?;
            packages.insert(package.name().to_owned(), message);
        }
        Ok(Self::new(source, bundles, packages, heads))
    }
}

/// Asks a server for a package and the heads of its channels.
async fn described(
    mut client: RegistryClient<Channel>,
    name: String,
) -> Result<(Package, Vec<(String, Bundle)>), ContentError> {
    let request = GetPackageRequest { name: name.clone() };
    let fault = |status: tonic::Status| ContentError::Package {
        package: name.clone(),
        cause: go_text(&status),
    };
    let mut package = client.get_package(request).await.map_err(fault)?.into_inner();
    let mut heads = Vec::new();
    for channel in &package.channels {
        let request = GetBundleRequest {
            pkg_name: name.clone(),
            channel_name: channel.name.clone(),
            csv_name: channel.csv_name.clone(),
        };
        // A head that can't be had is missing from what people see, but keeps nobody from installing.
        if let Ok(head) = client.get_bundle(request).await {
            let mut head = head.into_inner();
            head.object.clear();
            heads.push((channel.name.clone(), head));
        }
    }
    // Whatever the server calls it, its bundles go by the name that was asked for.
    package.name = name;
    Ok((package, heads))
}

fn apis(apis: Vec<GroupVersionKind>) -> Vec<Api> {
    let apis = apis.into_iter().map(|api| Api {
        group: api.group,
        version: api.version,
        kind: api.kind,
        plural: api.plural,
    });
    apis.collect()
}

fn registry_bundle(bundle: Bundle) -> RegistryBundle {
    RegistryBundle {
        csv_name: bundle.csv_name,
        package_name: bundle.package_name,
        channel_name: bundle.channel_name,
        csv_json: bundle.csv_json,
        objects: bundle.object,
        bundle_path: bundle.bundle_path,
        provided_apis: apis(bundle.provided_apis),
        required_apis: apis(bundle.required_apis),
        version: bundle.version,
        skip_range: bundle.skip_range,
        dependencies: bundle
            .dependencies
            .into_iter()
            .map(|dependency| Property::new(dependency.r#type, dependency.value))
            .collect(),
        properties: bundle
            .properties
            .into_iter()
            .map(|property| Property::new(property.r#type, property.value))
            .collect(),
        replaces: bundle.replaces,
        skips: bundle.skips,
        deprecation: bundle.deprecation.map(|deprecation| deprecation.message),
    }
}

fn registry_package(package: &Package) -> RegistryPackage {
    let of_channels = package.channels.iter().filter_map(|channel| {
        let deprecation = channel.deprecation.as_ref()?;
        Some((channel.name.clone(), deprecation.message.clone()))
    });
    RegistryPackage {
        name: package.name.clone(),
        default_channel: package.default_channel_name.clone(),
        deprecation: package
            .deprecation
            .as_ref()
            .map(|deprecation| deprecation.message.clone()),
        channel_deprecations: of_channels.collect(),
    }
}

/// Writes an error as Go's gRPC does, since that is what users search for.
pub fn go_text(status: &tonic::Status) -> String {
    let code = match status.code() {
        tonic::Code::Ok => "OK",
        tonic::Code::Cancelled => "Canceled",
        tonic::Code::Unknown => "Unknown",
        tonic::Code::InvalidArgument => "InvalidArgument",
        tonic::Code::DeadlineExceeded => "DeadlineExceeded",
        tonic::Code::NotFound => "NotFound",
        tonic::Code::AlreadyExists => "AlreadyExists",
        tonic::Code::PermissionDenied => "PermissionDenied",
        tonic::Code::ResourceExhausted => "ResourceExhausted",
        tonic::Code::FailedPrecondition => "FailedPrecondition",
        tonic::Code::Aborted => "Aborted",
        tonic::Code::OutOfRange => "OutOfRange",
        tonic::Code::Unimplemented => "Unimplemented",
        tonic::Code::Internal => "Internal",
        tonic::Code::Unavailable => "Unavailable",
        tonic::Code::DataLoss => "DataLoss",
        tonic::Code::Unauthenticated => "Unauthenticated",
    };
    format!("rpc error: code = {code} desc = {}", status.message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_reads_as_users_know_it() {
        let status = tonic::Status::unavailable("connection error");
        assert_eq!(
            ContentError::Bundles(go_text(&status)).to_string(),
            "failed to list bundles: rpc error: code = Unavailable desc = connection error"
        );
    }
}
