//! The operators that are installed, asked for only where it matters what they look after.

use std::collections::BTreeSet;

use apply::object::ObjectId;
use extension_controller::bundles::Remotes;
use helm_operator::resource::CustomResource;
use image::content::ContentStore;

use crate::operators::{Candidate, HelmOperator, load};

/// The operators of the installed bundle.
pub(crate) struct Former<'a> {
    candidates: BTreeSet<Candidate>,
    remotes: &'a Remotes,
    store: &'a ContentStore,
    loaded: Option<Result<Vec<HelmOperator>, String>>,
}

impl<'a> Former<'a> {
    pub(crate) fn new(
        candidates: BTreeSet<Candidate>,
        remotes: &'a Remotes,
        store: &'a ContentStore,
    ) -> Self {
        Self {
            candidates,
            remotes,
            store,
            loaded: None,
        }
    }

    /// Returns whether one of them looks after a resource.
    pub(crate) async fn selects(&mut self, id: &ObjectId, resource: &CustomResource) -> Result<bool, String> {
        if self.loaded.is_none() {
            self.loaded = Some(self.load().await);
        }
        let operators = match &self.loaded {
            Some(Ok(operators)) => operators.as_slice(),
            Some(Err(cause)) => return Err(cause.clone()),
            None => &[],
        };
        Ok(operators
            .iter()
            .any(|operator| operator.chart_for(id, resource).is_some()))
    }

    async fn load(&self) -> Result<Vec<HelmOperator>, String> {
        let mut operators = Vec::new();
        for candidate in &self.candidates {
            operators.extend(load(candidate, self.remotes, self.store).await?);
        }
        Ok(operators)
    }
}
