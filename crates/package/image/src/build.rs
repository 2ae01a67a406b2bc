//! Images put together from layers and labels, for one platform or for several under one index.
