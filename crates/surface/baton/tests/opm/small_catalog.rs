//! A catalog of one package, and one that is broken.

use crate::world::World;

/// A small catalog.
pub(crate) fn catalog() -> World {
    let bundle = |name: &str, version: &str| {
        format!(
            "---\nschema: olm.bundle\nname: {name}\npackage: demo\nimage: quay.io/demo/bundle:{version}\nproperties:\n- type: olm.package\n  value: {{packageName: demo, version: {version}}}\nrelatedImages:\n- {{name: b, image: quay.io/z:1}}\n- {{name: a, image: quay.io/a:1}}\n"
        )
    };
    World::new()
        .file("catalog/demo.yaml", format!("---\nschema: olm.package\nname: demo\ndefaultChannel: stable\n---\nschema: olm.channel\npackage: demo\nname: stable\nentries:\n- name: demo.v1.0.0\n- name: demo.v1.1.0\n  replaces: demo.v1.0.0\n{}{}", bundle("demo.v1.0.0", "1.0.0"), bundle("demo.v1.1.0", "1.1.0")))
        .file("broken/a.yaml", "---\nschema: olm.package\nname: demo\ndefaultChannel: stable\n")
}
