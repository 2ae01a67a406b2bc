//! What containers and pods may do to the machine they run on.

mod windows;

use super::internal;
use super::pods::Options;
use super::reading::{Reading, fields};
use super::report::{Errors, Path};
use super::seen::Seen;
use super::syntax::{between, local_path};
use crate::tree::{Fields, Tree};

pub(super) use windows::{for_linux, for_windows, host_process};

/// The largest number of a user or a group.
const LARGEST_ID: i64 = 2_147_483_647;

fn id(errors: &mut Errors, path: &Path<'_>, id: Option<i64>) {
    if let Some(id) = id
        && !(0..=LARGEST_ID).contains(&id)
    {
        errors.invalid(path, id, between(0, LARGEST_ID));
    }
}

/// Checks the security context of a container.
pub(super) fn of_container(errors: &mut Errors, path: &Path<'_>, container: &Fields, host_users: bool) {
    let Some(value) = container.set_value("securityContext") else {
        return;
    };
    let context = fields(value);
    id(errors, &path.child("runAsUser"), context.set_number("runAsUser"));
    id(
        errors,
        &path.child("runAsGroup"),
        context.set_number("runAsGroup"),
    );
    if let Some(mount) = context.set_text("procMount") {
        let path = path.child("procMount");
        errors.one_of_if_set(&path, Some(mount), &["Default", "Unmasked"]);
        if host_users && mount == "Unmasked" {
            errors.invalid(&path, mount, "`hostUsers` must be false to use `Unmasked`");
        }
    }
    seccomp(errors, &path.child("seccompProfile"), context);
    if context.set_flag("allowPrivilegeEscalation") == Some(false) {
        let shown = || internal::shown("core.SecurityContext", Some(value));
        if context.flag("privileged") {
            errors.invalid(
                path,
                shown(),
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
            );
        }
        for _ in context
            .at("capabilities")
            .texts("add")
            .filter(|capability| *capability == "CAP_SYS_ADMIN")
        {
            errors.invalid(
                path,
                shown(),
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
            );
        }
    }
    windows::options(errors, &path.child("windowsOptions"), context);
    app_armor(errors, &path.child("appArmorProfile"), context);
}

const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

fn seccomp(errors: &mut Errors, path: &Path<'_>, context: &Fields) {
    let Some(value) = context.set_value("seccompProfile") else {
        return;
    };
    let profile = fields(value);
    let kind = profile.text("type");
    if kind.is_empty() {
        errors.required(&path.child("type"), "type is required when seccompProfile is set");
    } else {
        errors.one_of_if_set(&path.child("type"), Some(kind), &PROFILES);
    }
    let file = path.child("localhostProfile");
    match (kind, profile.set_text("localhostProfile")) {
        ("Localhost", None) => errors.required(&file, "must be set when seccomp type is Localhost"),
        ("Localhost", Some(name)) => local_path(errors, &file, name),
        (_, Some(_)) => errors.invalid(
            &file,
            internal::shown("core.SeccompProfile", Some(value)),
            "can only be set when seccomp type is Localhost",
        ),
        (_, None) => {}
    }
}

fn app_armor(errors: &mut Errors, path: &Path<'_>, context: &Fields) {
    /// The longest path of a file, without its end.
    const MOST_BYTES: usize = 4095;
    if !context.has("appArmorProfile") {
        return;
    }
    let profile = context.at("appArmorProfile");
    let file = path.child("localhostProfile");
    let name = profile.set_text("localhostProfile");
    match profile.text("type") {
        "Localhost" => match name {
            None => errors.required(&file, "must be set when AppArmor type is Localhost"),
            Some(name) => {
                if name.trim() != name {
                    errors.invalid(&file, name, "must not be padded with whitespace");
                } else if name.is_empty() {
                    errors.required(&file, "must be set when AppArmor type is Localhost");
                }
                if name.len() > MOST_BYTES {
                    errors.too_long(&file, MOST_BYTES);
                }
            }
        },
        "RuntimeDefault" | "Unconfined" => {
            if let Some(name) = name {
                errors.invalid(&file, name, "can only be set when AppArmor type is Localhost");
            }
        }
        "" => errors.required(
            &path.child("type"),
            "type is required when appArmorProfile is set",
        ),
        other => errors.not_supported(&path.child("type"), other, &PROFILES),
    }
}

const SYSCTL: &str = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";

fn is_sysctl(name: &str) -> bool {
    let is_edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    name.len() <= 253
        && name.split(['.', '/']).all(|part| {
            let bytes = part.as_bytes();
            bytes.first().is_some_and(|byte| is_edge(*byte))
                && bytes.last().is_some_and(|byte| is_edge(*byte))
                && bytes
                    .iter()
                    .all(|byte| is_edge(*byte) || matches!(byte, b'-' | b'_'))
        })
}

/// Returns whose a kernel setting is: `net` or `ipc` where namespaces of their own have it.
fn namespace_of(sysctl: &str) -> &'static str {
    let name = match sysctl.find(['.', '/']) {
        Some(place) if sysctl.as_bytes().get(place) == Some(&b'/') => sysctl.replace('/', "."),
        _ => sysctl.to_owned(),
    };
    let name = name.split('*').next().unwrap_or_default();
    if name == "kernel.sem"
        || name.starts_with("kernel.shm")
        || name.starts_with("kernel.msg")
        || name.starts_with("fs.mqueue.")
    {
        "ipc"
    } else if name.starts_with("net.") {
        "net"
    } else {
        ""
    }
}

/// Returns why a kernel setting can't be set in a pod that shares the namespace of its node.
fn host_sysctl(name: &str, spec: &Fields) -> Option<&'static str> {
    match namespace_of(name) {
        "net" if spec.flag("hostNetwork") => Some("may not be specified when 'hostNetwork' is true"),
        "ipc" if spec.flag("hostIPC") => Some("may not be specified when 'hostIPC' is true"),
        _ => None,
    }
}

/// Returns whether a pod has kernel settings that it couldn't have today.
pub(super) fn has_host_sysctls(spec: &Fields) -> bool {
    spec.at("securityContext")
        .items("sysctls")
        .any(|sysctl| host_sysctl(sysctl.text("name"), spec).is_some())
}

/// Checks the security context of a pod.
pub(super) fn of_pod(errors: &mut Errors, path: &Path<'_>, spec: &Fields, options: &Options) {
    let Some(context) = spec.part("securityContext") else {
        return;
    };
    id(errors, &path.child("fsGroup"), context.set_number("fsGroup"));
    id(errors, &path.child("runAsUser"), context.set_number("runAsUser"));
    id(
        errors,
        &path.child("runAsGroup"),
        context.set_number("runAsGroup"),
    );
    let groups = path.child("supplementalGroups");
    for (index, group) in context.list("supplementalGroups").iter().enumerate() {
        id(errors, &groups.index(index), group.as_i64());
    }
    if spec.flag("shareProcessNamespace") && spec.flag("hostPID") {
        errors.invalid(
            &path.child("shareProcessNamespace"),
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        );
    }
    let sysctls = path.child("sysctls");
    let mut names: Seen<&str> = Seen::default();
    for (index, sysctl) in context.numbered("sysctls") {
        let own = sysctls.index(index);
        let path = own.child("name");
        let name = sysctl.text("name");
        if name.is_empty() {
            errors.required(&path, "");
        } else if !is_sysctl(name) {
            errors.invalid(
                &path,
                name,
                format!("must have at most 253 characters and match regex ^({SYSCTL}[\\./])*{SYSCTL}$"),
            );
        } else if names.contains(&name) {
            errors.duplicate(&path, name);
        }
        if !options.allows.host_sysctls
            && let Some(fault) = host_sysctl(name, spec)
        {
            errors.invalid(&path, name, fault);
        }
        names.push(name);
    }
    errors.one_of_if_set(
        &path.child("fsGroupChangePolicy"),
        context.set_text("fsGroupChangePolicy"),
        &["Always", "OnRootMismatch"],
    );
    seccomp(errors, &path.child("seccompProfile"), context);
    windows::options(errors, &path.child("windowsOptions"), context);
    app_armor(errors, &path.child("appArmorProfile"), context);
    errors.one_of_if_set(
        &path.child("supplementalGroupsPolicy"),
        context.set_text("supplementalGroupsPolicy"),
        &["Merge", "Strict"],
    );
    errors.one_of_if_set(
        &path.child("seLinuxChangePolicy"),
        context.set_text("seLinuxChangePolicy"),
        &["Recursive"],
    );
}

/// Checks annotations that once said what seccomp and `AppArmor` do.
pub(super) fn annotations(errors: &mut Errors, path: &Path<'_>, annotations: &Fields, spec: &Fields) {
    const POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
    if let Some(profile) = annotations.set_text(POD) {
        seccomp_annotation(errors, &path.child(POD), profile);
    }
    for (key, value) in annotations {
        let profile = value.as_str().unwrap_or_default();
        if key.starts_with("container.seccomp.security.alpha.kubernetes.io/") {
            seccomp_annotation(errors, &path.child(key), profile);
        }
    }
    let names: Seen<&str> = super::containers::all(spec)
        .map(|(_, _, one)| one.text("name"))
        .collect();
    for (key, value) in annotations {
        let profile = value.as_str().unwrap_or_default();
        if let Some(container) = key.strip_prefix(APP_ARMOR) {
            let own = path.key(key);
            if !names.contains(&container) {
                errors.invalid(&own, container, "container not found");
            }
            let is_right =
                matches!(profile, "" | "runtime/default" | "unconfined") || profile.starts_with("localhost/");
            if !is_right {
                let quoted = super::report::Shown::shown(&profile);
                errors.invalid(&own, profile, format!("invalid AppArmor profile name: {quoted}"));
            }
        }
    }
}

/// How the keys of annotations begin that say what `AppArmor` does.
pub(super) const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

fn seccomp_annotation(errors: &mut Errors, path: &Path<'_>, profile: &str) {
    match profile {
        "runtime/default" | "docker/default" | "unconfined" => {}
        _ => match profile.strip_prefix("localhost/") {
            Some(file) => local_path(errors, path, file),
            None => errors.invalid(path, profile, "must be a valid seccomp profile"),
        },
    }
}

/// Checks that annotations and fields say the same.
pub(super) fn agreement(errors: &mut Errors, path: &Path<'_>, metadata: &Fields, spec: &Fields) {
    let notes = metadata.at("annotations");
    let mut check = |path: &Path<'_>, note: Option<&str>, profile: &Fields, what: &str| {
        let Some(note) = note else { return };
        let agrees = match profile.text("type") {
            "Unconfined" => note == "unconfined",
            "RuntimeDefault" => note == "runtime/default" || (what == "seccomp" && note == "docker/default"),
            "Localhost" => note.starts_with("localhost/"),
            _ => true,
        };
        if !agrees {
            errors.forbidden(
                &path.child("type"),
                format!("{what} type in annotation and field must match"),
            );
        } else if profile.text("type") == "Localhost"
            && note.strip_prefix("localhost/") != profile.set_text("localhostProfile")
        {
            errors.forbidden(
                &path.child("localhostProfile"),
                format!("{what} profile in annotation and field must match"),
            );
        }
    };
    let context = spec.at("securityContext");
    if let Some(profile) = context.part("seccompProfile") {
        let note = notes.set_text("seccomp.security.alpha.kubernetes.io/pod");
        check(
            &path.child("securityContext.seccompProfile"),
            note,
            profile,
            "seccomp",
        );
    }
    for (list, index, container) in super::containers::all(spec) {
        if let Some(profile) = container.at("securityContext").part("seccompProfile") {
            let key = format!(
                "container.seccomp.security.alpha.kubernetes.io/{}",
                container.text("name")
            );
            let (list, note) = (path.child(list), notes.set_text(&key));
            let own = list.index(index);
            check(
                &own.child("securityContext.seccompProfile"),
                note,
                profile,
                "seccomp",
            );
        }
    }
    if spec.at("os").text("name") == "windows" {
        return;
    }
    for (list, index, container) in super::containers::all(spec) {
        let own = container.at("securityContext").part("appArmorProfile");
        if let Some(profile) = own.or_else(|| context.part("appArmorProfile")) {
            let key = format!("{APP_ARMOR}{}", container.text("name"));
            let (list, note) = (path.child(list), notes.set_text(&key));
            let own = list.index(index);
            check(
                &own.child("securityContext.appArmorProfile"),
                note,
                profile,
                "apparmor",
            );
        }
    }
}
