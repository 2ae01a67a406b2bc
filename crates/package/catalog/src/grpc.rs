//! The gRPC API of a served catalog, `api.Registry`.
