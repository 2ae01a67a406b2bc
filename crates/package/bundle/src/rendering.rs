//! registry+v1 bundles rendered to plain manifests, as OLM v1 installs them.
