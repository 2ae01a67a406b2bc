//! The commands of OLM v1, typed as people type them, with everything that they see.
//!
//! A chapter is a transcript: what is typed, standard output, `2>` before each line of standard error, and the exit code
//! where it isn't 0. Both servers give rise to the same transcripts. Chapters that list everything run alone, the others
//! at the same time.

mod adopting;
mod catalogs;
mod changing;
mod failing;
mod installing;
mod keeping;
mod looking;
mod waiting;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::conditions::{Says, holds};
use crate::images::Entry;
use crate::kubernetes::Kubernetes;
use crate::processes::Server;
use crate::reference::Reference;
use crate::terminal::Terminal;
use crate::world::World;

type Outcome = Result<(), String>;

/// A cluster whose catalog has a package for each chapter, and somebody who uses it.
struct Chapter {
    world: Arc<World>,
    terminal: Terminal,
}

impl Chapter {
    fn of(world: &Arc<World>) -> Result<Self, String> {
        Ok(Self {
            world: Arc::clone(world),
            terminal: Terminal::of(world)?,
        })
    }

    fn kubernetes(&self) -> &Kubernetes {
        &self.world.kubernetes
    }

    /// Compares what was seen with what is on record.
    fn ends(self, name: &str) {
        // Without the name of the program: each has the chapters on a server of its own.
        insta::with_settings!({prepend_module_to_snapshot => false}, {
            insta::assert_snapshot!(format!("commands__{name}"), self.terminal.transcript());
        });
    }

    /// Waits until an extension says something of its progress.
    async fn says(&self, extension: &str, status: &str, reason: &str, text: &str) -> Outcome {
        let reference = Reference::olm("ClusterExtension", extension);
        self.kubernetes()
            .until(&reference, |object| {
                let said = holds(object, "Progressing", status, reason, Says::Something(text))?;
                let generation = object.map_or(&Value::Null, |object| &object["metadata"]["generation"]);
                if said["observedGeneration"] == *generation {
                    Ok(())
                } else {
                    Err(format!(
                        "that was said of generation {}",
                        said["observedGeneration"]
                    ))
                }
            })
            .await
    }

    /// Waits until it is noted which version of an extension waits.
    async fn notes_that_waits(&self, extension: &str, version: &str) -> Outcome {
        let reference = Reference::olm("ClusterExtension", extension);
        self.kubernetes()
            .until(&reference, |object| {
                let object = object.ok_or("it isn't there")?;
                let noted = &object["metadata"]["annotations"]["baton-olm.dev/waiting"];
                if noted == version {
                    Ok(())
                } else {
                    Err(format!("noted as waiting is {noted}"))
                }
            })
            .await
    }

    /// Fails where something is there that must not be.
    async fn is_absent(&self, reference: &Reference) -> Outcome {
        match self.kubernetes().get(reference).await? {
            None => Ok(()),
            Some(_) => Err(format!("{reference} is there")),
        }
    }
}

/// Pushes the packages of all chapters, and a catalog of them.
async fn catalog_image(world: &World) -> Result<String, String> {
    let full = |version, channel| Entry::new(version, channel, Contents::full());
    let small = |version, channel| Entry::new(version, channel, Contents::small());
    let packages: [(&str, Vec<Entry>); 9] = [
        (
            "web",
            vec![
                full("1.0.0", "stable"),
                full("1.0.1", "stable").replacing("1.0.0"),
                full("1.2.0", "stable").replacing("1.0.1"),
                full("2.0.0", "edge"),
            ],
        ),
        (
            "base",
            vec![
                small("1.0.0", "stable"),
                small("1.1.0", "stable").replacing("1.0.0"),
            ],
        ),
        ("app", vec![small("1.0.0", "stable")]),
        (
            "gate",
            vec![
                small("1.0.0", "stable"),
                small("1.0.1", "stable").replacing("1.0.0"),
                small("1.0.2", "stable").replacing("1.0.1"),
            ],
        ),
        (
            "stuck",
            vec![
                Entry::new("1.0.0", "stable", Contents::bad_image()),
                Entry::new("1.0.1", "stable", Contents::operator()).replacing("1.0.0"),
            ],
        ),
        ("keeper", vec![full("1.0.0", "stable")]),
        ("leaver", vec![full("1.0.0", "stable")]),
        (
            "classic",
            vec![Entry::new("1.0.0", "stable", Contents::operator())],
        ),
        ("late", vec![small("1.0.0", "stable")]),
    ];
    let mut all = Vec::new();
    for (package, entries) in &packages {
        let mut metas = world.images.push_package(package, package, entries).await?;
        for meta in &mut metas {
            if meta["schema"] == "olm.package" && *package == "web" {
                meta["description"] = "Serves pages to whoever asks.".into();
            }
            if meta["schema"] == "olm.bundle" && *package == "app" {
                let needed = json!({"type": "olm.package.required",
                    "value": {"packageName": "base", "versionRange": ">=1.1.0"}});
                meta["properties"]
                    .as_array_mut()
                    .ok_or("no properties")?
                    .push(needed);
            }
        }
        all.extend(metas);
    }
    world.images.push_catalog("main", "v1", &all).await
}

/// Everything that can be typed about OLM v1.
pub(crate) async fn the_commands_say_what_they_do(server: Server) -> Outcome {
    let world = Arc::new(World::prepared_on(server, &[]).await?);
    failing::without_controllers(Chapter::of(&world)?).await?;
    world.controllers.start()?;
    world.until_served().await?;
    let image = catalog_image(&world).await?;
    catalogs::come_and_go(Chapter::of(&world)?, &image).await?;
    let chapters = [
        tokio::spawn(installing::packages_and_images(Chapter::of(&world)?)),
        tokio::spawn(changing::versions(Chapter::of(&world)?)),
        tokio::spawn(waiting::for_somebody(Chapter::of(&world)?)),
        tokio::spawn(looking::at_what_is_stuck(Chapter::of(&world)?)),
        tokio::spawn(keeping::what_shall_stay(Chapter::of(&world)?)),
        tokio::spawn(adopting::what_was_installed_before(Chapter::of(&world)?)),
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
    if !failures.is_empty() {
        return Err(format!(
            "{}\nthe last words of the controllers:\n{}",
            failures.join("\n\n"),
            world.controllers.last_words(40)
        ));
    }
    failing::with_everything_there(Chapter::of(&world)?, &image).await
}
