//! Custom resource definitions that a chart brings along in `crds/`.

use bytes::Bytes;

use crate::chart::{Chart, File};
use crate::dependencies::ActiveChart;

/// A file below `crds/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crd {
    /// The path in its chart, such as `crds/widget.yaml`.
    pub name: String,
    /// The path with that of its chart in front, such as `parent/charts/child/crds/widget.yaml`.
    pub file_name: String,
    /// The content, which is not a template.
    pub data: Bytes,
}

/// The definitions of a chart, then those of its enabled subcharts, each in the order they were found.
pub fn crds(chart: &ActiveChart) -> Vec<Crd> {
    let mut found = Vec::new();
    collect(chart, &mut found);
    found
}

fn collect(chart: &ActiveChart, found: &mut Vec<Crd>) {
    for file in files(&chart.chart) {
        found.push(Crd {
            name: file.name.clone(),
            file_name: format!("{}/{}", chart.full_path, file.name),
            data: file.data.clone(),
        });
    }
    for subchart in &chart.dependencies {
        collect(subchart, found);
    }
}

/// The definitions of a chart alone, in the order they were found.
pub(crate) fn files(chart: &Chart) -> impl Iterator<Item = &File> {
    chart
        .files
        .iter()
        .filter(|file| file.name.starts_with("crds/") && is_manifest(&file.name))
}

fn is_manifest(name: &str) -> bool {
    let extension = name
        .rsplit('/')
        .next()
        .unwrap_or(name)
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension);
    ["yaml", "yml", "json"]
        .iter()
        .any(|known| extension.eq_ignore_ascii_case(known))
}
