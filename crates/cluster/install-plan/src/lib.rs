//! What the Subscriptions of a namespace lead to: InstallPlans, their steps, and how far they came.
//!
//! ```text
//! World ─ namespace::survey ─► Question ─ resolve::classic ─► Answer ─ namespace::conclude ─► NewPlan ─ linked ─► statuses
//!       ─ subscription::decide ─► conditions of one Subscription
//!       ─ plan::decide ─► one action after the other ─► phase and step statuses
//!       ─ source::decide ─► what to connect to, status of a CatalogSource
//! before, after ─ concerns::concerns ─► what to look at again
//! ```
//!
//! Everything here is pure: it looks at a [`World`](classic::World), is told the time, and says what shall be written.
//!
//! # How a controller uses it
//!
//! - A namespace: [`namespace::survey`] says what is written at once, or what is to be resolved. The controller resolves
//!   (see [`namespace::Question::request`] and [`namespace::Answer::of_resolution`]) and calls [`namespace::conclude`]
//!   with the answer and with what it knows of bundle images. That asks for images
//!   ([`namespace::Conclusion::NeedsBundles`]), or for a plan ([`namespace::Conclusion::Plan`]): the controller creates
//!   [`namespace::NewPlan::object`], writes [`namespace::NewPlan::with_status`], and makes the writes of
//!   [`namespace::linked`]; or those of [`namespace::refused`], where it couldn't create the plan.
//! - A plan: [`plan::decide`] is asked again and again until it rests. Each time it wants one thing
//!   ([`plan::Next`]): a write, an object that the World doesn't hold, a bundle, or custom resources to be judged. The
//!   controller does it, puts what the server returned into the World, and notes the outcome in [`plan::Progress`].
//! - A plan that a user wrote ([`user_plan::is_unplanned`]): [`user_plan::request`], then [`user_plan::conclude`].
//! - A Subscription: [`subscription::decide`]. A CatalogSource: [`source::decide`].
//! - A change: [`concerns::concerns`] says which of these to look at.
//!
//! The World must be complete before the first look, and must hold what the controller wrote as soon as the server
//! answered: a plan that is missing from it counts as deleted.
//!
//! # What a plan holds
//!
//! A step of a bundle that came inline in the catalog holds its manifest, as upstream's. A step of a bundle image holds a
//! [`manifest::Reference`] to the image by digest, and one of a plan that would be too large for etcd a reference into the
//! catalog; upstream's references to ConfigMaps are read too.

pub mod alongside;
pub mod approval;
pub mod bundle_lookup;
pub mod concerns;
pub mod conditions;
pub mod definition_upgrade;
pub mod manifest;
pub mod moment;
pub mod namespace;
pub mod permissions;
pub mod plan;
pub mod reference;
pub mod selection;
pub mod settings;
pub mod source;
pub mod standing;
pub mod steps;
pub mod subscription;
pub mod user_plan;
