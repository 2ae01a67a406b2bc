//! Which channels there are, which versions are in them, and which of them is the default.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use version::Version;

use super::{Grade, Stream, Versions};
use crate::objects::{Channel, ChannelEntry};

/// Channels whose entries have no edges yet.
pub(super) struct Grown {
    /// The channels by name.
    pub(super) channels: BTreeMap<String, Channel>,
    /// Where every entry stands.
    pub(super) places: Vec<Place>,
    /// The channel that is used when none is asked for.
    pub(super) default_channel: String,
}

/// Where an entry stands.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) grade: Grade,
    pub(super) stream: Stream,
    pub(super) version: Version,
    /// The bundle's name.
    pub(super) name: String,
    pub(super) channel: String,
    /// The entry's index in the channel.
    pub(super) index: usize,
}

/// The best channel so far.
struct Best {
    grade: Grade,
    stream: Option<Stream>,
    version: Version,
    name: String,
}

impl Best {
    /// Whether another channel is better: by its grade, by the version it starts with, by the preferred stream.
    fn is_surpassed_by(&self, other: &Self, preferred: Stream) -> bool {
        let order = other
            .grade
            .cmp(&self.grade)
            .then_with(|| other.version.precedence(&self.version));
        if order != Ordering::Equal || other.stream == self.stream {
            return order == Ordering::Greater;
        }
        if other.stream == Some(preferred) {
            return true;
        }
        self.stream != Some(preferred) && other.stream > self.stream
    }
}

/// Puts every version into the channels of its grade, the lowest version first.
pub(super) fn grow(package: &str, versions: &[Versions; 3], streams: &[Stream], preferred: Stream) -> Grown {
    let mut channels: BTreeMap<String, Channel> = BTreeMap::new();
    let mut places = Vec::new();
    let mut best = Best {
        grade: Grade::Candidate,
        stream: None,
        version: Version::new(0, 0, 0),
        name: String::new(),
    };
    for (grade, versions) in Grade::ALL.into_iter().zip(versions) {
        let mut ascending: Vec<(&String, &Version)> = versions.iter().collect();
        ascending.sort_by(|(_, one), (_, other)| one.precedence(other));
        for (name, version) in ascending {
            for stream in streams {
                let channel_name = match stream {
                    Stream::Major => format!("{}-v{}", grade.name(), version.major()),
                    Stream::Minor => format!("{}-v{}.{}", grade.name(), version.major(), version.minor()),
                };
                let channel = channels.entry(channel_name.clone()).or_insert_with(|| {
                    let candidate = Best {
                        grade,
                        stream: Some(*stream),
                        version: version.clone(),
                        name: channel_name.clone(),
                    };
                    if best.is_surpassed_by(&candidate, preferred) {
                        best = candidate;
                    }
                    Channel {
                        name: channel_name.clone(),
                        package: package.to_owned(),
                        entries: Some(Vec::new()),
                        properties: Vec::new(),
                    }
                });
                let entries = channel.entries.get_or_insert_default();
                places.push(Place {
                    grade,
                    stream: *stream,
                    version: version.clone(),
                    name: name.clone(),
                    channel: channel_name,
                    index: entries.len(),
                });
                entries.push(ChannelEntry {
                    name: name.clone(),
                    ..ChannelEntry::default()
                });
            }
        }
    }
    Grown {
        channels,
        places,
        default_channel: best.name,
    }
}
