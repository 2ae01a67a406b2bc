//! A chart rendered in many ways, to see what it creates.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use chart::Chart;
use chart::capabilities::Capabilities;
use chart::engine::{Engine, Operation, ReleaseContext};
use chart::host::{Host, NoCluster};
use chart::installation::{self, InstallationRequest};
use chart::manifest::HookEvent;
use chart::source::Source;
use chart::values::Table;

use super::super::kinds::Kinds;
use super::super::trial_render::{RepeatableSource, with_well_known_operators};
use super::super::variants::{Variant, variants};
use super::{Derivation, Reason};

/// How many sets of values a chart is rendered with: enough for each flag of most charts, and seconds for the largest.
pub const DEFAULT_RENDERS: usize = 200;

/// The name of the release in all renders; a name of an object that has it is the chart's own.
pub(super) const RELEASE_NAME: &str = "baton-derives-permissions";

/// How many steps a render may take. The largest chart that was looked at takes a tenth of it.
const MAXIMUM_STEPS: u64 = 20_000_000;

/// How many failed renders are reported.
const MAXIMUM_FAILURES: usize = 10;

/// How deep charts are followed into charts.
const MAXIMUM_CHART_DEPTH: usize = 32;

/// Values with which a chart could not be rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRender {
    /// The values, as a person would have asked for them.
    pub setting: String,
    /// The first line of the error.
    pub cause: String,
}

/// Adds the kinds that a chart and its subcharts define in `crds/`.
pub(super) fn learn_definitions(chart: &Chart, kinds: &mut Kinds) {
    for_each_definition(chart, "", 0, &mut |_, definition| kinds.learn(definition));
}

fn for_each_definition(
    chart: &Chart,
    prefix: &str,
    depth: usize,
    action: &mut dyn FnMut(&str, &serde_json::Value),
) {
    for file in chart.files.iter().filter(|file| file.name.starts_with("crds/")) {
        for document in chart::manifest::split(&file.data) {
            if let Ok(definition) = goyaml::to_value(&document) {
                action(&format!("{prefix}{}", file.name), &definition);
            }
        }
    }
    if depth < MAXIMUM_CHART_DEPTH {
        for subchart in &chart.dependencies {
            let prefix = format!("{prefix}charts/{}/", subchart.name());
            for_each_definition(subchart, &prefix, depth + 1, action);
        }
    }
}

/// Renders the chart with each variant of its values and adds what appears.
pub(super) fn explore(
    derivation: &mut Derivation,
    chart: &Arc<Chart>,
    samples: &[(String, Table)],
    kinds: &Kinds,
    maximum: usize,
) {
    for_each_definition(chart, "", 0, &mut |file, definition| {
        derivation.add_object(definition, kinds, file, "", Reason::Definition(file.to_owned()));
    });
    let engine = Engine::new().with_max_steps(MAXIMUM_STEPS);
    let source: Rc<dyn Source> = Rc::new(RepeatableSource::default());
    let plain = Capabilities::default();
    let able = with_well_known_operators();
    // What one template has shown once it need not be shown again: the same document is told apart by its bytes.
    let mut seen = BTreeSet::new();
    let mut render = |variant: &Variant, capabilities: &Capabilities| -> bool {
        let setting = variant.description.as_str();
        derivation.renders += 1;
        let request = InstallationRequest {
            chart,
            values: &variant.values,
            release: ReleaseContext {
                name: RELEASE_NAME.to_owned(),
                namespace: RELEASE_NAME.to_owned(),
                operation: Operation::Install,
                revision: 1,
            },
            capabilities,
            sub_notes: false,
            skip_schema_validation: true,
            strict: false,
        };
        let host = Host::new(Rc::clone(&source), Rc::new(NoCluster)).in_time();
        match installation::plan(&engine, &request, &host, None, &mut |_| ()) {
            Ok(planned) => {
                let objects = planned
                    .manifests
                    .iter()
                    .map(|manifest| (manifest.name.as_str(), &manifest.content))
                    .chain(
                        // An operator runs no tests.
                        planned
                            .hooks
                            .iter()
                            .filter(|hook| !hook.events.iter().all(|event| *event == HookEvent::Test))
                            .map(|hook| (hook.path.as_str(), &hook.manifest)),
                    );
                for (name, content) in objects {
                    let template = name.split_once('/').map_or(name, |(_, template)| template);
                    if !seen.insert((template.to_owned(), content.clone())) {
                        continue;
                    }
                    if let Ok(object) = goyaml::to_value(content) {
                        let reason = Reason::Rendered {
                            template: template.to_owned(),
                            setting: setting.to_owned(),
                        };
                        derivation.add_object(&object, kinds, template, setting, reason);
                    }
                }
                true
            }
            Err(error) if !variant.is_guess && derivation.failed.len() < MAXIMUM_FAILURES => {
                let cause = error.to_string().lines().next().unwrap_or_default().to_owned();
                derivation.failed.push(FailedRender {
                    setting: setting.to_owned(),
                    cause,
                });
                false
            }
            Err(_) => false,
        }
    };
    let plain_values = |description: &str, values: &Table| Variant {
        description: description.to_owned(),
        values: values.clone(),
        is_guess: false,
    };
    let nothing = Table::new();
    render(&plain_values("the chart's defaults", &nothing), &plain);
    let mut left = maximum.saturating_sub(1);
    // A sample fills what defaults leave empty, so flags are turned over on top of one that renders.
    let mut base = &nothing;
    for (file, values) in samples {
        if left > 0 && render(&plain_values(file, values), &able) {
            base = values;
        }
        left = left.saturating_sub(1);
    }
    if left > 0 {
        let setting = "the chart's defaults, where well-known operators are installed";
        render(&plain_values(setting, &nothing), &able);
        left -= 1;
    }
    for variant in variants(chart, base, left) {
        render(&variant, &able);
    }
}
