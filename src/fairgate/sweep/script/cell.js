// The panel of a cell that is opened.
function commandOf(setting, learner) {
  const vary = data.commands.vary[learner] ?? data.commands.vary[0];
  return data.commands.words[learner].map((word, k) => word ?? vary[k][setting]).join(" ");
}
function truthOf(setting) {
  const at = (name) => told(data.truth[name][setting]);
  if (data.truth.best_threshold[setting] === null) return "The exact truth of this setting is not known.";
  const best = at("best_threshold") + ": reward " + at("best_reward") + ", gap " + at("best_gap") + ", accepts " + at("best_acceptance") + ".";
  return nothing.has(setting)
    ? "Nothing is feasible: the least violation is " + at("least_violation") + ", of threshold " + best
    : "Best feasible threshold " + best;
}
function loopOf() {
  const loop = data.loop, parts = [loop.seeds + (loop.seeds === 1 ? " seed" : " seeds") + " (from seed " + loop.seed + ")"];
  if (!data.swept.includes("rounds")) parts.push(loop.rounds + " rounds");
  if (!data.swept.includes("batch")) parts.push("batches of " + loop.batch);
  return parts.join(", ");
}
function figuresOf(cell) {
  const quantiles = "q10" in data.figures[0] ? ["q10", "q50", "q90"] : []; // of very many cells only the table has them
  const head = ["Figure", "Mean", "95% interval", ...(quantiles.length ? ["10%", "Median", "90%"] : [])];
  const rows = data.figures.map((figure) => {
    const texts = [told(figure.mean[cell]), range(figure.low[cell], figure.high[cell]), ...quantiles.map((kind) => told(figure[kind][cell]))];
    return element("tr", { "data-figure": figure.name }, element("th", { scope: "row" }, figure.words), ...texts.map((text) => element("td", { class: "number" }, text)));
  });
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Figures" },
    element("table", {},
      element("thead", {}, element("tr", {}, ...head.map((text, k) => element("th", { scope: "col", class: k ? "number" : "" }, text)))),
      element("tbody", {}, ...rows)));
}
function copyButton(text, code) {
  const button = element("button", { type: "button" }, "Copy command");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Selected: copy it with the keyboard";
    }
  });
  return button;
}
function openCell(setting, learner) {
  const dialog = find("cell"), cell = cellOf(setting, learner);
  const close = element("button", { type: "button" }, "Close");
  close.addEventListener("click", () => dialog.close());
  const who = learners.map((each, place) => {
    const button = element("button", { type: "button", "aria-pressed": place === learner }, each.name);
    button.addEventListener("click", () => {
      openCell(setting, place);
      find("cell").querySelectorAll(".who button")[place].focus();
    });
    return button;
  });
  const text = commandOf(setting, learner), code = element("pre", { id: "command" }, text);
  const parts = [
    element("header", {}, element("h2", { id: "cell-title" }, learners[learner].name + " at " + nameOf(setting)), close),
    element("p", { class: "muted" }, loopOf() + "."),
  ];
  if (several) parts.push(element("div", { class: "who", role: "group", "aria-label": "Learner" }, ...who));
  if (failed.has(cell)) parts.push(element("p", {}, element("strong", {}, "Failed: "), data.failures[cell] || "no reason is known"));
  parts.push(element("p", { id: "truth" }, truthOf(setting)));
  if (several) parts.push(element("p", {}, winSentence(setting)));
  parts.push(element("h3", {}, "Repeat it"), code, copyButton(text, code));
  if (!failed.has(cell)) parts.push(element("h3", {}, "Every figure"), figuresOf(cell));
  dialog.replaceChildren(...parts);
  dialog.dataset.setting = setting;
  dialog.dataset.learner = learner;
  if (!dialog.open) {
    dialog.showModal();
    close.focus();
  }
}
find("cell").addEventListener("click", (event) => {
  if (event.target === event.currentTarget) event.currentTarget.close();
});
