//! `baton classic`, typed as people type it, with everything that they see.
//!
//! A chapter is a transcript: what is typed, standard output, `2>` before each line of standard error, and the exit code
//! where it isn't 0. Both servers give rise to the same transcripts. Chapters that list everything run alone, the others
//! at the same time.

mod approving;
mod migrating;
mod subscribing;

use std::sync::Arc;

use serde_json::json;

use crate::catalogs::{operator, versions, with_property, with_service_versions};
use crate::images::Entry;
use crate::kubectl::Kubectl;
use crate::processes::Server;
use crate::reference::Reference;
use crate::scenario::ALPHA;
use crate::terminal::Terminal;
use crate::world::World;

type Outcome = Result<(), String>;

/// The namespace whose catalogs every namespace sees.
const GLOBAL_NAMESPACE: &str = "olm";

/// A cluster whose global catalog has a package for each chapter, and somebody who uses it.
struct Chapter {
    world: Arc<World>,
    terminal: Terminal,
}

impl Chapter {
    fn of(world: &Arc<World>) -> Result<Self, String> {
        let mut terminal = Terminal::of(world)?;
        // How far something is while it is waited for depends on who is faster.
        for begin in ["web", "first", "second", "app.", "app:", "base", "leaver"] {
            terminal.passes_over(begin);
        }
        Ok(Self {
            world: Arc::clone(world),
            terminal,
        })
    }

    fn kubectl(&self) -> &Kubectl {
        &self.world.kubectl
    }

    /// Compares what was seen with what is on record.
    fn ends(self, name: &str) {
        // Without the name of the program: each has the chapters on a server of its own.
        insta::with_settings!({prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(format!("commands__{name}"), self.terminal.transcript());
        });
    }
}

/// An object of OLM v0.
fn classic(kind: &str, namespace: &str, name: &str) -> Reference {
    Reference::namespaced(ALPHA, kind, namespace, name)
}

/// Pushes the packages of all chapters, and a catalog of them; returns its image.
async fn catalog_image(world: &World) -> Result<String, String> {
    let mut web = versions(&["1.0.0", "1.1.0"]);
    web.push(Entry::new("2.0.0", "edge", operator()));
    let one = || versions(&["1.0.0"]);
    let packages = [
        ("web", web),
        ("first", one()),
        ("second", one()),
        ("base", one()),
        ("app", one()),
        ("leaver", one()),
    ];
    let mut all = Vec::new();
    for (package, entries) in &packages {
        let metas = world.images.push_package(package, package, entries).await?;
        all.extend(with_service_versions(package, metas));
    }
    let needed =
        json!({"type": "olm.package.required", "value": {"packageName": "base", "versionRange": ">=1.0.0"}});
    with_property(&mut all, "app", &needed);
    world.images.push_catalog("main", "v1", &all).await
}

/// Everything that can be typed about OLM v0.
pub(crate) async fn the_commands_say_what_they_do(server: Server) -> Outcome {
    let world = Arc::new(World::prepared_on(server, &[], &[]).await?);
    subscribing::without_controllers(Chapter::of(&world)?).await?;
    world.controllers.start()?;
    world.until_served().await?;
    let image = catalog_image(&world).await?;
    let source = json!({
        "apiVersion": ALPHA, "kind": "CatalogSource",
        "metadata": {"name": "main", "namespace": GLOBAL_NAMESPACE},
        "spec": {"sourceType": "grpc", "image": image, "displayName": "Main", "publisher": "Scenarios"},
    });
    world.kubectl.apply(&[source]).await?;
    let source = classic("CatalogSource", GLOBAL_NAMESPACE, "main");
    let state = "/status/connectionState/lastObservedState";
    world.kubectl.until_is(&source, state, "READY").await?;
    subscribing::from_first_to_last(Chapter::of(&world)?).await?;
    let chapters = [
        tokio::spawn(approving::all_or_one(Chapter::of(&world)?)),
        tokio::spawn(migrating::to_an_extension(Chapter::of(&world)?, image)),
    ];
    let mut failures = Vec::new();
    for chapter in chapters {
        match chapter.await {
            Ok(Ok(())) => {}
            Ok(Err(reason)) => failures.push(reason),
            // The difference is on standard error.
            Err(panic) => failures.push(panic.to_string()),
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{}\nthe last words of the controllers:\n{}",
        failures.join("\n\n"),
        world.controllers.last_words(40)
    ))
}
