//! `baton get`: catalogs, extensions and their revisions, in the columns that the API server has for them.

use clap::{Args, ValueEnum};
use kube::Client;
use serde_json::Value;

use crate::cluster::{ClusterAccess, refused};
use crate::failure::Failure;
use crate::output::{OutputFlag, columns};
use crate::runtime;
use crate::terminal::Terminal;

/// What the API server is asked for so that it makes the columns itself.
const AS_TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

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
        Some(name) => format!("/apis/olm.operatorframework.io/v1/{plural}/{name}"),
        None => format!("/apis/olm.operatorframework.io/v1/{plural}"),
    };
    let accept = if output.is_for_programs() {
        "application/json"
    } else {
        AS_TABLE
    };
    let request = http::Request::get(path)
        .header(http::header::ACCEPT, accept)
        .body(Vec::new())?;
    let answer: Value = client
        .request(request)
        .await
        .map_err(|error| refused(&format!("read {plural}"), error))?;
    if !output.is_for_programs() && answer["rows"].as_array().is_none_or(Vec::is_empty) {
        terminal.remark(format!("no {plural} in this cluster"));
        return Ok(());
    }
    output.print(terminal, &answer, table)
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
