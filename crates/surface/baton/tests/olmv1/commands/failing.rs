//! What is said when something is wrong: each time with what to do next.

use std::fs;

use super::{Chapter, Outcome};
use crate::kubernetes::Kubernetes;
use crate::terminal::{Seen, Terminal};

/// A cluster on which baton's controllers never ran, and kubeconfigs that lead nowhere.
pub(super) async fn without_controllers(mut chapter: Chapter) -> Outcome {
    let administrator = chapter.world.kubeconfig();
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "get extensions",
            "catalog list",
            "catalog search",
            "catalog add main registry.example/catalog:v1",
            "install web --namespace default",
            "upgrade web",
            "status",
            "plan web",
            "adopt web --namespace default",
            "get extensions --kubeconfig no-such-file",
        ])
        .await?;
    let text = fs::read(&administrator).map_err(|error| error.to_string())?;
    let mut config = goyaml::to_value(&text).map_err(|error| error.to_string())?;
    for pointer in ["/current-context", "/contexts/0/name"] {
        *config
            .pointer_mut(pointer)
            .ok_or("a kubeconfig without a context")? = "here".into();
    }
    let text = config.to_string();
    let write = |terminal: &Terminal, name: &str, text: &str| {
        fs::write(terminal.path(name), text).map_err(|error| error.to_string())
    };
    write(terminal, "garbage", "this is: [no kubeconfig")?;
    write(terminal, "empty", "")?;
    // Nobody listens on the lowest port.
    let server = Kubernetes::of(&administrator)?.url;
    write(terminal, "gone", &text.replace(&server, "https://127.0.0.1:1"))?;
    terminal
        .types_all(&[
            "get extensions --kubeconfig garbage",
            "get extensions --kubeconfig empty",
            "get extensions --kubeconfig gone",
            "get extensions --kubeconfig gone --context there",
        ])
        .await?;
    let gone = terminal.path("gone");
    terminal.use_kubeconfig(&gone);
    terminal.types_all(&["status --context there"]).await?;
    let nowhere = terminal.path("nowhere");
    terminal.use_kubeconfig(&nowhere);
    terminal.types_all(&["status"]).await?;
    chapter.ends("without_controllers");
    Ok(())
}

/// Names that nothing has, a user without rights, and controllers that are gone.
pub(super) async fn with_everything_there(mut chapter: Chapter, image: &str) -> Outcome {
    let administrator = chapter.world.kubeconfig();
    let registry = chapter.world.images.host.clone();
    let broken = format!("{registry}/catalogs/no-such-catalog:v1");
    // It waits in vain while the others are typed.
    let adding = ["catalog", "add", "broken", &broken, "--timeout", "15"];
    let waiting = chapter.terminal.start(&adding)?;
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "get extensions",
            "get extensions nothing",
            "get revisions nothing-1",
            "upgrade nothing",
            "rollback nothing",
            "uninstall nothing",
            "pause nothing",
            "resume nothing",
            "approve nothing",
            "status nothing",
            "plan nothing",
            "explain nothing",
            "adopt nothing --namespace default",
            "install",
            "install web --no-wait --timeout 5",
            "upgrade web --force --no-force",
            "get everything",
        ])
        .await?;
    let text = fs::read_to_string(&administrator).map_err(|error| error.to_string())?;
    let mut config = goyaml::to_value(text.as_bytes()).map_err(|error| error.to_string())?;
    config["users"][0]["user"]["as"] = "jane".into();
    let as_jane = terminal.path("jane");
    fs::write(&as_jane, config.to_string()).map_err(|error| error.to_string())?;
    terminal.use_kubeconfig(&as_jane);
    terminal
        .types_all(&[
            "get extensions",
            "catalog list",
            "catalog search",
            "catalog remove main",
            "install web --catalog main",
            "upgrade app --version 1.0.0",
            "status",
            "explain app",
            "why namespace/default",
        ])
        .await?;
    terminal.use_kubeconfig(&administrator);
    let waited = Seen::of(waiting).await?;
    terminal.take_down(&adding, &waited);
    terminal.types_all(&["catalog remove broken"]).await?;

    chapter.world.controllers.stop().await?;
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "install late --timeout 1",
            "uninstall late --timeout 5",
            "catalog remove main --timeout 1",
            "upgrade app --channel stable --timeout 1",
        ])
        .await?;
    terminal
        .types(&["catalog", "add", "late", image, "--timeout", "1"])
        .await?;
    // Where the content of catalogs can't be had from the controllers, the images are asked.
    terminal.types_all(&["explain base"]).await?;
    chapter.ends("failing");
    Ok(())
}
