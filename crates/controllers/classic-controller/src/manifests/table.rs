//! Packages as a table, as `kubectl get` asks for them.

use apply::object::text;
use serde_json::{Value, json};

/// Returns packages as a table, with the age that they have at a moment.
pub(super) fn table(manifests: &[Value], version: &str, now: jiff::Timestamp) -> Value {
    let column = |name: &str, kind: &str, format: &str, description: &str| json!({"name": name, "type": kind, "format": format, "description": description, "priority": 0});
    let rows: Vec<Value> = manifests
        .iter()
        .map(|manifest| {
            json!({
                "cells": [
                    text(manifest, "/metadata/name"),
                    text(manifest, "/status/catalogSourceDisplayName"),
                    age(text(manifest, "/metadata/creationTimestamp"), now),
                ],
                "object": {
                    "apiVersion": "meta.k8s.io/v1",
                    "kind": "PartialObjectMetadata",
                    "metadata": manifest["metadata"],
                },
            })
        })
        .collect();
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "Table",
        "metadata": {"resourceVersion": version},
        "columnDefinitions": [
            column("Name", "string", "name", "The name of the package"),
            column("Catalog", "string", "", "The catalog that offers the package"),
            column("Age", "string", "", "How long the catalog is there"),
        ],
        "rows": rows,
    })
}

/// Writes how long ago something was, as kubectl does: the two largest units at most.
fn age(created: &str, now: jiff::Timestamp) -> String {
    let Ok(created) = created.parse::<jiff::Timestamp>() else {
        return "<unknown>".to_owned();
    };
    let seconds = now.as_second().saturating_sub(created.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        ..120 => format!("{seconds}s"),
        120..600 if seconds % 60 != 0 => format!("{minutes}m{}s", seconds % 60),
        120..10_800 => format!("{minutes}m"),
        10_800..28_800 if minutes % 60 != 0 => format!("{hours}h{}m", minutes % 60),
        10_800..172_800 => format!("{hours}h"),
        172_800..691_200 if hours % 24 != 0 => format!("{days}d{}h", hours % 24),
        172_800..63_072_000 => format!("{days}d"),
        _ => format!("{}y{}d", days / 365, days % 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_reads_as_kubectl_writes_it() {
        let now: jiff::Timestamp = "2026-11-17T00:00:00Z".parse().expect("a time");
        let rows = [
            ("2026-11-16T23:59:01Z", "59s"),
            ("2026-11-16T23:57:30Z", "2m30s"),
            ("2026-11-16T23:00:00Z", "60m"),
            ("2026-11-16T19:30:00Z", "4h30m"),
            ("2026-11-13T23:00:00Z", "3d1h"),
            ("2026-10-17T00:00:00Z", "31d"),
            ("", "<unknown>"),
        ];
        for (created, expected) in rows {
            assert_eq!(age(created, now), expected, "{created}");
        }
    }
}
