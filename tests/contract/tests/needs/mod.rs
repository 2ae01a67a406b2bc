//! What a test needs that a machine may not have.

use contract::real::BuildError;

/// Returns what a test needs; without it the test is skipped and says so, unless `BATON_REQUIRE_REAL` asks for it.
pub(crate) fn found<T>(what: Result<T, BuildError>) -> Option<T> {
    match what {
        Ok(there) => Some(there),
        Err(reason) => {
            assert!(std::env::var_os("BATON_REQUIRE_REAL").is_none(), "{reason}");
            corpus::skipped(&reason.to_string());
            None
        }
    }
}
