//! A catalog's rules, with upstream's tree of errors.
