//! `api.Registry`: what OLM v0 asks of a catalog, answered with opm's orders and texts.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::{Stream, stream};
use gotemplate::format::quoted;
use tonic::{Request, Response, Status};

use super::encoded::Encoded;
use super::messages::{
    ChannelEntry, GetAllProvidersRequest, GetAllReplacementsRequest, GetBundleInChannelRequest,
    GetBundleRequest, GetDefaultProviderRequest, GetLatestProvidersRequest, GetPackageRequest,
    GetReplacementRequest, ListBundlesRequest, ListPackageRequest, PackageName,
};
use super::server::registry_server::Registry;
use crate::store::{self, CurrentStore, RegistryChannel, RegistryEntry, Store, StoreError};

/// Answers, one after the other.
pub(super) type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// Answers the calls from the store of the moment.
#[derive(Debug, Clone)]
pub(super) struct RegistryService {
    current: Arc<CurrentStore>,
}

impl RegistryService {
    pub(super) fn new(current: Arc<CurrentStore>) -> Self {
        Self { current }
    }

    fn store(&self) -> Result<Store, Status> {
        store_of(&self.current)
    }
}

/// The store of the moment.
pub(super) fn store_of(current: &CurrentStore) -> Result<Store, Status> {
    current
        .get()
        .ok_or_else(|| Status::unavailable("no catalog is loaded yet; try again later"))
}

/// What the store can tell of packages.
fn registry_of(store: &Store) -> Result<store::Registry<'_>, Status> {
    store.registry().ok_or_else(|| {
        Status::failed_precondition("the catalog was stored without being validated; build it again")
    })
}

/// A damaged store is the server's fault, not the caller's.
pub(super) fn damaged(error: &StoreError) -> Status {
    Status::data_loss(error.to_string())
}

/// What upstream returns as a plain error, gRPC calls unknown.
fn not_found(text: String) -> Status {
    Status::unknown(text)
}

/// A channel of a package; `package_text` is how the package is named if it isn't there.
fn channel_of<'a>(
    registry: store::Registry<'a>,
    package: &str,
    package_text: &str,
    channel: &str,
) -> Result<RegistryChannel<'a>, Status> {
    let found = registry
        .package(package)
        .ok_or_else(|| not_found(format!("package {package_text} not found")))?;
    found.channel(channel).ok_or_else(|| {
        not_found(format!(
            "package {}, channel {} not found",
            quoted(package),
            quoted(channel)
        ))
    })
}

/// A bundle as the calls for one send it: with manifests and without edges.
fn single(entry: &RegistryEntry<'_>) -> Result<Response<Encoded>, Status> {
    Ok(Response::new(Encoded::of(
        entry.single_message().map_err(|error| damaged(&error))?,
    )))
}

/// A channel entry that says that a bundle follows `replaces`.
fn channel_entry(entry: &RegistryEntry<'_>, replaces: &str) -> ChannelEntry {
    ChannelEntry {
        package_name: entry.package().to_owned(),
        channel_name: entry.channel().to_owned(),
        bundle_name: entry.name().to_owned(),
        replaces: replaces.to_owned(),
    }
}

/// The ways into a bundle: the one it replaces, and every one it skips that `counts`.
fn ways_into(entry: &RegistryEntry<'_>, counts: impl Fn(&str) -> bool) -> Vec<ChannelEntry> {
    let skips = entry
        .skips()
        .filter(|skip| *skip != entry.replaces() && counts(skip));
    std::iter::once(entry.replaces())
        .chain(skips)
        .map(|replaces| channel_entry(entry, replaces))
        .collect()
}

/// Streams what was collected.
fn collected<T: Send + 'static>(answers: Vec<T>) -> Response<Answers<T>> {
    Response::new(Box::pin(stream::iter(answers.into_iter().map(Ok))))
}

/// Says that nothing provides an API.
fn nothing_provides(what: &str, group: &str, version: &str, kind: &str) -> Status {
    not_found(format!(
        "no {what} group:{} version:{} kind:{}",
        quoted(group),
        quoted(version),
        quoted(kind)
    ))
}

#[tonic::async_trait]
impl Registry for RegistryService {
    type ListPackagesStream = Answers<PackageName>;
    type GetChannelEntriesThatReplaceStream = Answers<ChannelEntry>;
    type GetChannelEntriesThatProvideStream = Answers<ChannelEntry>;
    type GetLatestChannelEntriesThatProvideStream = Answers<ChannelEntry>;
    type ListBundlesStream = Answers<Encoded>;

    async fn list_packages(
        &self,
        _: Request<ListPackageRequest>,
    ) -> Result<Response<Self::ListPackagesStream>, Status> {
        let store = self.store()?;
        let names = registry_of(&store)?
            .packages()
            .map(|package| PackageName {
                name: package.name().to_owned(),
            })
            .collect();
        Ok(collected(names))
    }

    async fn get_package(&self, request: Request<GetPackageRequest>) -> Result<Response<Encoded>, Status> {
        let store = self.store()?;
        let name = &request.get_ref().name;
        let package = registry_of(&store)?
            .package(name)
            .ok_or_else(|| not_found(format!("package {} not found", quoted(name))))?;
        Ok(Response::new(Encoded::whole(
            package.message().map_err(|error| damaged(&error))?,
        )))
    }

    async fn get_bundle(&self, request: Request<GetBundleRequest>) -> Result<Response<Encoded>, Status> {
        let store = self.store()?;
        let GetBundleRequest {
            pkg_name,
            channel_name,
            csv_name,
        } = request.get_ref();
        let channel = channel_of(registry_of(&store)?, pkg_name, &quoted(pkg_name), channel_name)?;
        let entry = channel.entry(csv_name).ok_or_else(|| {
            not_found(format!(
                "package {}, channel {}, bundle {} not found",
                quoted(pkg_name),
                quoted(channel_name),
                quoted(csv_name)
            ))
        })?;
        single(&entry)
    }

    async fn get_bundle_for_channel(
        &self,
        request: Request<GetBundleInChannelRequest>,
    ) -> Result<Response<Encoded>, Status> {
        let store = self.store()?;
        let GetBundleInChannelRequest {
            pkg_name,
            channel_name,
        } = request.get_ref();
        let channel = channel_of(registry_of(&store)?, pkg_name, &quoted(pkg_name), channel_name)?;
        let head = channel
            .head()
            .ok_or_else(|| not_found("no channel head found in graph".to_owned()))?;
        single(&head)
    }

    async fn get_channel_entries_that_replace(
        &self,
        request: Request<GetAllReplacementsRequest>,
    ) -> Result<Response<Self::GetChannelEntriesThatReplaceStream>, Status> {
        let store = self.store()?;
        let name = &request.get_ref().csv_name;
        let mut found = Vec::new();
        for entry in registry_of(&store)?.entries() {
            let replaces = usize::from(entry.replaces() == name);
            let skips = entry
                .skips()
                .filter(|skip| skip == name && *skip != entry.replaces());
            found.extend((0..replaces + skips.count()).map(|_| channel_entry(&entry, entry.replaces())));
        }
        if found.is_empty() {
            return Err(not_found(format!("no channel entries found that replace {name}")));
        }
        Ok(collected(found))
    }

    async fn get_bundle_that_replaces(
        &self,
        request: Request<GetReplacementRequest>,
    ) -> Result<Response<Encoded>, Status> {
        let store = self.store()?;
        let GetReplacementRequest {
            csv_name,
            pkg_name,
            channel_name,
        } = request.get_ref();
        // Here, and only here, upstream doesn't quote the package.
        let channel = channel_of(registry_of(&store)?, pkg_name, pkg_name, channel_name)?;
        let follows = |entry: &RegistryEntry<'_>| {
            entry.replaces() == csv_name || entry.skips().any(|skip| skip == csv_name)
        };
        let entry = channel.entries().find(follows).ok_or_else(|| {
            not_found(format!(
                "no entry found for package {}, channel {}",
                quoted(pkg_name),
                quoted(channel_name)
            ))
        })?;
        single(&entry)
    }

    async fn get_channel_entries_that_provide(
        &self,
        request: Request<GetAllProvidersRequest>,
    ) -> Result<Response<Self::GetChannelEntriesThatProvideStream>, Status> {
        let store = self.store()?;
        let GetAllProvidersRequest {
            group, version, kind, ..
        } = request.get_ref();
        let found: Vec<ChannelEntry> = registry_of(&store)?
            .entries_that_provide(group, version, kind)
            .flat_map(|entry| ways_into(&entry, |_| true))
            .collect();
        if found.is_empty() {
            return Err(nothing_provides(
                "channel entries found that provide",
                group,
                version,
                kind,
            ));
        }
        Ok(collected(found))
    }

    async fn get_latest_channel_entries_that_provide(
        &self,
        request: Request<GetLatestProvidersRequest>,
    ) -> Result<Response<Self::GetLatestChannelEntriesThatProvideStream>, Status> {
        let store = self.store()?;
        let GetLatestProvidersRequest {
            group, version, kind, ..
        } = request.get_ref();
        let registry = registry_of(&store)?;
        let mut found = Vec::new();
        for entry in registry.entries_that_provide(group, version, kind) {
            if entry.is_head() {
                let channel = channel_of(registry, entry.package(), entry.package(), entry.channel())?;
                found.extend(ways_into(&entry, |skip| channel.entry(skip).is_some()));
            }
        }
        if found.is_empty() {
            return Err(nothing_provides(
                "channel entries found that provide",
                group,
                version,
                kind,
            ));
        }
        Ok(collected(found))
    }

    async fn get_default_bundle_that_provides(
        &self,
        request: Request<GetDefaultProviderRequest>,
    ) -> Result<Response<Encoded>, Status> {
        let store = self.store()?;
        let GetDefaultProviderRequest {
            group, version, kind, ..
        } = request.get_ref();
        let registry = registry_of(&store)?;
        let heads: Vec<RegistryEntry<'_>> = registry
            .entries_that_provide(group, version, kind)
            .filter(RegistryEntry::is_head)
            .collect();
        if heads.is_empty() {
            return Err(nothing_provides(
                "channel entries found that provide",
                group,
                version,
                kind,
            ));
        }
        let of_default_channel = |entry: &&RegistryEntry<'_>| {
            registry
                .package(entry.package())
                .is_some_and(|package| package.default_channel() == entry.channel())
        };
        let first = heads
            .iter()
            .filter(of_default_channel)
            .min_by_key(|entry| entry.package());
        match first {
            Some(entry) => single(entry),
            None => Err(nothing_provides(
                "entry found that provides",
                group,
                version,
                kind,
            )),
        }
    }

    async fn list_bundles(
        &self,
        _: Request<ListBundlesRequest>,
    ) -> Result<Response<Self::ListBundlesStream>, Status> {
        let store = self.store()?;
        let count = registry_of(&store)?.entry_count();
        // The store is kept until the last bundle is sent, whatever is served by then.
        let bundles = (0..count).filter_map(move |position| {
            let entry = store.registry()?.entry(position)?;
            Some(
                entry
                    .listed_message()
                    .map(Encoded::whole)
                    .map_err(|error| damaged(&error)),
            )
        });
        Ok(Response::new(Box::pin(stream::iter(bundles))))
    }
}
