//! A cluster in this process, a chart, and a way to the cluster that counts and can be cut.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use chart::capabilities::Capabilities;
use chart::engine::{Engine, Operation, ReleaseContext};
use chart::host::{Host, Lookup, NoCluster};
use chart::installation::{self, Installation, InstallationRequest};
use chart::release::{RecordedChart, RecordedCharts, Release};
use chart::source::SeededSource;
use chart::{Chart, File, loader};
use kube::Client;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use release::{Cluster, Failure, Options, Outcome, Prepared, Record, ReleaseId, Releases, Standing};
use serde_json::{Value, json};
use stage::Stage;

pub(crate) const NAMESPACE: &str = "apps";
pub(crate) const MANAGER: &str = "helm-operator";

pub(crate) const CHART_FILE: &str =
    "apiVersion: v2\nname: kitchen\nversion: 0.3.0\nappVersion: \"1.7\"\ndescription: one of everything\n";

pub(crate) const VALUES: &str =
    "message: hello\nreplicas: 1\nport: 8080\nextra: false\nkept: false\nnote: \"\"\nhooks: {}\n";

const MAIN: &str = r#"apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-cm
data:
  message: {{ .Values.message | quote }}
  {{- with .Values.note }}
  note: {{ . | quote }}
  {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-svc
spec:
  selector: {app: {{ .Release.Name }}}
  ports:
  - {name: http, port: {{ .Values.port }}, targetPort: 8080}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
spec:
  replicas: {{ .Values.replicas }}
  {{- with .Values.strategy }}
  strategy: {type: {{ . }}}
  {{- end }}
  selector:
    matchLabels: {app: {{ .Release.Name }}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
    spec:
      containers:
      - name: web
        image: nginx:1.27
        env:
        - {name: MESSAGE, value: {{ .Values.message | quote }}}
        {{- if .Values.twice }}
        - {name: MESSAGE, value: again}
        {{- end }}
        resources:
          limits: {cpu: 1, memory: 1024Mi}
        ports:
        - containerPort: 8080
{{- if .Values.extra }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-extra
data: {a: "1"}
{{- end }}
{{- if .Values.kept }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-kept
  annotations: {helm.sh/resource-policy: keep}
data: {precious: "yes"}
{{- end }}
"#;

const HOOKS: &str = r#"{{- range $event, $hook := .Values.hooks }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-{{ $event }}
  annotations:
    helm.sh/hook: {{ $event }}
    {{- with $hook.policy }}
    helm.sh/hook-delete-policy: {{ . }}
    {{- end }}
spec:
  backoffLimit: 0
  template:
    metadata:
      annotations: {stage.baton.dev/simulate: {{ $hook.fate | default "succeeded" }}}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: busybox}]
{{- end }}
"#;

const NOTES: &str = "Kitchen {{ .Release.Name }} revision {{ .Release.Revision }}.\n";

pub(crate) fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("Chart.yaml", CHART_FILE),
        ("values.yaml", VALUES),
        ("templates/main.yaml", MAIN),
        ("templates/hooks.yaml", HOOKS),
        ("templates/NOTES.txt", NOTES),
    ]
}

pub(crate) struct World {
    pub(crate) stage: Stage,
    pub(crate) client: Client,
    pub(crate) cluster: Cluster,
    pub(crate) meter: Meter,
    chart: Arc<Chart>,
    recorded: RecordedCharts,
}

/// What was asked of the cluster, and after how many writes the way to it ends.
#[derive(Clone, Default)]
pub(crate) struct Meter {
    asked: Arc<Mutex<Vec<String>>>,
    writes: Arc<AtomicUsize>,
    most_writes: Arc<AtomicUsize>,
}

impl Meter {
    /// Takes what was asked since the last time, but for what kinds there are.
    pub(crate) fn take(&self) -> Vec<String> {
        let asked = std::mem::take(&mut *self.asked.lock().expect("no test panicked"));
        let is_discovery = |request: &String| {
            let path = request.split(' ').nth(1).unwrap_or_default();
            path == "/api/v1" || (path.starts_with("/apis/") && path.matches('/').count() == 3)
        };
        asked
            .into_iter()
            .filter(|request| !is_discovery(request))
            .collect()
    }

    /// Lets so many writes through; the last one is done, but never answered.
    pub(crate) fn die_after(&self, writes: usize) {
        self.writes.store(0, Ordering::SeqCst);
        self.most_writes.store(writes, Ordering::SeqCst);
    }
}

impl World {
    pub(crate) async fn new() -> Self {
        let stage = Stage::in_memory(stage::Options::default())
            .await
            .expect("a stage");
        let direct = Client::new(stage.service(), "default");
        let meter = Meter::default();
        meter.die_after(usize::MAX);
        let client = metered(&direct, &meter);
        let files = files().into_iter().map(|(name, content)| File {
            name: name.to_owned(),
            data: Bytes::from_static(content.as_bytes()),
        });
        let chart = loader::load_files(files.collect(), &mut |_| {}).expect("a chart");
        let world = Self {
            cluster: Cluster::new(client, MANAGER),
            client: direct,
            stage,
            meter,
            chart,
            recorded: RecordedCharts::default(),
        };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        world.create(namespace).await;
        world
    }

    pub(crate) fn id(name: &str) -> ReleaseId {
        ReleaseId::new(NAMESPACE, name)
    }

    pub(crate) fn releases(&self, name: &str) -> Releases {
        self.releases_with(name, Options::default())
    }

    pub(crate) fn releases_with(&self, name: &str, options: Options) -> Releases {
        Releases::new(&self.cluster, &Self::id(name), options)
    }

    /// A way to the same cluster that knows nothing yet, as after a restart.
    pub(crate) fn restarted(&self, name: &str) -> Releases {
        self.meter.die_after(usize::MAX);
        let cluster = Cluster::new(metered(&self.client, &self.meter), MANAGER);
        Releases::new(&cluster, &Self::id(name), Options::default())
    }

    pub(crate) fn prepare(&self, name: &str, version: i64, values: &Value) -> Prepared {
        let rendered = render(&self.chart, &Self::id(name), version, values, Rc::new(NoCluster));
        let recorded = self.recorded.of(&rendered.chart);
        prepared(rendered, recorded, &Self::id(name), version, values)
    }

    pub(crate) async fn install(&self, name: &str, values: Value) -> Result<Outcome, Failure> {
        let prepared = self.prepare(name, 1, &values);
        self.releases(name).install(prepared).await
    }

    pub(crate) async fn upgrade(&self, name: &str, values: Value) -> Result<Outcome, Failure> {
        let standing = self.standing(name).await;
        let prepared = self.prepare(name, standing.next_version(), &values);
        self.releases(name)
            .upgrade(standing, prepared, &BTreeSet::new())
            .await
    }

    pub(crate) async fn standing(&self, name: &str) -> Standing {
        let standing = self.releases(name).records().standing().await;
        standing.expect("records").expect("a release")
    }

    /// The states of the revisions, as their records and labels say.
    pub(crate) async fn history(&self, name: &str) -> Vec<String> {
        let records = Cluster::new(self.client.clone(), MANAGER);
        let records = release::Records::new(&records, &Self::id(name));
        let history = records.history().await.expect("a history");
        let mut told = Vec::new();
        for revision in history.revisions() {
            let record: Record = records
                .read(revision.version)
                .await
                .expect("a record")
                .expect("there");
            assert_eq!(record.release.info.status, revision.status, "the label");
            told.push(format!(
                "{} {}: {}",
                revision.version, revision.status, record.release.info.description
            ));
        }
        told
    }

    fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        if matches!(kind, "Namespace" | "CustomResourceDefinition" | "ClusterRole") {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
        }
    }

    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Value> {
        let found = self
            .api(api_version, kind)
            .get_opt(name)
            .await
            .expect("an answer");
        found.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    pub(crate) async fn delete(&self, api_version: &str, kind: &str, name: &str) {
        let deleted = self
            .api(api_version, kind)
            .delete(name, &DeleteParams::default())
            .await;
        deleted.expect("deleted");
    }

    pub(crate) async fn create(&self, object: Value) {
        let (api_version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
        let api = self.api(api_version.expect("a version"), kind.expect("a kind"));
        let parameters = PostParams {
            field_manager: Some("test".to_owned()),
            ..PostParams::default()
        };
        let object = serde_json::from_value(object).expect("an object");
        api.create(&parameters, &object).await.expect("made");
    }

    /// Changes an object as kubectl edit does.
    pub(crate) async fn edit(&self, api_version: &str, kind: &str, name: &str, patch: Value) {
        let parameters = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        let api = self.api(api_version, kind);
        api.patch(name, &parameters, &Patch::Merge(&patch))
            .await
            .expect("edited");
    }

    /// The names of the objects of a release that are there, and their marks are right.
    pub(crate) async fn objects(&self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (api_version, kind, suffix) in [
            ("v1", "ServiceAccount", ""),
            ("v1", "ConfigMap", "-cm"),
            ("v1", "ConfigMap", "-extra"),
            ("v1", "ConfigMap", "-kept"),
            ("v1", "Service", "-svc"),
            ("apps/v1", "Deployment", "-web"),
        ] {
            let object = self.get(api_version, kind, &format!("{name}{suffix}")).await;
            let Some(object) = object else { continue };
            let id = apply::object::ObjectId::of(&object);
            if release::identity::check(&object, &id, &Self::id(name)).is_ok() {
                found.push(format!("{kind}{suffix}"));
            }
        }
        found
    }
}

/// Renders a chart for a revision of a release.
pub(crate) fn render(
    chart: &Arc<Chart>,
    id: &ReleaseId,
    version: i64,
    values: &Value,
    lookup: Rc<dyn Lookup>,
) -> Installation {
    let values = values.as_object().cloned().unwrap_or_default();
    let source = SeededSource::from_number(1, "2026-01-01T00:00:00Z".parse().expect("a time"));
    let operation = if version == 1 {
        Operation::Install
    } else {
        Operation::Upgrade
    };
    let request = InstallationRequest {
        chart,
        values: &values,
        release: ReleaseContext {
            name: id.name.clone(),
            namespace: id.namespace.clone(),
            operation,
            revision: version,
        },
        capabilities: &Capabilities::default(),
        sub_notes: false,
        skip_schema_validation: false,
        strict: false,
    };
    let host = Host::new(Rc::new(source), lookup);
    installation::plan(&Engine::new(), &request, &host, None, &mut |_| {}).expect("a render")
}

/// Makes a release of a render.
pub(crate) fn prepared(
    rendered: Installation,
    chart: RecordedChart,
    id: &ReleaseId,
    version: i64,
    values: &Value,
) -> Prepared {
    let config = values.as_object().cloned().unwrap_or_default();
    let mut release = Release::with_chart(&id.name, &id.namespace, version, chart, &config);
    release.manifest = rendered.manifest();
    release.hooks = rendered.hooks;
    release.info.notes = rendered.notes;
    Prepared::new(release).expect("objects")
}

fn metered(inner: &Client, meter: &Meter) -> Client {
    let (inner, meter) = (inner.clone(), meter.clone());
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (inner, meter) = (inner.clone(), meter.clone());
        async move {
            let is_write = request.method() != http::Method::GET;
            let line = format!("{} {}", request.method(), request.uri().path());
            let most = meter.most_writes.load(Ordering::SeqCst);
            let done = meter.writes.load(Ordering::SeqCst);
            if done >= most {
                return Err(tower::BoxError::from("killed"));
            }
            meter.asked.lock().expect("no test panicked").push(line);
            let dies = is_write && meter.writes.fetch_add(1, Ordering::SeqCst) + 1 >= most;
            let answer = inner.send(request).await.map_err(tower::BoxError::from);
            if dies {
                return Err(tower::BoxError::from("killed"));
            }
            answer
        }
    });
    Client::new(service, "default")
}
