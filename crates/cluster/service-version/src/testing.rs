//! Keys that are the same in every run of the tests.

use std::cell::Cell;

use rcgen::KeyPair;

use crate::certificates::{CertificateError, Secrets};

/// A key for tests; nobody's secret.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgevZzL1gdAFr88hb2
OF/2NxApJCzGCEDdfSp6VQO30hyhRANCAAQRWz+jn65BtOMvdyHKcvjBeBSDZH2r
1RTwjmYSi9R/zpBnuQ4EiMnCqfMPWiZqB4QdbAd0E7oH50VpuZ1P087G
-----END PRIVATE KEY-----
";

/// One key, and numbers that count up.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    serial: Cell<u64>,
}

impl Secrets for Fixed {
    fn key(&self) -> Result<KeyPair, CertificateError> {
        Ok(KeyPair::from_pem(KEY)?)
    }

    fn serial(&self) -> Result<u64, CertificateError> {
        self.serial.set(self.serial.get() + 1);
        Ok(self.serial.get())
    }
}
