//! `baton catalog add|list|search|remove`, and `baton get catalogs`.

use super::{Chapter, Outcome};

pub(super) async fn come_and_go(mut chapter: Chapter, image: &str) -> Outcome {
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "catalog list",
            "catalog search",
            "get catalogs",
            "get extensions",
            "get revisions",
            "status",
            "install web --catalog main",
        ])
        .await?;
    terminal.types(&["catalog", "add", "main", image]).await?;
    terminal.types(&["catalog", "add", "main", image]).await?;
    let second = [
        "catalog",
        "add",
        "second",
        image,
        "--priority",
        "-5",
        "--label",
        "team=a",
        "-o",
        "yaml",
    ];
    terminal.types(&second).await?;
    terminal.types_all(&["catalog list", "catalog search"]).await?;
    terminal
        .types(&["catalog", "add", "third", image, "--label", "team"])
        .await?;
    terminal
        .types(&["catalog", "add", "third", image, "--pull-secret", "password"])
        .await?;
    let pinned = format!("{image}@sha256:{}", "0".repeat(64));
    terminal
        .types(&["catalog", "add", "third", &pinned, "--poll", "5"])
        .await?;
    terminal
        .types_all(&[
            "catalog remove second",
            "catalog remove second",
            "get catalogs second",
        ])
        .await?;
    terminal.types_in_both_forms("catalog list").await?;
    let found = terminal.types_in_both_forms("catalog search web").await?;
    if found[0]["latest"] != "2.0.0" {
        return Err(format!("the newest version of web is {}", found[0]["latest"]));
    }
    terminal
        .types_all(&[
            "catalog search PAGES",
            "catalog search no-such-thing",
            "catalog search --catalog second",
            "get catalogs main",
            "get catalogs ../clusterextensions",
            "catalog list packages main -o json",
        ])
        .await?;
    chapter.ends("catalogs");
    Ok(())
}
