//! `baton show`: prints parts of a chart.

use chart::loader;
use chart::presentation::{self, Part};
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Prints parts of a chart, as `helm show` does.
#[derive(Args)]
pub(crate) struct Show {
    #[command(subcommand)]
    part: ShownPart,
}

#[derive(Subcommand)]
enum ShownPart {
    /// Print everything, one after the other
    All(ShownChart),
    /// Print the definition, Chart.yaml
    Chart(ShownChart),
    /// Print the default values, with their comments
    Values(ShownValues),
    /// Print the README
    Readme(ShownChart),
    /// Print the custom resource definitions, those of dependencies included
    Crds(ShownChart),
}

#[derive(Args)]
#[command(args_override_self = true)]
struct ShownChart {
    /// A directory or a packaged chart (.tgz)
    #[arg(value_name = "CHART")]
    charts: Vec<String>,
    #[arg(long, hide = true)]
    devel: bool,
    #[arg(long, hide = true)]
    version: Option<String>,
}

#[derive(Args)]
struct ShownValues {
    #[command(flatten)]
    chart: ShownChart,
    #[arg(long, hide = true)]
    jsonpath: Option<String>,
}

impl Show {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let (name, part, shown) = match &self.part {
            ShownPart::All(chart) => ("all", Part::All, chart),
            ShownPart::Chart(chart) => ("chart", Part::Definition, chart),
            ShownPart::Values(values) if values.jsonpath.as_deref().is_some_and(|path| !path.is_empty()) => {
                return Err(Failure::new(
                    "--jsonpath is not supported; print the values and pick from them, for example with yq",
                ));
            }
            ShownPart::Values(values) => ("values", Part::Values, &values.chart),
            ShownPart::Readme(chart) => ("readme", Part::Readme, chart),
            ShownPart::Crds(chart) => ("crds", Part::Crds, chart),
        };
        let [chart] = shown.charts.as_slice() else {
            return Err(Failure::new(format!(
                "\"baton show {name}\" requires 1 argument\n\nUsage:  baton show {name} CHART"
            )));
        };
        let path = loader::locate(chart)?;
        let chart = loader::load(&path, &mut |warning| terminal.remark(warning))?;
        terminal.print(&presentation::show(&chart, part).map_err(Failure::new)?)
    }
}
