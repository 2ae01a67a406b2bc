//! Role-based access control: what the roles that are bound to someone allow.
//!
//! - [`rules`]: the rules of roles, and what they allow and cover
//! - [`policy`]: all roles and bindings, parsed and indexed by who they are about
//! - [`follow`]: keeps the policy as the store has it

pub mod follow;
pub mod policy;
pub mod rules;
