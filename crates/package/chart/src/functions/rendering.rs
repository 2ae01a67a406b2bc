//! Functions that need the engine: `include`, `tpl`, `required`, `fail` and `lookup`.

use bytes::Bytes;
use gotemplate::{Call, Failure, Function, Parsed, Templates, Text, Type, Value, format};
use std::sync::Arc;

use crate::engine::{self, SET_NAME};
use crate::functions::limits;
use crate::host::Host;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("include", &[Type::String, Type::Any], include).fixed(),
    Function::new("tpl", &[Type::String, Type::Any], tpl).fixed(),
    Function::new("required", &[Type::String, Type::Any], required),
    Function::new("fail", &[Type::String], fail),
    Function::new(
        "lookup",
        &[Type::String, Type::String, Type::String, Type::String],
        lookup,
    ),
];

/// How often a template may be included inside itself, as in Helm.
const MAX_INCLUDES_OF_ONE_NAME: usize = 1000;

/// How deep `include` may nest over all names; Helm has no such limit and dies of its stack.
const MAX_INCLUDE_DEPTH: usize = 10_000;

/// How deep `tpl` may nest; Helm has no such limit and dies of its stack.
const MAX_TPL_DEPTH: usize = 1000;

/// Marks the text of `fail` and `required`, so that it can be found in the error around it.
pub(crate) const MESSAGE_START: &str = "HELM_ERR_START";
/// The end of what [`MESSAGE_START`] starts.
pub(crate) const MESSAGE_END: &str = "HELM_ERR_END";

fn host<'call>(call: &'call Call<'_, '_>) -> Result<&'call Host, Failure> {
    Host::of(call).ok_or_else(|| "needs a render to run in".into())
}

fn include(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let name = call.text(0);
    let data = call.take(1);
    host(call)?.included.enter(&name)?;
    let result = call.executor.execute(&name, SET_NAME, data);
    host(call)?.included.leave(&name);
    match result {
        Ok(output) => Ok(Value::string(output)),
        Err(error) => Err(Failure::Execution {
            prefix: String::new(),
            error,
        }),
    }
}

/// Counts how deep templates are included, by name and over all.
#[derive(Default)]
pub(crate) struct Included {
    by_name: std::cell::RefCell<std::collections::HashMap<Text, usize>>,
    depth: std::cell::Cell<usize>,
}

impl Included {
    fn enter(&self, name: &Text) -> Result<(), Failure> {
        let mut by_name = self.by_name.borrow_mut();
        let count = by_name.entry(name.clone()).or_default();
        if *count > MAX_INCLUDES_OF_ONE_NAME {
            let name = name.to_str();
            return Err(format!(
                "rendering template has a nested reference name: {name}: unable to execute template"
            )
            .into());
        }
        if self.depth.get() >= MAX_INCLUDE_DEPTH {
            return Err(
                format!("templates include each other deeper than {MAX_INCLUDE_DEPTH} levels").into(),
            );
        }
        *count += 1;
        self.depth.set(self.depth.get() + 1);
        Ok(())
    }

    fn leave(&self, name: &Text) {
        if let Some(count) = self.by_name.borrow_mut().get_mut(name) {
            *count = count.saturating_sub(1);
        }
        self.depth.set(self.depth.get().saturating_sub(1));
    }
}

fn tpl(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let text = call.text(0);
    let data = call.take(1);
    call.charge_text(text.len())?;
    // Most values hold no template at all.
    if memchr::memmem::find(&text, b"{{").is_none() {
        return Ok(Value::String(
            engine::without_no_value(&text).map_or(text.clone(), Text::from),
        ));
    }
    let parsed = parse_tpl(call, &text)?;
    let host_depth = &host(call)?.tpl_depth;
    if host_depth.get() >= MAX_TPL_DEPTH {
        return Err(format!("tpl calls itself deeper than {MAX_TPL_DEPTH} levels").into());
    }
    host_depth.set(host_depth.get() + 1);
    let mut templates = Templates::on_top_of(Arc::clone(call.executor.templates()));
    templates.add_over_everything(&parsed);
    let result = call.executor.with_templates(Arc::new(templates), |executor| {
        executor.execute(SET_NAME.as_bytes(), SET_NAME, data)
    });
    let host_depth = &host(call)?.tpl_depth;
    host_depth.set(host_depth.get() - 1);
    match result {
        Ok(output) => match engine::without_no_value(&output) {
            Some(cleaned) => limits::text(cleaned),
            None => limits::text(output),
        },
        Err(error) => {
            let prefix = format!(
                "error during tpl function execution for {}: ",
                format::quoted(&*text)
            );
            Err(Failure::Execution { prefix, error })
        }
    }
}

/// Parses the text once for all calls of a render.
fn parse_tpl(call: &mut Call<'_, '_>, text: &Text) -> Result<Parsed, Failure> {
    let known = host(call)?.parsed_tpl.borrow().get(text).cloned();
    if let Some(parsed) = known {
        return Ok(parsed);
    }
    call.charge_heavy_text(text.len())?;
    let source = Bytes::copy_from_slice(text);
    let parsed = Parsed::new(SET_NAME, source, engine::functions())
        .map_err(|error| format!("cannot parse template {}: {error}", format::quoted(text)))?;
    let mut known = host(call)?.parsed_tpl.borrow_mut();
    known.insert(text.clone(), parsed.clone());
    Ok(parsed)
}

fn required(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let message = call.string(0);
    let value = call.take(1);
    let missing = match &value {
        Value::Nil => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    if !missing {
        return Ok(value);
    }
    if let Some(log) = &host(call)?.lint_log {
        let place = if value.is_nil() {
            "engine.go:206"
        } else {
            "engine.go:214"
        };
        log.borrow_mut()
            .push(format!("{place}: [INFO] Missing required value: {message}"));
        return Ok(Value::from(""));
    }
    Err(marked(&message))
}

fn fail(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let message = call.string(0);
    if let Some(log) = &host(call)?.lint_log {
        log.borrow_mut()
            .push(format!("engine.go:227: [INFO] Fail: {message}"));
        return Ok(Value::from(""));
    }
    Err(marked(&message))
}

fn marked(message: &str) -> Failure {
    format!("{MESSAGE_START}{message}{MESSAGE_END}").into()
}

fn lookup(call: &mut Call<'_, '_>) -> Result<Value, Failure> {
    let found =
        host(call)?
            .lookup
            .lookup(&call.string(0), &call.string(1), &call.string(2), &call.string(3))?;
    Ok(Value::from(&found))
}
