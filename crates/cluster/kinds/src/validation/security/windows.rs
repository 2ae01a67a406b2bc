//! What is different for pods that run on Windows.

use schema::structural::name_rules::dns_subdomain;

use super::super::containers;
use super::super::reading::Reading;
use super::super::report::{Errors, Path};
use crate::tree::{Fields, Tree};

/// The largest specification of credentials, in KiB.
const CREDENTIALS_KIB: usize = 64;
/// The longest domain and the longest name of a user.
const DOMAIN_BYTES: usize = 256;
const USER_BYTES: usize = 104;

/// Checks the options of Windows.
pub(super) fn options(errors: &mut Errors, path: &Path<'_>, context: &Fields) {
    let Some(options) = context.part("windowsOptions") else {
        return;
    };
    if let Some(name) = options.set_text("gmsaCredentialSpecName") {
        errors.faults(&path.child("gmsaCredentialSpecName"), name, dns_subdomain(name));
    }
    if let Some(credentials) = options.set_text("gmsaCredentialSpec") {
        let path = path.child("gmsaCredentialSpec");
        if credentials.is_empty() {
            errors.invalid(&path, credentials, "gmsaCredentialSpec cannot be an empty string");
        } else if credentials.len() > CREDENTIALS_KIB << 10 {
            errors.invalid(
                &path,
                credentials,
                format!("gmsaCredentialSpec size must be under {CREDENTIALS_KIB} KiB"),
            );
        }
    }
    if let Some(name) = options.set_text("runAsUserName") {
        user(errors, &path.child("runAsUserName"), name);
    }
}

fn is_net_bios(domain: &str) -> bool {
    let signs = domain.chars().count();
    let is_wrong = |sign: char| matches!(sign, '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    (1..=15).contains(&signs) && !domain.starts_with('.') && !domain.contains(is_wrong)
}

fn is_domain(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let bytes = label.as_bytes();
        (1..=63).contains(&bytes.len())
            && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
            && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
    })
}

fn user(errors: &mut Errors, path: &Path<'_>, name: &str) {
    let parts: Vec<&str> = name.split('\\').collect();
    if name.is_empty() {
        errors.invalid(path, name, "runAsUserName cannot be an empty string");
        return;
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        errors.invalid(path, name, "runAsUserName cannot contain control characters");
        return;
    }
    let (domain, user) = match parts.as_slice() {
        [user] => (None, *user),
        [domain, user] => (Some(*domain), *user),
        _ => {
            errors.invalid(path, name, "runAsUserName cannot contain more than one backslash");
            return;
        }
    };
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_BYTES {
            errors.invalid(
                path,
                name,
                format!("runAsUserName's Domain length must be under {DOMAIN_BYTES} characters"),
            );
        }
        if !is_net_bios(domain) && !is_domain(domain) {
            errors.invalid(
                path,
                name,
                "runAsUserName's Domain doesn't match the NetBios nor the DNS format",
            );
        }
    }
    if user.is_empty() {
        errors.invalid(path, name, "runAsUserName's User cannot be empty");
    } else if user.len() > USER_BYTES {
        errors.invalid(
            path,
            name,
            format!("runAsUserName's User length must not be longer than {USER_BYTES} characters"),
        );
    }
    if !user.is_empty() && user.chars().all(|sign| matches!(sign, '.' | ' ')) {
        errors.invalid(
            path,
            name,
            "runAsUserName's User cannot contain only periods or spaces",
        );
    }
    if user.contains(|sign: char| "\"/\\:;|=,+*?<>@[]".contains(sign)) {
        errors.invalid(
            path,
            name,
            "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]",
        );
    }
}

/// Checks that all containers of a pod are processes of the host if one is.
pub(in super::super) fn host_process(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    let of_pod = spec
        .at("securityContext")
        .at("windowsOptions")
        .set_flag("hostProcess");
    let (mut count, mut all) = (0, 0);
    for (list, index, container) in containers::all(spec) {
        all += 1;
        let own = container
            .at("securityContext")
            .at("windowsOptions")
            .set_flag("hostProcess");
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let list = path.child(list);
            let item = list.index(index);
            errors.invalid(
                &item.child("securityContext.windowsOptions.hostProcess"),
                own,
                format!("pod hostProcess value must be identical if both are specified, was {of_pod}"),
            );
        }
        if own.or(of_pod) == Some(true) {
            count += 1;
        }
    }
    if count == 0 {
        return;
    }
    if count != all {
        errors.invalid(
            path,
            "",
            "If pod contains any hostProcess containers then all containers must be HostProcess containers",
        );
    }
    if !spec.flag("hostNetwork") {
        errors.invalid(
            &path.child("hostNetwork"),
            false,
            "hostNetwork must be true if pod contains any hostProcess containers",
        );
    }
}

/// Checks a pod for Linux.
pub(in super::super) fn for_linux(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    const RULE: &str = "windows options cannot be set for a linux pod";
    if spec.at("securityContext").has("windowsOptions") {
        errors.forbidden(&path.child("securityContext.windowsOptions"), RULE);
    }
    for (list, index, container) in containers::all(spec) {
        if container.at("securityContext").has("windowsOptions") {
            let list = path.child(list);
            errors.forbidden(&list.index(index).child("securityContext.windowsOptions"), RULE);
        }
    }
}

/// Checks a pod for Windows.
pub(in super::super) fn for_windows(errors: &mut Errors, path: &Path<'_>, spec: &Fields) {
    const RULE: &str = "cannot be set for a windows pod";
    let context = spec.at("securityContext");
    let context_path = path.child("securityContext");
    let mut of_pod = |is_own: bool, name: &str, is_flag: bool| {
        let from = if is_own { context } else { spec };
        let is_there = if is_flag { from.flag(name) } else { from.has(name) };
        if is_there {
            let path = if is_own {
                context_path.child(name)
            } else {
                path.child(name)
            };
            errors.forbidden(&path, RULE);
        }
    };
    of_pod(true, "appArmorProfile", false);
    of_pod(true, "seLinuxOptions", false);
    of_pod(false, "hostUsers", false);
    of_pod(false, "hostPID", true);
    of_pod(false, "hostIPC", true);
    of_pod(true, "seccompProfile", false);
    of_pod(true, "fsGroup", false);
    of_pod(true, "fsGroupChangePolicy", false);
    of_pod(true, "sysctls", false);
    of_pod(false, "shareProcessNamespace", false);
    for name in [
        "runAsUser",
        "runAsGroup",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "seLinuxChangePolicy",
    ] {
        of_pod(true, name, false);
    }
    for (list, index, container) in containers::all(spec) {
        let list = path.child(list);
        let item = list.index(index);
        let context_path = item.child("securityContext");
        let context = container.at("securityContext");
        for name in [
            "appArmorProfile",
            "seLinuxOptions",
            "seccompProfile",
            "capabilities",
            "readOnlyRootFilesystem",
            "privileged",
            "allowPrivilegeEscalation",
            "procMount",
            "runAsUser",
            "runAsGroup",
        ] {
            if context.has(name) {
                errors.forbidden(&context_path.child(name), RULE);
            }
        }
    }
}
