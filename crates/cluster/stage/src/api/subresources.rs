//! What is made below an object, and what is asked without being stored.

use serde_json::Value;

use super::{Api, Call, Place, Written};
use crate::options::WriteOptions;
use crate::status::Status;

impl Api {
    /// Makes something below an object (a binding, an eviction, a token), or answers a question.
    pub async fn create_below(
        &self,
        call: &Call,
        place: &Place,
        body: Value,
        options: &WriteOptions,
    ) -> Result<Written, Status> {
        match place.below() {
            None => self.answer_review(call, place, body, options).await,
            Some("binding") => self.bind(call, place, body, options).await,
            Some("eviction") => self.evict(call, place, body, options).await,
            Some("token") => self.request_token(call, place, body, options).await,
            Some(_) => Err(Status::method_not_allowed()),
        }
    }
}
