//! What a ClusterServiceVersion needs, how it is installed, and how far it came.
