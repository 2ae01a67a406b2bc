//! A release as JSON, field by field in Go's order.

use bytes::Bytes;
use goyaml::json::Escape;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{Extra, Info, RecordedChart, Release, Status};
use crate::manifest::{Hook, HookEvent, HookExecution};

/// Writes a value as Go's JSON does.
fn text(value: &(impl Serialize + ?Sized)) -> String {
    // The data of a release is made of strings, numbers from JSON, lists and maps, all of which can be written.
    goyaml::json::to_string(value, Escape::Html).unwrap_or_else(|_| "null".to_owned())
}

/// Writes a value as Go's JSON does, to be kept as it is.
pub(super) fn raw(value: &(impl Serialize + ?Sized)) -> Box<RawValue> {
    RawValue::from_string(text(value)).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Writes an object field by field.
struct Object {
    out: String,
}

impl Object {
    fn new() -> Self {
        Self { out: "{".to_owned() }
    }

    fn raw(&mut self, name: &str, value: &str) {
        if self.out.len() > 1 {
            self.out.push(',');
        }
        self.out.push_str(&text(name));
        self.out.push(':');
        self.out.push_str(value);
    }

    fn text(&mut self, name: &str, value: &str) {
        self.raw(name, &text(value));
    }

    /// Writes a text unless it is empty, as `omitempty` does.
    fn text_unless_empty(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.text(name, value);
        }
    }

    fn extra(&mut self, extra: &Extra) {
        for (name, value) in extra {
            self.raw(name, value.get());
        }
    }

    fn end(mut self) -> String {
        self.out.push('}');
        self.out
    }
}

/// Writes a release as JSON.
pub(super) fn write(release: &Release) -> String {
    let (before, after) = around_chart(release);
    format!("{before}{}{after}", write_chart(&release.chart))
}

/// Writes what stands before and after the chart in the JSON of a release.
pub(super) fn around_chart(release: &Release) -> (String, String) {
    let mut before = Object::new();
    before.text_unless_empty("name", &release.name);
    before.raw("info", &write_info(&release.info));
    before.raw("chart", "");
    let mut after = Object::new();
    if let Some(config) = &release.config
        && !matches!(config.get(), "null" | "{}")
    {
        after.raw("config", config.get());
    }
    after.text_unless_empty("manifest", &release.manifest);
    if !release.hooks.is_empty() {
        let hooks: Vec<String> = release.hooks.iter().map(write_hook).collect();
        after.raw("hooks", &format!("[{}]", hooks.join(",")));
    }
    if release.version != 0 {
        after.raw("version", &release.version.to_string());
    }
    after.text_unless_empty("namespace", &release.namespace);
    after.extra(&release.extra);
    let after = after.end();
    // The fields go on where those before the chart ended.
    let after = match after.strip_prefix('{') {
        Some("}") | None => "}".to_owned(),
        Some(fields) => format!(",{fields}"),
    };
    (before.out, after)
}

fn write_info(info: &Info) -> String {
    let mut object = Object::new();
    for (name, time) in [
        ("first_deployed", &info.first_deployed),
        ("last_deployed", &info.last_deployed),
        ("deleted", &info.deleted),
    ] {
        if let Some(time) = time {
            object.text(name, time);
        }
    }
    object.text_unless_empty("description", &info.description);
    object.text_unless_empty("status", info.status.as_str());
    object.text_unless_empty("notes", &info.notes);
    object.extra(&info.extra);
    object.end()
}

pub(super) fn write_chart(chart: &RecordedChart) -> String {
    let mut object = Object::new();
    if let Some(metadata) = chart.metadata() {
        object.raw("metadata", metadata.get());
    }
    for (name, value) in chart.parts() {
        object.raw(name, value.get());
    }
    object.end()
}

fn write_hook(hook: &Hook) -> String {
    let mut object = Object::new();
    object.text_unless_empty("name", &hook.name);
    object.text_unless_empty("kind", &hook.kind);
    object.text_unless_empty("path", &hook.path);
    object.text_unless_empty("manifest", &String::from_utf8_lossy(&hook.manifest));
    if !hook.events.is_empty() {
        let names: Vec<&str> = hook.events.iter().map(HookEvent::as_str).collect();
        object.raw("events", &text(&names));
    }
    let mut last_run = Object::new();
    for (name, time) in [
        ("started_at", &hook.last_run.started_at),
        ("completed_at", &hook.last_run.completed_at),
    ] {
        if let Some(time) = time {
            last_run.text(name, time);
        }
    }
    last_run.text("phase", &hook.last_run.phase);
    object.raw("last_run", &last_run.end());
    if hook.weight != 0 {
        object.raw("weight", &hook.weight.to_string());
    }
    if !hook.delete_policies.is_empty() {
        object.raw("delete_policies", &text(&hook.delete_policies));
    }
    for (name, value) in &hook.extra {
        object.raw(name, value.get());
    }
    object.end()
}

/// The fields of an object, each as JSON.
struct Fields(Extra);

impl Fields {
    fn read(json: &str) -> Result<Self, serde_json::Error> {
        Ok(Self(
            serde_json::from_str::<Option<Extra>>(json)?.unwrap_or_default(),
        ))
    }

    fn raw(&mut self, name: &str) -> Option<Box<RawValue>> {
        self.0.remove(name)
    }

    /// A field of a type; `null` is its default.
    fn get<T: serde::de::DeserializeOwned + Default>(&mut self, name: &str) -> Result<T, serde_json::Error> {
        match self.raw(name) {
            Some(raw) => Ok(serde_json::from_str::<Option<T>>(raw.get())?.unwrap_or_default()),
            None => Ok(T::default()),
        }
    }

    fn time(&mut self, name: &str) -> Result<Option<String>, serde_json::Error> {
        self.raw(name)
            .map(|raw| serde_json::from_str::<Option<String>>(raw.get()))
            .transpose()
            .map(Option::flatten)
    }
}

/// Reads a release from JSON.
pub(super) fn read(json: &str) -> Result<Release, serde_json::Error> {
    let mut fields = Fields::read(json)?;
    let info = fields
        .raw("info")
        .map(|raw| read_info(raw.get()))
        .transpose()?
        .unwrap_or_default();
    let chart = fields
        .raw("chart")
        .map(|raw| read_chart(raw.get()))
        .transpose()?
        .unwrap_or_default();
    let hooks: Vec<Option<Box<RawValue>>> = fields.get("hooks")?;
    Ok(Release {
        name: fields.get("name")?,
        info,
        chart,
        config: fields.raw("config"),
        manifest: fields.get("manifest")?,
        hooks: hooks
            .iter()
            .flatten()
            .map(|raw| read_hook(raw.get()))
            .collect::<Result<_, _>>()?,
        version: fields.get("version")?,
        namespace: fields.get("namespace")?,
        extra: fields.0,
    })
}

fn read_info(json: &str) -> Result<Info, serde_json::Error> {
    let mut fields = Fields::read(json)?;
    Ok(Info {
        first_deployed: fields.time("first_deployed")?,
        last_deployed: fields.time("last_deployed")?,
        deleted: fields.time("deleted")?,
        description: fields.get("description")?,
        status: Status::from_name(&fields.get::<String>("status")?),
        notes: fields.get("notes")?,
        extra: fields.0,
    })
}

fn read_chart(json: &str) -> Result<RecordedChart, serde_json::Error> {
    let mut fields = Fields::read(json)?;
    let metadata = fields.raw("metadata");
    let mut rest = Vec::new();
    for name in ["lock", "templates", "values", "schema", "files"] {
        rest.extend(fields.raw(name).map(|value| (name.to_owned(), value)));
    }
    rest.extend(fields.0);
    Ok(RecordedChart::of_parts(metadata, rest))
}

fn read_hook(json: &str) -> Result<Hook, serde_json::Error> {
    let mut fields = Fields::read(json)?;
    let last_run = match fields.raw("last_run") {
        None => HookExecution::default(),
        Some(raw) => {
            let mut fields = Fields::read(raw.get())?;
            HookExecution {
                started_at: fields.time("started_at")?,
                completed_at: fields.time("completed_at")?,
                phase: fields.get("phase")?,
            }
        }
    };
    Ok(Hook {
        name: fields.get("name")?,
        kind: fields.get("kind")?,
        path: fields.get("path")?,
        manifest: Bytes::from(fields.get::<String>("manifest")?),
        events: fields
            .get::<Vec<String>>("events")?
            .into_iter()
            .map(HookEvent::from_record)
            .collect(),
        last_run,
        weight: fields.get("weight")?,
        delete_policies: fields.get("delete_policies")?,
        extra: fields.0,
    })
}
