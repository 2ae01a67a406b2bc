//! Upgrade graphs drawn as mermaid text or SVG.
