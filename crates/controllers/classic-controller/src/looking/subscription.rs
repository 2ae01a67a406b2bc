//! A Subscription: what it says of its plan, its catalogs and what is deprecated.

use std::sync::Arc;

use classic::Kind;
use install_plan::subscription::{Subscription, decide};
use resolve::classic::entry::Deprecations;
use service_version::Place;

use crate::controller::{Again, Office, now};
use crate::sources::SourceName;

impl Office {
    pub(crate) async fn look_at_subscription(self: &Arc<Self>, place: &Place) -> Again {
        let deprecations = self.deprecations(place);
        let decision = decide(
            &self.picture.look(),
            &place.namespace,
            &place.name,
            deprecations.as_ref(),
            &self.options.settings,
            now(),
        );
        self.carry_out(&decision).await
    }

    /// Returns what the catalog says against what a Subscription has installed.
    fn deprecations(&self, place: &Place) -> Option<Deprecations> {
        let world = self.picture.look();
        let object = world.get(Kind::Subscription, &place.namespace, &place.name)?;
        let subscription = Subscription(object);
        let source = subscription.source();
        let name = SourceName {
            namespace: source.namespace,
            name: source.name,
        };
        let content = self.sources.standing(&name)?.content.ok()?;
        let entries = content.snapshot.entries();
        let positions = content.snapshot.of_package(subscription.package()).iter();
        let mut found = positions.filter_map(|position| entries.get(*position));
        let found = found.find(|entry| {
            let is_in_channel = subscription.channel().is_empty() || entry.channel == subscription.channel();
            entry.name == subscription.installed() && is_in_channel
        });
        found.map(|entry| entry.deprecations.clone())
    }
}
