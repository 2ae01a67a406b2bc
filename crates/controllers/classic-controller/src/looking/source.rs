//! A CatalogSource: how it is reached, and what it says of that.

use std::sync::Arc;

use apply::object::{ObjectId, text};
use classic::{Kind, World, Write};
use install_plan::source::{Observed, Said, Serve, SourceDecision, Told, decide};
use service_version::Place;

use crate::controller::{Again, Office, now};
use crate::sources::{Connectivity, SourceName, Wish};

impl Office {
    pub(crate) async fn look_at_source(self: &Arc<Self>, place: &Place) -> Again {
        let name = SourceName {
            namespace: place.namespace.clone(),
            name: place.name.clone(),
        };
        let observed = self.observed(&name);
        let SourceDecision { decision, serve } = match self.unwatched_config_map(place).await {
            Some(world) => decide(&world, &place.namespace, &place.name, &observed, now()),
            None => decide(
                &self.picture.look(),
                &place.namespace,
                &place.name,
                &observed,
                now(),
            ),
        };
        match serve {
            Some(serve) => self.sources.look_after(&name, &wish(serve)),
            None => self.sources.forget(&name),
        }
        let again = self.carry_out(&decision).await;
        if !matches!(again, Again::AtOnce | Again::AfterFailure)
            && let Some(Write::UpdateStatus(source)) = decision.writes.last()
        {
            let said = Said::of(source);
            self.sources.told(&name, Told { said, at: now() });
        }
        again
    }

    fn observed(&self, name: &SourceName) -> Observed {
        let Some(standing) = self.sources.standing(name) else {
            return Observed::default();
        };
        let is_served_here = !matches!(standing.wish, Wish::Address(_));
        let is_failing = standing.connectivity == Connectivity::TransientFailure;
        let failure = standing.content.err().map(|fault| fault.to_string());
        Observed {
            connection: Some(standing.connectivity.to_string()),
            failure: failure.filter(|_| is_served_here && is_failing),
            polled_at: standing.polled,
            signature: standing.signature,
            told: standing.told,
        }
    }

    /// Returns the picture with the ConfigMap of a catalog that nobody has labelled yet, so that no watch brings it.
    async fn unwatched_config_map(&self, place: &Place) -> Option<World> {
        let id = {
            let world = self.picture.look();
            let source = world.get(Kind::CatalogSource, &place.namespace, &place.name)?;
            let name = text(source, "/spec/configMap");
            let is_known = world.get(Kind::ConfigMap, &place.namespace, name).is_some();
            if name.is_empty() || text(source, "/spec/sourceType") == "grpc" || is_known {
                return None;
            }
            ObjectId {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                namespace: place.namespace.clone(),
                name: name.to_owned(),
            }
        };
        let found = self.writer.read(&id).await.ok()?;
        let mut world = self.picture.look().clone();
        world.put(found);
        Some(world)
    }
}

fn wish(serve: Serve) -> Wish {
    match serve {
        Serve::Address(address) => Wish::Address(address),
        Serve::Image { image, secrets, poll } => Wish::Image {
            reference: image,
            secrets,
            every: poll.map(|poll| poll.interval),
        },
        Serve::ConfigMap {
            name,
            resource_version,
        } => Wish::ConfigMap {
            name,
            version: resource_version,
        },
        Serve::MissingConfigMap { name } => Wish::MissingConfigMap { name },
    }
}
