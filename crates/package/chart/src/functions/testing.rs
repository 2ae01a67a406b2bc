//! Renders one template with every function, for the tests of functions.

use std::rc::Rc;
use std::sync::Arc;

use gotemplate::{Dialect, Executor, Functions, MissingKey, Options, Parsed, Templates, Value};
use jiff::Timestamp;

use crate::host::{Host, NoCluster};
use crate::source::SeededSource;

/// Renders a template at 2024-02-02 22:30:00.5 UTC, with randomness that repeats.
pub(crate) fn render(template: &str) -> Result<String, String> {
    render_with(template, Value::Nil)
}

/// Renders a template over `data`.
pub(crate) fn render_with(template: &str, data: Value) -> Result<String, String> {
    let now = Timestamp::from_millisecond(1_706_913_000_500).map_err(|error| error.to_string())?;
    let host = Host::new(Rc::new(SeededSource::from_number(1, now)), Rc::new(NoCluster));
    let mut functions = Functions::default();
    functions.extend(super::all());
    let parsed =
        Parsed::new("test", template.to_owned().into(), &functions).map_err(|error| error.to_string())?;
    let mut templates = Templates::default();
    templates.add(&parsed);
    let options = Options {
        missing_key: MissingKey::Zero,
        dialect: Dialect::Go1_23,
        ..Options::default()
    };
    let mut executor = Executor::new(Arc::new(templates), options, &host);
    let output = executor
        .execute(b"test", "test", data)
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// Returns what a function complained about, without Go's words around it.
pub(crate) fn complaint(template: &str) -> String {
    let error = render(template).expect_err("the template should fail");
    match error
        .split_once("error calling ")
        .and_then(|(_, rest)| rest.split_once(": "))
    {
        Some((_, complaint)) => complaint.to_owned(),
        None => error,
    }
}

/// Checks templates against what Helm 3.17.3 printed or complained about.
pub(crate) fn check(cases: &[(&str, Result<&str, &str>)]) {
    for (template, want) in cases {
        let got = render(template).map_err(|_| complaint(template));
        assert_eq!(got.as_deref().map_err(String::as_str), *want, "{template}");
    }
}

/// Checks what a function makes of texts.
pub(crate) fn check_change<T: AsRef<[u8]>>(function: impl Fn(&[u8]) -> T, cases: &[(&str, &str)]) {
    for (from, want) in cases {
        assert_eq!(
            String::from_utf8_lossy(function(from.as_bytes()).as_ref()),
            *want,
            "{from}"
        );
    }
}
