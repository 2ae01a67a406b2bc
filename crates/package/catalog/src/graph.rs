//! Upgrade graphs drawn as mermaid text or SVG.

pub mod mermaid;
pub mod svg;
