//! What is read of a ClusterServiceVersion, decoded as Go decodes it.
