//! The customer of OLM v0, who subscribes with the real kubectl to what the author publishes.

use std::process::{Command, Stdio};

use contract::real::Binaries;
use serde_json::{Value, json};

use crate::cast::author::Author;
use crate::cast::cluster::Cluster;
use crate::cast::customer::OPERATORS;

const PACKAGE: &str = "inference-stack-operator";

/// Who subscribes.
pub(crate) struct Subscriber<'w> {
    cluster: &'w Cluster,
    kubectl: Command,
}

impl<'w> Subscriber<'w> {
    pub(crate) fn of(cluster: &'w Cluster) -> Self {
        let binaries = Binaries::locate().unwrap_or_else(|reason| panic!("{reason}"));
        Self {
            cluster,
            kubectl: Command::new(binaries.program("kubectl")),
        }
    }

    fn runs(&self, arguments: &[&str], object: Option<&Value>) -> String {
        let mut command = Command::new(self.kubectl.get_program());
        let mut child = command
            .args(["--kubeconfig", &self.cluster.kubeconfig()])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl runs");
        if let (Some(object), Some(input)) = (object, child.stdin.take()) {
            serde_json::to_writer(input, object).expect("kubectl reads");
        }
        let output = child.wait_with_output().expect("kubectl ends");
        assert!(
            output.status.success(),
            "kubectl {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Adds the author's catalog, which is polled so seldom that only its registry can tell of a new one.
    pub(crate) fn adds_the_catalog(&self, author: &Author<'_>) {
        let source = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": {"name": "models", "namespace": "olm"},
            "spec": {"sourceType": "grpc", "image": author.catalog(), "displayName": "Models", "publisher": "The author",
                "updateStrategy": {"registryPoll": {"interval": "10h"}}},
        });
        self.runs(&["apply", "-f", "-"], Some(&source));
    }

    pub(crate) fn subscribes(&self, channel: &str) {
        let subscription = json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
            "metadata": {"name": "stack", "namespace": OPERATORS},
            "spec": {"name": PACKAGE, "channel": channel, "source": "models", "sourceNamespace": "olm"},
        });
        self.runs(&["apply", "-f", "-"], Some(&subscription));
    }

    pub(crate) fn has_version(&self, version: &str) {
        let name = format!("{PACKAGE}.v{version}");
        self.cluster.until(&format!("{name} works"), || {
            let printed = self.runs(
                &[
                    "get",
                    "csv",
                    &name,
                    "-n",
                    OPERATORS,
                    "--ignore-not-found",
                    "-o",
                    "jsonpath={.status.phase}",
                ],
                None,
            );
            if printed == "Succeeded" {
                Ok(())
            } else {
                Err(self.runs(&["get", "sub,csv,catsrc", "-A", "-o", "yaml"], None))
            }
        });
    }
}
