//! Which of two bundles is the later one: by version, and by release where versions are equal.

use gotemplate::format::quoted;
use goyaml::typed::decode;
use goyaml::{ReadOptions, go_struct};
use serde_json::Value;
use version::{Release, Version, VersionRelease};

use crate::metadata;
use crate::objects::properties::PackageProperty;
use crate::objects::{Bundle, Property};
use crate::rendering::CSV_METADATA;

const PACKAGE: &str = "olm.package";

/// Reads the value of a property as a Go type, with Go's words for what does not fit.
pub(super) fn value_of<T: goyaml::typed::GoType>(property: &Property) -> Result<T, String> {
    let text = if property.has_value() {
        property.value.get()
    } else {
        ""
    };
    goyaml::json::to_value(text.as_bytes(), ReadOptions::default())
        .and_then(|value| decode(&value))
        .map_err(|error| error.to_string())
}

/// Checks that a property of a known type fits it, and returns what it says of the package.
pub(super) fn check_property(property: &Property) -> Result<Option<PackageProperty>, String> {
    match property.kind.as_str() {
        PACKAGE => return value_of(property).map(Some),
        "olm.package.required" => drop(value_of::<RequiredPackage>(property)?),
        "olm.gvk" => drop(value_of::<ProvidedInterface>(property)?),
        "olm.gvk.required" => drop(value_of::<RequiredInterface>(property)?),
        "olm.channel" => drop(value_of::<ChannelPriority>(property)?),
        _ => {}
    }
    Ok(None)
}

#[derive(Default)]
struct RequiredPackage {
    package_name: String,
    version_range: String,
}
go_struct!(RequiredPackage, "property.PackageRequired", {
    "packageName" => package_name, "versionRange" => version_range,
});

#[derive(Default)]
struct ProvidedInterface {
    group: String,
    kind: String,
    version: String,
}
go_struct!(ProvidedInterface, "property.GVK", { "group" => group, "kind" => kind, "version" => version });

#[derive(Default)]
struct RequiredInterface {
    group: String,
    kind: String,
    version: String,
}
go_struct!(RequiredInterface, "property.GVKRequired", {
    "group" => group, "kind" => kind, "version" => version,
});

#[derive(Default)]
struct ChannelPriority {
    channel_name: String,
}
go_struct!(ChannelPriority, "property.Channel", { "channelName" => channel_name });

/// The version and release of a bundle.
///
/// Bundles that substitute others had their release in the version's build metadata before there was a field for it.
pub(super) fn of_bundle(bundle: &Bundle) -> Result<VersionRelease, String> {
    let name = quoted(&bundle.name);
    let mut packages = bundle
        .properties
        .iter()
        .filter(|property| property.kind == PACKAGE);
    let Some(property) = packages.next() else {
        return Err(format!("no \"olm.package\" property found for bundle {name}"));
    };
    let package: PackageProperty = value_of(property).map_err(|error| {
        format!("unable to unmarshal \"olm.package\" property for bundle {name}: {error}")
    })?;
    let version = Version::parse(&package.version).map_err(|error| {
        let version = quoted(&package.version);
        format!("invalid semver version {version} in \"olm.package\" property for bundle {name}: {error}")
    })?;
    let release = Release::parse(&package.release).map_err(|error| {
        let release = quoted(&package.release);
        format!("invalid release {release} in \"olm.package\" property for bundle {name}: {error}")
    })?;
    if packages.next().is_some() {
        return Err(format!(
            "must be exactly one property of type {}",
            quoted(PACKAGE)
        ));
    }
    if release.is_empty() && !version.build().is_empty() && substitutes_another(bundle) {
        let release = Release::parse(version.build()).map_err(|error| {
            format!("unable to convert build metadata to release for bundle {name}: {error}")
        })?;
        return Ok(VersionRelease {
            version: version.without_build(),
            release: Some(release),
        });
    }
    Ok(VersionRelease {
        version,
        release: Some(release).filter(|release| !release.is_empty()),
    })
}

/// Whether a bundle says by its annotation that it stands in for another.
fn substitutes_another(bundle: &Bundle) -> bool {
    const ANNOTATION: &str = bundle::cluster_service_version::SUBSTITUTES_FOR_ANNOTATION;
    let says_so = |annotations: Option<&Value>| {
        annotations
            .and_then(|annotations| annotations.get(ANNOTATION))
            .and_then(Value::as_str)
            .is_some_and(|text| !text.is_empty())
    };
    let of_version = metadata::version_of(bundle)
        .is_some_and(|version| says_so(version.get("metadata").and_then(|head| head.get("annotations"))));
    of_version
        || bundle
            .properties
            .iter()
            .filter(|property| property.kind == CSV_METADATA)
            .filter_map(|property| serde_json::from_str::<Value>(property.value.get()).ok())
            .any(|metadata| says_so(metadata.get("annotations")))
}
