//! `baton deploy`: baton itself, installed in a cluster.

mod applying;
mod attached;
mod checking;
mod pushing;
mod settings;
mod taking_over;

use ::deploy::files;
use clap::Args;
use image::attachment;
use serde_json::{Value, json};

use self::pushing::PushFlags;
use self::settings::SettingsFlags;
use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::images::ImageFlags;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Installs baton in a cluster: definitions, rights, Deployments with upstream's names, and what watches and secures them.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Deploy {
    #[command(flatten)]
    settings: SettingsFlags,
    #[command(flatten)]
    push: PushFlags,
    /// Say what the cluster lacks, and change nothing
    #[arg(long, conflicts_with_all = ["take_over", "rights", "dry_run", "push"])]
    check: bool,
    /// Take over from upstream's OLM v1 and v0; without --yes, the plan is printed and nothing changes
    #[arg(long, conflicts_with_all = ["rights", "dry_run"])]
    take_over: bool,
    /// Do what --take-over plans
    #[arg(short, long, requires = "take_over")]
    yes: bool,
    /// Print what each component may do in the cluster, and why
    #[arg(long)]
    rights: bool,
    /// Print what the image of --image is made of, as it is attached to it in its registry; without --image, what this program
    /// is made of (CycloneDX)
    #[arg(long, conflicts_with_all = ["take_over", "rights", "dry_run", "push", "check"])]
    sbom: bool,
    /// Print how the image of --image was made, as it is attached to it in its registry (SLSA, in-toto)
    #[arg(long, requires = "image", conflicts_with_all = ["take_over", "rights", "dry_run", "push", "check", "sbom"])]
    provenance: bool,
    /// Say what would be made and changed, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    images: ImageFlags,
    /// With --output, the objects are printed and no cluster is asked
    #[command(flatten)]
    output: OutputFlag,
}

impl Deploy {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        if self.rights {
            return terminal.print(::deploy::rights::page().as_bytes());
        }
        let settings = self.settings.settings()?;
        if self.sbom && !self.settings.has_image() {
            return terminal.print(::deploy::materials::LIST.as_bytes());
        }
        if self.sbom || self.provenance {
            let kind = if self.sbom {
                attachment::BILL_OF_MATERIALS
            } else {
                attachment::STATEMENT
            };
            return runtime::block_on(attached::print(&settings.image, kind, &self.images, terminal));
        }
        let is_printed = self.output.is_for_programs() && !self.check && !self.take_over && !self.dry_run;
        if is_printed {
            return self.print(&files::objects(&settings), terminal);
        }
        runtime::block_on(async {
            let client = self.access.connect().await?;
            let mut settings = settings;
            if !self.settings.has_image()
                && let Some(image) = applying::deployed_image(&client, &settings).await?
            {
                settings.image = image;
            }
            if self.check {
                return checking::check(&client, &settings, self.output, terminal).await;
            }
            if self.dry_run {
                return applying::rehearse(&client, &settings, self.output, terminal).await;
            }
            let is_plan = self.take_over && !self.yes;
            if !is_plan {
                settings::require_image(&settings)?;
                settings.image = self.push.pushed(settings.image, &self.images, terminal).await?;
            }
            if self.take_over {
                taking_over::take_over(&client, &settings, self.yes, self.output, terminal).await?;
                if !self.yes {
                    return Ok(());
                }
            } else {
                taking_over::refuse(&client, &settings).await?;
            }
            applying::apply(&client, &settings, self.wait, terminal).await
        })
    }

    fn print(&self, objects: &[Value], terminal: &mut Terminal) -> Result<(), Failure> {
        if !self.settings.has_image() {
            terminal.remark("nobody publishes the image in it; name yours with --image");
        }
        if self.output.is_yaml() {
            return terminal.print(files::documents(objects).as_bytes());
        }
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.output.print(terminal, &list, |_| String::new())
    }
}

#[cfg(test)]
mod tests {
    use ::deploy::component::Component;
    use ::deploy::settings::{ServingCertificates, Settings};
    use clap::Parser as _;

    #[test]
    fn containers_are_started_with_flags_that_there_are() {
        for certificates in [ServingCertificates::Own, ServingCertificates::CertManager] {
            let settings = Settings {
                certificates,
                ..Settings::default()
            };
            for component in Component::ALL {
                let arguments = component.arguments(&settings);
                let all = std::iter::once("baton".to_owned()).chain(arguments);
                let read = crate::Program::try_parse_from(all);
                assert!(
                    read.is_ok(),
                    "{component:?}: {}",
                    read.err().map(|error| error.to_string()).unwrap_or_default()
                );
            }
        }
    }

    #[test]
    fn components_have_the_leases_of_their_controllers() {
        assert_eq!(
            Component::Extensions.lease(),
            extension_controller::controller::LEASE
        );
        assert_eq!(
            Component::Subscriptions.lease(),
            classic_controller::controller::LEASE
        );
    }
}
