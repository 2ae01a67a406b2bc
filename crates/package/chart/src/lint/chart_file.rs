//! Checks of `Chart.yaml`.

use std::path::Path;

use gotemplate::format::quoted;
use serde_json::Value;
use version::{Constraint, Spelled};

use super::addresses::{is_email, is_request_url, is_url};
use super::{Findings, Severity, require};
use crate::compatibility::EDITION;
use crate::document;
use crate::go_error::system_text;
use crate::metadata::{API_VERSION_V1, API_VERSION_V2, Metadata, base_name};

const FILE: &str = "Chart.yaml";

pub(super) fn check(directory: &Path, findings: &mut Findings) {
    let path = directory.join(FILE);
    let is_directory = path.is_dir();
    findings.rule(
        Severity::Error,
        FILE,
        require(!is_directory, || "should be a file, not a directory".to_owned()),
    );
    let (metadata, plain) = match read(&path) {
        Ok(read) => read,
        Err(message) => {
            findings.rule(
                Severity::Error,
                FILE,
                Err(format!("unable to parse YAML\n\t{message}")),
            );
            return;
        }
    };
    let mut error = |outcome| findings.rule(Severity::Error, FILE, outcome);
    error(name(&metadata));
    error(api_version(&metadata));
    error(is_text(&plain, "version"));
    error(version(&metadata));
    error(is_text(&plain, "appVersion"));
    error(maintainers(&metadata));
    error(sources(&metadata));
    findings.rule(
        Severity::Info,
        FILE,
        require(!metadata.icon.is_empty(), || "icon is recommended".to_owned()),
    );
    let mut error = |outcome| findings.rule(Severity::Error, FILE, outcome);
    error(require(
        metadata.icon.is_empty() || is_request_url(&metadata.icon),
        || format!("invalid icon URL '{}'", metadata.icon),
    ));
    let is_v2 = metadata.api_version == API_VERSION_V2;
    error(require(metadata.chart_type.is_empty() || is_v2, || {
        format!(
            "chart type is not valid in apiVersion '{}'. It is valid in apiVersion 'v2'",
            metadata.api_version
        )
    }));
    let has_dependencies = metadata
        .dependencies
        .as_ref()
        .is_some_and(|list| !list.is_empty());
    error(require(!has_dependencies || is_v2, || {
        format!(
            "dependencies are not valid in the Chart file with apiVersion '{}'. They are valid in apiVersion 'v2'",
            metadata.api_version
        )
    }));
}

/// The file as metadata, and as plain data to see which types it really has.
fn read(path: &Path) -> Result<(Metadata, Value), String> {
    let failed = |operation: &str, error: &std::io::Error| {
        format!("{operation} {}: {}", path.display(), system_text(error))
    };
    let is_irregular =
        std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
    if is_irregular {
        return Err(format!("{} is not a regular file", path.display()));
    }
    let data = std::fs::read(path).map_err(|error| {
        let operation = if error.kind() == std::io::ErrorKind::IsADirectory {
            "read"
        } else {
            "open"
        };
        failed(operation, &error)
    })?;
    let plain = document::read(&data)?;
    let mut metadata = Metadata::default();
    metadata.decode(&plain).map_err(document::decoding_error)?;
    Ok((metadata, plain))
}

fn name(metadata: &Metadata) -> Result<(), String> {
    require(!metadata.name.is_empty(), || "name is required".to_owned())?;
    require(base_name(&metadata.name) == metadata.name, || {
        format!("chart name {} is invalid", quoted(&metadata.name))
    })
}

fn api_version(metadata: &Metadata) -> Result<(), String> {
    match metadata.api_version.as_str() {
        "" => Err("apiVersion is required. The value must be either \"v1\" or \"v2\"".to_owned()),
        API_VERSION_V1 | API_VERSION_V2 => Ok(()),
        other => Err(format!(
            "apiVersion '{other}' is not valid. The value must be either \"v1\" or \"v2\""
        )),
    }
}

fn is_text(plain: &Value, key: &str) -> Result<(), String> {
    let given = match plain.get(key) {
        None | Some(Value::String(_)) => return Ok(()),
        Some(Value::Null) => "<nil>",
        Some(Value::Bool(_)) => "bool",
        Some(Value::Number(_)) => "float64",
        Some(Value::Array(_)) => "[]interface {}",
        Some(Value::Object(_)) => "map[string]interface {}",
    };
    Err(format!("{key} should be of type string but it's of type {given}"))
}

fn version(metadata: &Metadata) -> Result<(), String> {
    let text = &metadata.version;
    require(!text.is_empty(), || "version is required".to_owned())?;
    let Ok(version) = Spelled::parse(text, EDITION) else {
        return Err(format!("version '{text}' is not a valid SemVer"));
    };
    let Ok(constraint) = Constraint::parse(">0.0.0-0", EDITION) else {
        return Ok(());
    };
    match constraint.validate(version.version()) {
        Ok(()) => Ok(()),
        Err(refusals) => refusals
            .first()
            .map_or(Ok(()), |refusal| Err(format!("version {refusal}"))),
    }
}

fn maintainers(metadata: &Metadata) -> Result<(), String> {
    for maintainer in &metadata.maintainers {
        require(!maintainer.name.is_empty(), || {
            "each maintainer requires a name".to_owned()
        })?;
        require(maintainer.email.is_empty() || is_email(&maintainer.email), || {
            format!(
                "invalid email '{}' for maintainer '{}'",
                maintainer.email, maintainer.name
            )
        })?;
        require(maintainer.url.is_empty() || is_url(&maintainer.url), || {
            format!(
                "invalid url '{}' for maintainer '{}'",
                maintainer.url, maintainer.name
            )
        })?;
    }
    Ok(())
}

fn sources(metadata: &Metadata) -> Result<(), String> {
    metadata
        .sources
        .iter()
        .find(|source| !is_request_url(source))
        .map_or(Ok(()), |source| Err(format!("invalid source URL '{source}'")))
}
