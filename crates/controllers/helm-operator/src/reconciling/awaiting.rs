//! What a look found that a change of may help.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use apply::object::ObjectId;
use release::failure::Failure;

use super::Look;
use crate::awaited::Thing;
use crate::preparing::{LookedUp, Wanted};

impl Look<'_> {
    fn awaits(&self) -> MutexGuard<'_, BTreeSet<Thing>> {
        self.awaits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take_awaits(&self) -> BTreeSet<Thing> {
        std::mem::take(&mut *self.awaits())
    }

    /// Notes what templates looked up, but for what the release itself makes: that changes with each try.
    pub(super) fn await_lookups(&self, looked_up: &LookedUp, wanted: Option<&Wanted>) {
        let looked_up = std::mem::take(&mut *looked_up.lock().unwrap_or_else(PoisonError::into_inner));
        let is_own = |id: &ObjectId| {
            let objects = wanted.into_iter().flat_map(|wanted| &wanted.objects);
            objects.map(|(own, _)| own).any(|own| {
                (&own.api_version, &own.kind) == (&id.api_version, &id.kind)
                    && (id.name.is_empty() || (&own.namespace, &own.name) == (&id.namespace, &id.name))
            })
        };
        let others = looked_up.into_iter().filter(|id| !is_own(id));
        self.awaits().extend(others.map(Thing::Object));
    }

    /// Notes that the server lacks the kind of an object.
    pub(super) fn await_definition(&self, id: &ObjectId) {
        let group = id.group().to_owned();
        self.awaits().insert(Thing::Definition { group });
    }

    /// Notes the objects that nobody let be written, and the namespaces that they were to be in, which may not be there.
    pub(super) fn await_refused(&self, failure: &Failure) {
        let mut awaits = self.awaits();
        for id in &failure.refused {
            if !id.namespace.is_empty() && id.namespace != self.id.namespace {
                awaits.insert(Thing::Object(ObjectId {
                    api_version: "v1".to_owned(),
                    kind: "Namespace".to_owned(),
                    namespace: String::new(),
                    name: id.namespace.clone(),
                }));
            }
            awaits.insert(Thing::Object(id.clone()));
        }
    }
}
