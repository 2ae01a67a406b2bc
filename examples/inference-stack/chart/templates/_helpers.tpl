{{/* The name that every object starts with; names of Services may not have more than 63 characters. */}}
{{- define "inference-stack.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- default (ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name)) .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
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

{{/*
The labels of pods. Without the chart's version: a new version of the chart that changes nothing else restarts no pod.
Takes the root and a component.
*/}}
{{- define "inference-stack.podLabels" -}}
{{ include "inference-stack.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* An image's reference. Takes the root and an image. */}}
{{- define "inference-stack.image" -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* The name of the account that pods run under. */}}
{{- define "inference-stack.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "inference-stack.fullname" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end }}

{{/*
An application with everything from the template filled in, as YAML, because a template can only give text. Takes the
root and a name. mergeOverwrite changes its first argument, so it gets a copy. A volume has one source, so an
application's own replaces the template's instead of being merged with it.
*/}}
{{- define "inference-stack.application" -}}
{{- $own := index .root.Values.applications .name | default dict -}}
{{- $application := mergeOverwrite (deepCopy .root.Values.applicationTemplate) $own -}}
{{- with $own.modelsVolume }}{{ $_ := set $application "modelsVolume" . }}{{ end -}}
{{- $reader := $application.readerConfig -}}
{{- if not $reader.modelName }}{{ fail (printf "applications.%s.readerConfig.modelName must name a model" .name) }}{{ end -}}
{{- if not $reader.consumerGroup }}{{ $_ := set $reader "consumerGroup" .name }}{{ end -}}
{{- if not $reader.device }}{{ $_ := set $reader "device" (ternary "cuda" "cpu" (gt (int $application.accelerators) 0)) }}{{ end -}}
{{- $application | toYaml -}}
{{- end }}

{{/*
Settings with their keys in snake case, one on each line. Numbers are written without an exponent: in values they are
floats, in a custom resource they are not.
*/}}
{{- define "inference-stack.settings" -}}
{{- range $key, $value := . }}
{{- if kindIs "float64" $value }}
{{ snakecase $key }}: {{ if eq (floor $value) $value }}{{ int64 $value }}{{ else }}{{ $value }}{{ end }}
{{- else }}
{{ snakecase $key }}: {{ toJson $value }}
{{- end }}
{{- end }}
{{- end }}

{{/* What the gateway reads when it starts. */}}
{{- define "inference-stack.gatewayConfig" -}}
listen: ":8080"
{{- include "inference-stack.settings" .Values.gateway.config }}
applications:
{{- range $name, $_ := .Values.applications }}
{{- $application := include "inference-stack.application" (dict "root" $ "name" $name) | fromYaml }}
  - name: {{ $name }}
    model: {{ $application.readerConfig.modelName | quote }}
    consumer_group: {{ $application.readerConfig.consumerGroup | quote }}
    address: http://{{ include "inference-stack.fullname" $ }}-{{ $name }}:8000
{{- else }}
  []
{{- end }}
{{- end }}

{{/* What an application's model server reads when it starts. Takes the root, a name and the application. */}}
{{- define "inference-stack.readerConfig" -}}
reader: {{ .name }}
gateway: http://{{ include "inference-stack.fullname" .root }}-gateway:{{ .root.Values.gateway.service.port | int }}
{{- include "inference-stack.settings" .application.readerConfig }}
{{- end }}
