// What the console does beyond plain pages: it follows the cluster, and it listens to a few keys.
"use strict";
(() => {
  const body = document.body;
  const state = document.getElementById("following");
  const say = (text, isLost) => {
    if (!state) return;
    state.hidden = false;
    state.textContent = text;
    state.classList.toggle("lost", isLost);
  };

  // Where the pages are stands in the address; whoever leaves it out is led back there by the locked page. Unlike a cookie,
  // this is kept for this port alone.
  const place = /^(\/~[\w-]+)\//.exec(window.location.pathname);
  if (place) {
    try {
      window.localStorage.setItem("baton-place", place[1]);
    } catch {
      // Then the address is written in full.
    }
  }

  // A page that names its subjects is told when one of them changes, and asks for itself again.
  if (body.dataset.changes && window.EventSource) {
    const changes = new EventSource(body.dataset.changes);
    let wasLost = false;
    const changed = () => body.dispatchEvent(new CustomEvent("baton:changed"));
    changes.addEventListener("open", () => {
      say("Live", false);
      // What happened while nobody listened is seen now.
      if (wasLost) changed();
      wasLost = false;
    });
    changes.addEventListener("changed", changed);
    changes.addEventListener("error", () => {
      wasLost = true;
      say(changes.readyState === EventSource.CLOSED ? "Not live: reload the page" : "Reconnecting…", true);
    });
    window.addEventListener("pagehide", () => changes.close());
  }

  // What somebody opened or closed stays so when the page refreshes itself.
  let opened = new Map();
  body.addEventListener("htmx:beforeSwap", () => {
    opened = new Map();
    document.querySelectorAll("details[id]").forEach((one) => {
      if (one.dataset.touched) opened.set(one.id, one.open);
    });
  });
  body.addEventListener("htmx:afterSwap", () => {
    opened.forEach((isOpen, id) => {
      const one = document.getElementById(id);
      if (!one) return;
      one.open = isOpen;
      one.dataset.touched = "true";
    });
  });
  body.addEventListener("click", (event) => {
    const summary = event.target instanceof Element && event.target.closest("summary");
    if (summary && summary.parentElement) summary.parentElement.dataset.touched = "true";
  });

  // The newest lines of a log are at its end.
  document.querySelectorAll("pre.log").forEach((log) => { log.scrollTop = log.scrollHeight; });

  const isTyping = (target) =>
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
  let afterG = 0;
  document.addEventListener("keydown", (event) => {
    const search = document.getElementById("search");
    if (event.key === "Escape" && event.target === search) {
      search.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "g") {
      afterG = Date.now();
    } else if (afterG && Date.now() - afterG < 1500) {
      afterG = 0;
      const link = [...document.querySelectorAll("nav a[data-key]")].find((one) => one.dataset.key === event.key);
      if (link) link.click();
    } else {
      afterG = 0;
    }
  });
})();
