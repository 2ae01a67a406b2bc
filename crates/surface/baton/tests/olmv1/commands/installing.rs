//! `baton install`: with what a package needs, and from an image without a catalog.

use super::{Chapter, Outcome};
use crate::bundles::Contents;
use crate::images::bundle_image;
use crate::reference::Reference;

pub(super) async fn packages_and_images(mut chapter: Chapter) -> Outcome {
    let app = Reference::olm("ClusterExtension", "app");
    let base = Reference::olm("ClusterExtension", "base");
    chapter
        .terminal
        .types_all(&[
            "install app --with-dependencies --dry-run",
            "install app --dry-run -o json",
        ])
        .await?;
    for reference in [&app, &base, &Reference::cluster("v1", "Namespace", "app")] {
        chapter.is_absent(reference).await?;
    }
    // A slip of a hand is told before anything is made.
    chapter
        .terminal
        .types_all(&[
            "install ap",
            "install bsae --no-wait",
            "install nowhere-to-be-found --dry-run",
            "install app --channel stabel",
            "install app --channel stable --version 2.x",
            "install app --with-dependencies --version 1.0.1",
        ])
        .await?;
    for reference in [
        &Reference::cluster("v1", "Namespace", "ap"),
        &app,
        &base,
        &Reference::cluster("v1", "Namespace", "app"),
    ] {
        chapter.is_absent(reference).await?;
    }
    // What is needed is missing: that is told, and nothing is installed.
    chapter.terminal.types_all(&["install app --no-wait"]).await?;
    chapter.says("app", "True", "Retrying", "base").await?;
    chapter
        .terminal
        .types_all(&[
            "upgrade app --timeout 1",
            "explain app",
            "uninstall app",
            "install app --with-dependencies",
            "get extensions base",
            "install app",
        ])
        .await?;
    let needed = chapter.kubernetes().read(&base).await?;
    if needed["status"]["install"]["bundle"]["version"] != "1.1.0" {
        return Err(format!("of base, {} is installed", needed["status"]["install"]));
    }

    let images = &chapter.world.images;
    let files = Contents::small().files("direct", "direct", "3.0.0");
    images
        .push(&files, &bundle_image("direct", "3.0.0"), false)
        .await?;
    let image = format!("{}/{}", images.host, bundle_image("direct", "3.0.0"));
    let missing = format!("{}/{}", images.host, bundle_image("direct", "9.9.9"));
    let terminal = &mut chapter.terminal;
    terminal
        .types(&[
            "install",
            "direct",
            "--bundle-image",
            &image,
            "--channel",
            "stable",
        ])
        .await?;
    terminal
        .types(&["install", "direct", "--bundle-image", &image])
        .await?;
    terminal
        .types(&[
            "install",
            "direct",
            "--name",
            "gone",
            "--bundle-image",
            &missing,
            "--no-wait",
        ])
        .await?;
    chapter.says("gone", "True", "Retrying", "9.9.9").await?;
    let terminal = &mut chapter.terminal;
    std::fs::write(terminal.path("settings.yaml"), "- not\n- a map\n").map_err(|error| error.to_string())?;
    terminal
        .types_all(&[
            "upgrade gone --timeout 1",
            "uninstall gone -o yaml",
            "install web --name configured --config settings.yaml",
            "install web --name configured --config no-such-file.yaml",
            "install web --name Configured --no-create-namespace --no-wait",
            "install web --name configured --version none-at-all --namespace default --no-wait",
            "install web --name configured --progress-deadline 0 --namespace default --no-wait",
        ])
        .await?;
    chapter.ends("installing");
    Ok(())
}
