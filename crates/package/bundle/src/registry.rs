//! A registry+v1 bundle as OLM v1 loads it.
