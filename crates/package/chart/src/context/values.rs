//! `.Values`: a map with Helm's methods, which shadow keys of the same name.

use gotemplate::format::quoted;
use gotemplate::{Call, Failure, Function, Map, NamedType, Type, Value};

/// The type of `.Values`, and of `.` itself.
pub(crate) static VALUES: NamedType = NamedType {
    name: "chartutil.Values",
    method,
};

fn method(name: &str) -> Option<&'static Function> {
    METHODS.iter().find(|function| function.name == name)
}

static METHODS: [Function; 4] = [
    Function::new("AsMap", &[], as_map),
    Function::new("YAML", &[], yaml),
    Function::new("Table", &[Type::String], table),
    Function::new("PathValue", &[Type::String], path_value),
];

fn receiver(call: &Call<'_, '_>) -> Map {
    call.receiver.as_map().cloned().unwrap_or_default()
}

fn as_map(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let map = receiver(call);
    Ok(Value::Map(if map.is_empty() {
        Map::new()
    } else {
        map.unnamed()
    }))
}

fn yaml(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    match goyaml::to_string(&call.receiver) {
        Ok(text) => Ok(Value::string(text)),
        Err(error) => Err(error.to_string().into()),
    }
}

fn table(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    find_table(&receiver(call), &call.string(0)).map(|map| Value::Map(map.named(&VALUES)))
}

/// Follows a dotted path through tables.
pub(crate) fn find_table(values: &Map, path: &str) -> Result<Map, Failure> {
    let mut table = values.clone();
    for name in path.split('.') {
        table = match table.get(name) {
            Some(Value::Map(next)) => next,
            _ => return Err(no_table(name)),
        };
    }
    Ok(table)
}

fn no_table(name: &str) -> Failure {
    format!("{} is not a table", quoted(name)).into()
}

fn path_value(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let path = call.string(0);
    if path.is_empty() {
        return Err("YAML path cannot be empty".into());
    }
    let (parent, key) = match path.rsplit_once('.') {
        None => (receiver(call), path.as_str()),
        Some((parent, key)) => {
            let table = find_table(&receiver(call), parent)
                .map_err(|_| Failure::from(format!("{} is not a value", quoted(key))))?;
            (table, key)
        }
    };
    match parent.get(key) {
        Some(Value::Map(_)) | None => Err(format!("{} is not a value", quoted(key)).into()),
        Some(value) => Ok(value),
    }
}
