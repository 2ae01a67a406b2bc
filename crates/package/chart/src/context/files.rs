//! `.Files`: the chart's other files, with Helm's methods.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gotemplate::{Call, Failure, Function, List, Map, NamedType, Text, Type, Value};

use crate::chart::File;
use crate::context::glob::Glob;
use crate::functions::limits;

static FILES: NamedType = NamedType {
    name: "engine.files",
    method,
};

/// Makes `.Files` of a chart's files.
pub(crate) fn files_value(files: &[File]) -> Value {
    let entries = files
        .iter()
        .map(|file| {
            (
                Text::from(file.name.as_str()),
                Value::Bytes(Text::from(file.data.as_ref())),
            )
        })
        .collect();
    Value::Map(Map::of(Type::Bytes, entries).named(&FILES))
}

fn method(name: &str) -> Option<&'static Function> {
    METHODS.iter().find(|function| function.name == name)
}

static METHODS: [Function; 6] = [
    Function::new("Get", &[Type::String], get).fixed(),
    Function::new("GetBytes", &[Type::String], get_bytes).fixed(),
    Function::new("Glob", &[Type::String], glob).fixed(),
    Function::new("AsConfig", &[], as_config).heavy(),
    Function::new("AsSecrets", &[], as_secrets).heavy(),
    Function::new("Lines", &[Type::String], lines).fixed(),
];

/// The work of compiling a pattern, in steps, beside one for each file that is held to it.
const GLOB_WORK: u64 = 100;

/// The work of compiling a byte of a pattern.
const GLOB_WORK_PER_BYTE: u64 = 10;

fn receiver(call: &Call<'_, '_>) -> Map {
    call.receiver.as_map().cloned().unwrap_or_default()
}

fn content(call: &Call<'_, '_>) -> Option<Text> {
    match receiver(call).get(call.text(0)) {
        Some(Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    }
}

fn get(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    Ok(Value::String(content(call).unwrap_or_default()))
}

fn get_bytes(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    Ok(Value::Bytes(content(call).unwrap_or_default()))
}

fn glob(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let files = receiver(call);
    let pattern = call.text(0).len() as u64;
    call.charge(GLOB_WORK + pattern * GLOB_WORK_PER_BYTE + files.len() as u64)?;
    let glob = Glob::new(&call.string(0));
    let matching = files
        .borrow()
        .iter()
        .filter(|(name, _)| glob.matches(name))
        .map(|(name, content)| (name.clone(), content.clone()))
        .collect();
    Ok(Value::Map(Map::of(Type::Bytes, matching).named(&FILES)))
}

/// Writes the files as YAML, by the last part of their names.
fn as_yaml(call: &Call<'_, '_>, encode: fn(&Text) -> String) -> Result<Value, Failure> {
    let mut by_base_name = BTreeMap::new();
    for (name, content) in receiver(call).entries() {
        if let Value::Bytes(content) = content {
            let name = name.to_str().into_owned();
            let base = name
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .to_owned();
            by_base_name.insert(base, encode(&content));
        }
    }
    // Helm swallows what cannot be written.
    let text = goyaml::to_string(&by_base_name).unwrap_or_default();
    limits::check_text(text.len())?;
    Ok(Value::string(text.strip_suffix('\n').unwrap_or(&text)))
}

fn as_config(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    as_yaml(call, |content| content.to_str().into_owned())
}

fn as_secrets(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    as_yaml(call, |content| STANDARD.encode(content.as_bytes()))
}

fn lines(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let Some(content) = content(call) else {
        return Ok(Value::List(List::of(Type::String, Vec::new())));
    };
    call.charge_heavy_text(content.len())?;
    if content.is_empty() {
        return Err("runtime error: index out of range [-1]".into());
    }
    let body = content.strip_suffix(b"\n").unwrap_or(&content);
    Ok(Value::strings(body.split(|byte| *byte == b'\n')))
}
