//! `baton get`: catalogs, extensions and their revisions, in the columns that the API server has for them.

use apply::refusal::is_not_found;
use clap::{Args, ValueEnum};
use kube::Client;
use serde_json::Value;

use crate::cluster::{ClusterAccess, lacks_kind, refused};
use crate::failure::Failure;
use crate::known_names;
use crate::output::{OutputFlag, columns};
use crate::runtime;
use crate::terminal::Terminal;

/// What the API server is asked for so that it makes the columns itself.
const AS_TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// Where OLM v1 is in the API.
const API: &str = "/apis/olm.operatorframework.io/v1";

/// Prints the catalogs, extensions or revisions of the cluster.
#[derive(Args)]
pub(crate) struct Get {
    /// What to print
    #[arg(value_enum)]
    what: What,
    /// Only the one of this name
    #[arg(value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The `ClusterCatalog`s
    #[value(alias = "catalog", alias = "clustercatalogs", alias = "clustercatalog")]
    Catalogs,
    /// The `ClusterExtension`s
    #[value(alias = "extension", alias = "clusterextensions", alias = "clusterextension")]
    Extensions,
    /// The `ClusterObjectSet`s
    #[value(alias = "revision", alias = "clusterobjectsets", alias = "clusterobjectset")]
    Revisions,
}

impl What {
    fn plural(self) -> &'static str {
        match self {
            Self::Catalogs => "clustercatalogs",
            Self::Extensions => "clusterextensions",
            Self::Revisions => "clusterobjectsets",
        }
    }
}

impl Get {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let client = self.access.connect().await?;
            print(
                client,
                self.what.plural(),
                self.name.as_deref(),
                self.output,
                terminal,
            )
            .await
        })
    }
}

/// Prints one or all objects of a kind of OLM v1.
pub(crate) async fn print(
    client: Client,
    plural: &str,
    name: Option<&str>,
    output: OutputFlag,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let path = match name {
        Some(name) if is_name(name) => format!("{API}/{plural}/{name}"),
        Some(name) => {
            return Err(Failure::new(format!(
                "{name:?} can't be the name of an object: names have lower-case letters, digits, '-' and '.'"
            )));
        }
        None => format!("{API}/{plural}"),
    };
    let accept = if output.is_for_programs() {
        "application/json"
    } else {
        AS_TABLE
    };
    let request = http::Request::get(path)
        .header(http::header::ACCEPT, accept)
        .body(Vec::new())?;
    let answer: Value = match (client.request(request).await, name) {
        (Ok(answer), _) => answer,
        (Err(error), Some(name)) if is_not_found(&error) && !lacks_kind(&error) => {
            return Err(unknown(client, plural, name).await?);
        }
        (Err(error), _) => return Err(refused(&format!("read {plural}"), error)),
    };
    if !output.is_for_programs() && answer["rows"].as_array().is_none_or(Vec::is_empty) {
        let next = match plural {
            "clustercatalogs" => "`baton catalog add` adds one",
            _ => "`baton install` makes one",
        };
        terminal.remark(format!("no {plural} in this cluster; {next}"));
        return Ok(());
    }
    output.print(terminal, &answer, table)
}

/// What is said of an object that isn't there.
async fn unknown(client: Client, plural: &str, name: &str) -> Result<Failure, Failure> {
    let request = http::Request::get(format!("{API}/{plural}")).body(Vec::new())?;
    let list: Value = client
        .request(request)
        .await
        .map_err(|error| refused(&format!("list {plural}"), error))?;
    let items = list["items"].as_array().into_iter().flatten();
    let names: Vec<String> = items
        .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
        .collect();
    let (kind, otherwise) = match plural {
        "clustercatalogs" => ("ClusterCatalog", "`baton catalog add` adds one"),
        "clusterextensions" => ("ClusterExtension", "`baton install` makes one"),
        _ => ("ClusterObjectSet", "`baton install` makes one"),
    };
    Ok(known_names::unknown(kind, name, &names, otherwise))
}

/// Whether a text can be a name, so that it means nothing else in a path.
fn is_name(text: &str) -> bool {
    let may_be = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    text.bytes().all(may_be) && text.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// A Table of the API server as text; columns of lower priority are left out, as kubectl does.
fn table(answer: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let definitions = list(&answer["columnDefinitions"]);
    let shown: Vec<usize> = definitions
        .iter()
        .enumerate()
        .filter(|(_, column)| column["priority"].as_i64().unwrap_or_default() == 0)
        .map(|(index, _)| index)
        .collect();
    let head = shown
        .iter()
        .map(|index| {
            definitions[*index]["name"]
                .as_str()
                .unwrap_or_default()
                .to_uppercase()
        })
        .collect();
    let mut rows = vec![head];
    for row in list(&answer["rows"]) {
        rows.push(shown.iter().map(|index| cell(&row["cells"][*index])).collect());
    }
    columns(&rows)
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_of_the_server_is_printed_as_kubectl_does() {
        let answer = json!({
            "columnDefinitions": [
                {"name": "Name", "priority": 0}, {"name": "Installed Bundle"}, {"name": "Detail", "priority": 1}, {"name": "Age"},
            ],
            "rows": [
                {"cells": ["web", null, "hidden", "3d"]},
                {"cells": ["models", "models.v1.2.0", "hidden", 5]},
            ],
        });
        insta::assert_snapshot!(table(&answer), @r"
        NAME     INSTALLED BUNDLE   AGE
        web                         3d
        models   models.v1.2.0      5
        ");
    }
}
