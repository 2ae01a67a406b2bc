//! OLM v0 in a cluster: subscriptions become plans, plans become objects, service versions become running operators.
