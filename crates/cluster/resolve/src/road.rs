//! The road from an installed version to the end of a channel: the steps that the controller would take one after another.

use version::Release;

use crate::package::{Bundle, Package};
use crate::request::{Installed, Request, UpgradePolicy};
use crate::resolution::{BrokenCatalogs, Offer, OfferState, resolve};

/// The most steps that are followed; no channel that was seen is as long.
const MOST_STEPS: usize = 1000;

/// Returns the versions that follow an installed one along a channel, step by step, until nothing follows any more.
///
/// Each step is what resolution comes to, so that the road is the one that an extension goes, if nobody holds it up.
pub fn road<'a>(package: &'a Package, channel: &str, installed: &Installed) -> Vec<&'a Bundle> {
    let offers = [Offer {
        catalog: "",
        priority: 0,
        state: OfferState::Read(Some(package)),
    }];
    let mut request = Request {
        package: package.name.clone(),
        version: None,
        channels: vec![channel.to_owned()],
        policy: UpgradePolicy::CatalogProvided,
        installed: Some(installed.clone()),
    };
    let mut seen = vec![installed.name.clone()];
    let mut road = Vec::new();
    while road.len() < MOST_STEPS {
        let Ok(next) = resolve(&request, &offers, BrokenCatalogs::Skip) else {
            break;
        };
        // A channel may go in circles; a road doesn't.
        if seen.contains(&next.bundle.name) {
            break;
        }
        let step = Installed {
            name: next.bundle.name.clone(),
            version: next.version.version.to_string(),
            release: next
                .version
                .release
                .as_ref()
                .map(Release::as_str)
                .map(str::to_owned),
        };
        let Some(bundle) = package.bundle(&step.name) else {
            break;
        };
        road.push(bundle);
        seen.push(step.name.clone());
        request.installed = Some(step);
    }
    road
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::package::Releases;

    fn package(entries: &[Value]) -> Package {
        let mut package = Package {
            name: "web".to_owned(),
            ..Package::default()
        };
        let mut add = |schema: &str, object: Value| {
            let blob = object.to_string();
            package
                .add(
                    schema,
                    object["name"].as_str().unwrap_or_default(),
                    blob.as_bytes(),
                    Releases::Stated,
                )
                .expect("an object");
        };
        for entry in entries {
            let name = entry["name"].as_str().expect("a name");
            let version = name.strip_prefix("web.v").expect("a version");
            add(
                "olm.bundle",
                json!({"schema": "olm.bundle", "package": "web", "name": name, "properties": [
                    {"type": "olm.package", "value": {"packageName": "web", "version": version}},
                ]}),
            );
        }
        add(
            "olm.channel",
            json!({"schema": "olm.channel", "package": "web", "name": "stable", "entries": entries}),
        );
        package
    }

    fn from(version: &str, package: &Package) -> Vec<String> {
        let installed = Installed {
            name: format!("web.v{version}"),
            version: version.to_owned(),
            release: None,
        };
        let steps = road(package, "stable", &installed);
        steps.iter().map(|bundle| bundle.name.clone()).collect()
    }

    #[test]
    fn a_road_goes_as_far_as_each_step_leads() {
        let package = package(&[
            json!({"name": "web.v1.0.0"}),
            json!({"name": "web.v1.1.0", "replaces": "web.v1.0.0"}),
            json!({"name": "web.v1.2.0", "replaces": "web.v1.1.0", "skips": ["web.v1.0.0"]}),
            json!({"name": "web.v2.0.0", "replaces": "web.v1.2.0"}),
        ]);
        assert_eq!(
            from("1.0.0", &package),
            ["web.v1.2.0", "web.v2.0.0"],
            "1.1.0 is passed by"
        );
        assert_eq!(from("1.1.0", &package), ["web.v1.2.0", "web.v2.0.0"]);
        assert_eq!(from("2.0.0", &package), Vec::<String>::new(), "it is the end");
        assert_eq!(
            from("0.9.0", &package),
            Vec::<String>::new(),
            "nothing follows it"
        );
    }

    #[test]
    fn a_circle_ends() {
        let package = package(&[
            json!({"name": "web.v1.0.0", "replaces": "web.v2.0.0"}),
            json!({"name": "web.v2.0.0", "replaces": "web.v1.0.0"}),
        ]);
        assert_eq!(from("1.0.0", &package), ["web.v2.0.0"]);
    }
}
