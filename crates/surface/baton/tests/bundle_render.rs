//! `baton bundle render` with a configuration, as a user sees it.

#[expect(dead_code, reason = "the other test programs use the rest of it")]
mod world;

use insta::assert_snapshot;
use world::World;

fn example() -> World {
    World::new()
        .file(
            "bundle/metadata/annotations.yaml",
            "annotations:\n  operators.operatorframework.io.bundle.package.v1: example\n",
        )
        .file(
            "bundle/manifests/example.clusterserviceversion.yaml",
            r"
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: example.v1.0.0
spec:
  version: 1.0.0
  installModes:
  - {type: AllNamespaces, supported: true}
  - {type: SingleNamespace, supported: true}
  install:
    strategy: deployment
    spec:
      deployments:
      - name: manager
        spec:
          replicas: 1
          selector:
            matchLabels: {app: manager}
          template:
            metadata:
              labels: {app: manager}
            spec:
              containers:
              - {name: manager, image: example.com/manager:v1.0.0}
",
        )
        .file(
            "good.yaml",
            "watchNamespace: team-a\ndeploymentConfig:\n  env:\n  - {name: LEVEL, value: debug}\n  resources:\n    limits: {memory: 1024Mi, cpu: 0.5}\n",
        )
        .file("unknown.json", r#"{"deploymentConfig": {"selector": {}}}"#)
        .file("here.yaml", "watchNamespace: operators\n")
        .file(
            "hidden.yaml",
            "deploymentConfig: {env: [{name: 1}], volumeMounts: [{name: data}]}\n",
        )
        .file(
            "quantity.yaml",
            "deploymentConfig: {resources: {limits: {memory: 128MB}}}\n",
        )
}

#[test]
fn a_configuration_changes_what_is_rendered_or_is_refused_in_olms_words() {
    let world = example();
    for name in [
        "good.yaml",
        "unknown.json",
        "here.yaml",
        "hidden.yaml",
        "quantity.yaml",
    ] {
        let seen = world.see(&[
            "bundle",
            "render",
            "./bundle",
            "-n",
            "operators",
            "--config",
            name,
        ]);
        let (name, _) = name.split_once('.').unwrap_or((name, ""));
        assert_snapshot!(format!("configured_{name}"), seen);
    }
    assert_snapshot!(
        "configured_by_nothing",
        world.see(&[
            "bundle",
            "render",
            "./bundle",
            "-n",
            "operators",
            "--config",
            "none"
        ])
    );
}
