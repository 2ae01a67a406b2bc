//! The definitions of Kubernetes' built-in kinds as one compact piece of data for the `schema` crate.
//!
//! They come from the Python package `kubernetes-validate` (Apache-2.0), which carries what Kubernetes publishes, bent
//! for validators of JSON Schema: fields that may be absent may be null, and `apiVersion` and `kind` are enumerations.
//! This undoes the bending, adds the defaults that a server's `/openapi/v3` has, and writes two files:
//! `definitions.zst`, one line for each definition (name, kind, how Go holds its fields, schema without descriptions,
//! separated by tabs), and //! `descriptions.zst`, one line for each definition (name, descriptions by field; the definition's own has no name).

mod defaults;
mod enumerations;
mod fields;

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

/// The release of the package that holds the definitions.
const PACKAGE: &str = "kubernetes-validate==1.37.0";

/// Where the package keeps the definitions of the Kubernetes release that `stage` speaks.
const DEFINITIONS: &str = "kubernetes_validate/kubernetes-json-schema/v1.36.0-local/_definitions.json";

/// The highest level that pays: the data is written once and read at every start.
const COMPRESSION_LEVEL: i32 = 19;

/// Writes the data anew, from the given file of definitions or else from the package, and from the given file of fields
/// or else from the types in Go.
pub(crate) fn write(source: Option<&str>, fields: Option<&str>) -> Result<(), Box<dyn Error>> {
    let text = match source {
        Some(path) => fs::read_to_string(path)?,
        None => download()?,
    };
    let document: Value = serde_json::from_str(&text)?;
    let definitions = document
        .get("$defs")
        .and_then(Value::as_object)
        .ok_or("the file has no `$defs`: it isn't a _definitions.json of kubernetes-validate")?;
    let held = fields::read(fields)?;
    let exceptions = defaults::Exceptions::read()?;
    let enumerations = enumerations::Enumerations::read()?;
    let mut shapes = String::new();
    let mut descriptions = String::new();
    for (name, definition) in definitions {
        let mut shape = unbend(definition)?;
        complete(name, &mut shape);
        defaults::add(name, &mut shape, &exceptions);
        let fields = held.get(name).map_or("", String::as_str);
        enumerations.add(name, fields, &mut shape);
        let told = take_descriptions(&mut shape);
        let kind = take_kind(&mut shape);
        writeln!(shapes, "{name}\t{kind}\t{fields}\t{shape}")?;
        writeln!(descriptions, "{name}\t{}", serde_json::to_string(&told)?)?;
    }
    exceptions.all_used()?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cluster/schema/data");
    fs::create_dir_all(&folder)?;
    for (file, content) in [("definitions.zst", shapes), ("descriptions.zst", descriptions)] {
        let compressed = zstd::encode_all(content.as_bytes(), COMPRESSION_LEVEL)?;
        println!(
            "{file}: {} definitions, {} bytes, {} packed",
            definitions.len(),
            content.len(),
            compressed.len()
        );
        fs::write(folder.join(file), compressed)?;
    }
    Ok(())
}

fn download() -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    run(Command::new("python3")
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--dest",
        ])
        .arg(folder.path())
        .arg(PACKAGE))?;
    let wheel: PathBuf = fs::read_dir(folder.path())?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or("pip downloaded no wheel")?;
    run(Command::new("python3")
        .args(["-m", "zipfile", "--extract"])
        .arg(wheel)
        .arg(folder.path()))?;
    Ok(fs::read_to_string(folder.path().join(DEFINITIONS))?)
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}

/// Returns a schema as `/openapi/v3` has it, but for defaults.
fn unbend(bent: &Value) -> Result<Value, Box<dyn Error>> {
    let Some(fields) = bent.as_object() else {
        return Ok(bent.clone());
    };
    let mut straight = Map::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("type", Value::Array(types)) => {
                let own = types
                    .iter()
                    .find(|name| *name != "null")
                    .ok_or("a type that is only null")?;
                straight.insert(key.clone(), own.clone());
            }
            ("$ref", Value::String(target)) => {
                let name = target
                    .strip_prefix("#/$defs/")
                    .ok_or_else(|| format!("unknown reference {target}"))?;
                straight.insert(
                    "allOf".into(),
                    json!([{ "$ref": format!("#/components/schemas/{name}") }]),
                );
            }
            ("properties", Value::Object(properties)) => {
                let mut fields = Map::new();
                for (name, property) in properties {
                    let mut property = unbend(property)?;
                    if let (true, Some(fields)) = (
                        matches!(name.as_str(), "apiVersion" | "kind"),
                        property.as_object_mut(),
                    ) {
                        fields.remove("enum");
                    }
                    fields.insert(name.clone(), property);
                }
                straight.insert(key.clone(), Value::Object(fields));
            }
            ("items" | "additionalProperties", inner) => {
                straight.insert(key.clone(), unbend(inner)?);
            }
            ("oneOf", Value::Array(alternatives)) => {
                let alternatives = alternatives.iter().map(unbend).collect::<Result<Vec<_>, _>>()?;
                straight.insert(key.clone(), Value::Array(alternatives));
            }
            _ => {
                straight.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(Value::Object(straight))
}

/// Restores the two definitions that the package replaces by its own.
fn complete(name: &str, shape: &mut Value) {
    match name {
        "io.k8s.apimachinery.pkg.util.intstr.IntOrString" => {
            *shape = json!({
                "description": "A whole number of 32 bits, or a string such as a name or a percentage.",
                "format": "int-or-string",
                "oneOf": [{ "type": "integer" }, { "type": "string" }],
            });
        }
        "io.k8s.apimachinery.pkg.api.resource.Quantity" => {
            *shape = json!({
                "description": "An exact amount: a decimal number with an optional suffix. The suffixes are n, u, m, \
                    k, M, G, T, P and E for powers of 1000, Ki, Mi, Gi, Ti, Pi and Ei for powers of 1024, and e or E \
                    with a power of ten. It is written back in its shortest exact form with the same kind of suffix.",
                "oneOf": [{ "type": "string" }, { "type": "number" }],
            });
        }
        _ => {}
    }
}

/// Takes the descriptions out of a definition: its own and those of its fields.
fn take_descriptions(shape: &mut Value) -> BTreeMap<String, Value> {
    let mut told = BTreeMap::new();
    let Some(fields) = shape.as_object_mut() else {
        return told;
    };
    if let Some(own) = fields.remove("description") {
        told.insert(String::new(), own);
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (name, property) in properties {
            if let Some(text) = property
                .as_object_mut()
                .and_then(|property| property.remove("description"))
            {
                told.insert(name.clone(), text);
            }
        }
    }
    told
}

/// Takes the kind out of a definition, as `group/version/kind`. Definitions that belong to every group at once, such as
/// `DeleteOptions`, keep theirs: which of them are told depends on the document they are in.
fn take_kind(shape: &mut Value) -> String {
    let Some(fields) = shape.as_object_mut() else {
        return String::new();
    };
    let kinds = fields
        .get("x-kubernetes-group-version-kind")
        .and_then(Value::as_array)
        .map(Vec::as_slice);
    let Some([only]) = kinds else { return String::new() };
    let part = |key: &str| only.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = format!("{}/{}/{}", part("group"), part("version"), part("kind"));
    fields.remove("x-kubernetes-group-version-kind");
    kind
}
