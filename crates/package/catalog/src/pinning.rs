//! Images of a catalog named by digest instead of by tag.
