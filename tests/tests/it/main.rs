//! Tests of the whole repository: its layers, its limits, its test programs, its hosted CI.

mod hosted_ci;
mod layering;
mod limits_page;
mod test_programs;
