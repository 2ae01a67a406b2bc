//! Catalogs of the registry in this process follow their tags at once: a push is heard here, so nobody waits for a poll.

use std::net::SocketAddr;

use image::registry::Tagged;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use crate::hosted_stage;
use crate::olm::MovedImages;

/// Tells the controllers of every tag that is pushed to a registry, until the registry is gone.
pub(super) async fn follow(mut tagged: Receiver<Tagged>, registry: SocketAddr, moved: MovedImages) {
    let hosts = hosted_stage::hosts(registry);
    loop {
        match tagged.recv().await {
            Ok(Tagged { repository, tag }) => {
                for host in &hosts {
                    moved.tell(format!("{host}/{repository}:{tag}")).await;
                }
            }
            // What was missed is found by the next poll.
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}
