//! The files of an image: layers applied one on another, with whiteouts, path safety and size caps.
