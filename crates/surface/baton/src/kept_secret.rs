//! Secrets that a data folder keeps for its owner alone, the same from one start to the next.

use std::fs::{self, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use stage::access::keys::write_private;

use crate::failure::Failure;

/// Random bytes of a secret: nobody guesses 192 bits.
const BYTES: usize = 24;

/// The longest secret that is read: one that was written is much shorter.
const LONGEST: u64 = 4 << 10;

/// Returns the secret that a file keeps, or a new one, which is kept from now on. Without a file it is new each time.
pub(crate) fn read_or_make(file: Option<&Path>) -> Result<String, Failure> {
    if let Some(file) = file
        && let Some(kept) = read(file)?
    {
        return Ok(kept);
    }
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Failure::new(format!("cannot make a secret: {error}")))?;
    let secret = URL_SAFE_NO_PAD.encode(bytes);
    if let Some(file) = file {
        write_private(file, format!("{secret}\n").as_bytes())
            .map_err(|error| Failure::new(error.to_string()))?;
    }
    Ok(secret)
}

/// Returns the secret that a file keeps, if it is there.
pub(crate) fn read(file: &Path) -> Result<Option<String>, Failure> {
    let failed = |error: io::Error| Failure::new(format!("cannot read {}: {error}", file.display()));
    let opened = match File::open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // Whoever let others read it by mistake is helped; who doesn't own it can only read.
    if opened.metadata().map_err(failed)?.permissions().mode() & 0o077 != 0 {
        let _ = fs::set_permissions(file, Permissions::from_mode(0o600));
    }
    let mut text = String::new();
    opened.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_stays_the_same_and_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        assert_eq!(read(&file).expect("a look"), None);
        let first = read_or_make(Some(&file)).expect("a secret");
        let mode = || fs::metadata(&file).expect("a file").permissions().mode() & 0o777;
        assert_eq!((first.len(), mode()), (32, 0o600));
        fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("a mode");
        assert_eq!(read_or_make(Some(&file)).expect("a secret"), first);
        assert_eq!(mode(), 0o600);
        assert_ne!(read_or_make(None).expect("a secret"), first);
    }
}
