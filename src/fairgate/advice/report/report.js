"use strict";
// The slider: moves the threshold, writes its figures into the table and draws the curves. All figures come from the
// library; nothing is computed here but places on the screen.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const slider = find("threshold");
  const today = data.views[0].columns;
  const scores = today.threshold;
  let view = data.view;

  // toFixed rounds an exact half up; here, as in the text and in thresholds.csv, it goes to the even digit.
  function signed(value, digits) {
    const exact = Math.abs(value).toFixed(60), cut = exact.indexOf(".") + (digits ? digits + 1 : 0);
    const rounded = Math.abs(value).toFixed(digits);
    const half = /^\.?50*$/.test(exact.slice(cut)) && "13579".includes(rounded.at(-1));
    return (value < 0 ? "−" : "") + (half ? exact.slice(0, cut) : rounded);
  }
  const share = (value) => signed(100 * value, 1) + "%";
  const plain = (value) => signed(value, 4);
  const told = (value, write) => (value === null ? "not known" : write(value));
  const between = (low, high, write) =>
    low === undefined || low === null ? "–" : write(low) + " to " + write(high);

  // ---------------------------------------------------------------- the table of figures
  function tell() {
    const k = Number(slider.value);
    const columns = data.views[view].columns;
    const at = (name) => (columns[name] === undefined ? undefined : columns[name][k]);
    const rule = data.score + " " + data.sign + " " + data.thresholds[k];
    find("rule").textContent = rule;
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
    fill("gap", "gap", undefined, plain);
    fill("reward", "reward", undefined, plain);
    if (data.missing) {
      find("bounds-value").textContent =
        view === 0 ? between(at("reward_if_missing_0"), at("reward_if_missing_1"), plain) : "–";
    }
    const residual = (each) => at("residual " + each.name);
    data.residuals.forEach((each, index) => {
      if (!each.drawn) find("residual-" + index + "-value").textContent = plain(residual(each));
    });
    const broken = data.residuals.filter((each) => residual(each) > 1e-12);
    const verdict = find("verdict");
    verdict.className = "badge " + (broken.length ? "fails" : "holds");
    verdict.textContent = !data.residuals.length
      ? "no constraint was asked for"
      : broken.length
        ? broken.map((each) => each.broken.replace("{}", plain(residual(each)))).join(", ")
        : "meets every constraint";
    slider.setAttribute("aria-valuetext", rule + ", " + verdict.textContent);
    document.querySelectorAll("[data-jump]").forEach((button) => {
      button.disabled = target(button) === null;
      button.setAttribute("aria-pressed", String(target(button) === k));
    });
  }

  const target = (button) => (button.dataset.jump === "best" ? data.views[view].best : data.advised);

  // ---------------------------------------------------------------- the curves
  const HEIGHT = 250, RIGHT = 20, TOP = 10, BOTTOM = 52;
  const all = (name) => data.views.flatMap((each) => each.columns[name] || []).filter((value) => value !== null);

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

  // A few extreme scores would squeeze the curves: those beyond the central 99% of people are drawn only if they are
  // not far away.
  const middle = scores.filter((_, k) => today.acceptance[k] <= 0.995 && today.acceptance[k] >= 0.005);
  const ends = (values) => [Math.min(...values), Math.max(...values)];
  const inner = ends(middle), outer = ends(scores);
  const domain = outer[1] - outer[0] <= 2 * (inner[1] - inner[0]) || middle.length < 2 ? outer : inner;
  if (domain === inner) find("beyond").hidden = false;

  // What a figure may be, with ends where a limit has none.
  const allowed = (limit, high) => limit && [limit[0] ?? 0, limit[1] ?? high];
  const widest = Math.max(...all("gap_high"), ...all("gap"), ...(data.limits.gap || []).map((end) => end || 0), 0.01);

  const CHARTS = [
    {
      id: "chart-acceptance",
      lines: [...data.groups.map((group, index) => ["acceptance", " " + group, "line group-" + (index % 12)]),
        ["acceptance", "", "line overall"]],
      range: [0, 1],
      write: (value) => Math.round(100 * value) + "%",
      allowed: allowed(data.limits.acceptance || data.limits.rates, 1),
    },
    {
      id: "chart-gap",
      lines: [["gap", "", "line overall"]],
      range: [0, widest],
      allowed: allowed(data.limits.gap, widest),
    },
    {
      id: "chart-reward",
      lines: [["reward", "", "line overall"]],
      range: (() => {
        const found = ends([...all("reward"), ...all("reward_low"), ...all("reward_high"), 0]);
        return found[0] === found[1] ? [found[0] - 1, found[1] + 1] : found;
      })(),
      zero: true,
    },
  ];

  const SVG = "http://www.w3.org/2000/svg";
  function add(parent, name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return parent.appendChild(made);
  }

  function draw() {
    const columns = data.views[view].columns;
    for (const chart of CHARTS) {
      const svg = find(chart.id);
      const width = Math.max(svg.parentNode.clientWidth, 200);
      const vertical = ticks(...chart.range, 4);
      const labels = vertical.found.map((value) => (chart.write ? chart.write(value) : tick(value, vertical.step)));
      const LEFT = Math.max(44, 16 + 7.5 * Math.max(...labels.map((label) => label.length)));
      const right = width - RIGHT, bottom = HEIGHT - BOTTOM;
      const [low, high] = chart.range;
      const slope = (right - LEFT) / (domain[1] - domain[0] || 1);
      const x = (score) => LEFT + slope * (score - domain[0]);
      const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - TOP);
      chart.x = x;
      chart.y = y;
      svg.replaceChildren();
      svg.setAttribute("viewBox", "0 0 " + width + " " + HEIGHT);
      svg.setAttribute("height", HEIGHT);
      const clip = add(add(svg, "clipPath", { id: chart.id + "-clip" }), "rect", {
        x: LEFT - 4, y: 0, width: right - LEFT + 8, height: bottom + 8,
      });
      const inside = add(svg, "g", { "clip-path": "url(#" + clip.parentNode.id + ")" });
      if (chart.allowed) {
        const [from, to] = chart.allowed;
        add(inside, "rect", { class: "allowed", x: LEFT, y: y(to), width: right - LEFT, height: y(from) - y(to) });
      }
      vertical.found.forEach((value, place) => {
        add(svg, "line", { class: chart.zero && value === 0 ? "zero" : "grid", x1: LEFT, x2: right, y1: y(value), y2: y(value) });
        add(svg, "text", { x: LEFT - 8, y: y(value) + 4, "text-anchor": "end" }, labels[place]);
      });
      const horizontal = ticks(domain[0], domain[1], width < 450 ? 4 : 8);
      for (const value of horizontal.found) {
        add(svg, "line", { class: "tick", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 5 });
        add(svg, "text", { x: x(value), y: bottom + 19, "text-anchor": "middle" }, tick(value, horizontal.step));
      }
      add(svg, "text", { class: "axis", x: (LEFT + right) / 2, y: HEIGHT - 8, "text-anchor": "middle" },
        data.score.length > width / 9 ? data.score.slice(0, Math.floor(width / 9)) + "…" : data.score);
      // where every constraint is met: a strip along the bottom
      if (data.residuals.length) {
        columns.feasible.forEach((fine, k) => {
          if (!fine) return;
          // a threshold accepts the same people down to the next lower score (up to the next higher one)
          const other = scores[data.sign === "≥" ? k - 1 : k + 1];
          const [from, to] = [scores[k], other === undefined ? scores[k] : other];
          const [a, b] = [x(from), x(to)].sort((one, other) => one - other);
          add(inside, "rect", { class: "feasible", x: a, y: bottom, width: Math.max(b - a, 1) + 0.3, height: 5 });
        });
      }
      for (const [name, suffix, look] of chart.lines) {
        const values = columns[name + suffix];
        const lows = columns[name + "_low" + suffix], highs = columns[name + "_high" + suffix];
        if (lows && chart.lines.length < 5) {
          const known = scores.map((_, k) => k).filter((k) => lows[k] !== null);
          const edge = [...known.map((k) => x(scores[k]) + "," + y(highs[k])),
            ...known.reverse().map((k) => x(scores[k]) + "," + y(lows[k]))];
          add(inside, "polygon", { class: look.replace("line", "band"), points: edge.join(" ") });
        }
        if (view > 0 && chart.lines.length === 1) line(inside, today[name + suffix], "line before", x, y);
        line(inside, values, look, x, y);
      }
      chart.cursor = add(inside, "line", { class: "cursor", y1: TOP, y2: bottom + 5 });
      chart.dots = chart.lines.map(([, , look]) => add(inside, "circle", { class: look.replace("line", "dot"), r: 4.5 }));
    }
    move();
  }

  function line(parent, values, look, x, y) {
    let path = "", pen = "M";
    const few = values.length <= 40; // drawn as the steps they are
    values.forEach((value, k) => {
      const here = x(scores[k]).toFixed(2);
      if (value !== null && few && pen === "L") path += data.sign === "≥" ? "V" + y(value).toFixed(2) : "H" + here;
      path += value === null ? "" : pen + here + " " + y(value).toFixed(2);
      pen = value === null ? "M" : "L";
    });
    add(parent, "path", { class: look, d: path });
    if (few) {
      values.forEach((value, k) => {
        if (value !== null) add(parent, "circle", { class: look.replace("line", "point"), cx: x(scores[k]), cy: y(value), r: 2.2 });
      });
    }
  }

  function move() {
    const k = Number(slider.value);
    for (const chart of CHARTS) {
      const place = chart.x(Math.min(Math.max(scores[k], domain[0]), domain[1]));
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

  // ---------------------------------------------------------------- what the reader does
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
  for (const chart of CHARTS) {
    const svg = find(chart.id);
    const follow = (event) => {
      const at = event.clientX - svg.getBoundingClientRect().left;
      const far = scores.map((score) => Math.abs(chart.x(score) - at));
      go(far.indexOf(Math.min(...far)));
    };
    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      follow(event);
    });
    svg.addEventListener("pointermove", (event) => {
      if (event.buttons) follow(event);
    });
  }
  new ResizeObserver(draw).observe(find("chart-gap").parentNode);
  find("explore").classList.add("ready");
  draw();
})();
