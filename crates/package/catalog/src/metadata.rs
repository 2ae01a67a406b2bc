//! `olm.csv.metadata`: the part of a ClusterServiceVersion that a catalog carries.
