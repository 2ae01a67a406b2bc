//! Checks of a bundle, with the texts of operator-sdk and opm.
