//! Subscriptions of a cluster and what they lead to, as commands read, change and wait for them.

use std::time::Duration;

use apply::object::text;
use apply::refusal::is_already_there;
use classic::Kind;
use classic_controller::watching::resource;
use install_plan::standing::{current_version, in_pieces, standing};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::cluster::{FIELD_MANAGER, lacks_kind, refused};
use crate::failure::Failure;
use crate::known_names;
use crate::terminal::Terminal;
use crate::waiting::{SEEN_WITHIN, WaitFlags};

pub(crate) use install_plan::standing::Standing;

/// How often it is looked how far something is.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// The objects of OLM v0 in a cluster.
pub(crate) struct Subscriptions {
    client: Client,
}

/// A Subscription with the plan and the version that it is about now.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    pub(crate) subscription: Value,
    pub(crate) plan: Option<Value>,
    pub(crate) version: Option<Value>,
}

impl Followed {
    /// How far it is.
    pub(crate) fn standing(&self) -> Standing {
        standing(&self.subscription, self.plan.as_ref(), self.version.as_ref())
    }
}

impl Subscriptions {
    pub(crate) fn of(client: Client) -> Self {
        Self { client }
    }

    /// The way to the cluster.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Objects of a kind: in a namespace, or everywhere where none is named.
    pub(crate) fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        if namespace.is_empty() {
            Api::all_with(self.client.clone(), &resource(kind))
        } else {
            Api::namespaced_with(self.client.clone(), namespace, &resource(kind))
        }
    }

    /// Lists objects of a kind, by namespace and name: in a namespace, or everywhere where none is named.
    pub(crate) async fn list(&self, kind: Kind, namespace: &str) -> Result<Vec<Value>, Failure> {
        let list = self.api(kind, namespace).list(&ListParams::default()).await;
        let list = list.map_err(|error| unreachable(&format!("list {}", kind.naming().plural), error))?;
        list.items.iter().map(|object| value(kind, object)).collect()
    }

    /// Reads an object.
    pub(crate) async fn get(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, Failure> {
        let found = self.api(kind, namespace).get_opt(name).await;
        let doing = || format!("read {}", named(kind, namespace, name));
        let found = found.map_err(|error| unreachable(&doing(), error))?;
        found.map(|object| value(kind, &object)).transpose()
    }

    /// Finds a Subscription by its name or by that of its package: in a namespace, or everywhere where none is named.
    pub(crate) async fn find(&self, name: &str, namespace: Option<&str>) -> Result<Value, Failure> {
        let all = self
            .list(Kind::Subscription, namespace.unwrap_or_default())
            .await?;
        choose(name, all)
    }

    /// Makes an object.
    pub(crate) async fn create(&self, kind: Kind, object: &Value, try_only: bool) -> Result<Value, Failure> {
        let parameters = PostParams {
            dry_run: try_only,
            field_manager: Some(FIELD_MANAGER.to_owned()),
        };
        let (namespace, name) = place(object);
        let object: DynamicObject = serde_json::from_value(object.clone())?;
        match self.api(kind, &namespace).create(&parameters, &object).await {
            Ok(made) => value(kind, &made),
            Err(error) if is_already_there(&error) => Err(Failure::new(format!(
                "{} is there already; see `baton classic status {name} -n {namespace}`",
                named(kind, &namespace, &name)
            ))),
            Err(error) => Err(unreachable(
                &format!("make {}", named(kind, &namespace, &name)),
                error,
            )),
        }
    }

    /// Changes an object; what others changed meanwhile is left as they made it.
    pub(crate) async fn change(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        change: &Value,
    ) -> Result<Value, Failure> {
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let changed = self
            .api(kind, namespace)
            .patch(name, &parameters, &Patch::Merge(change))
            .await
            .map_err(|error| unreachable(&format!("change {}", named(kind, namespace, name)), error))?;
        value(kind, &changed)
    }

    /// Reads the plan and the version that a Subscription is about now.
    pub(crate) async fn follow(&self, subscription: Value) -> Result<Followed, Failure> {
        let (namespace, _) = place(&subscription);
        let plan = match text(&subscription, "/status/installPlanRef/name") {
            "" => None,
            name => self.get(Kind::InstallPlan, &namespace, name).await?,
        };
        let version = match current_version(&subscription) {
            "" => None,
            name => self.get(Kind::ClusterServiceVersion, &namespace, name).await?,
        };
        Ok(Followed {
            subscription,
            plan,
            version,
        })
    }

    /// What the version waits for that a Subscription has installed; none if it runs.
    async fn installed_standing(&self, subscription: &Value) -> Result<Option<String>, Failure> {
        let (namespace, _) = place(subscription);
        let installed = text(subscription, "/status/installedCSV");
        if installed.is_empty() {
            return Ok(None);
        }
        let version = self
            .get(Kind::ClusterServiceVersion, &namespace, installed)
            .await?;
        let phase = version
            .as_ref()
            .map_or("not there yet", |version| text(version, "/status/phase"));
        Ok((phase != "Succeeded").then(|| format!("{installed} is {phase}")))
    }

    /// Waits until the version that a Subscription asks for runs, or as far as `until` says, and tells on the way what it waits
    /// for.
    pub(crate) async fn wait_installed(
        &self,
        subscription: &Value,
        until: Until<'_>,
        wait: WaitFlags,
        terminal: &mut Terminal,
    ) -> Result<Followed, Failure> {
        if wait.is_declined() {
            return self.follow(subscription.clone()).await;
        }
        let (namespace, name) = place(subscription);
        let awaited = Awaited {
            name: &name,
            object: format!("Subscription {namespace}/{name}"),
            shown_by: format!("`baton classic status {name} -n {namespace}`"),
        };
        let look = async || {
            let found = self.get(Kind::Subscription, &namespace, &name).await?;
            let Some(found) = found else {
                return Err(Failure::new(format!(
                    "Subscription {namespace}/{name} was deleted meanwhile"
                )));
            };
            let followed = self.follow(found).await?;
            Ok(match followed.standing() {
                Standing::Done(_) => Ok(followed),
                Standing::NeedsApproval { .. } if until == Until::Approvable => Ok(followed),
                Standing::NeedsApproval { plan, .. } if until.is_past(&plan) => {
                    match self.installed_standing(&followed.subscription).await? {
                        None => Ok(followed),
                        Some(why) => Err(why),
                    }
                }
                Standing::NeedsApproval { plan, .. } => {
                    return Err(Failure::new(format!(
                        "Subscription {namespace}/{name}: InstallPlan {plan} waits for approval; approve it with `baton \
                         classic approve {plan} -n {namespace}`"
                    )));
                }
                Standing::Stopped(why) => {
                    return Err(Failure::new(format!(
                        "Subscription {namespace}/{name}: {why}; see `baton classic status {name} -n {namespace}` and \
                         `baton classic explain {name} -n {namespace}`"
                    )));
                }
                Standing::Underway(why) => Err(why),
            })
        };
        awaited.until(look, wait, terminal).await
    }

    /// Waits until a version runs, whatever else its plan waits for, and tells on the way what it waits for.
    pub(crate) async fn wait_version(
        &self,
        namespace: &str,
        version: &str,
        wait: WaitFlags,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let awaited = Awaited {
            name: version,
            object: named(Kind::ClusterServiceVersion, namespace, version),
            shown_by: format!("`kubectl describe csv {version} -n {namespace}`"),
        };
        // As for a Subscription that leads to it and to nothing else.
        let asking = json!({"status": {"currentCSV": version, "installedCSV": version}});
        let look = async || {
            let found = self.get(Kind::ClusterServiceVersion, namespace, version).await?;
            match standing(&asking, None, found.as_ref()) {
                Standing::Done(_) => Ok(Ok(())),
                Standing::Stopped(why) => Err(Failure::new(format!("{why}; see {}", awaited.shown_by))),
                other => Ok(Err(other.in_short())),
            }
        };
        awaited.until(look, wait, terminal).await
    }
}

/// What a command waits for.
struct Awaited<'a> {
    /// What remarks begin with.
    name: &'a str,
    object: String,
    /// The command that shows how far it is.
    shown_by: String,
}

impl Awaited<'_> {
    /// Looks again and again until it is there, and tells on the way what it waits for: that is what a look returns as its
    /// inner error.
    async fn until<T>(
        &self,
        mut look: impl AsyncFnMut() -> Result<Result<T, String>, Failure>,
        wait: WaitFlags,
        terminal: &mut Terminal,
    ) -> Result<T, Failure> {
        let mut said = String::new();
        let first = tokio::time::timeout(SEEN_WITHIN, look()).await.map_err(|_| {
            Failure::new(format!(
                "{} could not be read within {} s; see whether the API server is well with `baton status`",
                self.object,
                SEEN_WITHIN.as_secs()
            ))
        });
        let mut seen = first??;
        let looking = async {
            loop {
                let why = match seen {
                    Ok(there) => return Ok(there),
                    Err(why) => why,
                };
                if why != said {
                    terminal.remark(format!("{}: {}", self.name, in_pieces(&why)));
                    said = why;
                }
                tokio::time::sleep(LOOK_EVERY).await;
                seen = look().await?;
            }
        };
        let waited = tokio::time::timeout(wait.patience(), looking).await;
        waited.unwrap_or_else(|_| {
            Err(Failure::new(format!(
                "{} isn't there after {} s; see {}, or wait longer with --timeout{}",
                self.object,
                wait.patience().as_secs(),
                self.shown_by,
                if said.is_empty() {
                    String::new()
                } else {
                    format!("; last: {said}")
                }
            )))
        })
    }
}

/// How far is waited for a Subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until<'a> {
    /// Its version runs.
    Installed,
    /// The same, or a plan waits for approval.
    Approvable,
    /// What this plan installs runs, whether or not the next plan waits already.
    CarriedOut(&'a str),
}

impl Until<'_> {
    /// Whether a plan that waits comes after the one that was waited for.
    fn is_past(self, plan: &str) -> bool {
        matches!(self, Self::CarriedOut(awaited) if awaited != plan)
    }
}

/// The namespace and the name of an object.
pub(crate) fn place(object: &Value) -> (String, String) {
    (
        text(object, "/metadata/namespace").to_owned(),
        text(object, "/metadata/name").to_owned(),
    )
}

/// What is said when the API server refuses something that is about OLM v0.
pub(crate) fn unreachable(doing: &str, error: kube::Error) -> Failure {
    if lacks_kind(&error) {
        return Failure::new(format!(
            "cannot {doing}: the cluster doesn't have the kinds of OLM v0; run `baton controllers` on it"
        ));
    }
    refused(doing, error)
}

fn named(kind: Kind, namespace: &str, name: &str) -> String {
    let kind = kind.naming().kind;
    match namespace {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

/// An object as it is written; lists leave out what they are lists of.
fn value(kind: Kind, object: &DynamicObject) -> Result<Value, Failure> {
    let mut object = serde_json::to_value(object)?;
    object["apiVersion"] = kind.naming().api_version.into();
    object["kind"] = kind.naming().kind.into();
    Ok(object)
}

/// Chooses the one Subscription that has a name, or else the one for a package of this name.
fn choose(name: &str, all: Vec<Value>) -> Result<Value, Failure> {
    let known: Vec<String> = all
        .iter()
        .map(|one| {
            let (namespace, name) = place(one);
            format!("{namespace}/{name}")
        })
        .collect();
    let (of_name, others): (Vec<Value>, Vec<Value>) = all
        .into_iter()
        .partition(|one| text(one, "/metadata/name") == name);
    let of_package = others
        .into_iter()
        .filter(|one| text(one, "/spec/name") == name)
        .collect();
    let mut found: Vec<Value> = if of_name.is_empty() { of_package } else { of_name };
    match found.len() {
        0 => Err(known_names::unknown(
            "Subscription",
            name,
            &known,
            "`baton classic subscribe` makes one",
        )),
        1 => Ok(found.remove(0)),
        _ => {
            let places: Vec<String> = found
                .iter()
                .map(|one| {
                    let (namespace, name) = place(one);
                    format!("{namespace}/{name}")
                })
                .collect();
            Err(Failure::new(format!(
                "{name:?} may be any of these Subscriptions: {}; say which with its name and -n NAMESPACE",
                places.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_is_found_by_its_name_or_its_package() {
        let subscription = |namespace: &str, name: &str, package: &str| json!({"metadata": {"name": name, "namespace": namespace}, "spec": {"name": package}});
        let all = || {
            vec![
                subscription("a", "web", "web-operator"),
                subscription("b", "database", "database-operator"),
                subscription("c", "database", "other"),
                subscription("d", "cache-1", "cache"),
                subscription("e", "cache-2", "cache"),
            ]
        };
        for (name, expected) in [
            ("web", Ok("a/web")),
            ("web-operator", Ok("a/web")),
            ("database-operator", Ok("b/database")),
            (
                "database",
                Err(
                    "\"database\" may be any of these Subscriptions: b/database, c/database; say which with its name and -n NAMESPACE",
                ),
            ),
            (
                "cache",
                Err(
                    "\"cache\" may be any of these Subscriptions: d/cache-1, e/cache-2; say which with its name and -n NAMESPACE",
                ),
            ),
            (
                "none",
                Err(
                    "Subscription \"none\" isn't there; there are a/web, b/database, c/database, d/cache-1, e/cache-2",
                ),
            ),
        ] {
            let found = choose(name, all()).map(|found| {
                let (namespace, name) = place(&found);
                format!("{namespace}/{name}")
            });
            let found = found.map_err(Failure::text);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{name}");
        }
    }
}
