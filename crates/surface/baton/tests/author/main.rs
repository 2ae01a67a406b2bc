//! The author's road with the real program: from a chart to a catalog that customers see, and everything that can go
//! wrong on the way. Whatever goes wrong, what was published before is there afterwards, to the byte.

mod archives;
mod charts;
mod faults;
mod guard;
mod peers;
mod plain;
mod proxy;
mod registries;
mod road;
mod together;
mod tree;
mod typos;
mod users;
mod versions;
mod walks;
#[expect(dead_code, reason = "the other test programs use the rest of it")]
#[path = "../world/mod.rs"]
mod world;
