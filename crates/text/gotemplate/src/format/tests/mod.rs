//! What Go's fmt and strconv print, recorded, and properties that hold for every input.

mod literals;
mod numbers;
mod operands;
mod printing;
