//! One package as `api.Registry` shows it: its objects joined into channels, entries and messages.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use super::bundle::{Api, Bundle, PackageDetails};
use super::message;
use super::raw::{self, Fields};
use crate::reading::MetaRef;

/// One of the four kinds of objects that make a package.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackageObject<'a> {
    /// Its position in the catalog.
    pub(crate) position: u32,
    /// Its kind.
    pub(crate) schema: &'a str,
    /// Its canonical form.
    pub(crate) blob: &'a [u8],
}

impl<'a> PackageObject<'a> {
    /// The object as rules look at it: their fields are in the canonical form.
    pub(crate) fn meta(&self) -> MetaRef<'a> {
        MetaRef {
            schema: self.schema,
            package: "",
            name: "",
            blob: self.blob,
        }
    }
}

/// A package, ready to be written.
#[derive(Debug)]
pub(super) struct Package<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) default_channel: Cow<'a, str>,
    pub(super) position: u32,
    /// By name.
    pub(super) channels: BTreeMap<Cow<'a, str>, Channel<'a>>,
    /// By name.
    pub(super) bundles: HashMap<Cow<'a, str>, PackagedBundle<'a>>,
    pub(super) details: PackageDetails<'a>,
    deprecation: Option<Cow<'a, str>>,
}

/// A channel of a package.
#[derive(Debug)]
pub(super) struct Channel<'a> {
    /// By name.
    pub(super) entries: BTreeMap<Cow<'a, str>, Entry<'a>>,
    deprecation: Option<Cow<'a, str>>,
}

/// An entry of a channel.
#[derive(Debug, Default)]
pub(super) struct Entry<'a> {
    pub(super) replaces: Cow<'a, str>,
    pub(super) skips: Vec<Cow<'a, str>>,
    skip_range: Cow<'a, str>,
}

/// A bundle of a package, with what every entry says of it.
#[derive(Debug)]
pub(super) struct PackagedBundle<'a> {
    pub(super) position: u32,
    pub(super) apis: Vec<Api<'a>>,
    /// Fields that are the same in every channel, encoded.
    fields: Vec<u8>,
    /// Manifests, encoded, if a list of bundles carries them.
    manifests: Vec<u8>,
}

impl<'a> Package<'a> {
    /// Joins the objects of a package, which are known to be valid.
    pub(super) fn of(objects: &[PackageObject<'a>]) -> Result<Self, String> {
        let of_schema = |schema| objects.iter().filter(move |object| object.schema == schema);
        let object = of_schema("olm.package")
            .next()
            .ok_or("the olm.package object is missing")?;
        let fields: Fields<'a> = raw::parse(object.blob)?;
        let mut package = Self {
            name: fields.text("name")?,
            default_channel: fields.text("defaultChannel")?,
            position: object.position,
            channels: BTreeMap::new(),
            bundles: HashMap::new(),
            details: PackageDetails::of(&fields)?,
            deprecation: None,
        };
        for object in of_schema("olm.channel") {
            let fields: Fields<'a> = raw::parse(object.blob)?;
            let channel = Channel::of(&fields)?;
            package.channels.insert(fields.text("name")?, channel);
        }
        for object in of_schema("olm.bundle") {
            let bundle = Bundle::of(object.blob)?;
            let packaged = PackagedBundle::of(object.position, &bundle, &package.details)?;
            package.bundles.insert(bundle.name, packaged);
        }
        for object in of_schema("olm.deprecations") {
            package.deprecate(&raw::parse(object.blob)?)?;
        }
        Ok(package)
    }

    fn deprecate(&mut self, deprecations: &Fields<'a>) -> Result<(), String> {
        for entry in deprecations.list("entries")? {
            let entry = Fields::of(entry)?;
            let reference = entry.get("reference").map_or(Ok(Fields::default()), Fields::of)?;
            let (schema, name) = (reference.text("schema")?, reference.text("name")?);
            let message = entry.text("message")?;
            match &*schema {
                "olm.package" => self.deprecation = Some(message),
                "olm.channel" => {
                    if let Some(channel) = self.channels.get_mut(&name) {
                        channel.deprecation = Some(message);
                    }
                }
                "olm.bundle" => {
                    if let Some(bundle) = self.bundles.get_mut(&name) {
                        message::texts(&mut bundle.fields, 15, &[&message]);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Appends the answer to `GetPackage`.
    pub(super) fn append_message(&self, out: &mut Vec<u8>) -> Result<(), String> {
        message::text(out, 1, &self.name);
        let mut encoded = Vec::new();
        for (name, channel) in &self.channels {
            encoded.clear();
            message::text(&mut encoded, 1, name);
            message::text(&mut encoded, 2, channel.head()?);
            if let Some(text) = &channel.deprecation {
                message::texts(&mut encoded, 3, &[text]);
            }
            message::element(out, 2, &encoded);
        }
        message::text(out, 3, &self.default_channel);
        if let Some(text) = &self.deprecation {
            message::texts(out, 4, &[text]);
        }
        Ok(())
    }
}

impl<'a> Channel<'a> {
    fn of(fields: &Fields<'a>) -> Result<Self, String> {
        let mut entries = BTreeMap::new();
        for entry in fields.list("entries")? {
            let fields = Fields::of(entry)?;
            let skips: Result<_, String> = fields.list("skips")?.into_iter().map(raw::text).collect();
            let entry = Entry {
                replaces: fields.text("replaces")?,
                skips: skips?,
                skip_range: fields.text("skipRange")?,
            };
            entries.insert(fields.text("name")?, entry);
        }
        Ok(Self {
            entries,
            deprecation: None,
        })
    }

    /// The entry that no other one replaces or skips.
    pub(super) fn head(&self) -> Result<&str, String> {
        let followed: HashSet<&str> = self
            .entries
            .values()
            .flat_map(|entry| {
                entry
                    .skips
                    .iter()
                    .chain(Some(&entry.replaces).filter(|name| !name.is_empty()))
            })
            .map(AsRef::as_ref)
            .collect();
        let heads: Vec<&str> = self
            .entries
            .keys()
            .map(AsRef::as_ref)
            .filter(|name| !followed.contains(name))
            .collect();
        match heads.as_slice() {
            [] => Err("no channel head found in graph".to_owned()),
            [head] => Ok(head),
            several => Err(format!(
                "multiple channel heads found in graph: {}",
                several.join(", ")
            )),
        }
    }
}

impl<'a> PackagedBundle<'a> {
    fn of(position: u32, bundle: &Bundle<'a>, details: &PackageDetails<'a>) -> Result<Self, String> {
        let mut fields = Vec::new();
        bundle.append_fields(&mut fields)?;
        let mut manifests = Vec::new();
        // Manifests that can't be converted are refused now, not when somebody asks for the bundle.
        if !bundle.has_image() || bundle.has_objects() {
            bundle.append_manifests(details, &mut manifests)?;
        }
        if bundle.has_image() {
            manifests = Vec::new();
        }
        Ok(Self {
            position,
            apis: bundle.provided_apis()?,
            fields,
            manifests,
        })
    }
}

/// How long the pieces of an entry's message are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    pub(super) inlined: usize,
    pub(super) common: usize,
    pub(super) edges: usize,
}

/// Appends the message of an entry: what is inlined, what is always sent, and the edges.
pub(super) fn append_entry(
    out: &mut Vec<u8>,
    package: &str,
    channel: &str,
    name: &str,
    entry: &Entry<'_>,
    bundle: &PackagedBundle<'_>,
) -> Pieces {
    let start = out.len();
    out.extend_from_slice(&bundle.manifests);
    let common = out.len();
    message::text(out, 1, name);
    message::text(out, 2, package);
    message::text(out, 3, channel);
    message::text(out, 10, &entry.skip_range);
    out.extend_from_slice(&bundle.fields);
    let edges = out.len();
    message::text(out, 13, &entry.replaces);
    for skip in &entry.skips {
        message::element(out, 14, skip.as_bytes());
    }
    Pieces {
        inlined: common - start,
        common: edges - common,
        edges: out.len() - edges,
    }
}
