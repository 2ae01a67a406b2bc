// What a locked page does: where the pages are stands in the address, and whoever wrote the address by hand has left it out.
"use strict";
(() => {
  let place = null;
  try {
    place = window.localStorage.getItem("baton-place");
  } catch {
    // Nothing may be kept here, so nothing was.
  }
  const { pathname, search } = window.location;
  if (place && /^\/~[\w-]+$/.test(place) && !pathname.startsWith("/~")) window.location.replace(place + pathname + search);
})();
