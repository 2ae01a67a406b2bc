//! What a container finds around it: volumes, environment, a kubeconfig.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::super::environment::{self, Lookup, Missing};
use super::super::paths::{Paths, ROOT_VARIABLE};
use super::super::process::Launch;
use super::super::programs::{self, Programs};
use super::super::requests::items;
use super::super::volumes::{self, Tokens, Volume, private_directory, private_file};
use super::super::{cgroup, lock, machine, service_links};
use super::{Company, Part};
use crate::client::Client;
use crate::object::Object;

/// Where programs find the token of their ServiceAccount.
const ACCOUNT_DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The variable that says where programs are.
const PATH_VARIABLE: &str = "PATH";

/// The programs that scripts find where nothing else is said.
const USUAL_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Tokens that were given, by audience and time, and when each should be renewed.
pub type TokenCache = HashMap<(String, i64), (Vec<u8>, Timestamp)>;

struct Given(HashMap<(String, i64), Vec<u8>>);

impl Tokens for Given {
    fn token(&self, audience: &str, seconds: i64) -> Result<Vec<u8>, String> {
        let token = self.0.get(&(audience.to_owned(), seconds)).cloned();
        token.ok_or_else(|| "the token of the ServiceAccount was not given".to_owned())
    }
}

struct Cluster {
    client: Client,
    namespace: String,
}

impl Lookup for Cluster {
    fn object(&self, plural: &str, name: &str) -> Option<Value> {
        self.client
            .get(("", plural), &self.namespace, name)
            .ok()
            .flatten()
    }
}

impl Company {
    fn cluster(&self) -> Result<Cluster, String> {
        let api = self.api.upgrade().ok_or("the cluster has ended")?;
        Ok(Cluster {
            client: machine::client(api),
            namespace: lock(&self.pod).namespace().to_owned(),
        })
    }

    /// Returns the directory of the pod.
    pub fn directory(&self) -> PathBuf {
        self.shared.pod_directory(lock(&self.pod).uid())
    }
}

/// Returns the tokens that the volumes of the pod need; those that expire soon are renewed.
async fn tokens(company: &Company, cluster: &Cluster) -> Result<Given, String> {
    let pod = lock(&company.pod).clone();
    let mut given = HashMap::new();
    let projected = items(&pod["spec"]["volumes"]).flat_map(|volume| items(&volume["projected"]["sources"]));
    let wanted = projected.filter_map(|source| {
        source
            .get("serviceAccountToken")
            .filter(|token| token.is_object())
    });
    for wanted in wanted {
        let audience = wanted["audience"].as_str().unwrap_or_default().to_owned();
        let seconds = wanted["expirationSeconds"].as_i64().unwrap_or(3600);
        let key = (audience.clone(), seconds);
        let now = Timestamp::now();
        let known = lock(&company.tokens)
            .get(&key)
            .filter(|(_, renewal)| *renewal > now)
            .cloned();
        if let Some((token, _)) = known {
            given.insert(key, token);
            continue;
        }
        let audiences: Vec<&str> = if audience.is_empty() {
            Vec::new()
        } else {
            vec![&audience]
        };
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "metadata": {"name": pod["spec"]["serviceAccountName"], "namespace": pod.namespace()},
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef":
                {"apiVersion": "v1", "kind": "Pod", "name": pod.name(), "uid": pod.uid()}},
        });
        let account = pod["spec"]["serviceAccountName"].as_str().unwrap_or("default");
        let accounts = ("", "serviceaccounts");
        let answer = cluster
            .client
            .create_below(accounts, pod.namespace(), account, "token", request)
            .await;
        let answer = answer.map_err(|status| format!("failed to fetch token: {status}"))?;
        let token = answer["status"]["token"]
            .as_str()
            .unwrap_or_default()
            .as_bytes()
            .to_vec();
        // Renewed after four fifths of its time, as upstream does.
        let renewal = now
            .checked_add(SignedDuration::from_secs(seconds / 5 * 4))
            .unwrap_or(now);
        lock(&company.tokens).insert(key.clone(), (token.clone(), renewal));
        given.insert(key, token);
    }
    Ok(Given(given))
}

/// Makes the volumes of a pod what they should be, and returns where each is.
pub async fn volumes(company: &Company) -> Result<BTreeMap<String, PathBuf>, String> {
    let cluster = company.cluster()?;
    let tokens = tokens(company, &cluster).await?;
    let pod = lock(&company.pod).clone();
    let directory = company.directory();
    let mut places = BTreeMap::new();
    for volume in items(&pod["spec"]["volumes"]) {
        let name = volume["name"].as_str().unwrap_or_default();
        let failed = |why: String| format!("MountVolume.SetUp failed for volume \"{name}\" : {why}");
        let own = directory.join("volumes").join(name);
        let place = match volumes::read(&pod, volume, &cluster, &tokens).map_err(failed)? {
            Volume::Files(files) => {
                volumes::publish(&own, &files).map_err(|error| failed(error.to_string()))?;
                own
            }
            Volume::Scratch => {
                private_directory(&own).map_err(|error| failed(error.to_string()))?;
                own
            }
            Volume::Claimed(claim) => {
                let kept = company.shared.claim_directory(pod.namespace(), &claim);
                private_directory(&kept).map_err(|error| failed(error.to_string()))?;
                kept
            }
            Volume::Host(path) => path,
        };
        places.insert(name.to_owned(), place);
    }
    Ok(places)
}

/// Why a container can't be started: the reason of its waiting, and the message.
pub type Obstacle = (&'static str, String);

/// Returns how a container is started.
pub async fn launch(company: &Company, part: &Part) -> Result<Launch, Obstacle> {
    let Some(image) = &part.image else {
        return Err((
            "CreateContainerError",
            "the image was not built by baton".to_owned(),
        ));
    };
    let places = volumes(company).await.map_err(|why| ("ContainerCreating", why))?;
    let pod = lock(&company.pod).clone();
    let mut mounts: Vec<(String, PathBuf)> = items(&part.spec["volumeMounts"])
        .filter_map(|mount| {
            let mut place = places.get(mount["name"].as_str()?)?.clone();
            if let Some(below) = mount["subPath"].as_str() {
                place = Paths::new(&place, Vec::new()).inside(below);
            }
            Some((mount["mountPath"].as_str()?.to_owned(), place))
        })
        .collect();
    if let Some(path) = part.spec["terminationMessagePath"].as_str() {
        let place = termination_message(company, part);
        // What an earlier run said isn't what this one says.
        private_directory(&company.directory().join("termination"))
            .and_then(|()| private_file(&place, b""))
            .map_err(|error| ("CreateContainerError", error.to_string()))?;
        mounts.push((path.to_owned(), place));
    }
    let paths = Paths::new(&image.root, mounts);
    let cluster = company.cluster().map_err(|why| ("CreateContainerError", why))?;
    let links = links(company, &cluster, &pod);
    let environment = environment::of_container(&pod, &part.spec, &links, &cluster)
        .map_err(|Missing(why)| ("CreateContainerConfigError", why))?;
    let texts = |field: &str| -> Vec<String> {
        let all = items(&part.spec[field]).filter_map(Value::as_str);
        all.map(|text| environment::expand(text, &environment)).collect()
    };
    let (command, arguments) = (texts("command"), texts("args"));
    // A command replaces all that the image says; arguments alone replace its arguments.
    let mut whole = match (command.is_empty(), arguments.is_empty()) {
        (false, _) => [command, arguments].concat(),
        (true, false) => [image.entrypoint.clone(), arguments].concat(),
        (true, true) => [image.entrypoint.clone(), image.command.clone()].concat(),
    }
    .into_iter();
    let Some(program) = whole.next() else {
        return Err(("CreateContainerError", "no command specified".to_owned()));
    };
    let directory = match part.spec["workingDir"].as_str() {
        Some(directory) if !directory.is_empty() => directory.to_owned(),
        _ => image.working_directory.clone(),
    };
    let accepts_host = company.shared.options.host_programs;
    if !accepts_host && let Some((name, _)) = environment.iter().find(|(name, _)| programs::brings_code(name))
    {
        return Err(("CreateContainerConfigError", programs::refused_variable(name)));
    }
    let variables: BTreeMap<String, String> = usual_variables(&pod)
        .into_iter()
        .chain(image.environment.iter().cloned())
        .chain(environment)
        .collect();
    let programs = Programs {
        search: variables.get(PATH_VARIABLE).cloned().unwrap_or_default(),
        directory: directory.clone(),
        accepts_host,
        paths,
    };
    let program = programs
        .find(&program)
        .map_err(|why| ("CreateContainerError", why.to_string()))?;
    let paths = &programs.paths;
    let mut environment: BTreeMap<String, String> = variables
        .into_iter()
        .map(|(name, value)| {
            let value = paths.rewrite_value(&value);
            (name, value)
        })
        .collect();
    environment.insert(PATH_VARIABLE.to_owned(), programs.search_path());
    environment.insert(ROOT_VARIABLE.to_owned(), image.root.display().to_string());
    if let Some(kubeconfig) = kubeconfig(company, paths, &pod) {
        environment.entry("KUBECONFIG".to_owned()).or_insert(kubeconfig);
    }
    let directory = paths.inside(&directory);
    Ok(Launch {
        program,
        arguments: whole.map(|argument| paths.rewrite(&argument)).collect(),
        environment,
        directory: if directory.is_dir() {
            directory
        } else {
            image.root.clone()
        },
        control_group: cgroup::of_container(company.shared.as_ref(), &pod, &part.spec),
        programs,
    })
}

/// Returns where what a container says of its end is read from.
pub fn termination_message(company: &Company, part: &Part) -> PathBuf {
    company.directory().join("termination").join(part.name())
}

/// Returns the variables of the Services that a pod finds, this API among them.
fn links(company: &Company, cluster: &Cluster, pod: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    if pod["spec"]["enableServiceLinks"] != false {
        let services = cluster
            .client
            .list(("", "services"), pod.namespace())
            .unwrap_or_default();
        all.extend(services.iter().flat_map(service_links::of_service));
    }
    if let Some(listener) = company.shared.listener() {
        // Nothing leads to the addresses of Services on this machine, so the API is named where it listens.
        let own = json!({"metadata": {"name": "kubernetes"}, "spec": {"clusterIP": listener.ip().to_string(),
            "ports": [{"name": "https", "port": listener.port(), "protocol": "TCP"}]}});
        all.extend(service_links::of_service(&own));
    }
    all
}

fn usual_variables(pod: &Value) -> Vec<(String, String)> {
    let host = pod["spec"]["hostname"]
        .as_str()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| pod.name());
    vec![
        (PATH_VARIABLE.to_owned(), USUAL_PATH.to_owned()),
        ("HOSTNAME".to_owned(), host.to_owned()),
    ]
}

/// Writes the kubeconfig of the pod's ServiceAccount and returns where it is. The token is read from its file each time,
/// so that a new one needs no new kubeconfig.
fn kubeconfig(company: &Company, paths: &Paths, pod: &Value) -> Option<String> {
    let listener = company.shared.listener()?;
    let (_, account) = paths
        .mounts
        .iter()
        .find(|(mounted, _)| mounted.trim_end_matches('/') == ACCOUNT_DIRECTORY)?;
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "pod",
        "clusters": [{"name": "baton", "cluster": {
            "server": format!("https://{listener}"), "certificate-authority": account.join("ca.crt")}}],
        "users": [{"name": "pod", "user": {"tokenFile": account.join("token")}}],
        "contexts": [{"name": "pod", "context": {"cluster": "baton", "user": "pod", "namespace": pod.namespace()}}],
    });
    let path = company.directory().join("kubeconfig");
    private_file(&path, config.to_string().as_bytes()).ok()?;
    Some(path.display().to_string())
}

/// Returns how long a pod's containers have to end.
pub fn grace(pod: &Value) -> Duration {
    let seconds = pod["spec"]["terminationGracePeriodSeconds"]
        .as_u64()
        .unwrap_or(30);
    Duration::from_secs(seconds)
}
