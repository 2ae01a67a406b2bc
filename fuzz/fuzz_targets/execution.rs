//! Renders a chart whose only template is any text, with all functions of Helm.
#![no_main]

use std::rc::Rc;

use bytes::Bytes;
use chart::capabilities::Capabilities;
use chart::engine::{Engine, Operation, ReleaseContext};
use chart::host::{Host, NoCluster};
use chart::installation::{self, InstallationRequest};
use chart::source::SeededSource;
use chart::values::Table;
use chart::{File, loader};
use libfuzzer_sys::fuzz_target;

const CHART: &[u8] = b"apiVersion: v2\nname: c\nversion: 0.1.0\n";
const VALUES: &[u8] = b"list: [1, two, 3.5, null]\nmap: {a: {b: c}, n: null}\ntext: some text\nnumber: 7\n";
const HELPERS: &[u8] = br#"{{define "c.name"}}{{ .Chart.Name }}-{{ .Values.text }}{{end}}"#;

fuzz_target!(|template: &[u8]| {
    let file = |name: &str, data: &[u8]| File { name: name.into(), data: Bytes::copy_from_slice(data) };
    let files = vec![
        file("Chart.yaml", CHART),
        file("values.yaml", VALUES),
        file("templates/_helpers.tpl", HELPERS),
        file("templates/fuzz.yaml", template),
    ];
    let chart = loader::load_files(files, &mut |_| {}).expect("a chart");
    let values = Table::new();
    let request = InstallationRequest {
        chart: &chart,
        values: &values,
        release: ReleaseContext { name: "r".into(), namespace: "n".into(), operation: Operation::Install, revision: 1 },
        capabilities: &Capabilities::default(),
        sub_notes: false,
        skip_schema_validation: false,
        strict: false,
    };
    let source = SeededSource::from_number(1, "2024-02-02T22:30:00Z".parse().expect("a time"));
    let host = Host::new(Rc::new(source), Rc::new(NoCluster));
    let engine = Engine::new().with_max_steps(100_000);
    installation::plan(&engine, &request, &host, None, &mut |_| {}).ok();
});
