//! Loads and validates a catalog, as `opm validate` does, and says what that costs.

use std::error::Error;
use std::fs;
use std::path::Path;

use catalog::validation;

/// What loading and validating a catalog cost.
pub(crate) struct Cost {
    /// CPU time of the process so far.
    pub(crate) cpu_seconds: f64,
    /// The most memory that the process ever held.
    pub(crate) peak_mebibytes: f64,
}

/// Loads and validates the catalog in a directory.
pub(crate) fn measure(directory: &Path) -> Result<Cost, Box<dyn Error>> {
    validation::validate_directory(directory)?;
    Ok(Cost {
        cpu_seconds: crate::cpu_milliseconds() / 1e3,
        peak_mebibytes: peak_mebibytes()?,
    })
}

/// The most memory that this process ever held, as the kernel counts it.
pub(crate) fn peak_mebibytes() -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let kibibytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.trim().strip_suffix("kB"))
        .ok_or("the kernel does not tell the peak of memory")?;
    Ok(kibibytes.trim().parse::<f64>()? / 1024.0)
}
