//! `grpc.health.v1.Health`: a catalog that listens is healthy, whatever the service is called that is asked about.

use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::registry::Answers;

/// Says that all is well.
#[derive(Debug, Clone, Copy)]
pub(super) struct HealthService;

#[tonic::async_trait]
impl Health for HealthService {
    type WatchStream = Answers<HealthCheckResponse>;

    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(HealthCheckResponse {
            status: ServingStatus::Serving.into(),
        }))
    }

    /// Clients take this answer, which is upstream's too, for good health.
    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("method Watch not implemented"))
    }
}
