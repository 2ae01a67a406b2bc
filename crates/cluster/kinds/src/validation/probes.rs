//! What is done to a container to see how it is, and when it starts and stops.

use super::reading::{Reading, fields};
use super::report::{Errors, Path};
use super::syntax::{header_name, port_name, port_number};
use crate::tree::{Fields, Tree};

/// Checks a port that is a number or a name.
pub(super) fn port(errors: &mut Errors, path: &Path<'_>, source: &Fields, name: &str) {
    if let Some(text) = source.set_text(name) {
        errors.faults(path, text, port_name(text));
        return;
    }
    let number = source.number(name);
    for fault in port_number(number) {
        errors.invalid(path, number, fault);
    }
}

fn http_get(errors: &mut Errors, path: &Path<'_>, action: &Fields) {
    if action.is_zero("path") {
        errors.required(&path.child("path"), "");
    }
    port(errors, &path.child("port"), action, "port");
    let scheme = action.text("scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.not_supported(&path.child("scheme"), scheme, &["HTTP", "HTTPS"]);
    }
    for header in action.items("httpHeaders") {
        let name = header.text("name");
        errors.faults(&path.child("httpHeaders"), name, header_name(name));
    }
}

/// Checks that there is one action; `grace` is how long the pod may take to end.
fn handler(
    errors: &mut Errors,
    path: &Path<'_>,
    handler: &Fields,
    kinds: &[&'static str],
    grace: Option<i64>,
) {
    let mut is_found = false;
    for kind in kinds {
        let Some(action) = handler.set_value(kind).map(fields) else {
            continue;
        };
        let path = path.child(kind);
        if is_found {
            errors.forbidden(&path, "may not specify more than 1 handler type");
            continue;
        }
        is_found = true;
        match *kind {
            "exec" => {
                if action.is_zero("command") {
                    errors.required(&path.child("command"), "");
                }
            }
            "httpGet" => http_get(errors, &path, action),
            "sleep" => {
                let seconds = action.number("seconds");
                if let Some(grace) = grace
                    && !(0..=grace).contains(&seconds)
                {
                    errors.invalid(
                        &path,
                        seconds,
                        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})"),
                    );
                }
            }
            _ => port(errors, &path.child("port"), action, "port"),
        }
    }
    if !is_found {
        errors.required(path, "must specify a handler type");
    }
}

/// Checks the three probes of a container.
pub(super) fn check(errors: &mut Errors, path: &Path<'_>, container: &Fields, grace: Option<i64>) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.set_value(name).map(fields) else {
            continue;
        };
        let path = path.child(name);
        handler(
            errors,
            &path,
            probe,
            &["exec", "httpGet", "tcpSocket", "grpc"],
            grace,
        );
        for number in [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ] {
            errors.not_negative(&path.child(number), probe.number(number));
        }
        let own_grace = probe.set_number("terminationGracePeriodSeconds");
        let grace_path = path.child("terminationGracePeriodSeconds");
        if let Some(seconds) = own_grace.filter(|seconds| *seconds <= 0) {
            errors.invalid(&grace_path, seconds, "must be greater than 0");
        }
        if name == "readinessProbe" {
            if let Some(seconds) = own_grace {
                errors.invalid(&grace_path, seconds, "must not be set for readinessProbes");
            }
        } else if probe.number("successThreshold") != 1 {
            errors.invalid(
                &path.child("successThreshold"),
                probe.number("successThreshold"),
                "must be 1",
            );
        }
    }
}

/// Checks what is done when a container starts and stops.
pub(super) fn lifecycle(
    errors: &mut Errors,
    path: &Path<'_>,
    lifecycle: &Fields,
    grace: Option<i64>,
    system: Option<&str>,
) {
    for name in ["postStart", "preStop"] {
        if let Some(hook) = lifecycle.set_value(name).map(fields) {
            let kinds = ["exec", "httpGet", "tcpSocket", "sleep"];
            handler(errors, &path.child(name), hook, &kinds, grace);
        }
    }
    let Some(signal) = lifecycle.set_text("stopSignal") else {
        return;
    };
    let path = path.child("stopSignal");
    match system {
        None => errors.forbidden(&path, "may not be set for containers with empty `spec.os.name`"),
        Some("windows") => errors.one_of_if_set(&path, Some(signal), &["SIGKILL", "SIGTERM"]),
        Some("linux") => {
            let known = signals();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            errors.one_of_if_set(&path, Some(signal), &known);
        }
        Some(_) => {}
    }
}

/// Returns the signals of Linux, sorted as text.
fn signals() -> Vec<String> {
    let plain = [
        "ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL",
        "PIPE", "POLL", "PROF", "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP",
        "TTIN", "TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ", "RTMIN", "RTMAX",
    ];
    let mut all: Vec<String> = plain.iter().map(|name| format!("SIG{name}")).collect();
    all.extend((1..=15).map(|number| format!("SIGRTMIN+{number}")));
    all.extend((1..=14).map(|number| format!("SIGRTMAX-{number}")));
    all.sort_unstable();
    all
}
