//! Who takes part in a story: the author of an operator, the customer who runs it, and the cluster that both use.

pub(crate) mod author;
pub(crate) mod cluster;
pub(crate) mod customer;
mod operators;
#[path = "../../stage/running.rs"]
#[expect(dead_code, reason = "the tests of the stage use the rest of it")]
mod running;
#[path = "../../world/mod.rs"]
#[expect(dead_code, reason = "the other test programs use the rest of it")]
pub(crate) mod world;
