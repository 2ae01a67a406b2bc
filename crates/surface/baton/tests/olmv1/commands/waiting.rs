//! `baton approve`, `pause` and `resume`: versions that wait for somebody.

use super::{Chapter, Outcome};

pub(super) async fn for_somebody(mut chapter: Chapter) -> Outcome {
    chapter
        .terminal
        .types_all(&[
            "install gate --version 1.0.0 --manual-approval",
            "status gate",
            "plan gate",
            "explain gate",
            "approve gate",
            "approve gate",
        ])
        .await?;
    chapter
        .terminal
        .types_all(&["upgrade gate --version 1.0.1"])
        .await?;
    chapter.notes_that_waits("gate", "1.0.1").await?;
    chapter
        .terminal
        .types_all(&[
            "get extensions gate",
            "plan gate",
            "explain gate",
            "approve gate -o yaml",
            "pause gate",
        ])
        .await?;
    chapter.terminal.types_in_both_forms("pause gate").await?;
    chapter
        .terminal
        .types_all(&["upgrade gate --version 1.0.2 --no-wait"])
        .await?;
    chapter
        .says("gate", "False", "Blocked", "1.0.2 waits because")
        .await?;
    chapter.notes_that_waits("gate", "1.0.2").await?;
    chapter
        .terminal
        .types_all(&[
            "status gate",
            "plan gate",
            "explain gate --version 1.0.2",
            "resume gate",
        ])
        .await?;
    chapter
        .says("gate", "False", "Blocked", "waits for approval")
        .await?;
    chapter
        .terminal
        .types_all(&[
            "approve gate --version 1.0.2",
            "resume gate -o json",
            "get extensions gate",
        ])
        .await?;
    chapter.ends("waiting");
    Ok(())
}
