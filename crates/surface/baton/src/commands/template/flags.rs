//! The flags of `baton template`.

use clap::Args;
use clap::builder::ArgAction;

use crate::arguments::{ClusterFlags, ValueFlags, comma_separated, switch};
use crate::failure::Failure;

/// Renders a chart without a cluster and prints the manifests, as `helm template` does.
///
/// The output is that of Helm 3.17.3, byte for byte. With --explain, comments say which template wrote each document
/// and which file or flag set the values that it used.
#[derive(Args)]
#[command(args_override_self = true)]
pub(crate) struct Template {
    /// The release's name, if it shall have one, and the chart: a directory or a packaged chart (.tgz)
    #[arg(value_name = "[NAME] CHART")]
    pub(super) arguments: Vec<String>,

    #[command(flatten)]
    pub(super) values: ValueFlags,

    #[command(flatten)]
    pub(super) cluster: ClusterFlags,

    /// API versions that templates find beside the built-in ones, separated by commas
    #[arg(short, long, value_name = "LIST", allow_hyphen_values = true, help_heading = "Cluster")]
    api_versions: Vec<String>,

    /// Make the release's name from a template
    #[arg(long, value_name = "TEMPLATE", allow_hyphen_values = true, help_heading = "Release")]
    pub(super) name_template: Option<String>,

    /// Leave the name to baton; the release is called release-name, as in Helm
    #[arg(short, long, help_heading = "Release", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true,
        hide_possible_values = true)]
    pub(super) generate_name: bool,

    /// Set .Release.IsUpgrade in place of .Release.IsInstall
    #[arg(long, help_heading = "Release", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    pub(super) is_upgrade: bool,

    /// Print the chart's custom resource definitions first
    #[arg(long, help_heading = "Output", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    pub(super) include_crds: bool,

    /// Is accepted and changes nothing, as in Helm: see --include-crds
    #[arg(long, help_heading = "Output", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    skip_crds: bool,

    /// Leave out hooks that are tests
    #[arg(long, help_heading = "Output", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    pub(super) skip_tests: bool,

    /// Leave out all hooks
    #[arg(long, help_heading = "Output", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    pub(super) no_hooks: bool,

    /// Print only what these templates made, such as templates/service.yaml; patterns are allowed
    #[arg(short, long, value_name = "TEMPLATE", allow_hyphen_values = true, help_heading = "Output")]
    pub(super) show_only: Vec<String>,

    /// Write a file for each template in place of printing
    #[arg(long, value_name = "DIRECTORY", allow_hyphen_values = true, help_heading = "Output")]
    pub(super) output_dir: Option<String>,

    /// With --output-dir: write below a directory with the release's name
    #[arg(long, help_heading = "Output", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    pub(super) release_name: bool,

    /// Say in comments which template wrote each document, and who set the values that it used
    #[arg(long, help_heading = "Output", conflicts_with = "post_renderer")]
    pub(super) explain: bool,

    /// Print the manifests even if they are no valid YAML
    #[arg(long, env = "HELM_DEBUG", hide_env_values = true, help_heading = "Output", action = ArgAction::Set,
        num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true",
        value_parser = forgiving_switch, hide_default_value = true)]
    pub(super) debug: bool,

    /// Send the manifests through this program
    #[arg(long, value_name = "PROGRAM", allow_hyphen_values = true, help_heading = "Output")]
    pub(super) post_renderer: Option<String>,

    /// An argument for that program; the flag may be given again
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true, help_heading = "Output")]
    pub(super) post_renderer_args: Vec<String>,

    /// Render the notes of subcharts as well
    #[arg(long, help_heading = "Output", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    pub(super) render_subchart_notes: bool,

    /// Do not check values against the chart's schema
    #[arg(long, help_heading = "Values", action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    pub(super) skip_schema_validation: bool,

    /// Pack missing dependencies into charts/ first, where that needs no network
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true,
        default_value = "false", default_missing_value = "true", value_parser = switch, hide_default_value = true)]
    pub(super) dependency_update: bool,

    #[command(flatten)]
    elsewhere: Elsewhere,
}

/// Flags of Helm that need a cluster or a network, refused with a reason, and those that change nothing in a render,
/// accepted so that scripts written for Helm go on working.
#[derive(Args)]
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

/// Reads `HELM_DEBUG` and `--debug=…`; a text that is no switch is off, as in Helm's environment.
fn forgiving_switch(text: &str) -> Result<bool, std::convert::Infallible> {
    Ok(switch(text).unwrap_or(false))
}
