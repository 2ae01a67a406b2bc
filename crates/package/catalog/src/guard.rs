//! What was published must stay: compares a catalog with the published one and names what would be lost.
