//! Anything that serde can serialize, told to a writer of text.
//!
//! `source` walks the value, `entries` puts the keys of a mapping into order, `yaml` writes YAML with the
//! layout of `layout` and the quoting of `style`; [`crate::json`] has the other writer.

pub(crate) mod entries;
pub(crate) mod key_order;
mod layout;
pub(crate) mod source;
mod style;
pub(crate) mod yaml;
