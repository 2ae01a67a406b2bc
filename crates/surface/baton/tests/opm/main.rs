//! `baton opm` as scripts that were written for opm use it: output to the byte, errors to the word.

mod bundles;
mod command_line;
mod convert_template;
mod generate;
mod init;
mod list;
mod migrate;
mod program;
mod recordings;
mod render;
mod render_template;
mod serve;
mod small_catalog;
mod validate;
#[expect(dead_code, reason = "other tests need charts too")]
#[path = "../world/mod.rs"]
mod world;
