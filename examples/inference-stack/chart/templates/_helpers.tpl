{{/* The name that every object starts with; names of Services may not have more than 63 characters. */}}
{{- define "inference-stack.fullname" -}}
{{- default (ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) (contains .Chart.Name .Release.Name)) .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* Labels that never change, by which Services and Deployments find their pods. Takes the root and a component. */}}
{{- define "inference-stack.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* All labels of an object. Takes the root and a component. */}}
{{- define "inference-stack.labels" -}}
{{ include "inference-stack.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* An image's reference. Takes the root and an image. */}}
{{- define "inference-stack.image" -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/*
An application with its defaults filled in, as YAML, because a template can only give text. Takes the root and a name.
mergeOverwrite changes its first argument, so it gets a copy of the defaults.
*/}}
{{- define "inference-stack.application" -}}
{{- $own := index .root.Values.applications .name | default dict -}}
{{- mergeOverwrite (deepCopy .root.Values.applicationDefaults) $own | toYaml -}}
{{- end }}
