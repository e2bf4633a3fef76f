// Keeps the page fresh: every few seconds the parts that changed are put in the place of the old ones.
"use strict";
(() => {
  const now = document.getElementById("now");
  const stale = document.getElementById("stale");
  const SECONDS = 5;
  let seen = new Date();

  /** Whether somebody is at work in this part: replacing it would take away what they wrote or marked. */
  function busy(part) {
    const selection = document.getSelection();
    const marked = selection && !selection.isCollapsed && part.contains(selection.anchorNode);
    const written = [...part.querySelectorAll("input:not([type=hidden])")].some((input) => input.value !== input.defaultValue);
    return marked || written || part.contains(document.activeElement);
  }

  /** Put new parts in place; what is open stays open, what is scrolled stays scrolled. */
  function replace(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const part of fresh.querySelectorAll("[data-live]")) {
      const old = document.getElementById(part.id);
      if (!old || busy(old) || told(old) === told(part)) continue;
      for (const each of old.querySelectorAll("details[open]")) part.querySelector("#" + each.id)?.setAttribute("open", "");
      const places = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
      old.replaceWith(document.adoptNode(part));
      part.querySelectorAll(".scroll").forEach((each, number) => { each.scrollLeft = places[number] ?? 0; });
    }
  }

  /** What a part says, but for what differs from one answer to the next though nothing happened. */
  function told(part) {
    const copy = part.cloneNode(true);
    copy.querySelectorAll("input[name=key]").forEach((each) => each.remove());
    copy.querySelectorAll("details[open]").forEach((each) => each.removeAttribute("open"));
    return copy.innerHTML;
  }

  async function refresh() {
    if (document.hidden) return;
    try {
      const answer = await fetch(now.dataset.from, { cache: "no-store", redirect: "manual" });
      if (answer.type === "opaqueredirect" || answer.status === 403) { location.reload(); return; }
      if (!answer.ok) throw new Error(String(answer.status));
      replace(await answer.text());
      seen = new Date();
      stale.hidden = true;
    } catch {
      stale.textContent = `The gate does not answer. These figures are of ${seen.toISOString().slice(0, 19).replace("T", " ")} UTC.`;
      stale.hidden = false;
    }
  }

  async function keepOn() {
    await refresh();
    setTimeout(keepOn, SECONDS * 1000);
  }
  setTimeout(keepOn, SECONDS * 1000);
  document.addEventListener("visibilitychange", refresh);
})();
