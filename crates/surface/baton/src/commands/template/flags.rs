//! The flags of `baton template`.

use clap::Args;

use crate::arguments::{ClusterFlags, ValueFlags, comma_separated, switch};
use crate::failure::Failure;

/// Renders a chart without a cluster and prints the manifests, as `helm template` does.
///
/// The output is that of Helm 3.17.3, byte for byte. With --explain, comments say which template wrote each document
/// and which file or flag set the values that it used.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[expect(
    clippy::struct_field_names,
    reason = "the fields are called what the flags are called"
)]
#[command(
    args_override_self = true,
    override_usage = "baton template [NAME] CHART [flags]"
)]
pub(crate) struct Template {
    /// The release's name, if it shall have one, and the chart: a directory or a packaged chart (.tgz)
    #[arg(value_name = "[NAME] CHART")]
    pub(super) arguments: Vec<String>,

    #[command(flatten)]
    pub(super) values: ValueFlags,

    #[command(flatten)]
    pub(super) cluster: ClusterFlags,

    /// API versions that templates find beside the built-in ones, separated by commas
    #[arg(
        short,
        long,
        value_name = "LIST",
        allow_hyphen_values = true,
        help_heading = "Cluster"
    )]
    api_versions: Vec<String>,

    /// Make the release's name from a template
    #[arg(
        long,
        value_name = "TEMPLATE",
        allow_hyphen_values = true,
        help_heading = "Release"
    )]
    pub(super) name_template: Option<String>,

    /// Leave the name to baton; the release is called release-name, as in Helm
    #[arg(short, long, help_heading = "Release")]
    pub(super) generate_name: bool,

    /// Set .Release.IsUpgrade in place of .Release.IsInstall
    #[arg(long, help_heading = "Release")]
    pub(super) is_upgrade: bool,

    /// Print the chart's custom resource definitions first
    #[arg(long, help_heading = "Output")]
    pub(super) include_crds: bool,

    /// Is accepted and changes nothing, as in Helm: see --include-crds
    #[arg(long, help_heading = "Output")]
    skip_crds: bool,

    /// Leave out hooks that are tests
    #[arg(long, help_heading = "Output")]
    pub(super) skip_tests: bool,

    /// Leave out all hooks
    #[arg(long, help_heading = "Output")]
    pub(super) no_hooks: bool,

    /// Print only what these templates made, such as templates/service.yaml; patterns are allowed
    #[arg(
        short,
        long,
        value_name = "TEMPLATE",
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub(super) show_only: Vec<String>,

    /// Write a file for each template in place of printing
    #[arg(
        long,
        value_name = "DIRECTORY",
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub(super) output_dir: Option<String>,

    /// With --output-dir: write below a directory with the release's name
    #[arg(long, help_heading = "Output")]
    pub(super) release_name: bool,

    /// Say in comments which template wrote each document, and who set the values that it used
    #[arg(long, help_heading = "Output", conflicts_with = "post_renderer")]
    pub(super) explain: bool,

    /// Print the manifests even if they are no valid YAML; `HELM_DEBUG=true` does the same
    #[arg(long, help_heading = "Output")]
    debug: bool,

    /// Send the manifests through this program
    #[arg(
        long,
        value_name = "PROGRAM",
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub(super) post_renderer: Option<String>,

    /// An argument for that program; the flag may be given again
    #[arg(
        long,
        value_name = "ARGUMENT",
        allow_hyphen_values = true,
        help_heading = "Output"
    )]
    pub(super) post_renderer_args: Vec<String>,

    /// Render the notes of subcharts as well
    #[arg(long, help_heading = "Output")]
    pub(super) render_subchart_notes: bool,

    /// Do not check values against the chart's schema
    #[arg(long, help_heading = "Values")]
    pub(super) skip_schema_validation: bool,

    /// Pack missing dependencies into charts/ first, where that needs no network
    #[arg(long, help_heading = "Release")]
    pub(super) dependency_update: bool,

    #[command(flatten)]
    elsewhere: Elsewhere,
}

/// Flags of Helm that need a cluster or a network, refused with a reason, and those that change nothing in a render,
/// accepted so that scripts written for Helm go on working.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
struct Elsewhere {
    #[arg(long, hide = true)]
    validate: bool,
    #[arg(long, hide = true)]
    repo: Option<String>,
    #[arg(long, hide = true)]
    verify: bool,
    #[arg(long, hide = true)]
    enable_dns: bool,

    #[arg(long, hide = true)]
    create_namespace: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: Option<String>,
    #[arg(long, hide = true)]
    force: bool,
    #[arg(long, hide = true)]
    replace: bool,
    #[arg(long, hide = true)]
    timeout: Option<String>,
    #[arg(long, hide = true)]
    wait: bool,
    #[arg(long, hide = true)]
    wait_for_jobs: bool,
    #[arg(long, hide = true)]
    description: Option<String>,
    #[arg(long, hide = true)]
    devel: bool,
    #[arg(long, hide = true)]
    disable_openapi_validation: bool,
    #[arg(long, hide = true)]
    atomic: bool,
    #[arg(short, long, hide = true)]
    labels: Vec<String>,
    #[arg(long, hide = true)]
    hide_notes: bool,
    #[arg(long, hide = true)]
    take_ownership: bool,
    #[arg(long, hide = true)]
    version: Option<String>,
}

impl Template {
    /// Whether the flag or Helm's variable asks for it; a text that is no switch does not.
    pub(super) fn is_debugging(&self) -> bool {
        self.debug || std::env::var("HELM_DEBUG").is_ok_and(|text| switch(&text).unwrap_or(false))
    }

    pub(super) fn api_versions(&self) -> Result<Vec<String>, Failure> {
        comma_separated("-a, --api-versions", &self.api_versions)
    }

    pub(super) fn refuse_what_needs_a_network(&self) -> Result<(), Failure> {
        let elsewhere = &self.elsewhere;
        let server_side = matches!(elsewhere.dry_run.as_deref(), Some("server" | "none" | "false"));
        let reason = if elsewhere.validate || server_side {
            "--validate and --dry-run=server ask a cluster, and baton template works without one; leave the flag out, or \
             check the output with kubectl apply --dry-run=server"
        } else if elsewhere.repo.is_some() {
            "--repo reads a chart repository on the network; download the chart and give its path"
        } else if elsewhere.verify {
            "--verify checks signatures, which baton cannot yet; leave the flag out"
        } else if elsewhere.enable_dns {
            "--enable-dns asks name servers, and a render of baton never does; leave the flag out"
        } else {
            return Ok(());
        };
        Err(Failure::new(reason))
    }
}
