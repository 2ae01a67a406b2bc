//! One package through its versions: `install`, `get`, `status`, `plan`, `explain`, `why`, `upgrade`, `rollback`, `uninstall`.

use serde_json::{Value, json};

use super::{Chapter, Outcome};
use crate::reference::Reference;

pub(super) async fn versions(mut chapter: Chapter) -> Outcome {
    installed(&mut chapter).await?;
    explained(&mut chapter).await?;
    changed(&mut chapter).await?;
    chapter.ends("changing");
    Ok(())
}

async fn installed(chapter: &mut Chapter) -> Outcome {
    chapter.terminal.types_all(&["install web --dry-run"]).await?;
    chapter
        .is_absent(&Reference::olm("ClusterExtension", "web"))
        .await?;
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "install web --version 1.0.0 --channel stable --catalog main",
            "install web",
            "get extensions web",
            "get revisions web-1",
            "status web",
            "status web --all",
        ])
        .await?;
    let extension = terminal.types_in_both_forms("get extension web").await?;
    if extension["status"]["install"]["bundle"]["version"] != "1.0.0" {
        return Err(format!("installed is {}", extension["status"]["install"]));
    }
    let trees = terminal.types_in_both_forms("status web").await?;
    let phases = trees[0]["revisions"][0]["phases"].as_array();
    if phases.is_none_or(Vec::is_empty) {
        return Err(format!("the tree has no phases: {trees}"));
    }
    Ok(())
}

async fn explained(chapter: &mut Chapter) -> Outcome {
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "plan web",
            "plan web --version 1.0.1",
            "plan web --version 2.0.0",
            "plan web --version 1.2.0 --force",
            "explain web",
            "explain web --version 1.2.0",
        ])
        .await?;
    let planned = terminal.types_in_both_forms("plan web --version 1.0.1").await?;
    if planned["revisions"][0]["action"] != "make" {
        return Err(format!("the plan makes no revision: {planned}"));
    }
    terminal.types_in_both_forms("explain web").await?;
    terminal
        .types_all(&[
            "why deployment/test-operator-web --namespace web",
            "why clusterobjectset/web-1",
            "why deployment/test-operator-web",
            "why deploy/test-operator-web --namespace web",
            "why deployment/nothing --namespace web",
            "why namespace/web",
            "why namespace/nothing",
            "why gadget/web",
            "why web",
        ])
        .await?;
    terminal
        .types_in_both_forms("why configmaps/test-configmap-web --namespace web")
        .await?;
    // Nothing of all that changed anything.
    chapter
        .is_absent(&Reference::olm("ClusterObjectSet", "web-2"))
        .await
}

async fn changed(chapter: &mut Chapter) -> Outcome {
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "rollback web",
            "upgrade web --version 1.0.1",
            "upgrade web --version 1.0.1",
            "upgrade web --catalog nowhere",
            "upgrade web --channel none --no-wait",
        ])
        .await?;
    let web = Reference::olm("ClusterExtension", "web");
    let catalog = |asked: Value| json!({"spec": {"source": {"catalog": asked}}});
    // As somebody who edits the object, and isn't told.
    chapter
        .kubernetes()
        .merge(&web, &catalog(json!({"channels": ["none"]})))
        .await?;
    chapter.says("web", "True", "Retrying", "none").await?;
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&["upgrade web --timeout 1", "explain web"])
        .await?;
    terminal
        .types(&[
            "upgrade",
            "web",
            "--channel",
            "",
            "--version",
            "9.9.9",
            "--no-wait",
        ])
        .await?;
    chapter
        .kubernetes()
        .merge(&web, &catalog(json!({"channels": null, "version": "9.9.9"})))
        .await?;
    chapter.says("web", "True", "Retrying", "9.9.9").await?;
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&["upgrade web --timeout 1", "get extensions web"])
        .await?;
    terminal.types(&["upgrade", "web", "--version", ""]).await?;
    terminal
        .types_all(&[
            "rollback web --to 1.2.0",
            "rollback web --to 7.7.7",
            "rollback web",
            "status web --archived",
            "upgrade web --version 2.0.0 --force",
        ])
        .await?;
    terminal
        .types(&[
            "upgrade",
            "web",
            "--version",
            ">=1.0.0 <2.0.0",
            "--no-force",
            "--no-wait",
            "-o",
            "yaml",
        ])
        .await?;
    terminal.types_all(&["uninstall web"]).await?;
    for gone in [
        Reference::olm("ClusterExtension", "web"),
        Reference::namespaced("apps/v1", "Deployment", "web", "test-operator-web"),
    ] {
        chapter.kubernetes().until_gone(&gone).await?;
    }
    Ok(())
}
