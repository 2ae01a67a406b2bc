//! Nothing is made of a kind whose definition goes: it would keep the definition for ever.

use super::{Operation, Review};
use crate::controllers::definitions::DEFINITIONS;
use crate::status::Status;
use crate::store::{Key, ResourceKey};

/// Checks that the definition of a kind stays, before an object of the kind is made.
pub fn check(review: &Review<'_>) -> Result<(), Status> {
    let place = review.place;
    let Some(custom) = place.resource.custom() else {
        return Ok(());
    };
    if review.operation != Operation::Create || !place.subresource.is_empty() {
        return Ok(());
    }
    // The store is asked, because what is served follows a moment later.
    let key = Key::new(
        &ResourceKey::new(DEFINITIONS.0, DEFINITIONS.1),
        "",
        &custom.definition,
    );
    if review
        .api
        .store
        .get(&key)
        .is_some_and(|definition| definition.deleting)
    {
        return Err(review.forbidden("create not allowed while custom resource definition is terminating"));
    }
    Ok(())
}
