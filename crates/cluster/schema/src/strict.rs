//! Fields that a type doesn't have, and fields that are written twice.
