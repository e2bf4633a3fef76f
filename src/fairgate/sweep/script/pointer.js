// What is told under the pointer, and how the keyboard moves.
// `spots` are the places of what can be chosen: settings of a map, or cells of curves (learner is undefined there).
function listen(svg, spots, learner, first, winner) {
  const curves = learner === undefined;
  let chosen = first;
  const split = (key) => (curves ? [Math.floor(key / learners.length), key % learners.length] : [key, learner]);
  const keyOf = (target) => {
    if (!target.dataset || target.dataset.s === undefined) return null;
    const setting = Number(target.dataset.s);
    return curves ? cellOf(setting, Number(target.dataset.l)) : setting;
  };
  const mark = (key) => {
    svg.querySelectorAll(".cursor").forEach((each) => each.remove());
    if (key === null) return;
    const [cx, cy] = spots.get(key), r = curves || !data.full ? 9 : 8;
    for (let k = 0; k < 2; k++) svg.append(shape("circle", { class: "cursor", cx, cy, r }));
  };
  const show = (key, at) => {
    const [setting, who] = split(key);
    tip(setting, sentence(setting, who), at);
  };
  const place = (key) => {
    const bounds = svg.getBoundingClientRect(), scale = bounds.width / svg.viewBox.baseVal.width;
    const [cx, cy] = spots.get(key);
    return [bounds.left + cx * scale, bounds.top + cy * scale];
  };
  const open = (key) => {
    const [setting, who] = split(key);
    openCell(setting, curves ? who : winner(setting));
  };
  svg.addEventListener("pointermove", (event) => {
    const key = keyOf(event.target);
    if (key === null) return hide();
    show(key, [event.clientX, event.clientY]);
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("click", (event) => {
    const key = keyOf(event.target);
    if (key === null) return;
    chosen = key;
    hide();
    open(key);
  });
  svg.addEventListener("focus", () => {
    if (!svg.matches(":focus-visible")) return;
    mark(chosen);
    show(chosen, place(chosen));
  });
  svg.addEventListener("blur", () => {
    mark(null);
    hide();
  });
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  svg.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      hide();
      return open(chosen);
    }
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    chosen = nearest(spots, chosen, step);
    mark(chosen);
    show(chosen, place(chosen));
  });
}
// The nearest place in a direction: straight ahead counts more than aside.
function nearest(spots, from, [dx, dy]) {
  const [x0, y0] = spots.get(from);
  let best = from, least = Infinity;
  for (const [key, [x, y]] of spots) {
    const ahead = (x - x0) * dx + (y - y0) * dy, aside = Math.abs((x - x0) * dy) + Math.abs((y - y0) * dx);
    if (key === from || ahead < 0.01 || aside > 3 * ahead + 0.01) continue;
    if (ahead + 4 * aside < least) [best, least] = [key, ahead + 4 * aside];
  }
  return best;
}
function tip(setting, lines, [x, y]) {
  const box = find("tip");
  box.replaceChildren(element("b", {}, nameOf(setting)), ...lines.flatMap((line, k) => (k ? [element("br"), line] : [line])));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(Math.max(x + 14, 8), innerWidth - width - 8);
  const top = y + 18 + height > innerHeight ? Math.max(y - height - 14, 8) : y + 18;
  box.style.transform = "translate(" + left + "px," + top + "px)";
}
function hide() {
  find("tip").hidden = true;
}
