//! What a pod of a level may not do.

use std::collections::BTreeSet;

use serde_json::Value;

use super::levels::{Level, Rule, Version};
use crate::object::Object;

/// Capabilities that containers have anyway.
const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// Kernel settings that are the pod's alone, and the version that says so.
const SAFE_SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

/// Volumes that don't reach beyond the pod.
const SAFE_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// What a pod does that it may not: reasons and details.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Violations(pub(super) Vec<(String, String)>);

impl Violations {
    /// Returns the reasons with their details.
    pub fn details(&self) -> String {
        let all = self.0.iter().map(|(reason, detail)| {
            if detail.is_empty() {
                reason.clone()
            } else {
                format!("{reason} ({detail})")
            }
        });
        all.collect::<Vec<_>>().join(", ")
    }

    /// Returns the reasons alone.
    pub fn reasons(&self) -> String {
        let all = self.0.iter().map(|(reason, _)| reason.as_str());
        all.collect::<Vec<_>>().join(", ")
    }

    fn add(&mut self, reason: impl Into<String>, detail: impl Into<String>) {
        self.0.push((reason.into(), detail.into()));
    }
}

/// Returns what a pod, or the template of one, does that a level doesn't allow.
pub fn evaluate(rule: Rule, pod: &Value) -> Violations {
    let mut found = Violations::default();
    if rule.level == Level::Privileged {
        return found;
    }
    let seen = Pod {
        pod,
        spec: &pod["spec"],
        version: rule.version,
    };
    let restricted = rule.level == Level::Restricted;
    seen.app_armor(&mut found);
    if !restricted || !rule.version.has(22) {
        seen.capabilities(&mut found);
    }
    seen.host_namespaces(&mut found);
    if !restricted {
        seen.host_paths(&mut found);
    }
    seen.host_ports(&mut found);
    if rule.version.has(34) {
        seen.probe_hosts(&mut found);
    }
    seen.privileged(&mut found);
    let may_unmask = rule.version.has(35) && (restricted || seen.has_own_users());
    if !may_unmask {
        seen.proc_mount(&mut found);
    }
    seen.selinux(&mut found);
    if rule.version.has(19) {
        if !restricted {
            seen.seccomp(&mut found, false);
        }
    } else {
        seen.seccomp_annotations(&mut found);
    }
    seen.sysctls(&mut found);
    seen.host_process(&mut found);
    if restricted {
        seen.restricted(&mut found);
    }
    found
}

#[expect(clippy::struct_field_names, reason = "the whole beside its parts")]
struct Pod<'a> {
    pod: &'a Value,
    spec: &'a Value,
    version: Version,
}

/// Returns names in quotes: `"a", "b"`.
fn quoted<Name: AsRef<str>>(names: impl IntoIterator<Item = Name>) -> String {
    let all: Vec<String> = names
        .into_iter()
        .map(|name| format!("\"{}\"", name.as_ref()))
        .collect();
    all.join(", ")
}

fn plural<'a>(one: &'a str, several: &'a str, count: usize) -> &'a str {
    if count == 1 { one } else { several }
}

fn containers_named(names: &[&str]) -> String {
    format!(
        "{} {}",
        plural("container", "containers", names.len()),
        quoted(names)
    )
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

impl<'a> Pod<'a> {
    fn containers(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let spec = self.spec;
        ["initContainers", "containers", "ephemeralContainers"]
            .into_iter()
            .flat_map(move |list| spec[list].as_array().into_iter().flatten())
    }

    /// Returns the names of the containers that something is true of.
    fn those(&self, mut bad: impl FnMut(&'a Value) -> bool) -> Vec<&'a str> {
        self.containers()
            .filter(|container| bad(&container["securityContext"]))
            .map(|container| container["name"].as_str().unwrap_or_default())
            .collect()
    }

    fn security(&self) -> &'a Value {
        &self.spec["securityContext"]
    }

    fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Returns whether the pod's users are others than the node's.
    fn has_own_users(&self) -> bool {
        self.spec["hostUsers"] == false
    }

    /// Returns who sets something, `pod` and containers, for a text.
    fn setters(pod: bool, containers: &[&str]) -> Option<String> {
        let mut all = Vec::new();
        if pod {
            all.push("pod".to_owned());
        }
        if !containers.is_empty() {
            all.push(containers_named(containers));
        }
        (!all.is_empty()).then(|| all.join(" and "))
    }

    fn app_armor(&self, found: &mut Violations) {
        let mut values = BTreeSet::new();
        let mut bad = |security: &'a Value| match security.get("appArmorProfile") {
            Some(profile) if profile.is_object() => {
                let kind = profile["type"].as_str().unwrap_or_default();
                let bad = !matches!(kind, "RuntimeDefault" | "Localhost");
                if bad {
                    values.insert(kind.to_owned());
                }
                bad
            }
            _ => false,
        };
        let pod = bad(self.security());
        let containers = self.those(&mut bad);
        let annotations = self
            .pod
            .metadata()
            .and_then(|all| all.get("annotations")?.as_object());
        let mut forbidden: Vec<String> = Vec::new();
        for (key, value) in annotations.into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let allowed = value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
            if key.starts_with("container.apparmor.security.beta.kubernetes.io/") && !allowed {
                forbidden.push(format!("{key}={}", gotemplate::format::quoted(value)));
            }
        }
        forbidden.sort();
        let mut setters: Vec<String> = Self::setters(pod, &containers).into_iter().collect();
        let mut values: Vec<String> = values.into_iter().collect();
        if !forbidden.is_empty() {
            setters.push(plural("annotation", "annotations", forbidden.len()).to_owned());
            values.extend(forbidden);
        }
        if !setters.is_empty() {
            found.add(
                plural(
                    "forbidden AppArmor profile",
                    "forbidden AppArmor profiles",
                    values.len(),
                ),
                format!(
                    "{} must not set AppArmor profile type to {}",
                    setters.join(" and "),
                    quoted(values)
                ),
            );
        }
    }

    fn capabilities(&self, found: &mut Violations) {
        let mut added = BTreeSet::new();
        let bad = self.those(|security| {
            let before: Vec<&str> = texts(&security["capabilities"]["add"])
                .filter(|name| !DEFAULT_CAPABILITIES.contains(name))
                .collect();
            added.extend(before.iter().copied());
            !before.is_empty()
        });
        if !bad.is_empty() {
            found.add(
                "non-default capabilities",
                format!(
                    "{} must not include {} in securityContext.capabilities.add",
                    containers_named(&bad),
                    quoted(added)
                ),
            );
        }
    }

    fn host_namespaces(&self, found: &mut Violations) {
        let used: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
            .iter()
            .filter(|name| self.spec[**name] == true)
            .map(|name| format!("{name}=true"))
            .collect();
        if !used.is_empty() {
            found.add("host namespaces", used.join(", "));
        }
    }

    fn volumes(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.spec["volumes"].as_array().into_iter().flatten()
    }

    fn host_paths(&self, found: &mut Violations) {
        let bad: Vec<&str> = self
            .volumes()
            .filter(|volume| volume["hostPath"].is_object())
            .map(|volume| volume["name"].as_str().unwrap_or_default())
            .collect();
        if !bad.is_empty() {
            let word = plural("volume", "volumes", bad.len());
            found.add("hostPath volumes", format!("{word} {}", quoted(bad)));
        }
    }

    fn host_ports(&self, found: &mut Violations) {
        let mut ports = BTreeSet::new();
        let mut bad = Vec::new();
        for container in self.containers() {
            let used: Vec<u64> = container["ports"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|port| port["hostPort"].as_u64())
                .filter(|port| *port != 0)
                .collect();
            if !used.is_empty() {
                ports.extend(used.iter().map(ToString::to_string));
                bad.push(container["name"].as_str().unwrap_or_default());
            }
        }
        if !bad.is_empty() {
            let (count, uses) = (ports.len(), plural("uses", "use", bad.len()));
            let ports: Vec<String> = ports.into_iter().collect();
            found.add(
                "hostPort",
                format!(
                    "{} {uses} {} {}",
                    containers_named(&bad),
                    plural("hostPort", "hostPorts", count),
                    ports.join(", ")
                ),
            );
        }
    }

    fn probe_hosts(&self, found: &mut Violations) {
        let (mut bad, mut hosts) = (BTreeSet::new(), BTreeSet::new());
        for container in self.containers() {
            let lifecycle = &container["lifecycle"];
            let handlers = [
                &container["livenessProbe"],
                &container["readinessProbe"],
                &container["startupProbe"],
                &lifecycle["postStart"],
                &lifecycle["preStop"],
            ];
            for handler in handlers {
                for kind in ["httpGet", "tcpSocket"] {
                    if let Some(host) = handler[kind]["host"].as_str().filter(|host| !host.is_empty()) {
                        bad.insert(container["name"].as_str().unwrap_or_default());
                        hosts.insert(host);
                    }
                }
            }
        }
        if !bad.is_empty() {
            let bad: Vec<&str> = bad.into_iter().collect();
            found.add(
                "probe or lifecycle host",
                format!(
                    "{} {} {} {}",
                    containers_named(&bad),
                    plural("uses", "use", bad.len()),
                    plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len()),
                    quoted(hosts)
                ),
            );
        }
    }

    fn privileged(&self, found: &mut Violations) {
        let bad = self.those(|security| security["privileged"] == true);
        if !bad.is_empty() {
            let who = containers_named(&bad);
            found.add(
                "privileged",
                format!("{who} must not set securityContext.privileged=true"),
            );
        }
    }

    fn proc_mount(&self, found: &mut Violations) {
        let mut kinds = BTreeSet::new();
        let bad = self.those(|security| match security["procMount"].as_str() {
            Some(kind) if kind != "Default" => {
                kinds.insert(kind);
                true
            }
            _ => false,
        });
        if !bad.is_empty() {
            let who = containers_named(&bad);
            found.add(
                "procMount",
                format!(
                    "{who} must not set securityContext.procMount to {}",
                    quoted(kinds)
                ),
            );
        }
    }

    fn selinux(&self, found: &mut Violations) {
        let engine = self.version.has(31);
        let (mut kinds, mut user, mut role) = (BTreeSet::new(), false, false);
        let mut bad = |security: &'a Value| {
            let options = &security["seLinuxOptions"];
            if !options.is_object() {
                return false;
            }
            let text = |name: &str| options[name].as_str().unwrap_or_default();
            let allowed = matches!(
                text("type"),
                "" | "container_t" | "container_init_t" | "container_kvm_t"
            ) || (engine && text("type") == "container_engine_t");
            if !allowed {
                kinds.insert(options["type"].as_str().unwrap_or_default());
            }
            user |= !text("user").is_empty();
            role |= !text("role").is_empty();
            !allowed || !text("user").is_empty() || !text("role").is_empty()
        };
        let pod = bad(self.security());
        let containers = self.those(&mut bad);
        if let Some(setters) = Self::setters(pod, &containers) {
            let mut data = Vec::new();
            if !kinds.is_empty() {
                data.push(format!(
                    "{} {}",
                    plural("type", "types", kinds.len()),
                    quoted(kinds)
                ));
            }
            if user {
                data.push("user may not be set".to_owned());
            }
            if role {
                data.push("role may not be set".to_owned());
            }
            found.add(
                "seLinuxOptions",
                format!(
                    "{setters} set forbidden securityContext.seLinuxOptions: {}",
                    data.join("; ")
                ),
            );
        }
    }

    /// Checks seccomp profiles; `wanted` is whether there has to be one.
    fn seccomp(&self, found: &mut Violations, wanted: bool) {
        let mut values = BTreeSet::new();
        let mut bad = |security: &'a Value| {
            let profile = &security["seccompProfile"];
            let kind = profile["type"].as_str().unwrap_or_default();
            let bad = profile.is_object() && !matches!(kind, "RuntimeDefault" | "Localhost");
            if bad {
                values.insert(kind);
            }
            bad
        };
        let pod = bad(self.security());
        let containers = self.those(&mut bad);
        if let Some(setters) = Self::setters(pod, &containers) {
            found.add(
                "seccompProfile",
                format!(
                    "{setters} must not set securityContext.seccompProfile.type to {}",
                    quoted(values)
                ),
            );
            return;
        }
        if !wanted || self.security()["seccompProfile"].is_object() {
            return;
        }
        let without = self.those(|security| !security["seccompProfile"].is_object());
        if !without.is_empty() {
            found.add(
                "seccompProfile",
                format!(
                    "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
                    containers_named(&without)
                ),
            );
        }
    }

    /// Checks seccomp profiles as they were written before they had fields.
    fn seccomp_annotations(&self, found: &mut Violations) {
        let mut names = vec!["seccomp.security.alpha.kubernetes.io/pod".to_owned()];
        names.extend(self.containers().map(|container| {
            let name = container["name"].as_str().unwrap_or_default();
            format!("container.seccomp.security.alpha.kubernetes.io/{name}")
        }));
        let mut forbidden = BTreeSet::new();
        for name in names {
            if let Some(value) = self.pod.annotation(&name)
                && !matches!(value, "runtime/default" | "docker/default")
                && !value.starts_with("localhost/")
            {
                forbidden.insert(format!("{name}={}", gotemplate::format::quoted(value)));
            }
        }
        if !forbidden.is_empty() {
            let word = plural("annotation", "annotations", forbidden.len());
            let all: Vec<String> = forbidden.into_iter().collect();
            found.add("seccompProfile", format!("forbidden {word} {}", all.join(", ")));
        }
    }

    fn sysctls(&self, found: &mut Violations) {
        let set = self.security()["sysctls"].as_array().into_iter().flatten();
        let bad: Vec<&str> = set
            .map(|sysctl| sysctl["name"].as_str().unwrap_or_default())
            .filter(|name| {
                let safe = SAFE_SYSCTLS.iter().find(|(safe, _)| safe == name);
                !safe.is_some_and(|(_, since)| self.version.has(*since))
            })
            .collect();
        if !bad.is_empty() {
            found.add("forbidden sysctls", bad.join(", "));
        }
    }

    fn host_process(&self, found: &mut Violations) {
        let bad = |security: &'a Value| security["windowsOptions"]["hostProcess"] == true;
        if let Some(setters) = Self::setters(bad(self.security()), &self.those(bad)) {
            found.add(
                "hostProcess",
                format!("{setters} must not set securityContext.windowsOptions.hostProcess=true"),
            );
        }
    }

    /// Checks what only the restricted level asks.
    fn restricted(&self, found: &mut Violations) {
        let windows = self.version.has(25) && self.is_windows();
        if self.version.has(8) && !windows {
            let bad = self.those(|security| security["allowPrivilegeEscalation"] != false);
            if !bad.is_empty() {
                found.add(
                    "allowPrivilegeEscalation != false",
                    format!(
                        "{} must set securityContext.allowPrivilegeEscalation=false",
                        containers_named(&bad)
                    ),
                );
            }
        }
        if self.version.has(22) && !windows {
            self.restricted_capabilities(found);
        }
        if self.version.has(35) {
            self.proc_mount(found);
        }
        self.restricted_volumes(found);
        let own_users = self.version.has(35) && self.has_own_users();
        if !own_users {
            self.run_as_non_root(found);
            if self.version.has(23) {
                self.run_as_user(found);
            }
        }
        if self.version.has(19) && !windows {
            self.seccomp(found, true);
        }
    }

    fn restricted_capabilities(&self, found: &mut Violations) {
        let keeping =
            self.those(|security| texts(&security["capabilities"]["drop"]).all(|name| name != "ALL"));
        let mut added = BTreeSet::new();
        let adding = self.those(|security| {
            let more: Vec<&str> = texts(&security["capabilities"]["add"])
                .filter(|name| *name != "NET_BIND_SERVICE")
                .collect();
            added.extend(more.iter().copied());
            !more.is_empty()
        });
        let mut details = Vec::new();
        if !keeping.is_empty() {
            details.push(format!(
                "{} must set securityContext.capabilities.drop=[\"ALL\"]",
                containers_named(&keeping)
            ));
        }
        if !adding.is_empty() {
            details.push(format!(
                "{} must not include {} in securityContext.capabilities.add",
                containers_named(&adding),
                quoted(added)
            ));
        }
        if !details.is_empty() {
            found.add("unrestricted capabilities", details.join("; "));
        }
    }

    fn restricted_volumes(&self, found: &mut Violations) {
        let (mut bad, mut kinds) = (Vec::new(), BTreeSet::new());
        for volume in self.volumes() {
            let sources = volume.as_object().into_iter().flatten();
            let source = sources
                .map(|(name, _)| name.as_str())
                .find(|name| *name != "name")
                .unwrap_or("unknown");
            if !SAFE_VOLUMES.contains(&source) {
                bad.push(volume["name"].as_str().unwrap_or_default());
                kinds.insert(source);
            }
        }
        if !bad.is_empty() {
            let count = kinds.len();
            found.add(
                "restricted volume types",
                format!(
                    "{} {} {} {} {}",
                    plural("volume", "volumes", bad.len()),
                    quoted(&bad),
                    plural("uses", "use", bad.len()),
                    plural("restricted volume type", "restricted volume types", count),
                    quoted(kinds)
                ),
            );
        }
    }

    fn run_as_non_root(&self, found: &mut Violations) {
        let pod = &self.security()["runAsNonRoot"];
        let explicitly = self.those(|security| security["runAsNonRoot"] == false);
        if let Some(setters) = Self::setters(*pod == false, &explicitly) {
            found.add(
                "runAsNonRoot != true",
                format!("{setters} must not set securityContext.runAsNonRoot=false"),
            );
            return;
        }
        if *pod == true {
            return;
        }
        let implicitly = self.those(|security| !security["runAsNonRoot"].is_boolean());
        if !implicitly.is_empty() {
            found.add(
                "runAsNonRoot != true",
                format!(
                    "pod or {} must set securityContext.runAsNonRoot=true",
                    containers_named(&implicitly)
                ),
            );
        }
    }

    fn run_as_user(&self, found: &mut Violations) {
        let bad = |security: &'a Value| security["runAsUser"].as_i64() == Some(0);
        if let Some(setters) = Self::setters(bad(self.security()), &self.those(bad)) {
            found.add("runAsUser=0", format!("{setters} must not set runAsUser=0"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn details(level: Level, version: Version, pod: &Value) -> String {
        evaluate(Rule { level, version }, pod).details()
    }

    #[test]
    fn a_plain_pod_is_baseline_but_not_restricted() {
        let pod = json!({"spec": {"containers": [{"name": "nginx", "image": "nginx"}]}});
        assert_eq!(details(Level::Baseline, Version::Latest, &pod), "");
        assert_eq!(
            details(Level::Restricted, Version::Latest, &pod),
            "allowPrivilegeEscalation != false (container \"nginx\" must set \
             securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container \"nginx\" must set \
             securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or container \"nginx\" must set \
             securityContext.runAsNonRoot=true), seccompProfile (pod or container \"nginx\" must set \
             securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"
        );
    }

    #[test]
    fn what_reaches_the_node_is_not_baseline() {
        let pod = json!({"spec": {"hostNetwork": true, "hostPID": true,
        "volumes": [{"name": "a", "hostPath": {"path": "/"}}],
        "containers": [
            {"name": "one", "ports": [{"hostPort": 80}], "securityContext": {"privileged": true}},
            {"name": "two", "securityContext": {"capabilities": {"add": ["SYS_ADMIN", "CHOWN"]}}},
        ]}});
        assert_eq!(
            details(Level::Baseline, Version::Latest, &pod),
            "non-default capabilities (container \"two\" must not include \"SYS_ADMIN\" in \
             securityContext.capabilities.add), host namespaces (hostNetwork=true, hostPID=true), hostPath volumes \
             (volume \"a\"), hostPort (container \"one\" uses hostPort 80), privileged (container \"one\" must not set \
             securityContext.privileged=true)"
        );
    }

    #[test]
    fn older_versions_know_less() {
        let pod = json!({"spec": {"containers": [{"name": "a", "securityContext": {"runAsNonRoot": true}}]}});
        assert_eq!(details(Level::Restricted, Version::Minor(7), &pod), "");
        assert!(details(Level::Restricted, Version::Minor(8), &pod).starts_with("allowPrivilegeEscalation"));
    }
}
