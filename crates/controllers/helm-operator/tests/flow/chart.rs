//! The chart of the tests.

pub(crate) const CHART: &str = "apiVersion: v2\nname: stack\nversion: VERSION\n";

pub(crate) const VALUES: &str = "message: hello\nreplicas: 1\nrandom: false\npolicy: false\nfail: \"\"\n";

pub(crate) const SCHEMA: &str = r#"{"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 5},
    "message": {"type": "string"}}}"#;

pub(crate) const TEMPLATE: &str = r#"{{- with .Values.fail }}{{ fail . }}{{ end }}
{{- with .Values.needs }}{{ if not (lookup "v1" "ConfigMap" $.Release.Namespace .) }}{{ fail "it isn't there" }}{{ end }}{{ end }}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-config
data:
  message: {{ .Values.message | quote }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
{{- if .Values.labelled }}
  labels: {helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}}
{{- end }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app: {{ .Release.Name }}}
  template:
    metadata:
      labels:
        app: {{ .Release.Name }}
{{- if .Values.labelled }}
        helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
      annotations: {{ .Values.annotations | default dict | toJson }}
    spec:
      nodeSelector: {{ .Values.nodeSelector | default dict | toJson }}
      containers:
      - name: web
        image: {{ .Values.image | default "nginx:1.27" }}
        envFrom:
        - configMapRef: {name: {{ .Release.Name }}-config}
        resources:
          limits: {cpu: 1}
{{- if .Values.random }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-secret
stringData:
  password: {{ randAlphaNum 16 }}
{{- end }}
{{- if .Values.policy }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .Release.Name }}-policy
spec:
  podSelector: {}
{{- end }}
{{- if .Values.widget }}
---
apiVersion: example.org/v1
kind: Widget
metadata:
  name: {{ .Release.Name }}-widget
{{- end }}
"#;
