//! The indexed store of a catalog: written once per digest, memory-mapped, read by many.
