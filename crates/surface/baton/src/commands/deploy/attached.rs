//! Prints what is attached to an image in its registry.

use image::manifest::host_architecture;
use image::policy::PolicySource;
use image::reference::Reference;

use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::terminal::Terminal;

/// Prints the documents of a kind that are attached to an image, one after the other.
pub(super) async fn print(
    name: &str,
    media_type: &str,
    flags: &ImageFlags,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let reference = Reference::parse(name)?;
    let images = Images::open(flags, PolicySource::Optional, None)?;
    let found = images
        .remote()?
        .attachments(&reference, media_type, host_architecture())
        .await?;
    if found.is_empty() {
        return Err(Failure::new(format!(
            "nothing of type {media_type} is attached to {name}; baton attaches it when it pushes an image: baton deploy --push"
        )));
    }
    for attachment in found {
        terminal.print(&attachment.bytes)?;
        if !attachment.bytes.ends_with(b"\n") {
            terminal.print(b"\n")?;
        }
    }
    Ok(())
}
