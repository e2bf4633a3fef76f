"use strict";
// The slider, the charts and what they show under the pointer. All figures come from the library; nothing is computed
// here but places on the screen, and amounts of money from rewards.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const slider = find("threshold");
  const today = data.views[0].columns;
  const scores = today.threshold;
  let view = data.view;
  let axis = data.axis;

  // toFixed rounds an exact half up; here, as in the text and in thresholds.csv, it goes to the even digit.
  function signed(value, digits) {
    const exact = Math.abs(value).toFixed(60), cut = exact.indexOf(".") + (digits ? digits + 1 : 0);
    const rounded = Math.abs(value).toFixed(digits);
    const half = /^\.?50*$/.test(exact.slice(cut)) && "13579".includes(rounded.at(-1));
    return (value < 0 ? "−" : "") + (half ? exact.slice(0, cut) : rounded);
  }
  const share = (value) => signed(100 * value, 1) + "%";
  const plain = (value) => signed(value, 4);
  const commas = (text) => text.replace(/\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ","));
  const inCurrency = (text) => (commas(text) + " " + data.money.currency).trim();
  const person = (reward) => {
    if (!data.money.given) return plain(reward);
    const value = reward * data.money.benefit;
    return inCurrency(signed(value, data.money.benefit < 10000 ? 2 : 0));
  };
  const everybody = (reward) => {
    const value = reward * data.money.benefit * data.money.people;
    return inCurrency(signed(value, data.money.people < 10000 && !data.money.given ? 1 : 0));
  };
  const told = (value, write) => (value === null ? "not known" : write(value));
  const between = (low, high, write) => {
    if (low === undefined || low === null) return "–";
    const first = write(low), currency = " " + data.money.currency; // which is written once
    if (first === write(high)) return first;
    return (currency !== " " && first.endsWith(currency) ? first.slice(0, -currency.length) : first) + " to " + write(high);
  };
  const rule = (k) => data.score + " " + data.sign + " " + data.thresholds[k];

  // ---------------------------------------------------------------- the table of figures
  function tell() {
    const k = Number(slider.value);
    const columns = data.views[view].columns;
    const at = (name) => (columns[name] === undefined ? undefined : columns[name][k]);
    find("rule").textContent = rule(k);
    const fill = (id, name, group, write) => {
      const suffix = group === undefined ? "" : " " + group;
      find(id + "-value").textContent = told(at(name + suffix), write);
      find(id + "-range").textContent = between(at(name + "_low" + suffix), at(name + "_high" + suffix), write);
    };
    fill("acceptance", "acceptance", undefined, share);
    data.groups.forEach((group, index) => {
      fill("group-" + index, "acceptance", group, share);
      find("bar-" + index).style.width = 100 * at("acceptance " + group) + "%";
    });
    if (data.groups.length > 1) fill("gap", "gap", undefined, plain);
    fill("reward", "reward", undefined, person);
    fill("total", "reward", undefined, everybody);
    if (data.missing) {
      find("bounds-value").textContent =
        view === 0 ? between(at("reward_if_missing_0"), at("reward_if_missing_1"), person) : "–";
    }
    const residual = (each) => at("residual " + each.name);
    data.residuals.forEach((each, index) => {
      if (!each.drawn) find("residual-" + index + "-value").textContent = told(at("measure " + each.name), each.measure.percent ? share : plain);
    });
    const broken = data.residuals.filter((each) => residual(each) > 1e-12);
    const verdict = find("verdict");
    verdict.className = "badge " + (broken.length ? "fails" : "holds");
    verdict.textContent = !data.residuals.length
      ? "no constraint was asked for"
      : broken.length
        ? broken.map((each) => each.broken.replace("{}", plain(residual(each)))).join(", ")
        : "meets every constraint";
    slider.setAttribute("aria-valuetext", rule(k) + ", " + verdict.textContent);
    document.querySelectorAll("[data-jump]").forEach((button) => {
      button.disabled = target(button) === null;
      button.setAttribute("aria-pressed", String(target(button) === k));
    });
  }

  const target = (button) =>
    ({ best: data.views[view].best, advised: data.advised, current: data.current && data.current.place })[button.dataset.jump];

  // ---------------------------------------------------------------- drawing
  const SVG = "http://www.w3.org/2000/svg";
  function add(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  }

  function ticks(low, high, most) {
    const raw = (high - low) / most;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= raw * (1 - 1e-9));
    const found = [];
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n += 1) found.push(n * step || 0); // no −0
    return { found, step };
  }

  function tick(value, step) {
    const size = Math.abs(value);
    if (size >= 1e6 || (size > 0 && size < 1e-4)) return value.toExponential(1).replace("-", "−");
    const power = Math.log10(step);
    return signed(value, Math.max(0, Math.ceil(-power) + (Math.abs(step / 10 ** Math.floor(power) - 2.5) < 1e-9 ? 1 : 0)));
  }

  const percents = (value) => Math.round(100 * value) + "%";
  const clipped = (text, width) => (text.length > width / 9 ? text.slice(0, Math.floor(width / 9)) + "…" : text);
  const ends = (values) => [values.reduce((a, b) => Math.min(a, b)), values.reduce((a, b) => Math.max(a, b))];
  const RIGHT = 20, TOP = 38, BOTTOM = 52;

  // An empty panel with axes; x and y turn values into places.
  function panel(chart) {
    const svg = find(chart.id);
    const width = Math.max(svg.parentNode.clientWidth, 200);
    const HEIGHT = chart.height || Math.max(270, Math.min(400, Math.round(width * 0.55)));
    const unit = chart.unit || 1; // ticks are round in it
    const [low, high] = chart.range().map((end) => end * unit), [from, to] = chart.domain();
    const vertical = ticks(low, high, 4);
    const labels = vertical.found.map((value) => (chart.write ? chart.write(value, vertical.step) : commas(tick(value, vertical.step))));
    const left = Math.max(44, 16 + 7.5 * Math.max(...labels.map((label) => label.length)));
    const right = width - RIGHT, bottom = HEIGHT - BOTTOM;
    const x = (value) => left + ((right - left) * (value - from)) / (to - from || 1);
    const y = (value) => bottom - ((value * unit - low) / (high - low)) * (bottom - TOP);
    svg.replaceChildren();
    svg.setAttribute("viewBox", "0 0 " + width + " " + HEIGHT);
    svg.setAttribute("height", HEIGHT);
    const clip = add(add(svg, "clipPath", { id: chart.id + "-clip" }), "rect", {
      x: left - 5, y: 0, width: right - left + 10, height: bottom + 8,
    });
    const inside = add(svg, "g", { "clip-path": "url(#" + clip.parentNode.id + ")" });
    const limits = chart.allowed && chart.allowed();
    if (limits) {
      const [a, b] = limits;
      add(inside, "rect", { class: "allowed", x: left, y: y(b), width: right - left, height: y(a) - y(b) });
    }
    vertical.found.forEach((value, place) => {
      add(svg, "line", { class: chart.zero && value === 0 ? "zero" : "grid", x1: left, x2: right, y1: y(value / unit), y2: y(value / unit) });
      add(svg, "text", { x: left - 8, y: y(value / unit) + 4, "text-anchor": "end" }, labels[place]);
    });
    const horizontal = ticks(from, to, width < 450 ? 4 : 8);
    for (const value of horizontal.found) {
      add(svg, "line", { class: "tick", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 5 });
      add(svg, "text", { x: x(value), y: bottom + 19, "text-anchor": "middle" },
        chart.across ? chart.across(value) : tick(value, horizontal.step));
    }
    add(svg, "text", { class: "axis", x: (left + right) / 2, y: HEIGHT - 8, "text-anchor": "middle" }, clipped(chart.name(), width));
    Object.assign(chart, { svg, inside: add(svg, "g", { "clip-path": "url(#" + clip.parentNode.id + ")" }), x, y, left, right, bottom, width });
    chart.inside.before(inside);
    return chart;
  }

  // A vertical mark with a word above it; words that would run into each other are set apart.
  function mark(chart, place, look, word) {
    if (place < chart.left - 1 || place > chart.right + 1) return;
    add(chart.inside, "line", { class: "mark " + look, x1: place, x2: place, y1: TOP - 4, y2: chart.bottom });
    const half = 3.6 * word.length;
    const near = Math.min(Math.max(place, chart.left + half - 20), chart.right - half + 14);
    const lifted = (chart.words || []).some((other) => Math.abs(other - near) < 2 * half + 12);
    (chart.words = chart.words || []).push(near);
    add(chart.svg, "text", { class: "word " + look, x: near, y: lifted ? TOP - 23 : TOP - 9, "text-anchor": "middle" }, word);
  }

  function path(parent, points, look) {
    let d = "", pen = "M";
    for (const point of points) {
      d += point === null ? "" : pen + point[0].toFixed(2) + " " + point[1].toFixed(2);
      pen = point === null ? "M" : "L";
    }
    add(parent, "path", { class: look, d });
  }

  // ---------------------------------------------------------------- curves over thresholds
  // A few extreme scores would squeeze the curves: those beyond the central 99% of people are drawn only if they are
  // not far away.
  const middle = scores.filter((_, k) => today.acceptance[k] <= 0.995 && today.acceptance[k] >= 0.005);
  const outer = ends(scores), inner = middle.length > 1 ? ends(middle) : outer;
  const domain = outer[1] - outer[0] <= 2 * (inner[1] - inner[0]) || middle.length < 2 ? outer : inner;
  if (domain === inner && inner !== outer) find("beyond").hidden = false;
  const across = (k) => (axis === "score" ? scores[k] : data.views[view].columns.acceptance[k]);
  // every value of a figure that is drawn: of the people as they are, and of the view
  const all = (...names) =>
    names.flatMap((name) => [today[name], data.views[view].columns[name] || []].flat()).filter((value) => value !== null);

  // What a figure may be, with ends where a limit has none.
  const allowed = (limit, high) => limit && [limit[0] ?? 0, limit[1] ?? high];
  const widest = () => Math.max(...all("gap_high", "gap"), ...(data.limits.gap || []).map((end) => end || 0), 0.01);
  const unit = data.money.given ? data.money.benefit : 1;
  const SHARED = {
    domain: () => (axis === "score" ? domain : [0, 1]),
    name: () => (axis === "score" ? "threshold of " + data.score : "share of everybody accepted" + (view ? ", after feedback" : "")),
    get across() {
      return axis === "score" ? undefined : percents;
    },
  };
  const CURVES = [
    {
      id: "chart-acceptance",
      lines: [...data.groups.map((group, index) => ["acceptance", " " + group, "line group-" + (index % 12), data.called[index], share]),
        ["acceptance", "", "line overall", "everybody", share]],
      range: () => [0, 1],
      write: percents,
      allowed: () => allowed(data.limits.acceptance || data.limits.rates, 1),
    },
    { id: "chart-gap", lines: [["gap", "", "line overall", "gap", plain]], range: () => [0, widest()], allowed: () => allowed(data.limits.gap, widest()) },
    {
      id: "chart-reward",
      lines: [["reward", "", "line overall", "per person", person]],
      range: () => {
        const found = ends([...all("reward", "reward_low", "reward_high"), 0]);
        return found[0] === found[1] ? [found[0] - 1, found[1] + 1] : found;
      },
      unit,
      zero: true,
    },
  ].filter((chart) => find(chart.id)).map((chart) => Object.defineProperties(chart, Object.getOwnPropertyDescriptors(SHARED)));

  function drawCurve(chart) {
    chart.words = [];
    panel(chart);
    const { inside, x, y, bottom, left, right } = chart;
    const columns = data.views[view].columns;
    const place = (k) => x(across(k));
    // where labels do not tell the reward
    const dark = scores.map((_, k) => k).filter((k) => !today.known[k]);
    if (dark.length) {
      const [a, b] = ends(dark.map(place));
      const outermost = data.sign === "≥" ? (axis === "score" ? left : b) : axis === "score" ? right : b;
      const [from, to] = [Math.max(Math.min(a, outermost), left), Math.min(Math.max(b, outermost), right)];
      if (to > from) {
        add(inside, "rect", { class: "unknown", x: from, y: TOP, width: to - from, height: bottom - TOP });
        if (to - from > 110) add(chart.svg, "text", { class: "word", x: (from + to) / 2, y: bottom - 8, "text-anchor": "middle" }, "labels unknown");
      }
    }
    // where every constraint is met: a strip along the bottom
    if (data.residuals.length) {
      columns.feasible.forEach((fine, k) => {
        if (!fine) return;
        // a threshold accepts the same people down to the next lower score (up to the next higher one)
        const other = data.sign === "≥" ? k - 1 : k + 1;
        const [a, b] = ends([place(k), scores[other] === undefined ? place(k) : place(other)]);
        add(inside, "rect", { class: "feasible", x: a, y: bottom, width: Math.max(b - a, 1) + 0.3, height: 5 });
      });
    }
    for (const [name, suffix, look] of chart.lines) {
      const values = columns[name + suffix];
      const lows = columns[name + "_low" + suffix], highs = columns[name + "_high" + suffix];
      if (lows && chart.lines.length < 5) {
        const known = scores.map((_, k) => k).filter((k) => lows[k] !== null);
        const edge = [...known.map((k) => place(k) + "," + y(highs[k])),
          ...known.reverse().map((k) => place(k) + "," + y(lows[k]))];
        add(inside, "polygon", { class: look.replace("line", "band"), points: edge.join(" ") });
      }
      if (view > 0 && chart.lines.length === 1) line(chart, today[name + suffix], "line before", place);
      line(chart, values, look, place);
    }
    if (data.current) mark(chart, axis === "score" ? x(data.current.score) : place(data.current.place), "in-use", "in use");
    mark(chart, place(data.advised), "advised", data.nearest ? "nearest" : "recommended");
    chart.cursor = add(inside, "line", { class: "cursor", y1: TOP, y2: bottom + 5 });
    chart.dots = chart.lines.map(([, , look]) => add(inside, "circle", { class: look.replace("line", "dot"), r: 4.5 }));
    chart.stops = scores.map((_, k) => ({
      x: Math.min(Math.max(place(k), left), right),
      title: rule(k),
      rows: chart.lines.map(([name, suffix, look, title, write]) => {
        const low = columns[name + "_low" + suffix], text = told(columns[name + suffix][k], write);
        const range = low && low[k] !== null ? between(low[k], columns[name + "_high" + suffix][k], write) : "";
        return [look, title, text, range];
      }).concat(totals(chart, columns, k)),
    }));
  }

  const totals = (chart, columns, k) =>
    chart.id === "chart-reward" && columns.reward[k] !== null ? [["", "in all", everybody(columns.reward[k]), ""]] : [];

  function line(chart, values, look, place) {
    const { inside, y } = chart;
    const few = values.length <= 40; // drawn as the steps they are, on the axis of scores
    const points = [];
    values.forEach((value, k) => {
      const last = points.at(-1);
      if (value !== null && last && few && axis === "score") {
        points.push(data.sign === "≥" ? [last[0], y(value)] : [place(k), last[1]]);
      }
      points.push(value === null ? null : [place(k), y(value)]);
    });
    path(inside, points, look);
    if (few) {
      values.forEach((value, k) => {
        if (value !== null) add(inside, "circle", { class: look.replace("line", "point"), cx: place(k), cy: y(value), r: 2.2 });
      });
    }
  }

  function move() {
    const k = Number(slider.value);
    for (const chart of CURVES) {
      const place = chart.stops[k].x;
      chart.cursor.setAttribute("x1", place);
      chart.cursor.setAttribute("x2", place);
      chart.lines.forEach(([name, suffix], index) => {
        const value = data.views[view].columns[name + suffix][k];
        chart.dots[index].setAttribute("visibility", value === null ? "hidden" : "visible");
        chart.dots[index].setAttribute("cx", place);
        chart.dots[index].setAttribute("cy", value === null ? 0 : chart.y(value));
      });
    }
    tell();
  }

  // ---------------------------------------------------------------- reward against gap
  const POINTS = { recommended: "recommended", current: "today", lottery: "lottery", "per-group": "per group" };
  const frontierRange = () => {
    // down to the options; thresholds that lose far more are below the panel
    const points = data.frontier.flatMap((each) => each.points.map((point) => point.reward));
    const all = [...points, ...data.frontier.flatMap((each) => [...each.reward, ...each.per_group_reward])];
    const high = Math.max(...all), least = Math.min(...all);
    if (least > high / 2) return [least - 0.4 * (high - least || high), high + 0.25 * (high - least || high)]; // else a flat line
    const low = Math.min(0, high, ...points), space = 0.08 * (high - low || 1);
    return [low < 0 ? low - space : 0, high + space];
  };
  const FRONTIER = {
    id: "chart-frontier",
    range: frontierRange,
    zero: true,
    unit,
    domain: () => [0, 1.04 * Math.max(0.01, ...data.frontier.flatMap((each) =>
      [...each.gap, ...each.per_group_gap, ...each.points.map((point) => point.gap)]))],
    name: () => "gap between groups",
  };
  function drawFrontier() {
    const chart = panel(FRONTIER), { inside, x, y } = chart;
    chart.stops = [];
    data.frontier.forEach((each, index) => {
      const steps = each.gap.flatMap((gap, k) => (k ? [[x(gap), y(each.reward[k - 1])]] : []).concat([[x(gap), y(each.reward[k])]]));
      if (steps.length) steps.push([chart.right, steps.at(-1)[1]]);
      path(inside, steps, "line " + (index ? "before" : "overall"));
      path(inside, each.per_group_gap.map((gap, k) => [x(gap), y(each.per_group_reward[k])]), "line group-1");
      each.gap.forEach((gap, k) => chart.stops.push({
        x: x(gap), y: y(each.reward[k]), title: data.score + " " + data.sign + " " + each.written[k],
        rows: [["", "gap", plain(gap), ""], ["", "per person", person(each.reward[k]), ""], ["", "in all", everybody(each.reward[k]), ""]],
      }));
      each.per_group_gap.forEach((gap, k) => chart.stops.push({
        x: x(gap), y: y(each.per_group_reward[k]), title: "thresholds per group",
        rows: [["", "gap at most", plain(gap), ""], ["", "per person", person(each.per_group_reward[k]), ""], ["", "in all", everybody(each.per_group_reward[k]), ""]],
      }));
    });
    const taken = [];
    data.frontier.forEach((each) => each.points.forEach((point) => {
      const title = (point.kind === "recommended" && data.nearest ? "nearest" : POINTS[point.kind] || point.kind) +
        (each.strength ? " (feedback " + each.strength + ")" : "");
      const [px, py] = [x(point.gap), y(point.reward)];
      add(inside, "circle", { class: "spot " + point.kind, cx: px, cy: py, r: 6.5 });
      const right = px + 8 + 7.5 * title.length < chart.right;
      let at = py + 19;
      while (taken.some(([tx, ty]) => Math.abs(tx - px) < 120 && Math.abs(ty - at) < 15)) at += 15;
      taken.push([px, at]);
      add(chart.svg, "text", { class: "word", x: px + (right ? 6 : -6), y: at, "text-anchor": right ? "start" : "end" }, title);
      chart.stops.push({ x: px, y: py, title, rows: [["", "gap", plain(point.gap), ""], ["", "per person", person(point.reward), ""], ["", "in all", everybody(point.reward), ""]] });
    }));
    chart.stops.sort((one, other) => one.x - other.x);
  }

  // ---------------------------------------------------------------- scores of each group
  const BARS = {
    id: "chart-scores",
    range: () => [0, Math.max(...data.bars.bars.flat(), 0.01) * 1.08],
    unit: 100,
    write: (value, step) => tick(value, step) + "%",
    domain: () => [data.bars.edges[0], data.bars.edges.at(-1)],
    name: () => data.score,
  };
  function drawBars() {
    BARS.words = [];
    const chart = panel(BARS), { inside, x, y, bottom } = chart, edges = data.bars.edges;
    data.bars.bars.forEach((shares, index) => {
      const points = shares.flatMap((value, k) => [[x(edges[k]), y(value)], [x(edges[k + 1]), y(value)]]);
      const closed = [[x(edges[0]), bottom], ...points, [x(edges.at(-1)), bottom]];
      if (data.groups.length < 5) add(inside, "polygon", { class: "band group-" + (index % 12), points: closed.map((point) => point.join(",")).join(" ") });
      path(inside, closed, "line group-" + (index % 12));
    });
    if (data.current) mark(chart, x(data.current.score), "in-use", "in use");
    mark(chart, x(scores[data.advised]), "advised", data.nearest ? "nearest" : "recommended");
    const { step } = ticks(edges[0], edges.at(-1), 20);
    chart.stops = edges.slice(1).map((edge, k) => ({
      x: x((edges[k] + edge) / 2), title: data.score + " " + tick(edges[k], step / 10) + " to " + tick(edge, step / 10),
      rows: data.bars.bars.map((shares, index) => ["line group-" + (index % 12), data.called[index], share(shares[k]), ""]),
    }));
  }

  // ---------------------------------------------------------------- what became of people, by score
  const likely = data.bands.every((band) => band.predicted !== null);
  const inBars = (score) => Math.min(Math.max(score, data.bars.edges[0]), data.bars.edges.at(-1));
  const bandPlace = (band, group) =>
    likely && band.predicted[group] !== null ? band.predicted[group] : (inBars(band.low) + inBars(band.high)) / 2;
  // of a skewed score, up to where there are people only
  const top = data.axis === "share" && likely
    ? Math.min(1, 1.1 * Math.max(0.01, ...data.bands.flatMap((band) =>
        band.observed.map((rate, group) => (rate.value === null ? 0 : Math.max(rate.high, band.predicted[group]))))))
    : 1;
  const fine = (value) => (top < 0.1 ? signed(100 * value, 1) + "%" : percents(value));
  const BANDS = {
    id: "chart-calibration",
    range: () => [0, top],
    write: fine,
    get across() {
      return likely ? fine : undefined;
    },
    domain: () => (likely ? [0, top] : [data.bars.edges[0], data.bars.edges.at(-1)]),
    name: () => (likely ? "mean " + data.score : data.score),
  };
  function drawBands() {
    const chart = panel(BANDS), { inside, x, y } = chart;
    if (likely) add(inside, "line", { class: "diagonal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) });
    data.groups.forEach((_, group) => {
      const look = "group-" + (group % 12), points = [];
      data.bands.forEach((band) => {
        const rate = band.observed[group];
        if (rate.value === null) return;
        const place = x(bandPlace(band, group));
        if (data.groups.length < 5) add(inside, "line", { class: "whisker line " + look, x1: place, x2: place, y1: y(rate.low), y2: y(rate.high) });
        points.push([place, y(rate.value)]);
      });
      path(inside, points, "line " + look);
      points.forEach(([cx, cy]) => add(inside, "circle", { class: "point " + look, cx, cy, r: 3.5 }));
    });
    const { step } = ticks(...ends(data.bands.flatMap((band) => [band.low, band.high])), 20);
    chart.stops = data.bands.map((band) => ({
      x: x(data.groups.reduce((sum, _, group) => sum + bandPlace(band, group), 0) / data.groups.length),
      title: data.score + " " + tick(band.low, step / 10) + " to " + tick(band.high, step / 10),
      rows: data.groups.map((_, group) => {
        const rate = band.observed[group];
        return ["line group-" + (group % 12), data.called[group], told(rate.value, share), rate.value === null ? "" : between(rate.low, rate.high, share)];
      }),
    }));
  }

  // ---------------------------------------------------------------- values under the pointer, and by the arrow keys
  const tip = find("tip"), MOST = 14; // lines
  function point(chart, stop) {
    tip.replaceChildren();
    const title = tip.appendChild(document.createElement("strong"));
    title.textContent = stop.title;
    const list = tip.appendChild(document.createElement("dl"));
    const rows = stop.rows.length > MOST ? [...stop.rows.slice(0, MOST), ["", "and " + (stop.rows.length - MOST) + " more", "", ""]] : stop.rows;
    for (const [look, name, value, range] of rows) {
      const term = list.appendChild(document.createElement("dt"));
      if (look) {
        const key = add(term, "svg", { viewBox: "0 0 22 12", "aria-hidden": "true" });
        add(key, "path", { class: look, d: "M0 6H22" });
      }
      term.append(name);
      const told = list.appendChild(document.createElement("dd"));
      told.textContent = value;
      if (range) told.appendChild(document.createElement("span")).textContent = " (" + range + ")";
    }
    tip.hidden = false;
    const box = chart.svg.getBoundingClientRect(), scale = box.width / chart.width;
    const wide = document.documentElement.clientWidth;
    const center = box.left + stop.x * scale;
    const beside = center + 14 + tip.offsetWidth < wide ? center + 14 : center - 14 - tip.offsetWidth;
    tip.style.left = window.scrollX + Math.max(4, Math.min(beside, wide - tip.offsetWidth - 4)) + "px";
    tip.style.top = window.scrollY + (wide < 600 ? box.bottom : box.top + TOP * scale) + "px"; // on a phone below the chart
    if (!chart.hair || !chart.hair.isConnected) chart.hair = add(chart.inside, "line", { class: "hair", y1: TOP, y2: chart.bottom });
    chart.hair.setAttribute("x1", stop.x);
    chart.hair.setAttribute("x2", stop.x);
    chart.at = chart.stops.indexOf(stop);
  }
  function leave(chart) {
    tip.hidden = true;
    if (chart.hair) chart.hair.remove();
  }
  function nearest(chart, event) {
    const box = chart.svg.getBoundingClientRect(), scale = box.width / chart.width;
    const at = [(event.clientX - box.left) / scale, (event.clientY - box.top) / scale];
    const far = chart.stops.map((stop) => Math.hypot(stop.x - at[0], stop.y === undefined ? 0 : stop.y - at[1]));
    return far.indexOf(far.reduce((a, b) => Math.min(a, b)));
  }
  const OTHERS = [[FRONTIER, drawFrontier], [BARS, drawBars], [BANDS, drawBands]].filter(([chart]) => find(chart.id));
  const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10, Home: -Infinity, End: Infinity };
  for (const chart of [...CURVES, ...OTHERS.map(([chart]) => chart)]) {
    const svg = find(chart.id), curve = CURVES.includes(chart);
    svg.addEventListener("pointerdown", (event) => {
      if (!curve) return;
      svg.setPointerCapture(event.pointerId);
      go(nearest(chart, event));
    });
    svg.addEventListener("pointermove", (event) => {
      const k = nearest(chart, event);
      if (curve && event.buttons) go(k);
      point(chart, chart.stops[k]);
    });
    svg.addEventListener("pointerleave", () => leave(chart));
    svg.addEventListener("blur", () => leave(chart));
    const start = () => (curve ? Number(slider.value) : Math.min(chart.at ?? 0, chart.stops.length - 1));
    svg.addEventListener("focus", () => {
      if (svg.matches(":focus-visible")) point(chart, chart.stops[start()]);
    });
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") leave(chart);
      if (!(event.key in STEPS)) return;
      event.preventDefault();
      const k = Math.min(Math.max(start() + STEPS[event.key], 0), chart.stops.length - 1);
      if (curve) go(k);
      point(chart, chart.stops[k]);
    });
  }

  // ---------------------------------------------------------------- what the reader does
  function draw() {
    CURVES.forEach(drawCurve);
    OTHERS.forEach(([, paint]) => paint());
    move();
  }
  function go(k) {
    slider.value = k;
    move();
  }
  slider.addEventListener("input", move);
  document.querySelectorAll("[data-jump]").forEach((button) => {
    button.addEventListener("click", () => go(target(button)));
  });
  document.querySelectorAll("input[name=view]").forEach((choice) => {
    choice.addEventListener("change", () => {
      view = Number(choice.value);
      draw();
    });
  });
  document.querySelectorAll("input[name=axis]").forEach((choice) => {
    choice.addEventListener("change", () => {
      axis = choice.value;
      draw();
    });
  });
  // a folded part is opened for the printer and folded again
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((each) => (each.open = true));
  });
  window.addEventListener("afterprint", () => folded.forEach((each) => (each.open = false)));
  document.querySelectorAll(".ready-with-script").forEach((each) => each.classList.add("ready"));
  new ResizeObserver(draw).observe(find("chart-acceptance").parentNode);
  draw();
})();
