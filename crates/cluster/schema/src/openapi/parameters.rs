//! What operations take in the query and the path.

use serde_json::{Value, json};

/// The parameters of a list or watch.
pub(super) const LIST: [&str; 11] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];

/// The parameters of a write.
pub(super) const WRITE: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];

/// The parameters of a patch.
pub(super) const PATCH: [&str; 4] = ["dryRun", "fieldManager", "fieldValidation", "force"];

/// The parameters of a deletion.
pub(super) const DELETE: [&str; 5] = [
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];

/// The parameters of a deletion of many.
pub(super) const DELETE_COLLECTION: [&str; 14] = [
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
];

/// The parameters of a pod's log.
pub(super) const LOG: [&str; 9] = [
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
];

/// The parameters of a command in a container.
pub(super) const EXEC: [&str; 6] = ["command", "container", "stderr", "stdin", "stdout", "tty"];

/// The parameters of a connection to a container.
pub(super) const ATTACH: [&str; 5] = ["container", "stderr", "stdin", "stdout", "tty"];

const TEXTS: [(&str, &str, &str); 34] = [
    (
        "allowWatchBookmarks",
        "boolean",
        "Whether a watch also gets events of type BOOKMARK, which only tell a resource version. Ignored unless it is a watch.",
    ),
    ("command", "string", "The command to run, without a shell."),
    (
        "container",
        "string",
        "The container; the only one of the pod if it isn't named.",
    ),
    (
        "continue",
        "string",
        "The token of the previous part of a list, to get the next part.",
    ),
    (
        "dryRun",
        "string",
        "With the value All the request is checked in all stages but nothing is stored.",
    ),
    (
        "fieldManager",
        "string",
        "The name of who makes the change: at most 128 printable characters. Required for apply patches.",
    ),
    (
        "fieldSelector",
        "string",
        "Restricts the objects by their fields. All of them if it isn't there.",
    ),
    (
        "fieldValidation",
        "string",
        "What happens to unknown and duplicate fields in the body: Ignore drops them, Warn drops them and sends a warning for each, Strict refuses the request.",
    ),
    ("follow", "boolean", "Whether the log is followed as it grows."),
    (
        "force",
        "boolean",
        "Whether an apply patch takes over fields that others own. Must not be there for other patches.",
    ),
    (
        "gracePeriodSeconds",
        "integer",
        "The seconds before the object is deleted; zero means at once. The kind decides if it isn't there.",
    ),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether an object that can't be read from the store is deleted without regard to finalizers and preconditions.",
    ),
    (
        "insecureSkipTLSVerifyBackend",
        "boolean",
        "Whether the certificate of the node that has the log isn't checked.",
    ),
    (
        "labelSelector",
        "string",
        "Restricts the objects by their labels. All of them if it isn't there.",
    ),
    (
        "limit",
        "integer",
        "The most objects in one answer; the others follow with the token of the answer.",
    ),
    ("limitBytes", "integer", "The most bytes of the log."),
    (
        "orphanDependents",
        "boolean",
        "Deprecated: whether dependents are orphaned. Use propagationPolicy.",
    ),
    ("path", "string", "The path of the request that is passed on."),
    ("ports", "integer", "The ports to forward."),
    (
        "pretty",
        "string",
        "Whether the answer is written with line breaks and indentation.",
    ),
    (
        "previous",
        "boolean",
        "Whether the log is that of the container before its last restart.",
    ),
    (
        "propagationPolicy",
        "string",
        "What happens to dependents: Orphan, Background or Foreground. The kind decides if it isn't there.",
    ),
    (
        "resourceVersion",
        "string",
        "The version that the answer is at least from, or exactly from: resourceVersionMatch tells.",
    ),
    (
        "resourceVersionMatch",
        "string",
        "How resourceVersion is meant for lists: NotOlderThan or Exact.",
    ),
    (
        "sendInitialEvents",
        "boolean",
        "Whether a watch begins with events for the objects that are there, and a bookmark behind them.",
    ),
    (
        "shardSelector",
        "string",
        "Restricts the objects to a part of all.",
    ),
    ("sinceSeconds", "integer", "How many seconds back the log begins."),
    ("stderr", "boolean", "Whether standard error is redirected."),
    ("stdin", "boolean", "Whether standard input is redirected."),
    ("stdout", "boolean", "Whether standard output is redirected."),
    (
        "stream",
        "string",
        "The stream of the log: All, Stdout or Stderr.",
    ),
    (
        "tailLines",
        "integer",
        "How many lines from the end of the log are shown.",
    ),
    ("timeoutSeconds", "integer", "How long the request may last."),
    (
        "timestamps",
        "boolean",
        "Whether each line of the log begins with its time.",
    ),
];

const MORE_TEXTS: [(&str, &str, &str); 2] = [
    ("tty", "boolean", "Whether the command gets a terminal."),
    (
        "watch",
        "boolean",
        "Whether changes are watched instead of listed.",
    ),
];

/// Returns a parameter of the query.
pub(super) fn query(name: &str) -> Value {
    let (value_type, text) = TEXTS
        .iter()
        .chain(&MORE_TEXTS)
        .find(|(known, ..)| *known == name)
        .map_or(("string", ""), |(_, value_type, text)| (value_type, text));
    json!({
        "name": name,
        "in": "query",
        "description": text,
        "schema": { "type": value_type, "uniqueItems": true },
    })
}

/// Returns a parameter of the path.
pub(super) fn path(name: &str, text: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "description": text,
        "required": true,
        "schema": { "type": "string", "uniqueItems": true },
    })
}
