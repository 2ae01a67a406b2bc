//! The tables of `api.Registry`, filled package by package.

use crate::store::error::StoreError;
use crate::store::format::{ApiRecord, ChannelRecord, EntryRecord, PackageRecord, Record as _};
use crate::store::symbols::{Collected, Collector};

use super::package::{Package, PackageObject, append_entry};

/// Why a package can't be served.
#[derive(Debug)]
pub(crate) enum PackageError {
    /// The package itself is to blame; the text is upstream's where upstream has one.
    Invalid(String),
    /// The store is.
    Store(StoreError),
}

impl From<String> for PackageError {
    fn from(text: String) -> Self {
        Self::Invalid(text)
    }
}

impl From<StoreError> for PackageError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The tables of `api.Registry` while packages are added; texts have preliminary numbers.
#[derive(Debug, Default)]
pub(crate) struct RegistryTables {
    packages: Vec<PackageRecord>,
    channels: Vec<ChannelRecord>,
    entries: Vec<EntryRecord>,
    lists: Vec<Listed>,
    apis: Vec<ApiRecord>,
    api_numbers: std::collections::HashMap<[u32; 3], u32>,
}

/// A number in a list: of a text, or of an API.
#[derive(Debug, Clone, Copy)]
enum Listed {
    Text(u32),
    Api(u32),
}

/// The finished tables, encoded.
#[derive(Debug, Default)]
pub(crate) struct EncodedTables {
    pub(crate) packages: Vec<u8>,
    pub(crate) channels: Vec<u8>,
    pub(crate) entries: Vec<u8>,
    pub(crate) lists: Vec<u8>,
    pub(crate) apis: Vec<u8>,
}

/// As a number in a record.
fn counted(count: usize) -> Result<u32, StoreError> {
    u32::try_from(count).map_err(|_| StoreError::TooLarge {
        what: "channel entries or bytes of a bundle",
        limit: u64::from(u32::MAX),
    })
}

impl RegistryTables {
    /// Adds a package; its messages are appended to `messages`, which lies at `offset` among all messages.
    pub(crate) fn add(
        &mut self,
        objects: &[PackageObject<'_>],
        names: &mut Collector,
        offset: u64,
        messages: &mut Vec<u8>,
    ) -> Result<(), PackageError> {
        let package = Package::of(objects)?;
        let package_name = names.number(&package.name)?;
        let channels_start = counted(self.channels.len())?;
        for (channel_name, channel) in &package.channels {
            let channel_number = names.number(channel_name)?;
            let head = channel.head()?;
            for (name, entry) in &channel.entries {
                let bundle = package
                    .bundles
                    .get(name)
                    .ok_or_else(|| format!("bundle {name:?} of channel {channel_name:?} is missing"))?;
                let start = messages.len();
                let pieces = append_entry(messages, &package.name, channel_name, name, entry, bundle);
                let skips_start = counted(self.lists.len())?;
                for skip in &entry.skips {
                    self.lists.push(Listed::Text(names.number(skip)?));
                }
                let apis_start = counted(self.lists.len())?;
                for api in &bundle.apis {
                    let numbers = [
                        names.number(&api.group)?,
                        names.number(&api.version)?,
                        names.number(&api.kind)?,
                    ];
                    let number = self.api(numbers)?;
                    self.lists.push(Listed::Api(number));
                }
                self.entries.push(EntryRecord {
                    package: package_name,
                    channel: channel_number,
                    name: names.number(name)?,
                    replaces: names.number(&entry.replaces)?,
                    skips_start,
                    skips_count: counted(entry.skips.len())?,
                    apis_start,
                    apis_count: counted(bundle.apis.len())?,
                    meta: bundle.position,
                    package_meta: package.position,
                    is_head: u32::from(name == head),
                    checksum: crc32fast::hash(&messages[start..]),
                    message_offset: offset + start as u64,
                    inlined_length: counted(pieces.inlined)?,
                    common_length: counted(pieces.common)?,
                    edges_length: counted(pieces.edges)?,
                });
            }
            self.channels.push(ChannelRecord {
                name: channel_number,
                // Until all entries are sorted, where they lie is not known; the package's name finds them then.
                entries_start: package_name,
                entries_count: counted(channel.entries.len())?,
                head: 0,
            });
        }
        let start = messages.len();
        package.append_message(messages)?;
        self.packages.push(PackageRecord {
            name: package_name,
            default_channel: names.number(&package.default_channel)?,
            channels_start,
            channels_count: counted(package.channels.len())?,
            meta: package.position,
            checksum: crc32fast::hash(&messages[start..]),
            message_offset: offset + start as u64,
            message_length: counted(messages.len() - start)?,
        });
        Ok(())
    }

    /// The number of an API, which is a new one if it wasn't seen before.
    fn api(&mut self, numbers: [u32; 3]) -> Result<u32, StoreError> {
        if let Some(number) = self.api_numbers.get(&numbers) {
            return Ok(*number);
        }
        let number = counted(self.apis.len())?;
        let [group, version, kind] = numbers;
        self.apis.push(ApiRecord { group, version, kind });
        self.api_numbers.insert(numbers, number);
        Ok(number)
    }

    /// Sorts the tables by the final symbols of their texts.
    ///
    /// Packages were added in the order of their names, so they and their channels are sorted already.
    pub(crate) fn finish(mut self, names: &Collected) -> EncodedTables {
        let mut encoded = EncodedTables::default();
        for entry in &mut self.entries {
            for text in [
                &mut entry.package,
                &mut entry.channel,
                &mut entry.name,
                &mut entry.replaces,
            ] {
                *text = names.symbol(*text);
            }
        }
        self.entries
            .sort_unstable_by_key(|entry| (entry.channel, entry.package, entry.name));
        for entry in &self.entries {
            entry.append(&mut encoded.entries);
        }
        for channel in &mut self.channels {
            channel.name = names.symbol(channel.name);
            let key = (channel.name, names.symbol(channel.entries_start));
            let start = self
                .entries
                .partition_point(|entry| (entry.channel, entry.package) < key);
            let head = self.entries[start..]
                .iter()
                .position(|entry| entry.is_head == 1)
                .unwrap_or(0);
            channel.entries_start = start as u32;
            channel.head = (start + head) as u32;
            channel.append(&mut encoded.channels);
        }
        for package in &mut self.packages {
            package.name = names.symbol(package.name);
            package.default_channel = names.symbol(package.default_channel);
            package.append(&mut encoded.packages);
        }
        let mut apis: Vec<([u32; 3], u32)> = (0..)
            .zip(&self.apis)
            .map(|(number, api)| {
                (
                    [api.group, api.version, api.kind].map(|text| names.symbol(text)),
                    number,
                )
            })
            .collect();
        apis.sort_unstable();
        let mut positions = vec![0; apis.len()];
        for (position, ([group, version, kind], number)) in (0..).zip(&apis) {
            positions[*number as usize] = position;
            ApiRecord {
                group: *group,
                version: *version,
                kind: *kind,
            }
            .append(&mut encoded.apis);
        }
        for listed in &self.lists {
            match listed {
                Listed::Text(number) => names.symbol(*number),
                Listed::Api(number) => positions[*number as usize],
            }
            .append(&mut encoded.lists);
        }
        encoded
    }
}
