//! The canonical form of a catalog object: compact JSON with sorted keys, as catalogd stores it.
