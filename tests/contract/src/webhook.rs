//! A small HTTPS server that cases use as an admission webhook or conversion webhook.
