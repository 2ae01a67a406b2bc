//! Certificates for those who ask, and trust in them: what `baton up` does, on any cluster without cert-manager.

use std::path::Path;

use certificate_issuer::{controller, definitions};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::task::JoinHandle;

use crate::kubernetes::Kubernetes;
use crate::reference::Reference;

/// Issues certificates until it is dropped.
pub(crate) struct Issuing {
    task: JoinHandle<()>,
}

impl Drop for Issuing {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Issuing {
    /// Begins, and returns when certificates can be asked for.
    pub(crate) async fn start(kubernetes: &Kubernetes, kubeconfig: &Path) -> Result<Self, String> {
        let client = client(kubeconfig).await.map_err(|error| error.to_string())?;
        let task = tokio::spawn(controller::run(client, std::future::pending()));
        for (_, plural, _) in definitions::KINDS {
            let name = definitions::name_of(plural);
            let definition = Reference::cluster("apiextensions.k8s.io/v1", "CustomResourceDefinition", &name);
            kubernetes.until_there(&definition).await?;
            kubernetes
                .until(&definition, |definition| {
                    crate::conditions::holds(
                        definition,
                        "Established",
                        "True",
                        "",
                        crate::conditions::Says::Anything,
                    )
                })
                .await?;
        }
        Ok(Self { task })
    }
}

async fn client(kubeconfig: &Path) -> Result<Client, Box<dyn std::error::Error>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
