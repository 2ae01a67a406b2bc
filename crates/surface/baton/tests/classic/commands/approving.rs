//! `baton classic approve`: a plan, or one operator of a plan that several share.

use super::{Chapter, Outcome, classic};
use crate::scenario::expect;

pub(super) async fn all_or_one(mut chapter: Chapter) -> Outcome {
    let terminal = &mut chapter.terminal;
    // Whoever comes second is planned together with who waits already, however soon that was.
    terminal
        .types_all(&[
            "classic subscribe first -n pair --create-namespace --approval manual --no-wait",
            "classic subscribe second -n pair --approval manual",
            "classic approve second -n pair",
        ])
        .await?;
    for name in ["first.v1.0.0", "second.v1.0.0"] {
        let version = classic("ClusterServiceVersion", "pair", name);
        chapter
            .kubectl()
            .until_is(&version, "/status/phase", "Succeeded")
            .await?;
    }
    let terminal = &mut chapter.terminal;
    terminal
        .types_all(&[
            "classic subscribe app -n needy --create-namespace --approval manual",
            "classic approve app -n needy --only nothing.v1",
            "classic approve app -n needy --only base.v1.0.0",
            "classic list -n needy",
            "classic approve app -n needy",
            "classic list -n needy",
            "classic approve app -n needy",
        ])
        .await?;
    let dependency = classic("ClusterServiceVersion", "needy", "base.v1.0.0");
    let found = chapter.kubectl().read(&dependency).await?;
    expect("its phase", found["status"]["phase"].as_str(), Some("Succeeded"))?;
    chapter.ends("approving");
    Ok(())
}
