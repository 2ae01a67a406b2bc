//! How the components are watched: what Prometheus reads, when it alerts, and a dashboard.

use serde_json::{Value, json};

use crate::component::{Component, MANAGED_BY, PART_OF};
use crate::settings::Settings;
use crate::workloads::metadata;

const API_VERSION: &str = "monitoring.coreos.com/v1";

/// The name of the alerts and of the dashboard.
const NAME: &str = "baton";

/// The label by which Grafana's sidecar finds dashboards.
const DASHBOARD_LABEL: &str = "grafana_dashboard";

/// When somebody is told of something.
struct Alert {
    name: &'static str,
    expression: &'static str,
    /// How long it has to be so.
    lasts: &'static str,
    severity: &'static str,
    summary: &'static str,
    /// What to do.
    next: &'static str,
}

const ALERTS: [Alert; 6] = [
    Alert {
        name: "BatonDown",
        expression: "up{job=~\"catalogd-service|operator-controller-service|olm-operator-metrics\"} == 0",
        lasts: "5m",
        severity: "critical",
        summary: "{{ $labels.job }} on {{ $labels.instance }} doesn't answer",
        next: "kubectl get pods -n {{ $labels.namespace }}; baton deploy --check says what the cluster lacks",
    },
    Alert {
        name: "BatonReconcileErrors",
        expression: "sum by (controller) (rate(controller_runtime_reconcile_errors_total[10m])) > 0.1",
        lasts: "15m",
        severity: "warning",
        summary: "{{ $labels.controller }} fails again and again",
        next: "baton status and baton get catalogs show which object it is about, and why",
    },
    Alert {
        name: "BatonReconcilePanics",
        expression: "increase(controller_runtime_reconcile_panics_total[10m]) > 0",
        lasts: "0m",
        severity: "critical",
        summary: "{{ $labels.controller }} met a defect",
        next: "the log of the pod says where; report it",
    },
    Alert {
        name: "BatonCatalogRequestsSlow",
        expression: "histogram_quantile(0.99, sum by (le) (rate(catalogd_http_request_duration_seconds_bucket[10m]))) > 2",
        lasts: "15m",
        severity: "warning",
        summary: "one of a hundred requests for catalog content takes longer than 2 s",
        next: "look at the processor and network of catalogd-controller-manager; add replicas",
    },
    Alert {
        name: "BatonCatalogSourceNotReady",
        expression: "catalogsource_ready == 0",
        lasts: "15m",
        severity: "warning",
        summary: "CatalogSource {{ $labels.namespace }}/{{ $labels.name }} can't be read",
        next: "its status.connectionState and status.message say why",
    },
    Alert {
        name: "BatonOperatorNotInstalled",
        expression: "csv_abnormal == 1",
        lasts: "15m",
        severity: "warning",
        summary: "ClusterServiceVersion {{ $labels.namespace }}/{{ $labels.name }} is {{ $labels.phase }}: {{ $labels.reason }}",
        next: "kubectl describe csv {{ $labels.name }} -n {{ $labels.namespace }}",
    },
];

/// A drawing of the dashboard.
struct Panel {
    title: &'static str,
    expression: &'static str,
    legend: &'static str,
    unit: &'static str,
}

const PANELS: [Panel; 8] = [
    Panel {
        title: "Reconciliations per second",
        expression: "sum by (controller, result) (rate(controller_runtime_reconcile_total[5m]))",
        legend: "{{controller}} {{result}}",
        unit: "ops",
    },
    Panel {
        title: "Failed reconciliations per second",
        expression: "sum by (controller) (rate(controller_runtime_reconcile_errors_total[5m]))",
        legend: "{{controller}}",
        unit: "ops",
    },
    Panel {
        title: "How long a reconciliation takes (99 of 100)",
        expression: "histogram_quantile(0.99, sum by (controller, le) (rate(controller_runtime_reconcile_time_seconds_bucket[5m])))",
        legend: "{{controller}}",
        unit: "s",
    },
    Panel {
        title: "Requests for catalog content per second",
        expression: "sum by (code) (rate(catalogd_http_request_duration_seconds_count[5m]))",
        legend: "{{code}}",
        unit: "reqps",
    },
    Panel {
        title: "How long a request for catalog content takes (99 of 100)",
        expression: "histogram_quantile(0.99, sum by (le) (rate(catalogd_http_request_duration_seconds_bucket[5m])))",
        legend: "99 of 100",
        unit: "s",
    },
    Panel {
        title: "OLM v0: operators that aren't installed",
        expression: "csv_abnormal",
        legend: "{{namespace}}/{{name}} {{phase}} {{reason}}",
        unit: "short",
    },
    Panel {
        title: "OLM v0: Subscriptions, InstallPlans, catalogs",
        expression: "{__name__=~\"subscription_count|install_plan_count|catalog_source_count|csv_count\"}",
        legend: "{{__name__}}",
        unit: "short",
    },
    Panel {
        title: "OLM v0: how long resolving takes",
        expression: "olm_resolution_duration_seconds",
        legend: "{{outcome}} {{quantile}}",
        unit: "s",
    },
];

/// Everything that alerts and the dashboard ask for.
pub fn expressions() -> impl Iterator<Item = &'static str> {
    let alerts = ALERTS.iter().map(|alert| alert.expression);
    alerts.chain(PANELS.iter().map(|panel| panel.expression))
}

/// What Prometheus reads, when it alerts, and the dashboard.
pub fn of(settings: &Settings) -> Vec<Value> {
    let mut objects: Vec<Value> = settings
        .components()
        .map(|component| service_monitor(settings, component))
        .collect();
    objects.push(alerts(settings));
    objects.push(dashboard(settings));
    objects
}

fn service_monitor(settings: &Settings, component: Component) -> Value {
    let secret = component.certificate_secret();
    json!({
        "apiVersion": API_VERSION, "kind": "ServiceMonitor",
        "metadata": metadata(settings, component, component.deployment()),
        "spec": {
            "endpoints": [{
                "port": "metrics", "path": crate::roles::METRICS_PATH, "scheme": "https",
                "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "tlsConfig": {
                    "ca": {"secret": {"name": secret, "key": "ca.crt"}},
                    "serverName": component.hosts(settings.namespace_of(component))[0],
                },
            }],
            "selector": {"matchLabels": {"app.kubernetes.io/name": component.name()}},
        },
    })
}

fn alerts(settings: &Settings) -> Value {
    let rules: Vec<Value> = ALERTS
        .iter()
        .map(|alert| {
            json!({
                "alert": alert.name, "expr": alert.expression, "for": alert.lasts,
                "labels": {"severity": alert.severity},
                "annotations": {"summary": alert.summary, "description": alert.next},
            })
        })
        .collect();
    json!({
        "apiVersion": API_VERSION, "kind": "PrometheusRule",
        "metadata": shared_metadata(settings, json!({})),
        "spec": {"groups": [{"name": NAME, "rules": rules}]},
    })
}

fn dashboard(settings: &Settings) -> Value {
    let panels = PANELS.iter().zip(0u32..).map(|(panel, index)| {
        json!({
            "id": index + 1, "type": "timeseries", "title": panel.title,
            "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "gridPos": {"h": 8, "w": 12, "x": index % 2 * 12, "y": index / 2 * 8},
            "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
            "targets": [{"expr": panel.expression, "legendFormat": panel.legend, "refId": "A"}],
        })
    });
    let dashboard = json!({
        "uid": NAME, "title": "baton: OLM", "tags": ["olm"], "schemaVersion": 39, "refresh": "1m",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]},
        "panels": panels.collect::<Vec<Value>>(),
    });
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": shared_metadata(settings, json!({DASHBOARD_LABEL: "1"})),
        "data": {"baton.json": format!("{dashboard:#}\n")},
    })
}

/// The metadata of what is about all components.
fn shared_metadata(settings: &Settings, mut labels: Value) -> Value {
    labels[PART_OF.0] = PART_OF.1.into();
    labels[MANAGED_BY.0] = MANAGED_BY.1.into();
    json!({"name": NAME, "namespace": settings.namespace, "labels": labels})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monitor_finds_the_service_and_its_port() {
        let settings = Settings::default();
        for component in settings.components() {
            let monitor = service_monitor(&settings, component);
            let service = crate::workloads::service(&settings, component);
            let wanted = monitor["spec"]["selector"]["matchLabels"]
                .as_object()
                .expect("labels");
            assert!(
                wanted
                    .iter()
                    .all(|(key, value)| service["metadata"]["labels"][key] == *value)
            );
            let ports = service["spec"]["ports"].as_array().expect("ports");
            assert!(
                ports
                    .iter()
                    .any(|port| port["name"] == monitor["spec"]["endpoints"][0]["port"])
            );
        }
    }
}
