//! What `api.Registry` asks of a store: packages, channels and their entries, with answers that are encoded already.

mod build;
mod bundle;
mod message;
mod package;
mod raw;
mod service_version;

use bytes::Bytes;

use super::content::Content;
use super::error::{Flaw, StoreError};
use super::format::{ApiRecord, ChannelRecord, EntryRecord, PackageRecord, Section, Table};
use super::query::StoredMeta;

pub(super) use build::{EncodedTables, PackageError, RegistryTables};
pub(super) use package::PackageObject;

/// The packages of a store as `api.Registry` shows them.
#[derive(Debug, Clone, Copy)]
pub struct Registry<'a> {
    content: &'a Content,
}

impl<'a> Registry<'a> {
    pub(super) fn of(content: &'a Content) -> Option<Self> {
        content.has_registry().then_some(Self { content })
    }

    /// Every package, by name.
    pub fn packages(self) -> impl ExactSizeIterator<Item = RegistryPackage<'a>> {
        let content = self.content;
        let packages = content.table::<PackageRecord>(Section::Packages);
        packages
            .iter()
            .enumerate()
            .map(move |(position, record)| RegistryPackage {
                content,
                position,
                record,
            })
    }

    /// A package by its name.
    pub fn package(self, name: &str) -> Option<RegistryPackage<'a>> {
        let symbol = self.content.symbols().find(name)?;
        let packages = self.content.table::<PackageRecord>(Section::Packages);
        let position = packages.partition_point(|package| package.name < symbol);
        let record = packages.get(position).filter(|package| package.name == symbol)?;
        Some(RegistryPackage {
            content: self.content,
            position,
            record,
        })
    }

    /// How many channel entries there are.
    pub fn entry_count(self) -> usize {
        self.content.table::<EntryRecord>(Section::Entries).len()
    }

    /// A channel entry by its position among all of them, which are sorted by channel, package and name.
    pub fn entry(self, position: usize) -> Option<RegistryEntry<'a>> {
        RegistryEntry::at(self.content, position)
    }

    /// Every channel entry, by channel, package and name.
    pub fn entries(self) -> impl Iterator<Item = RegistryEntry<'a>> {
        (0..self.entry_count()).filter_map(move |position| self.entry(position))
    }

    /// The channel entries that provide an API, by channel, package and name.
    pub fn entries_that_provide(
        self,
        group: &str,
        version: &str,
        kind: &str,
    ) -> impl Iterator<Item = RegistryEntry<'a>> {
        let api = self.api(group, version, kind);
        self.entries()
            .filter(move |entry| api.is_some_and(|api| entry.apis().iter().any(|provided| provided == api)))
    }

    /// The position of an API among those that anything provides.
    fn api(self, group: &str, version: &str, kind: &str) -> Option<u32> {
        let symbols = self.content.symbols();
        let wanted = (symbols.find(group)?, symbols.find(version)?, symbols.find(kind)?);
        let apis = self.content.table::<ApiRecord>(Section::Apis);
        let key = |api: &ApiRecord| (api.group, api.version, api.kind);
        let position = apis.partition_point(|api| key(api) < wanted);
        let found = apis.get(position).is_some_and(|api| key(&api) == wanted);
        found.then(|| u32::try_from(position).ok()).flatten()
    }
}

/// A package.
#[derive(Debug, Clone, Copy)]
pub struct RegistryPackage<'a> {
    content: &'a Content,
    position: usize,
    record: PackageRecord,
}

impl<'a> RegistryPackage<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        self.content.symbols().text(self.record.name)
    }

    /// The channel that is used when none is asked for.
    pub fn default_channel(&self) -> &'a str {
        self.content.symbols().text(self.record.default_channel)
    }

    /// Its message `Package`, encoded.
    pub fn message(&self) -> Result<Bytes, StoreError> {
        let message = self.content.package_message(self.position, &self.record)?;
        Ok(self.content.share(message))
    }

    fn records(&self) -> Table<'a, ChannelRecord> {
        self.content
            .table::<ChannelRecord>(Section::Channels)
            .list(self.record.channels_start, self.record.channels_count)
    }

    /// Its channels, by name.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = RegistryChannel<'a>> + use<'a> {
        let content = self.content;
        self.records()
            .iter()
            .map(move |record| RegistryChannel { content, record })
    }

    /// A channel by its name.
    pub fn channel(&self, name: &str) -> Option<RegistryChannel<'a>> {
        let symbol = self.content.symbols().find(name)?;
        let channels = self.records();
        let position = channels.partition_point(|channel| channel.name < symbol);
        let record = channels.get(position).filter(|channel| channel.name == symbol)?;
        Some(RegistryChannel {
            content: self.content,
            record,
        })
    }
}

/// A channel of a package.
#[derive(Debug, Clone, Copy)]
pub struct RegistryChannel<'a> {
    content: &'a Content,
    record: ChannelRecord,
}

impl<'a> RegistryChannel<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        self.content.symbols().text(self.record.name)
    }

    /// The entry that no other one replaces or skips.
    pub fn head(&self) -> Option<RegistryEntry<'a>> {
        RegistryEntry::at(self.content, self.record.head as usize)
    }

    /// Its entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = RegistryEntry<'a>> + use<'a> {
        let content = self.content;
        let start = self.record.entries_start as usize;
        let end = start.saturating_add(self.record.entries_count as usize);
        (start..end).map_while(move |position| RegistryEntry::at(content, position))
    }

    /// An entry by its name.
    pub fn entry(&self, name: &str) -> Option<RegistryEntry<'a>> {
        let symbol = self.content.symbols().find(name)?;
        let entries = self.content.table::<EntryRecord>(Section::Entries);
        let own = entries.list(self.record.entries_start, self.record.entries_count);
        let within = own.partition_point(|entry| entry.name < symbol);
        own.get(within).filter(|entry| entry.name == symbol)?;
        RegistryEntry::at(self.content, self.record.entries_start as usize + within)
    }
}

/// An entry of a channel: a bundle, and what it follows.
#[derive(Debug, Clone, Copy)]
pub struct RegistryEntry<'a> {
    content: &'a Content,
    position: usize,
    record: EntryRecord,
}

impl<'a> RegistryEntry<'a> {
    fn at(content: &'a Content, position: usize) -> Option<Self> {
        let record = content.table::<EntryRecord>(Section::Entries).get(position)?;
        Some(Self {
            content,
            position,
            record,
        })
    }

    /// The package.
    pub fn package(&self) -> &'a str {
        self.content.symbols().text(self.record.package)
    }

    /// The channel.
    pub fn channel(&self) -> &'a str {
        self.content.symbols().text(self.record.channel)
    }

    /// The bundle's name.
    pub fn name(&self) -> &'a str {
        self.content.symbols().text(self.record.name)
    }

    /// The bundle that this one replaces; empty if there is none.
    pub fn replaces(&self) -> &'a str {
        self.content.symbols().text(self.record.replaces)
    }

    /// The bundles that this one skips.
    pub fn skips(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let symbols = self.content.symbols();
        self.content
            .table::<u32>(Section::Lists)
            .list(self.record.skips_start, self.record.skips_count)
            .iter()
            .map(move |symbol| symbols.text(symbol))
    }

    /// Whether it is the head of its channel.
    pub fn is_head(&self) -> bool {
        self.record.is_head == 1
    }

    fn apis(&self) -> Table<'a, u32> {
        self.content
            .table::<u32>(Section::Lists)
            .list(self.record.apis_start, self.record.apis_count)
    }

    /// Its message `Bundle` as `ListBundles` sends it, encoded.
    pub fn listed_message(&self) -> Result<Bytes, StoreError> {
        let message = self.content.entry_message(self.position, &self.record)?.whole;
        Ok(self.content.share(message))
    }

    /// Its message `Bundle` as the calls for one bundle send it, encoded in two pieces: the manifests, and the rest
    /// without the edges.
    pub fn single_message(&self) -> Result<[Bytes; 2], StoreError> {
        let message = self.content.entry_message(self.position, &self.record)?;
        let common = self.content.share(message.common);
        if !message.inlined.is_empty() {
            return Ok([self.content.share(message.inlined), common]);
        }
        let manifests = self
            .manifests()?
            .map_err(|_| self.content.unusable(Flaw::Inconsistent("content")))?;
        Ok([Bytes::from(manifests), common])
    }

    /// The bundle's manifests, which the store doesn't keep twice: they are made from its object.
    fn manifests(&self) -> Result<Result<Vec<u8>, String>, StoreError> {
        let blob = |position: u32| {
            StoredMeta::at(self.content, position as usize)
                .ok_or_else(|| self.content.unusable(Flaw::Inconsistent("index")))?
                .blob()
        };
        let (bundle, package) = (blob(self.record.meta)?, blob(self.record.package_meta)?);
        let encode = || {
            let details = bundle::PackageDetails::of(&raw::parse(package)?)?;
            let mut out = Vec::new();
            bundle::Bundle::of(bundle)?.append_manifests(&details, &mut out)?;
            Ok(out)
        };
        Ok(encode())
    }
}
