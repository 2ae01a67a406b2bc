//! A catalog cut down to some of its packages, channels and versions.
