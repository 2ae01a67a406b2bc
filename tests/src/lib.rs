//! Whole-program tests of baton; the tests are in `tests/`.
