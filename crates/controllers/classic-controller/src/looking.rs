//! One look at one thing: what is seen, what is decided, what is done.

mod definition;
mod namespace;
mod operators;
mod plan;
mod source;
mod subscription;
mod user_plan;
