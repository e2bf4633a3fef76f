// Keys to the colours, what can be chosen, and the first drawing.
function key(look, text) {
  return element("li", {}, shape("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, look), text);
}
function square(fill) {
  return shape("rect", { x: 1, y: 1, width: 18, height: 18, fill });
}
function drawLegend() {
  const place = find("legend");
  place.replaceChildren();
  const items = [];
  if (plane) {
    const [low, high] = limitsNow, width = Math.min(Math.max(place.clientWidth, 240), 480);
    const bar = shape("svg", { id: "bar", viewBox: "0 0 " + width + " 52", role: "img", "aria-label": state.figure.words + " from " + short(low) + " to " + short(high) });
    const stops = data.scales[state.figure.colours];
    const shades = shape("linearGradient", { id: "shades" }, ...stops.map((colour, k) => shape("stop", { offset: k / (stops.length - 1), "stop-color": colour })));
    bar.append(shape("defs", {}, shades), shape("text", { class: "name", x: 12, y: 12 }, state.figure.words));
    bar.append(shape("rect", { x: 12, y: 18, width: width - 24, height: 14, fill: "url(#shades)" }));
    const axis = axisOf([low, high], false, 12, width - 12, false);
    const along = { ...axis, at: (value) => 12 + ((value - low) / (high - low)) * (width - 24), from: low - 1e-12, to: high + 1e-12 };
    for (const value of ticks(along, 60, true))
      bar.append(shape("text", { x: along.at(value), y: 47, "text-anchor": "middle" }, short(value)));
    place.append(bar);
  }
  const own = learners.filter((each) => !each.other);
  if (several) for (const each of own) items.push(key(square(each.colour), (plane ? "wins: " : "") + each.name));
  if (own.length < learners.length) items.push(key(square(learners.find((each) => each.other).colour), "others"));
  if (plane && state.figure.over && state.figure.mean.some((value) => value > limitsNow[1]))
    items.push(key(square(state.figure.over), "more than " + short(limitsNow[1]) + ", mostly by breaking constraints"));
  if (several && plane) {
    const halves = ["M1 1H19L1 19Z", "M19 1V19H1Z"].map((d, k) => shape("path", { d, fill: learners[k].colour, "fill-opacity": data.pale }));
    items.push(key(shape("g", {}, ...halves), "faint: not significant"));
    if (state.winner.tied.size) items.push(key(square(data.tie), "tie"));
  }
  if (!plane) items.push(key(shape("rect", { x: 1, y: 4, width: 18, height: 12, fill: "currentColor", "fill-opacity": 0.2 }), "95% interval of the mean"));
  if (nothing.size) items.push(key(shape("g", {}, square("var(--empty)"), square(HATCH)), "nothing is feasible"));
  if (failed.size) items.push(key(shape("path", { class: "cross", d: "M5 5l10 10m0-10l-10 10" }), "failed"));
  const lines = shape("g", {}, shape("path", { d: "M0 0V8", stroke: "#fff", "stroke-width": 5, "stroke-opacity": 0.25 }), shape("path", { d: "M0 0V8", stroke: "#333", "stroke-width": 2.2, "stroke-opacity": 0.75 }));
  const pattern = shape("pattern", { id: "hatch", width: 8, height: 8, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, lines);
  place.append(element("ul", { class: "key" }, ...items), shape("svg", { width: 0, height: 0, "aria-hidden": "true", style: "position:absolute" }, shape("defs", {}, pattern)));
}
function draw() {
  hide();
  limitsNow = limits(state.figure);
  find("about").textContent = state.figure.about ? state.figure.about[0].toUpperCase() + state.figure.about.slice(1) + "." : "";
  drawLegend();
  find("maps").replaceChildren();
  if (!plane) return drawCurves();
  const wanted = [...learners.keys(), ...(several ? [null] : [])];
  const figures = wanted.map((learner) => element("figure", {}, element("figcaption", {}, titleOf(learner))));
  find("maps").append(...figures); // all of them first, which makes their width known
  figures.forEach((figure, place) => drawMap(figure, wanted[place]));
}
function choices(select, names, chosen, changed) {
  names.forEach((name, k) => select.append(element("option", { value: k }, name)));
  select.value = chosen;
  select.addEventListener("change", () => {
    changed(Number(select.value));
    if (find("x")) find("x").value = state.x;
    if (find("y")) find("y").value = state.y;
    sliders();
    draw();
  });
}
function sliders() {
  const place = find("others");
  place.replaceChildren();
  if (!data.full) return;
  parameters.forEach((each, k) => {
    if (!plane || k === state.x || k === state.y || each.values.length < 2) return;
    const now = element("output", {}, short(each.values[state.at[k]]));
    const slider = element("input", { type: "range", min: 0, max: each.values.length - 1, step: 1, value: state.at[k], autocomplete: "off", "data-parameter": each.name, "aria-valuetext": short(each.values[state.at[k]]) });
    slider.addEventListener("input", () => {
      state.at[k] = Number(slider.value);
      now.textContent = short(each.values[state.at[k]]);
      slider.setAttribute("aria-valuetext", now.textContent);
      draw();
    });
    const name = element("span", {}, each.name + " ", now);
    place.append(element("label", {}, name, slider));
  });
}
find("explore").classList.add("ready");
choices(find("figure"), data.figures.map((each) => each.words), data.figures.indexOf(state.figure), (k) => (state.figure = data.figures[k]));
const names = parameters.map((each) => each.name);
if (find("winner")) {
  const by = data.winners.map((each) => each.words);
  choices(find("winner"), by, 0, (k) => (state.winner = data.winners[k]));
}
if (find("x"))
  choices(find("x"), names, state.x, (k) => {
    if (k === state.y) state.y = state.x;
    state.x = k;
  });
if (find("y"))
  choices(find("y"), names, state.y, (k) => {
    if (k === state.x) state.x = state.y;
    state.y = k;
  });
sliders();
draw();
let before = innerWidth, waiting;
addEventListener("resize", () => {
  if (innerWidth === before) return;
  before = innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(draw, 100);
});
