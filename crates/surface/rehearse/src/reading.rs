//! A client that only reads: whatever a rehearsal does, the live cluster stays as it is.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tower::Service;

/// Returns a client that refuses to send anything but reads.
pub fn read_only(client: &Client) -> Client {
    Client::new(Reader(client.clone()), client.default_namespace().to_owned())
}

/// A request that was not sent.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{method} {path} was not sent: a rehearsal only reads from the live cluster")]
pub struct Refused {
    method: Method,
    path: String,
}

#[derive(Clone)]
struct Reader(Client);

impl Service<Request<Body>> for Reader {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let Self(client) = self.clone();
        Box::pin(async move {
            if request.method() == Method::GET {
                return client.send(request).await;
            }
            let refused = Refused {
                method: request.method().clone(),
                path: request.uri().path().to_owned(),
            };
            Err(kube::Error::Service(Box::new(refused)))
        })
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn reads_are_sent_and_nothing_else() {
        let answer = tower::service_fn(async |_: Request<Body>| {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
            Ok::<_, std::convert::Infallible>(Response::new(Body::from(object.to_string().into_bytes())))
        });
        let client = read_only(&Client::new(answer, "here"));
        assert_eq!(client.default_namespace(), "here");
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        assert!(maps.get("a").await.is_ok());
        let map = ConfigMap::default();
        let merge = Patch::Merge(json!({}));
        let trial = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let refused = [
            maps.create(&PostParams::default(), &map).await.map(drop),
            maps.create(&trial, &map).await.map(drop),
            maps.replace("a", &PostParams::default(), &map).await.map(drop),
            maps.patch("a", &PatchParams::default(), &merge).await.map(drop),
            maps.delete("a", &DeleteParams::default()).await.map(drop),
        ];
        for refused in refused {
            let told = refused.expect_err("it is no read").to_string();
            assert!(
                told.contains("a rehearsal only reads from the live cluster"),
                "{told}"
            );
        }
    }
}
