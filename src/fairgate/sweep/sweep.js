"use strict";
// The maps, what they show under the pointer, and the panel of a cell. All figures come from the library; nothing is
// computed here but places and colours on the screen.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const numbers = (text) => text.split(" ").map((each) => (each === "" ? null : Number(each)));
  for (const figure of data.figures)
    for (const kind of ["mean", "low", "high", "q10", "q50", "q90"])
      if (kind in figure) figure[kind] = numbers(figure[kind]);
  for (const name of Object.keys(data.truth)) data.truth[name] = numbers(data.truth[name]);
  for (const each of data.winners) for (const name of ["margin", "p"]) each[name] = numbers(each[name]);
  for (const each of data.learners) if (each.colour === "#000000") each.colour = "currentColor"; // seen on dark pages too
  const learners = data.learners, parameters = data.parameters;
  const count = parameters[0].of.length;
  const nothing = new Set(data.nothing), failed = new Set(data.failed);
  const several = learners.length > 1, plane = parameters.length > 1;
  const state = {
    figure: data.figures.find((each) => each.mean.some((value) => value !== null)) ?? data.figures[0],
    winner: data.winners[0],
    x: 0,
    y: 1,
    at: parameters.map((each) => (each.values.length - 1) >> 1),
  };

  const told = (value) => (value === null ? "–" : String(value).replaceAll("-", "−"));
  const short = (value) => told(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
  const valueOf = (k, setting) => parameters[k].values[parameters[k].of[setting]];
  const nameOf = (setting) => parameters.map((each, k) => each.name + " " + short(valueOf(k, setting))).join(", ");
  const cellOf = (setting, learner) => setting * learners.length + learner;
  const range = (low, high) => (low === null ? "–" : told(low) + " to " + told(high));

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }
  function shape(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // ---------------------------------------------------------------- scales
  function limits(figure) {
    if (figure.share) return [0, 1];
    const known = [...figure.mean, ...(plane ? [] : [...figure.low, ...figure.high])].filter((value) => value !== null);
    let low = known.reduce((a, b) => Math.min(a, b), Infinity), high = known.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!known.length) [low, high] = [0, 1];
    if (figure.bad) low = Math.min(low, 0);
    return [low, high > low ? high : low + 0.001];
  }
  function colourOf(figure, value) {
    const stops = data.scales[figure.colours], [low, high] = limitsNow;
    const along = Math.min(Math.max((value - low) / (high - low), 0), 1) * (stops.length - 1);
    const first = Math.min(Math.floor(along), stops.length - 2), part = along - first;
    const mixed = [1, 3, 5].map((at) => {
      const [a, b] = [first, first + 1].map((place) => parseInt(stops[place].slice(at, at + 2), 16));
      return Math.round(a + part * (b - a));
    });
    return "rgb(" + mixed.join(" ") + ")";
  }
  let limitsNow = [0, 1];

  // An axis from pixel `start` to pixel `end`; cells lie between edges half way from value to value.
  function axisOf(values, log, start, end, cells) {
    const bent = log ? Math.log : (value) => value;
    const places = values.map(bent), last = places.length - 1;
    let edges;
    if (!last) {
      const half = log ? 0.5 : 0.5 * (Math.abs(places[0]) || 1);
      edges = [places[0] - half, places[0] + half];
    } else {
      const middle = places.slice(1).map((place, k) => (place + places[k]) / 2);
      edges = [2 * places[0] - middle[0], ...middle, 2 * places[last] - middle[last - 1]];
    }
    const beyond = 0.04 * (places[last] - places[0]);
    const low = cells || !last ? edges[0] : places[0] - beyond;
    const high = cells || !last ? edges[edges.length - 1] : places[last] + beyond;
    const scaled = (place) => start + ((place - low) / (high - low)) * (end - start);
    return {
      values, log, start, end,
      at: (value) => scaled(bent(value)),
      cell: (k) => [scaled(edges[k]), scaled(edges[k + 1])].sort((a, b) => a - b),
      from: log ? Math.exp(low) : low,
      to: log ? Math.exp(high) : high,
    };
  }
  // Where an axis has ticks, at least so many pixels apart: at few values themselves, else at round numbers.
  function ticks(axis, apart, round = false) {
    const room = Math.abs(axis.end - axis.start) / apart;
    let found = axis.values;
    const long = found.some((value) => value !== Number(value.toPrecision(3)));
    if (round || long || found.length > Math.min(8, room)) {
      if (axis.log) {
        const decades = Math.log10(axis.to / axis.from);
        const parts = decades * 3 <= room ? [1, 2, 5] : decades * 2 <= room ? [1, 3] : [1];
        found = [];
        for (let power = Math.floor(Math.log10(axis.from)); power <= Math.log10(axis.to); power++)
          for (const part of parts) found.push(part * 10 ** power);
      } else {
        const raw = (axis.to - axis.from) / Math.max(2, Math.min(room, 7)), ten = 10 ** Math.floor(Math.log10(raw));
        const step = [1, 2, 5, 10].find((each) => each * ten >= raw) * ten;
        found = [];
        for (let k = Math.ceil(axis.from / step); k * step <= axis.to; k++) found.push(k * step);
      }
      found = found.filter((value) => value >= axis.from && value <= axis.to);
    }
    let before = -Infinity;
    return found.filter((value) => {
      const place = Math.abs(axis.at(value) - axis.start);
      if (place - before < apart * 0.8) return false;
      before = place;
      return true;
    });
  }

  // ---------------------------------------------------------------- a panel with two axes
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

  // ---------------------------------------------------------------- maps
  function shown() {
    const others = [...parameters.keys()].filter((k) => k !== state.x && k !== state.y);
    const all = Array.from({ length: count }, (_, setting) => setting);
    return data.full ? all.filter((s) => others.every((k) => parameters[k].of[s] === state.at[k])) : all;
  }
  // What a cell of the map of one learner, or of the winners (null), looks like and says.
  function lookOf(setting, learner) {
    if (learner === null) {
      const best = state.winner.learner[setting];
      if (best < 0) return null;
      return { fill: learners[best].colour, "fill-opacity": state.winner.p[setting] < data.level ? 1 : data.pale };
    }
    const value = state.figure.mean[cellOf(setting, learner)];
    return value === null ? null : { fill: colourOf(state.figure, value) };
  }
  const isFailed = (setting, learner) =>
    learner === null ? state.winner.learner[setting] < 0 : failed.has(cellOf(setting, learner));
  const pText = (p) => (p < 0.001 ? "p < 0.001" : "p = " + told(Number(p.toPrecision(2))));
  function winSentence(setting) {
    const best = state.winner.learner[setting];
    if (best < 0) return "Every learner failed.";
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
        const [cx, cy] = spots.get(setting);
        box.svg.append(shape("path", { class: "cross", d: "M" + (cx - 4) + " " + (cy - 4) + "l8 8m0-8l-8 8" }));
      }
    }
    dress(box.svg, box, x, y, [px.name, py.name]);
    listen(box.svg, spots, learner, members[0], (setting) => learner ?? Math.max(state.winner.learner[setting], 0));
  }

  // ---------------------------------------------------------------- curves of one parameter
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
        if (value === null) box.svg.append(shape("path", { class: "cross", d: "M" + (cx - 4) + " " + (cy - 4) + "l8 8m0-8l-8 8" }));
        const dot = { class: "cell", "data-s": setting, "data-l": place, cx, cy };
        box.svg.append(shape("circle", { ...dot, r: 4, fill: value === null ? "none" : learner.colour }), shape("circle", { ...dot, r: 10, fill: "transparent" }));
      }
    });
    dress(box.svg, box, x, y, [only.name, state.figure.words], true);
    listen(box.svg, spots, undefined, cellOf(order[0], 0), (setting) => setting);
  }

  // ---------------------------------------------------------------- pointer, keyboard, tip
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

  // ---------------------------------------------------------------- the panel of a cell
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
    const loop = data.loop, parts = [loop.seeds + " seeds (from seed " + loop.seed + ")"];
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

  // ---------------------------------------------------------------- keys and controls
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
    if (several && plane) {
      const halves = ["M1 1H19L1 19Z", "M19 1V19H1Z"].map((d, k) => shape("path", { d, fill: learners[k].colour, "fill-opacity": data.pale }));
      items.push(key(shape("g", {}, ...halves), "faint: not significant"));
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
})();
