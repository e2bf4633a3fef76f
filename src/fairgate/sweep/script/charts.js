// Panels: maps of two parameters, and curves of one.
const edge = { left: 58, right: 10, top: 6, bottom: 44 };
function panel(figure, width, label) {
  const height = Math.round(Math.min(Math.max(0.7 * width, 230), 380));
  const made = shape("svg", {
    viewBox: "0 0 " + width + " " + height, tabindex: "0", role: "application", "aria-label": label,
    "aria-roledescription": "map: arrow keys move, Enter opens",
  });
  figure.append(made);
  return { svg: made, width, height, inner: [edge.left, width - edge.right, height - edge.bottom, edge.top] };
}
function dress(svg, { width, height }, x, y, names, round = false) {
  for (const value of ticks(x, 46)) {
    const at = x.at(value);
    svg.append(shape("line", { class: "axis", x1: at, x2: at, y1: height - edge.bottom, y2: height - edge.bottom + 5 }));
    svg.append(shape("text", { x: at, y: height - edge.bottom + 18, "text-anchor": "middle" }, short(value)));
  }
  for (const value of ticks(y, 26, round)) {
    const at = y.at(value);
    svg.append(shape("line", { class: "axis", x1: edge.left - 5, x2: edge.left, y1: at, y2: at }));
    svg.append(shape("text", { x: edge.left - 8, y: at + 4, "text-anchor": "end" }, short(value)));
  }
  const middle = (edge.top + height - edge.bottom) / 2;
  svg.append(
    shape("text", { class: "name", x: (edge.left + width - edge.right) / 2, y: height - 6, "text-anchor": "middle" }, names[0]),
    shape("text", { class: "name", x: 0, y: 0, "text-anchor": "middle", transform: "translate(12 " + middle + ") rotate(-90)" }, names[1]),
  );
}
const HATCH = "url(#hatch)";


function shown() {
  const others = [...parameters.keys()].filter((k) => k !== state.x && k !== state.y);
  const all = Array.from({ length: count }, (_, setting) => setting);
  return data.full ? all.filter((s) => others.every((k) => parameters[k].of[s] === state.at[k])) : all;
}
// What a cell of the map of one learner, or of the winners (null), looks like and says.
function lookOf(setting, learner) {
  if (learner === null) {
    const best = state.winner.learner[setting];
    if (isTied(setting)) return { fill: data.tie };
    if (best < 0) return null;
    return { fill: learners[best].colour, "fill-opacity": state.winner.p[setting] < data.level ? 1 : data.pale };
  }
  const value = state.figure.mean[cellOf(setting, learner)];
  return value === null ? null : { fill: colourOf(state.figure, value) };
}
const isTied = (setting) => state.winner.tied.has(setting);
const isFailed = (setting, learner) =>
  learner === null ? learners.every((_, place) => failed.has(cellOf(setting, place))) : failed.has(cellOf(setting, learner));
const pText = (p) => (p < 0.001 ? "p < 0.001" : "p = " + told(Number(p.toPrecision(2))));
function winSentence(setting) {
  const best = state.winner.learner[setting];
  if (isTied(setting)) return "A tie: the best have exactly the same " + state.winner.words + ".";
  if (best < 0) return isFailed(setting, null) ? "Every learner failed." : "No " + state.winner.words + " to compare.";
  const sure = state.winner.p[setting] < data.level;
  const margin = state.winner.margin[setting];
  if (margin === null) return learners[best].name + " wins: it is the only one that did not fail.";
  return learners[best].name + " wins: better than the next by " + told(margin) + " in " + state.winner.words + ", " +
    pText(state.winner.p[setting]) + (sure ? "." : ", not significant.");
}
function sentence(setting, learner) {
  const lines = [];
  if (learner === null) lines.push(winSentence(setting));
  else {
    const cell = cellOf(setting, learner), figure = state.figure, name = learners[learner].name;
    if (failed.has(cell)) lines.push(name + " failed: " + (data.failures[cell] || "no reason is known"));
    else if (figure.mean[cell] === null) lines.push(name + ": no " + figure.words);
    else {
      const spread = figure.low[cell] === null ? "" : " (95% interval " + range(figure.low[cell], figure.high[cell]) + ")";
      lines.push(name + ": " + figure.words + " " + told(figure.mean[cell]) + spread);
    }
  }
  if (nothing.has(setting)) lines.push("Nothing is feasible here.");
  return lines;
}
const titleOf = (learner) => (learner === null ? "Winner by " + state.winner.words : learners[learner].name);
function crossAt(cx, cy) {
  const d = "M" + (cx - 4) + " " + (cy - 4) + "l8 8m0-8l-8 8";
  return ["halo", "cross"].map((name) => shape("path", { class: name, d }));
}
function drawMap(figure, learner) {
  const title = titleOf(learner);
  const box = panel(figure, Math.max(figure.clientWidth, 260), title + ", map of " + parameters[state.x].name + " and " + parameters[state.y].name);
  const [left, right, bottom, top] = box.inner, [px, py] = [parameters[state.x], parameters[state.y]];
  const x = axisOf(px.values, px.log, left, right, data.full), y = axisOf(py.values, py.log, bottom, top, data.full);
  const members = shown(), radius = Math.min(Math.max(Math.sqrt((right - left) * (bottom - top) / members.length) * 0.28, 2.5), 9);
  box.svg.append(shape("rect", { class: "empty", x: left, y: top, width: right - left, height: bottom - top, "fill-opacity": data.full ? 1 : 0.4 }));
  const spots = new Map();
  for (const setting of members) {
    const look = lookOf(setting, learner), attributes = { class: data.full ? "cell" : "cell dot", "data-s": setting };
    let outline;
    if (data.full) {
      const [x0, x1] = x.cell(px.of[setting]), [y0, y1] = y.cell(py.of[setting]);
      outline = { x: x0, y: y0, width: x1 - x0, height: y1 - y0 };
      spots.set(setting, [(x0 + x1) / 2, (y0 + y1) / 2]);
      attributes["shape-rendering"] = "crispEdges";
    } else {
      outline = { cx: x.at(px.values[px.of[setting]]), cy: y.at(py.values[py.of[setting]]), r: radius };
      spots.set(setting, [outline.cx, outline.cy]);
    }
    const kind = data.full ? "rect" : "circle";
    const cell = shape(kind, { ...attributes, ...outline, ...look });
    if (!look) cell.classList.add("empty");
    box.svg.append(cell);
    if (nothing.has(setting)) box.svg.append(shape(kind, { class: "hatched", fill: HATCH, ...outline }));
    if (isFailed(setting, learner)) {
      box.svg.append(...crossAt(...spots.get(setting)));
    }
  }
  dress(box.svg, box, x, y, [px.name, py.name]);
  listen(box.svg, spots, learner, members[0], (setting) => learner ?? Math.max(state.winner.learner[setting], 0));
}


function drawCurves() {
  const figure = element("figure", { class: "curves" });
  find("maps").append(figure);
  const box = panel(figure, Math.max(Math.min(figure.clientWidth, 760), 260), state.figure.words + " by " + parameters[0].name);
  const [left, right, bottom, top] = box.inner, only = parameters[0];
  const [low, high] = limitsNow, room = 0.04 * (high - low);
  const x = axisOf(only.values, only.log, left, right, true), y = axisOf([low - room, high + room], false, bottom, top, false);
  const order = Array.from({ length: count }, (_, s) => s).sort((a, b) => only.of[a] - only.of[b]);
  for (const value of ticks(y, 26, true)) box.svg.append(shape("line", { class: "grid", x1: left, x2: right, y1: y.at(value), y2: y.at(value) }));
  for (const setting of order)
    if (nothing.has(setting)) {
      const [x0, x1] = x.cell(only.of[setting]);
      box.svg.append(shape("rect", { class: "hatched", fill: HATCH, x: x0, width: x1 - x0, y: top, height: bottom - top }));
    }
  const spots = new Map();
  learners.forEach((learner, place) => {
    const at = (setting, kind) => state.figure[kind][cellOf(setting, place)];
    const known = order.filter((setting) => at(setting, "mean") !== null);
    const point = (setting, kind) => x.at(valueOf(0, setting)) + " " + y.at(at(setting, kind) ?? at(setting, "mean"));
    const outline = [...known.map((s) => point(s, "low")), ...known.slice().reverse().map((s) => point(s, "high"))];
    const dashes = ["6 3", "8 3 2 3", "", "2 2"][place % 4];
    if (known.length) {
      box.svg.append(shape("path", { class: "range", fill: learner.colour, d: "M" + outline.join("L") + "Z" }));
      box.svg.append(shape("path", { class: "line", stroke: learner.colour, "stroke-dasharray": dashes, d: "M" + known.map((s) => point(s, "mean")).join("L") }));
    }
    for (const setting of order) {
      const cx = x.at(valueOf(0, setting)), value = at(setting, "mean");
      const cy = value === null ? bottom - 8 : y.at(value);
      spots.set(cellOf(setting, place), [cx, cy]);
      if (isFailed(setting, place)) box.svg.append(...crossAt(cx, cy));
      const dot = { class: "cell", "data-s": setting, "data-l": place, cx, cy };
      box.svg.append(shape("circle", { ...dot, r: 4, fill: value === null ? "none" : learner.colour }), shape("circle", { ...dot, r: 10, fill: "transparent" }));
    }
  });
  dress(box.svg, box, x, y, [only.name, state.figure.words], true);
  listen(box.svg, spots, undefined, cellOf(order[0], 0), (setting) => setting);
}
