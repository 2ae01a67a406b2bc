//! `package`: a chart made ready to be packed, perhaps as another version.

use std::sync::Arc;

use thiserror::Error;
use version::{Spelled, SpelledError};

use crate::chart::Chart;
use crate::compatibility::EDITION;
use crate::dependencies::{self, MissingDependencies};
use crate::metadata::InvalidMetadata;

/// A chart that cannot be packed.
#[derive(Debug, Error)]
pub enum PackagingError {
    /// The version is none.
    #[error(transparent)]
    Version(#[from] SpelledError),
    /// A dependency is not in `charts/`.
    #[error(transparent)]
    Dependencies(#[from] MissingDependencies),
    /// The chart breaks a rule.
    #[error("failed to save: chart validation: {0}")]
    Invalid(#[from] InvalidMetadata),
}

/// Gives a chart the versions that it is packed as, and checks that it can be packed.
pub fn prepare(
    chart: Arc<Chart>,
    version: Option<&str>,
    app_version: Option<&str>,
) -> Result<Chart, PackagingError> {
    let mut chart = Arc::unwrap_or_clone(chart);
    let metadata = Arc::make_mut(&mut chart.metadata);
    if let Some(version) = version {
        version.clone_into(&mut metadata.version);
    }
    Spelled::parse(&metadata.version, EDITION)?;
    if let Some(version) = app_version {
        version.clone_into(&mut metadata.app_version);
    }
    metadata.validate()?;
    dependencies::check(&chart)?;
    Ok(chart)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::chart::File;

    #[test]
    fn a_chart_is_packed_as_the_version_that_is_asked_for() {
        let file = File {
            name: "Chart.yaml".to_owned(),
            data: Bytes::from_static(b"apiVersion: v2\nname: a\nversion: 1.0.0\n"),
        };
        let chart = crate::loader::load_files(vec![file], &mut |_| {}).expect("a chart");
        let packed = prepare(Arc::clone(&chart), Some("2.0.0+b"), Some("x")).expect("a chart");
        assert_eq!(
            (
                packed.metadata.version.as_str(),
                packed.metadata.app_version.as_str()
            ),
            ("2.0.0+b", "x")
        );
        assert_eq!(chart.metadata.version, "1.0.0");
        let error = prepare(chart, Some("x"), None).expect_err("no version");
        assert_eq!(error.to_string(), "Invalid Semantic Version");
    }
}
