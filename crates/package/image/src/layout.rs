//! OCI image layouts, as a directory or as a tar, in and out of the content store.
