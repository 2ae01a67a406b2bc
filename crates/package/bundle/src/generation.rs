//! A bundle made from a chart: ClusterServiceVersion, roles, CRD, metadata and operator image.
