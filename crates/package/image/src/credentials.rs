//! Names and passwords for registries, from the files that Docker and Podman keep.
